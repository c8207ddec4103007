// A file that appears under its name whole or not at all: written beside it under a temporary name, flushed
// to the disk, renamed. Private.
#pragma once

#include <tarn/serialize/files.h>

namespace tarn::inline v1::detail {

class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path, const char* what = "save");
  // Without commit() the temporary file is removed and the old file stays.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes) { file_.write(data, bytes); }
  // After this the new file is there, even if the machine loses power.
  void commit();

 private:
  const char* what_;
  std::string path_, temporary_;
  NewFile file_;
  bool to_be_renamed_ = false;
};

}  // namespace tarn::inline v1::detail
