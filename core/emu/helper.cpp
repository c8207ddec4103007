#include <tarn/core/emu/helper.h>

#include <thread>

namespace tarn::inline v1::emu {

Helper::Helper() {
  std::thread([this] { loop(); }).detach();
}

void Helper::loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return busy_; });
    lock.unlock();
    work_();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Helper::start(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  work_ = std::move(work);
  busy_ = true;
  changed_.notify_all();
}

void Helper::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
}

Helper& helper() {
  static auto* instance = new Helper;
  return *instance;
}

}  // namespace tarn::inline v1::emu
