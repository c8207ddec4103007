#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tarn/core/allocator.h>
#include <tarn/core/error.h>
#include <tarn/core/pool.h>

#include <tarn/tests/catch.h>

using namespace tarn;
using detail::allocate;
using detail::deallocate;

namespace {

constexpr size_t kMiB = size_t(1) << 20;

std::string message_of(size_t bytes) {
  try {
    deallocate(allocate(bytes), bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool each_block_is_a_malloc() {
  void* block = allocate(100);
  bool system = cpu::memory_stats().cached_bytes == 0;
  deallocate(block, 100);
  if (system) SUCCEED("nothing is cached, so there is nothing to test");
  return system;
}

struct Limit {
  explicit Limit(int64_t bytes) { cpu::set_memory_limit(bytes); }
  ~Limit() { cpu::set_memory_limit(0); }
};

}  // namespace

TEST_CASE("blocks are aligned, writable and apart", "[allocator]") {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  size_t sizes[] = {1,    63,    64,     65,   512,      513,          1000,      4096, 8192,
                    8193, 20000, 100000, kMiB, kMiB + 1, 3 * kMiB + 7, 17 * kMiB, 64,   8192};
  int64_t before = cpu::memory_stats().live_bytes, total = 0;
  for (size_t size : sizes) {
    auto* block = static_cast<unsigned char*>(allocate(size));
    REQUIRE(reinterpret_cast<uintptr_t>(block) % 64 == 0);
    std::memset(block, int(blocks.size() + 1), size);
    blocks.push_back({block, size});
    total += int64_t(size);
  }
  CHECK(cpu::memory_stats().live_bytes - before == total);
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [block, size] = blocks[i];
    CHECK(block[0] == i + 1);
    CHECK(block[size / 2] == i + 1);
    CHECK(block[size - 1] == i + 1);
    deallocate(block, size);
  }
  CHECK(cpu::memory_stats().live_bytes == before);
}

TEST_CASE("zero bytes need no block", "[allocator]") {
  int64_t before = cpu::memory_stats().live_blocks;
  CHECK(allocate(0) == nullptr);
  deallocate(nullptr, 0);
  CHECK(cpu::memory_stats().live_blocks == before);
}

TEST_CASE("a random program keeps every byte and returns to its base", "[allocator]") {
  struct Held {
    unsigned char* block;
    size_t size;
    unsigned char mark;
  };
  std::mt19937_64 random(7);
  int64_t before = cpu::memory_stats().live_bytes, live = 0;
  std::vector<Held> held;
  bool intact = true;
  auto drop = [&](size_t i) {
    intact = intact && held[i].block[0] == held[i].mark && held[i].block[held[i].size - 1] == held[i].mark;
    deallocate(held[i].block, held[i].size);
    live -= int64_t(held[i].size);
    held[i] = held.back();
    held.pop_back();
  };
  for (int step = 0; step < 20000; ++step) {
    if (held.size() < 300 && random() % 2) {
      size_t size = 1 + random() % (size_t(1) << (random() % 23));
      auto mark = static_cast<unsigned char>(step);
      auto* block = static_cast<unsigned char*>(allocate(size));
      block[0] = block[size - 1] = mark;
      held.push_back({block, size, mark});
      live += int64_t(size);
    } else if (!held.empty()) {
      drop(random() % held.size());
    }
    if (step % 1000 == 0) CHECK(cpu::memory_stats().live_bytes - before == live);
  }
  while (!held.empty()) drop(held.size() - 1);
  CHECK(intact);
  CHECK(cpu::memory_stats().live_bytes == before);
}

TEST_CASE("the peak is exact", "[allocator]") {
  cpu::reset_peak_memory_stats();
  int64_t base = cpu::memory_stats().live_bytes;
  CHECK(cpu::memory_stats().peak_bytes == base);
  void* a = allocate(1000);
  void* b = allocate(5 * kMiB);
  deallocate(a, 1000);
  deallocate(b, 5 * kMiB);
  CHECK(cpu::memory_stats().peak_bytes == base + 1000 + int64_t(5 * kMiB));
  cpu::reset_peak_memory_stats();
  CHECK(cpu::memory_stats().peak_bytes == base);
}

TEST_CASE("blocks may be freed by another thread for ever", "[allocator]") {
  std::mutex mutex;
  std::deque<void*> queue;
  constexpr size_t size = 1000;
  constexpr int total = 50000;
  int64_t base = cpu::memory_stats().live_bytes;
  int64_t highest = 0;
  std::thread consumer([&] {
    for (int taken = 0; taken < total;) {
      void* block = nullptr;
      {
        std::lock_guard lock(mutex);
        if (!queue.empty()) {
          block = queue.front();
          queue.pop_front();
        }
      }
      if (!block) {
        std::this_thread::yield();
        continue;
      }
      deallocate(block, size);
      ++taken;
    }
  });
  for (int i = 0; i < total;) {
    std::unique_lock lock(mutex);
    if (queue.size() >= 200) {
      lock.unlock();
      std::this_thread::yield();
      continue;
    }
    queue.push_back(allocate(size));
    if (++i % 1000 == 0) highest = std::max(highest, cpu::memory_stats().reserved_bytes);
  }
  consumer.join();
  CHECK(cpu::memory_stats().live_bytes == base);
  CHECK(highest <
        base + int64_t(400 * kMiB));  // cached leftovers of other tests; the blocks themselves are 50 MB
  if (!each_block_is_a_malloc()) {
    cpu::empty_cache();
    CHECK(cpu::memory_stats().reserved_bytes - cpu::memory_stats().live_bytes < int64_t(80 * kMiB));
  }
}

TEST_CASE("a thread's lists go home when it ends", "[allocator]") {
  if (each_block_is_a_malloc()) return;
  cpu::empty_cache();
  int64_t before = cpu::memory_stats().reserved_bytes;
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      std::vector<void*> blocks;
      for (int k = 0; k < 200; ++k) blocks.push_back(allocate(8000));
      for (void* block : blocks) deallocate(block, 8000);
    }).join();
  }
  CHECK(cpu::memory_stats().reserved_bytes <= before + int64_t(4 * kMiB));
}

TEST_CASE("a block is used again at once", "[allocator]") {
  if (each_block_is_a_malloc()) return;
  for (size_t size : {size_t(100), 100 * 1024ul, 3 * kMiB, 40 * kMiB}) {
    void* first = allocate(size);
    deallocate(first, size);
    void* second = allocate(size);
    CHECK(first == second);
    deallocate(second, size);
  }
}

TEST_CASE("cached bytes stay under the cap", "[allocator]") {
  if (each_block_is_a_malloc()) return;
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate(40 * kMiB));
  for (void* block : blocks) deallocate(block, 40 * kMiB);
  auto stats = cpu::memory_stats();
  int64_t cap = std::max<int64_t>(256 * kMiB, stats.peak_bytes / 4);
  CHECK(stats.cached_bytes <=
        cap + int64_t(90 * kMiB));  // and what threads' lists and partly used regions hold
  for (void*& block : blocks) block = allocate(40 * kMiB);  // what was lent comes back
  CHECK(cpu::memory_stats().reserved_bytes >= int64_t(800 * kMiB));
  for (void* block : blocks) {
    static_cast<char*>(block)[39 * kMiB] = 1;
    deallocate(block, 40 * kMiB);
  }
}

TEST_CASE("idle regions go back after a second", "[allocator]") {
  if (each_block_is_a_malloc()) return;
  void* block = allocate(100 * kMiB);
  deallocate(block, 100 * kMiB);
  CHECK(cpu::memory_stats().cached_bytes >= int64_t(100 * kMiB));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  void* other = allocate(2 * kMiB);
  CHECK(cpu::memory_stats().cached_bytes < int64_t(100 * kMiB));
  deallocate(other, 2 * kMiB);
}

TEST_CASE("empty_cache gives everything back", "[allocator]") {
  if (each_block_is_a_malloc()) return;
  deallocate(allocate(100 * kMiB), 100 * kMiB);
  cpu::empty_cache();
  CHECK(cpu::memory_stats().cached_bytes < int64_t(66 * kMiB));
}

TEST_CASE("out of memory says what there is", "[allocator]") {
  std::string huge = message_of(size_t(1) << 48);
  CHECK(huge.find("allocate: out of memory: asked for 281474976710656 bytes; live ") == 0);
  CHECK(message_of(size_t(-1)).find("asked for 18446744073709551615 bytes") != std::string::npos);
  CHECK(message_of(size_t(1) << 46).find("limit none") != std::string::npos);  // the system refuses

  bool cached = !each_block_is_a_malloc();
  int64_t base = cpu::memory_stats().live_bytes;
  void* held = allocate(20 * kMiB);
  cpu::empty_cache();
  Limit limit(cpu::memory_stats().reserved_bytes + int64_t(kMiB));
  std::string text = message_of(30 * kMiB);
  CHECK(text.find("asked for 31457280 bytes; live " + std::to_string(base + int64_t(20 * kMiB))) !=
        std::string::npos);
  CHECK(text.find(", limit " + std::to_string(cpu::memory_stats().limit_bytes)) != std::string::npos);
  if (cached) CHECK(text.find("; largest blocks: 2097") != std::string::npos);
  deallocate(held, 20 * kMiB);
  CHECK(message_of(15 * kMiB) == "no error");
  CHECK(cpu::memory_stats().live_bytes == base);
}

TEST_CASE("a negative limit is refused", "[allocator]") {
  std::string text;
  try {
    cpu::set_memory_limit(-1);
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text == "set_memory_limit: must be 0 (none) or more, got -1");
}

TEST_CASE("pool blocks are apart, aligned and uncounted", "[allocator]") {
  int64_t before = cpu::memory_stats().live_bytes;
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t size = 1; size <= 8192; size += 37) {
    char* block = static_cast<char*>(detail::pool_allocate(size));
    REQUIRE(reinterpret_cast<uintptr_t>(block) % 64 == 0);
    std::memset(block, int(size % 100), size);
    blocks.push_back({block, size});
  }
  CHECK(cpu::memory_stats().live_bytes == before);
  std::thread([&] {
    for (auto [block, size] : blocks) {
      CHECK(block[size - 1] == char(size % 100));
      detail::pool_deallocate(block, size);
    }
  }).join();
}

TEST_CASE("a forked child can allocate", "[allocator]") {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    for (size_t size : {size_t(100), 50000ul, 4 * kMiB}) deallocate(allocate(size), size);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("with TARN_ALLOC=system each block is a malloc") {
  pid_t child = fork();
  if (child == 0) {
    setenv("TARN_ALLOC", "system", 1);
    execl("/proc/self/exe", "test", "[allocator]", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
