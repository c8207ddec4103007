#include <tarn/distributed/shared_memory.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <tarn/core/cpu/features.h>

#include "tarn_config.h"

namespace tarn::inline v1::distributed::detail {

// Counters only grow (and wrap around): a rank waits until another's has reached its own.
struct alignas(64) SharedMemory::RankWords {
  std::atomic<uint32_t> met{0};      // meetings entered
  std::atomic<uint32_t> filled{0};   // chunks copied in
  std::atomic<uint32_t> reduced{0};  // chunks whose share is reduced
  // A rank that is one meeting ahead must not overwrite what others still read; two ahead it cannot be.
  Signature signatures[2];
};

struct SharedMemory::Layout {
  // 1 + the first rank that was found to be gone: others end because of it, and must not be blamed.
  alignas(64) std::atomic<int32_t> lost;
  RankWords ranks[];
};

namespace {

constexpr size_t kPage = 4096;
// While everyone runs, a short spin saves two system calls; it must not keep a core from a rank that
// computes.
constexpr int kSpins = 200;
// How often a waiting rank looks whether the one it waits for is alive.
constexpr auto kLook = milliseconds(20);

size_t head_bytes(int ranks) { return (64 + size_t(ranks) * 1024 + kPage - 1) / kPage * kPage; }
size_t total_bytes(int ranks) { return head_bytes(ranks) + size_t(ranks + 1) * 2 * SharedMemory::kChunk; }

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, milliseconds limit) {
  timespec time = {limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool reached(uint32_t counter, uint32_t value) { return int32_t(counter - value) >= 0; }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A lock on the byte of a rank. It belongs to the open file, so that ranks in one process have their own.
bool lock_operation(int fd, int operation, int rank, short type, bool* taken = nullptr) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  if (fcntl(fd, operation, &lock) != 0) return false;
  if (taken) *taken = lock.l_type != F_UNLCK;
  return true;
}

}  // namespace

std::string SharedMemory::create(int ranks) {
  std::random_device random;
  std::string name = str("/tarn-", int64_t(getpid()), "-", random(), "-", random());
  Descriptor file(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return "";
  // Takes the memory now: a full /dev/shm would otherwise be a SIGBUS later.
  if (posix_fallocate(file.get(), 0, off_t(total_bytes(ranks))) == 0) return name;
  unlink(name);
  return "";
}

std::unique_ptr<SharedMemory> SharedMemory::open(const std::string& name, int rank, int ranks) {
  static_assert(sizeof(RankWords) <= 1024);
  Descriptor file(name.empty() ? -1 : shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!file || !lock_operation(file.get(), F_OFD_SETLK, rank, F_WRLCK)) return nullptr;
  void* memory = mmap(nullptr, total_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  // Fresh memory is zero, which is what all counters begin with.
  auto* layout = static_cast<Layout*>(memory);
  return std::unique_ptr<SharedMemory>(new SharedMemory(rank, ranks, std::move(file), layout));
}

void SharedMemory::unlink(const std::string& name) { shm_unlink(name.c_str()); }

SharedMemory::SharedMemory(int rank, int ranks, Descriptor file, Layout* memory)
    : rank_(rank), ranks_(ranks), file_(std::move(file)), memory_(memory), signatures_(size_t(ranks)) {}

SharedMemory::~SharedMemory() { munmap(memory_, total_bytes(ranks_)); }

char* SharedMemory::slot(int rank, uint32_t chunk) const {
  return reinterpret_cast<char*>(memory_) + head_bytes(ranks_) + (size_t(rank) * 2 + chunk % 2) * kChunk;
}
char* SharedMemory::result(uint32_t chunk) const { return slot(ranks_, chunk); }

void SharedMemory::arrive(std::atomic<uint32_t>& word) {
  word.fetch_add(1, std::memory_order_release);
  futex_wake(word);
}

bool SharedMemory::is_gone(int rank) const {
  bool taken = true;
  return rank != rank_ && lock_operation(file_.get(), F_OFD_GETLK, rank, F_WRLCK, &taken) && !taken;
}

std::optional<int> SharedMemory::find_lost() {
  int known = memory_->lost.load();
  for (int rank = 0; rank < ranks_ && known == 0; ++rank)
    if (is_gone(rank) && memory_->lost.compare_exchange_strong(known, rank + 1)) known = rank + 1;
  return known == 0 ? std::nullopt : std::optional(known - 1);
}

void SharedMemory::wait_for_rank(int rank, std::atomic<uint32_t>& word, uint32_t value,
                                 Clock::time_point deadline) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (reached(word.load(std::memory_order_acquire), value)) return;
    relax();
  }
  for (;;) {
    uint32_t seen = word.load(std::memory_order_acquire);
    if (reached(seen, value)) return;
    auto now = Clock::now();
    if (now >= deadline) throw RankLost{rank, false};
    futex_wait(word, seen, std::min(kLook, std::chrono::ceil<milliseconds>(deadline - now)));
    if (reached(word.load(std::memory_order_acquire), value)) return;
    if (auto lost = find_lost()) throw RankLost{*lost, true};
  }
}

void SharedMemory::wait_for(std::atomic<uint32_t> RankWords::*word, uint32_t value,
                            Clock::time_point deadline) {
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) wait_for_rank(rank, memory_->ranks[rank].*word, value, deadline);
}

const Signature* SharedMemory::meet(const Signature& mine, Clock::time_point deadline) {
  RankWords& own = memory_->ranks[rank_];
  int side = ++meetings_ % 2;
  own.signatures[side] = mine;
  arrive(own.met);
  wait_for(&RankWords::met, meetings_, deadline);
  for (int rank = 0; rank < ranks_; ++rank) signatures_[size_t(rank)] = memory_->ranks[rank].signatures[side];
  return signatures_.data();
}

namespace {

// A place in pieces that only goes forward.
class Cursor {
 public:
  explicit Cursor(const std::vector<SharedMemory::Piece>& pieces) : piece_(pieces.data()) {}
  // Calls f(where, n) for parts of the next `bytes` bytes.
  template <class F>
  void take(size_t bytes, F f) {
    while (bytes > 0) {
      size_t n = std::min(bytes, piece_->bytes - at_);
      f(piece_->data + at_, n);
      bytes -= n;
      at_ += n;
      if (at_ == piece_->bytes) ++piece_, at_ = 0;
    }
  }

 private:
  const SharedMemory::Piece* piece_;
  size_t at_ = 0;
};

}  // namespace

void SharedMemory::all_reduce(const std::vector<Piece>& pieces, size_t element_size,
                              tarn::detail::RankReduction reduction, Clock::time_point deadline) {
  RankWords& own = memory_->ranks[rank_];
  int64_t elements = 0;
  for (const Piece& piece : pieces) elements += int64_t(piece.bytes / element_size);
  const int64_t per_chunk = int64_t(kChunk / element_size);
  const int64_t count = (elements + per_chunk - 1) / per_chunk;
  auto size_of = [&](int64_t c) { return std::min(per_chunk, elements - c * per_chunk); };
  Cursor source(pieces), target(pieces);
  auto copy_in = [&](int64_t c) {
    char* to = slot(rank_, chunks_ + uint32_t(c));
    source.take(size_t(size_of(c)) * element_size, [&](const char* from, size_t n) {
      std::memcpy(to, from, n);
      to += n;
    });
    arrive(own.filled);
  };
  auto copy_out = [&](int64_t c) {
    const char* from = result(chunks_ + uint32_t(c));
    target.take(size_t(size_of(c)) * element_size, [&](char* to, size_t n) {
      std::memcpy(to, from, n);
      from += n;
    });
  };
  std::vector<const void*> in(static_cast<size_t>(ranks_));

  // The next chunk is copied in before this one is waited for: its slot was last read for the chunk before
  // this, whose reduction all ranks have finished.
  if (count > 0) copy_in(0);
  for (int64_t c = 0; c < count; ++c) {
    const uint32_t chunk = chunks_ + uint32_t(c);
    if (c + 1 < count) copy_in(c + 1);
    wait_for(&RankWords::filled, chunk + 1, deadline);

    // Shares are whole cache lines, so that no line is written by two ranks.
    const int64_t line = int64_t(64 / element_size);
    const int64_t lines = (size_of(c) + line - 1) / line;
    const int64_t from = lines * rank_ / ranks_ * line;
    const int64_t to = std::min(lines * (rank_ + 1) / ranks_ * line, size_of(c));
    for (int rank = 0; rank < ranks_; ++rank)
      in[size_t(rank)] = slot(rank, chunk) + from * int64_t(element_size);
    if (from < to) reduction(result(chunk) + from * int64_t(element_size), in.data(), ranks_, to - from);
    arrive(own.reduced);

    wait_for(&RankWords::reduced, chunk + 1, deadline);
    copy_out(c);
  }
  chunks_ += uint32_t(count);
}

tarn::detail::RankReduction rank_reduction(ScalarType dtype, ReduceOp op) {
  const tarn::detail::RankReductionTable* table = &generic::rank_reductions;
#if TARN_HAS_V3
  if (tarn::detail::cpu_isa() == tarn::detail::CpuIsa::V3) table = &v3::rank_reductions;
#endif
#if TARN_HAS_V4
  if (tarn::detail::cpu_isa() == tarn::detail::CpuIsa::V4) table = &v4::rank_reductions;
#endif
  auto row = [&]() -> const tarn::detail::RankReductions& {
    switch (dtype) {
      case kByte:
        return table->u8;
      case kChar:
        return table->i8;
      case kShort:
        return table->i16;
      case kInt:
        return table->i32;
      case kLong:
        return table->i64;
      case kBool:
        return table->boolean;
      case kHalf:
        return table->f16;
      case kBFloat16:
        return table->bf16;
      case kFloat:
        return table->f32;
      case kDouble:
        return table->f64;
      default:
        fail("all_reduce: not implemented for dtype ", dtype);
    }
  };
  return row().ops[int(op)];
}

}  // namespace tarn::inline v1::distributed::detail
