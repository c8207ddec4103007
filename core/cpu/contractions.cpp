#include <tarn/core/cpu/contractions.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

namespace {

const ContractionProvider* find_provider(const char* op, std::string_view name) {
  if (name == "eigen") return &eigen_contractions;
  check(name == "onednn", op, ": must be eigen or onednn, got ", name);
  check(onednn_contractions != nullptr, op,
        ": this build has no oneDNN; on Debian: apt-get install libdnnl-dev, then ", "build again");
  return onednn_contractions;
}

const ContractionProvider* initial_provider() {
  const char* name = std::getenv("TARN_CONTRACTIONS");
  if (name && *name) return find_provider("TARN_CONTRACTIONS", name);
  return onednn_contractions ? onednn_contractions : &eigen_contractions;
}

std::atomic<const ContractionProvider*> g_provider{nullptr};

}  // namespace

const ContractionProvider& contractions() {
  const ContractionProvider* provider = g_provider.load(std::memory_order_acquire);
  if (!provider) [[unlikely]] {
    provider = initial_provider();
    g_provider.store(provider, std::memory_order_release);
  }
  return *provider;
}

void use_contractions(const char* name) {
  g_provider.store(find_provider("use_contractions", name), std::memory_order_release);
}

}  // namespace tarn::inline v1::detail
