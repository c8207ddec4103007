#include <tarn/core/emu/config.h>

#include <algorithm>
#include <cstdlib>

namespace tarn::inline v1::emu {

static uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

static Config from_environment() {
  Config c;
  c.order = number("TARN_EMU_ORDER", c.order);
  c.threads = int(std::clamp<uint64_t>(number("TARN_EMU_THREADS", c.threads), 1, 2));
  c.lazy = number("TARN_EMU_LAZY", c.lazy);
  c.guard = number("TARN_EMU_GUARD", c.guard) != 0;
  c.memory = number("TARN_EMU_MEMORY", c.memory);
  c.driver = number("TARN_EMU_DRIVER", c.driver) != 0;
  c.patience = double(number("TARN_EMU_PATIENCE", uint64_t(c.patience)));
  return c;
}

Config& config() {
  static auto* instance = new Config(from_environment());
  return *instance;
}

}  // namespace tarn::inline v1::emu
