// How the emulated device behaves; read from the environment at its first use, tests change it between calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

struct Config {
  // TARN_EMU_ORDER: in which order the threads of a block run when several could. 0: first come first served;
  // 1: last come first served, so that one warp runs far ahead; any other number seeds a random order.
  uint64_t order = 0;
  // TARN_EMU_THREADS: OS threads that run the blocks of a launch, 1 or 2. Access checks need 1.
  int threads = 1;
  // TARN_EMU_LAZY: 0 runs an operation when it is called; any other number leaves it in its stream until
  // something waits for it, and seeds the order among streams, so that a forgotten wait is seen as stale
  // data.
  uint64_t lazy = 0;
  // TARN_EMU_GUARD=1: device memory is closed to host code; touching it kills the process with a message.
  bool guard = false;
  // TARN_EMU_MEMORY: bytes of each device.
  size_t memory = size_t(8) << 30;
  // TARN_EMU_DRIVER=0: as on a machine without NVIDIA's driver.
  bool driver = true;
  // TARN_EMU_PATIENCE: seconds until a wait for another thread is given up.
  double patience = 60;
  // Blocks of a launch that run: the first and the last so many. Large-index tests set it.
  uint64_t only_first = UINT64_MAX, only_last = 0;
};

Config& config();

inline constexpr int kDevices = 2;

}  // namespace tarn::inline v1::emu
