#include <algorithm>
#include <cstdio>
#include <ctime>

#include <tarn/compile/cache.h>
#include <tarn/core/error.h>

#include <tarn/tools/tarn/commands.h>

namespace {

using tarn::detail::KernelCache;

KernelCache open_cache() {
  std::string why;
  auto cache = KernelCache::open(&why);
  tarn::check(cache.has_value(), "tarn cache: ", why);
  return *cache;
}

std::string date_of(int64_t seconds) {
  char text[40];
  auto time = std::time_t(seconds);
  std::tm local = {};
  return localtime_r(&time, &local) && std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local) ? text
                                                                                                  : "?";
}

}  // namespace

int list_cache() {
  KernelCache cache = open_cache();
  std::vector<KernelCache::Entry> entries = cache.entries();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.used > b.used; });
  int64_t bytes = 0;
  for (const auto& entry : entries) {
    std::printf("%s %9.1f KiB  %s\n", date_of(entry.used).c_str(), double(entry.bytes) / 1024,
                entry.name.c_str());
    bytes += entry.bytes;
  }
  std::printf("%zu kernels, %.1f MiB in %s\n", entries.size(), double(bytes) / (1 << 20),
              cache.folder().c_str());
  return 0;
}

int clear_cache() {
  KernelCache cache = open_cache();
  std::printf("deleted %lld kernels in %s\n", static_cast<long long>(cache.clear()), cache.folder().c_str());
  return 0;
}
