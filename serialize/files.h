// Files that survive a crash: written whole, flushed, under their name only then. Errors begin with `what`
// the caller was doing ("save", "checkpoint"). Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

// "/a/b" of "/a/b/c"; "." of a name alone.
std::string folder_of(const std::string& path);

// A new file. It is removed again unless finish() was reached.
class NewFile {
 public:
  NewFile(const char* what, std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, size_t bytes);
  // Flushes to the disk and closes.
  void finish();

 private:
  [[noreturn]] void refuse(const char* failure) const;

  const char* what_;
  std::string path_;
  int file_ = -1;
  bool finished_ = false;
};

// Makes the names in a folder last: a rename lies in the folder.
void sync_folder(const char* what, const std::string& path);

// Renames over what is there, and syncs the folder of `to`.
void rename_durably(const char* what, const std::string& from, const std::string& to);

// A regular file open for reading.
class InputFile {
 public:
  InputFile(const char* what, const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const { return size_; }
  void read(void* to, uint64_t bytes, uint64_t at) const;

 private:
  const char* what_;
  std::string path_;
  int file_;
  uint64_t size_ = 0;
};

}  // namespace tarn::inline v1::detail
