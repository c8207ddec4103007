#include <tarn/serialize/atomic_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tarn::inline v1::detail {

namespace {

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return str(path, ".tmp.", long(getpid()), ".", counter++);
}

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) refuse("cannot create");
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::refuse(const char* what) const {
  fail("save: ", path_, ": ", what, " ", temporary_, ": ", std::strerror(errno));
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    // Linux writes at most 2 GiB at a time.
    ssize_t written = ::write(file_, next, std::min(bytes, size_t(1) << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("cannot write");
    next += written;
    bytes -= size_t(written);
  }
}

void AtomicFile::commit() {
  if (fsync(file_) != 0) refuse("cannot flush");
  int file = std::exchange(file_, -1);
  if (close(file) != 0) refuse("cannot close");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse("cannot rename");
  temporary_.clear();
  sync_folder();
}

// The rename itself lies in the folder.
void AtomicFile::sync_folder() const {
  int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a folder that may be written to but not read
  // Some file systems cannot flush a folder and say EINVAL.
  bool ok = fsync(folder) == 0 || errno == EINVAL;
  int error = errno;
  close(folder);
  errno = error;
  check(ok, "save: ", path_, ": cannot flush its folder: ", std::strerror(errno));
}

}  // namespace tarn::inline v1::detail
