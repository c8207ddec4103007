#include <tarn/serialize/files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <tarn/serialize/system.h>

namespace tarn::inline v1::detail {

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

NewFile::NewFile(const char* what, std::string path) : what_(what), path_(std::move(path)) {
  file_ = sys::create(path_);
  if (file_ < 0) refuse("cannot create");
}

NewFile::~NewFile() {
  if (file_ >= 0) sys::close(file_, path_);
  if (!finished_) sys::unlink(path_);
}

void NewFile::refuse(const char* failure) const {
  fail(what_, ": ", failure, " ", path_, ": ", std::strerror(errno));
}

void NewFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    // Linux writes at most 2 GiB at a time.
    ssize_t written = sys::write(file_, path_, next, std::min(bytes, size_t(1) << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("cannot write");
    next += written;
    bytes -= size_t(written);
  }
}

void NewFile::finish() {
  if (sys::fsync(file_, path_) != 0) refuse("cannot flush");
  int file = std::exchange(file_, -1);
  if (sys::close(file, path_) != 0) refuse("cannot close");
  finished_ = true;
}

void sync_folder(const char* what, const std::string& path) {
  int folder = sys::open_folder(path);
  // A folder that may be written to but not read.
  if (folder < 0 && errno == EACCES) return;
  check(folder >= 0, what, ": cannot open the folder ", path, ": ", std::strerror(errno));
  // Some file systems cannot flush a folder and say EINVAL.
  bool ok = sys::fsync(folder, path) == 0 || errno == EINVAL;
  int error = errno;
  sys::close(folder, path);
  check(ok, what, ": cannot flush the folder ", path, ": ", std::strerror(error));
}

void rename_durably(const char* what, const std::string& from, const std::string& to) {
  check(sys::rename(from, to) == 0, what, ": cannot rename ", from, " to ", to, ": ", std::strerror(errno));
  sync_folder(what, folder_of(to));
}

InputFile::InputFile(const char* what, const std::string& path)
    : what_(what), path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  check(file_ >= 0, what, ": cannot open ", path, ": ", std::strerror(errno));
  struct stat status;
  bool regular = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) close(file_);
  check(regular, what, ": ", path, " is not a regular file");
  size_ = uint64_t(status.st_size);
}

InputFile::~InputFile() { close(file_); }

void InputFile::read(void* to, uint64_t bytes, uint64_t at) const {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    ssize_t got = pread(file_, next, std::min<uint64_t>(bytes, 1 << 30), off_t(at));
    if (got < 0 && errno == EINTR) continue;
    check(got >= 0, what_, ": cannot read ", path_, ": ", std::strerror(errno));
    check(got > 0, what_, ": ", path_, " became shorter while it was read");
    next += got, at += uint64_t(got), bytes -= uint64_t(got);
  }
}

}  // namespace tarn::inline v1::detail
