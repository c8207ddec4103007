// Where in the user's code an op was called: return addresses now, text when somebody asks.
#pragma once

#include <string>

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

// The innermost frames of this thread. Tarn's are among them, since a static link has no border to stop at.
struct CallSite {
  static constexpr int kFrames = 20;
  void* frames[kFrames];
  int count = 0;
};

// Walks frame pointers, as far as they lead up this thread's stack; some 20 ns.
CallSite this_call();

// "train.cpp:42", the first frame that is not in namespace tarn. Asks addr2line, so it takes its time;
// without it, or without line tables, the name of the function or an address.
std::string describe(const CallSite& site);

}  // namespace tarn::inline v1::detail
