#include <tarn/serialize/system.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace tarn::inline v1::detail::sys {

namespace {

std::atomic<Observer> observer{nullptr};

// Whether the observer wants the call to fail.
bool fails(const Call& call) {
  Observer ask = observer.load(std::memory_order_acquire);
  int error = ask ? ask(call) : 0;
  if (error) errno = error;
  return error != 0;
}

}  // namespace

void observe(Observer wanted) { observer.store(wanted, std::memory_order_release); }

int create(const std::string& path) {
  return fails({"create", path}) ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int open_folder(const std::string& path) {
  return fails({"open_folder", path}) ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ssize_t write(int file, const std::string& path, const void* data, size_t bytes) {
  if (!fails({"write", path, nullptr, data, bytes})) return ::write(file, data, bytes);
  int error = errno;
  (void)!::write(file, data, bytes / 2);
  errno = error;
  return -1;
}

int fsync(int file, const std::string& path) { return fails({"fsync", path}) ? -1 : ::fsync(file); }

// The descriptor is gone in any case, as after a close() that fails.
int close(int file, const std::string& path) {
  bool bad = fails({"close", path});
  int error = errno;
  int result = ::close(file);
  if (!bad) return result;
  errno = error;
  return -1;
}

int rename(const std::string& from, const std::string& to) {
  return fails({"rename", from, &to}) ? -1 : std::rename(from.c_str(), to.c_str());
}

int make_folder(const std::string& path) {
  return fails({"make_folder", path}) ? -1 : ::mkdir(path.c_str(), 0777);
}

int unlink(const std::string& path) { return fails({"unlink", path}) ? -1 : ::unlink(path.c_str()); }

int remove_folder(const std::string& path) {
  return fails({"remove_folder", path}) ? -1 : ::rmdir(path.c_str());
}

}  // namespace tarn::inline v1::detail::sys
