// A file that appears under its name whole or not at all: written beside it under a temporary name, flushed
// to the disk, renamed. Private.
#pragma once

#include <string>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  // Without commit() the temporary file is removed and the old file stays.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  // After this the new file is there, even if the machine loses power.
  void commit();

 private:
  [[noreturn]] void refuse(const char* what) const;
  void sync_folder() const;

  std::string path_, temporary_;
  int file_ = -1;
};

}  // namespace tarn::inline v1::detail
