// One OS thread besides the caller's, parked between launches.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include <tarn/core/macros.h>

namespace tarn::inline v1::emu {

class Helper {
 public:
  Helper();
  void start(std::function<void()> work);
  void wait();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool busy_ = false;
};

Helper& helper();  // started at its first use, never joined

}  // namespace tarn::inline v1::emu
