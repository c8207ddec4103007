#include <tarn/serialize/atomic_file.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <tarn/serialize/system.h>

namespace tarn::inline v1::detail {

namespace {

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return str(path, ".tmp.", long(getpid()), ".", counter++);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, const char* what)
    : what_(what), path_(path), temporary_(temporary_name(path)), file_(what, temporary_) {}

AtomicFile::~AtomicFile() {
  if (to_be_renamed_) sys::unlink(temporary_);
}

void AtomicFile::commit() {
  file_.finish();
  to_be_renamed_ = true;
  check(sys::rename(temporary_, path_) == 0, what_, ": cannot rename ", temporary_, " to ", path_, ": ",
        std::strerror(errno));
  to_be_renamed_ = false;
  sync_folder(what_, folder_of(path_));
}

}  // namespace tarn::inline v1::detail
