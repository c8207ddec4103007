#include <tarn/compile/cache.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kMaxBytes = int64_t(1) << 30;
constexpr char kMark[] = "\ntarn kernel 1\n";

// FNV-1a.
uint64_t hash_of(const std::string& text, uint64_t seed) {
  uint64_t hash = seed;
  for (char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string digest(const std::string& text) {
  return hex(hash_of(text, 0xcbf29ce484222325)) + hex(hash_of(text, 0x84222325cbf29ce4));
}

// What ends an entry: the digest of what it was made from and of the library before it.
std::string trailer(const std::string& made_from, const std::string& library) {
  return str(kMark, digest(made_from), " ", digest(library), " ", library.size(), "\n");
}

// "" if the folder is ours alone, else what is wrong with it.
std::string fault_of(const std::string& folder) {
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0) return str(folder, ": ", std::strerror(errno));
  if (S_ISLNK(info.st_mode)) return folder + " is a link";
  if (!S_ISDIR(info.st_mode)) return folder + " is not a folder";
  if (info.st_uid != geteuid()) return folder + " belongs to another user";
  if (info.st_mode & 022) return folder + " can be written by others; chmod go-w it";
  return "";
}

bool make_folder(const std::string& folder, std::string* why) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    *why = str(folder, ": ", std::strerror(errno));
    return false;
  }
  *why = fault_of(folder);
  return why->empty();
}

bool read_file(const std::string& path, std::string& to) {
  int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  struct stat info;
  bool good = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
              !(info.st_mode & 022) && info.st_size < kMaxBytes;
  if (good) to.resize(size_t(info.st_size));
  for (size_t done = 0; good && done < to.size();) {
    ssize_t n = ::read(file, to.data() + done, to.size() - done);
    good = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) done += size_t(n);
  }
  close(file);
  return good;
}

bool append_file(const std::string& path, const std::string& text) {
  int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  bool good = ::write(file, text.data(), text.size()) == ssize_t(text.size()) && fchmod(file, 0600) == 0;
  return close(file) == 0 && good;
}

bool ends_with(const std::string& text, const char* end) {
  size_t n = std::strlen(end);
  return text.size() > n && text.compare(text.size() - n, n, end) == 0;
}

template <class F>
void for_files(const std::string& folder, F f) {
  DIR* open = opendir(folder.c_str());
  if (!open) return;
  while (dirent* entry = readdir(open)) f(std::string(entry->d_name));
  closedir(open);
}

}  // namespace

std::optional<KernelCache> KernelCache::open(std::string* why) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string root = cache && *cache == '/' ? cache : home && *home == '/' ? str(home, "/.cache") : "";
  if (root.empty()) {
    *why = "neither XDG_CACHE_HOME nor HOME names a folder";
    return {};
  }
  mkdir(root.c_str(), 0700);
  if (!make_folder(root + "/tarn", why)) return {};
  return open_at(root + "/tarn/kernels", why);
}

std::optional<KernelCache> KernelCache::open_at(const std::string& folder, std::string* why) {
  if (!make_folder(folder, why)) return {};
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    *why = str(folder, ": ", std::strerror(errno));
    return {};
  }
  KernelCache cache(folder);
  cache.sweep();
  return cache;
}

// Temporary files are named after their process; those of processes that are gone go too.
void KernelCache::sweep() const {
  for_files(folder_, [&](const std::string& name) {
    if (name.compare(0, 4, "tmp-") != 0) return;
    pid_t owner = pid_t(std::atol(name.c_str() + 4));
    bool gone = owner <= 0 || (kill(owner, 0) != 0 && errno == ESRCH);
    if (gone) unlink((folder_ + "/" + name).c_str());
  });
}

std::string KernelCache::place(const std::string& made_from) const {
  return str(folder_, "/", digest(made_from), ".so");
}

std::string KernelCache::find(const std::string& made_from) const {
  std::string path = place(made_from), bytes;
  if (access(path.c_str(), F_OK) != 0) return "";
  bool good = read_file(path, bytes);
  size_t mark = good ? bytes.rfind(kMark) : std::string::npos;
  good = mark != std::string::npos &&
         bytes.compare(mark, std::string::npos, trailer(made_from, bytes.substr(0, mark))) == 0;
  if (!good) {
    unlink(path.c_str());
    return "";
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // used just now
  return path;
}

std::string KernelCache::temporary() const {
  static std::atomic<int> counter{0};
  return str(folder_, "/tmp-", long(getpid()), "-", counter.fetch_add(1));
}

std::string KernelCache::add(const std::string& library, const std::string& made_from,
                             std::string* why) const {
  std::string bytes, path = place(made_from);
  if (!read_file(library, bytes) || bytes.compare(0, 4, "\177ELF") != 0) {
    *why = "the compiler wrote no library";
    return "";
  }
  if (!append_file(library, trailer(made_from, bytes)) || rename(library.c_str(), path.c_str()) != 0) {
    *why = str(folder_, ": ", std::strerror(errno));
    return "";
  }
  trim(kMaxBytes);
  return path;
}

void KernelCache::drop(const std::string& made_from) const { unlink(place(made_from).c_str()); }

std::vector<KernelCache::Entry> KernelCache::entries() const {
  std::vector<Entry> all;
  for_files(folder_, [&](const std::string& name) {
    struct stat info;
    if (ends_with(name, ".so") && lstat((folder_ + "/" + name).c_str(), &info) == 0)
      all.push_back({name, int64_t(info.st_size), int64_t(info.st_mtime)});
  });
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.used != b.used ? a.used < b.used : a.name < b.name;
  });
  return all;
}

int64_t KernelCache::clear() const {
  int64_t count = 0;
  for (const Entry& e : entries()) count += unlink((folder_ + "/" + e.name).c_str()) == 0;
  return count;
}

void KernelCache::trim(int64_t bytes) const {
  std::vector<Entry> all = entries();
  int64_t total = 0;
  for (const Entry& e : all) total += e.bytes;
  for (size_t i = 0; i < all.size() && total > bytes; ++i) {
    unlink((folder_ + "/" + all[i].name).c_str());
    total -= all[i].bytes;
  }
}

}  // namespace tarn::inline v1::detail
