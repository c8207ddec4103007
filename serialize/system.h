// The system calls of a save, each under its own name, so that a test can make any of them fail or end the
// process before it. They return and set errno as the originals do. Private.
#pragma once

#include <sys/types.h>

#include <string>

namespace tarn::inline v1::detail::sys {

struct Call {
  const char* name;  // "open", "write", ...
  const std::string& path;
  const std::string* target = nullptr;  // of rename
  const void* data = nullptr;           // of write
  size_t bytes = 0;
};

// Returns 0, or the errno that the call is to fail with; a failing write has then written half.
using Observer = int (*)(const Call& call);
// Null, but in tests.
void observe(Observer observer);

// For writing; the file must not exist.
int create(const std::string& path);
int open_folder(const std::string& path);
ssize_t write(int file, const std::string& path, const void* data, size_t bytes);
int fsync(int file, const std::string& path);
int close(int file, const std::string& path);
int rename(const std::string& from, const std::string& to);
int make_folder(const std::string& path);
int unlink(const std::string& path);
int remove_folder(const std::string& path);

}  // namespace tarn::inline v1::detail::sys
