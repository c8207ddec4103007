// Which kernels there are, and the one thread that has them built.
#include <tarn/compile/kernel.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include <tarn/compile/cache.h>
#include <tarn/compile/counters.h>
#include <tarn/compile/emit.h>
#include <tarn/compile/host_compiler.h>
#include <tarn/core/error.h>
#include <tarn_config.h>

namespace tarn::inline v1::detail {

namespace {

// The first trouble is said, once in a process; groups go on in the interpreter.
void warn_once(const std::string& why) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    std::fprintf(stderr, "tarn: fused groups run in the interpreter, which is right but slower: %s\n",
                 why.c_str());
}

class Builder {
 public:
  std::shared_ptr<Kernel> kernel_of(std::string source) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Kernel>& kernel = kernels_[source];
    if (!kernel) {
      kernel = std::make_shared<Kernel>();
      kernel->source = std::move(source);
    }
    return kernel;
  }

  void request(const std::shared_ptr<Kernel>& kernel) {
    if (getpid() != owner_) return;  // a forked child has no thread to do it
    std::lock_guard lock(mutex_);
    if (kernel->requested) return;
    kernel->requested = true;
    queue_.push_back(kernel);
    if (!started_) start();
    changed_.notify_all();
  }

  void wait() {
    if (getpid() != owner_) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  }

 private:
  // Signals of the host program are not for this thread.
  void start() {
    started_ = true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { work(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty(); });
      std::shared_ptr<Kernel> kernel = queue_.front();
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      std::string why = build(*kernel);
      if (!why.empty()) {
        compile_counters().kernels_failed.fetch_add(1);
        warn_once(why);
      }
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  // "" if the kernel has its function now.
  static std::string build(Kernel& kernel) {
    std::string why;
    std::optional<HostCompiler> compiler = find_host_compiler(&why);
    if (!compiler) return why;
    std::optional<KernelCache> cache = KernelCache::open(&why);
    if (!cache) return why;
    std::string source = with_prelude(kernel.source, host_vector_bytes());
    std::string made_from =
        str("tarn " TARN_VERSION_STRING "\n", compiler->identity, "\n", compiler->flags, "\n", source);
    std::string library = cache->find(made_from);
    if (!library.empty() && load(kernel, library).empty()) {
      compile_counters().kernels_from_cache.fetch_add(1);
      return "";
    }
    why = compile(*compiler, *cache, source, made_from, &library);
    if (why.empty()) why = load(kernel, library);
    if (!why.empty()) {
      cache->drop(made_from);
      return why;
    }
    compile_counters().kernels_built.fetch_add(1);
    return "";
  }

  static std::string compile(const HostCompiler& compiler, const KernelCache& cache,
                             const std::string& source, const std::string& made_from, std::string* library) {
    std::string text = cache.temporary(), built = cache.temporary(), why;
    bool written = bool(std::ofstream(text) << source << std::flush);
    why = written ? compile_library(compiler, text, built) : str(cache.folder(), " cannot be written");
    unlink(text.c_str());
    if (why.empty()) *library = cache.add(built, made_from, &why);
    unlink(built.c_str());
    return why;
  }

  static std::string load(Kernel& kernel, const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return dlerror();
    void* function = dlsym(handle, "tarn_kernel");
    if (!function) return library + " has no kernel";
    kernel.function.store(reinterpret_cast<KernelFunction>(function), std::memory_order_release);
    return "";
  }

  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Kernel>> kernels_;  // by source
  std::deque<std::shared_ptr<Kernel>> queue_;
  bool busy_ = false, started_ = false;
};

Builder& builder() {
  static Builder* one = new Builder;
  return *one;
}

TierChoice choice_of_environment() {
  const char* value = std::getenv("TARN_COMPILE");
  std::string_view words = value ? value : "";
  if (words.find("interpret") != words.npos) return TierChoice::Interpret;
  return words.find("native") != words.npos ? TierChoice::Native : TierChoice::Both;
}

std::atomic<TierChoice>& choice() {
  static std::atomic<TierChoice> value{choice_of_environment()};
  return value;
}

}  // namespace

std::shared_ptr<Kernel> kernel_of(const Expression& e, const std::vector<Access>& accesses) {
  return builder().kernel_of(emit_cpp_kernel(e, accesses));
}

KernelFunction ready_kernel(const std::shared_ptr<Kernel>& kernel) {
  if (tier_choice() == TierChoice::Interpret) return nullptr;
  KernelFunction function = kernel->function.load(std::memory_order_acquire);
  if (function) return function;
  // What runs once is not worth a compiler.
  bool now = tier_choice() == TierChoice::Native;
  if (!now && kernel->runs.fetch_add(1, std::memory_order_relaxed) != 1) return nullptr;
  builder().request(kernel);
  if (now) builder().wait();
  return kernel->function.load(std::memory_order_acquire);
}

TierChoice tier_choice() { return choice().load(std::memory_order_relaxed); }
void set_tier_choice(TierChoice value) { choice().store(value); }
void wait_for_kernels() { builder().wait(); }

CompileCounters& compile_counters() {
  static CompileCounters* counters = new CompileCounters;
  return *counters;
}

}  // namespace tarn::inline v1::detail
