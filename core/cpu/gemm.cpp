// The driver: cuts a product into tiles that depend on its shape alone, fills each tile with beta * c, and
// lets the provider add alpha * a * b to it. A tile is one thread's work, so no result depends on the number
// of threads.
#include <tarn/core/cpu/gemm.h>

#include <algorithm>
#include <optional>

#include <tarn/core/cpu/contractions.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/cuda/contractions.h>
#include <tarn/core/fault.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

// Multiply-adds below which handing work to another thread costs more than it saves.
constexpr int64_t kSmallWork = 1 << 19;
constexpr int64_t kLargeWork = 1 << 26;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Tiling {
  int64_t m, n, k;  // extents of a tile
};

// Halves a tile extent, to a multiple of what providers' inner kernels take whole (16 columns of 16 lanes, 48
// rows).
int64_t halve(int64_t extent) { return ceil_div(ceil_div(extent, 2), 48) * 48; }

Tiling choose_tiling(int64_t batch, int64_t m, int64_t n, int64_t k) {
  Tiling t{m, n, k};
  auto tiles = [&] { return batch * ceil_div(m, t.m) * ceil_div(n, t.n); };
  auto work = [&] { return t.m * t.n * t.k; };
  while (std::max(t.m, t.n) > 96 &&
         ((tiles() < 16 && work() > 2 * kSmallWork) || (tiles() < 64 && work() > kLargeWork))) {
    int64_t& longer = t.n >= t.m ? t.n : t.m;
    longer = halve(longer);
  }
  // A small result of a long sum, as in weight gradients: the sum is cut too.
  if (tiles() <= 4 && k >= 4096 && work() > 4 * kSmallWork) t.k = std::max<int64_t>(1024, ceil_div(k, 16));
  return t;
}

// An operand as providers take it: dense rows or dense columns.
template <class T>
struct Operand {
  const T* data;
  int64_t batch_stride, leading;
  bool transposed;
};

template <class T>
std::optional<Operand<T>> as_is(const MatrixBatch& x, int64_t rows, int64_t cols) {
  const T* data = static_cast<const T*>(x.data);
  bool dense_rows = (x.col_stride == 1 || cols == 1) && (x.row_stride >= cols || rows == 1);
  if (dense_rows)
    return Operand<T>{data, x.batch_stride, rows == 1 ? std::max<int64_t>(cols, 1) : x.row_stride, false};
  bool dense_cols = (x.row_stride == 1 || rows == 1) && (x.col_stride >= rows || cols == 1);
  if (dense_cols)
    return Operand<T>{data, x.batch_stride, cols == 1 ? std::max<int64_t>(rows, 1) : x.col_stride, true};
  return {};
}

// Copies (and converts) a batch of any strides to dense rows.
template <class To, class From>
void pack(const MatrixBatch& x, int64_t batch, int64_t rows, int64_t cols, To* to) {
  const From* from = static_cast<const From*>(x.data);
  parallel_for(0, batch * rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(cols, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const From* row = from + r / rows * x.batch_stride + r % rows * x.row_stride;
                   for (int64_t c = 0; c < cols; ++c) to[r * cols + c] = To(row[c * x.col_stride]);
                 }
               });
}

// An operand ready for providers, with the memory of its copy if one was needed.
template <class T>
class Prepared {
 public:
  Prepared(const MatrixBatch& x, int64_t batch, int64_t rows, int64_t cols) {
    if (auto direct = as_is<T>(x, rows, cols)) {
      operand_ = *direct;
      return;
    }
    int64_t batches = x.batch_stride == 0 ? 1 : batch;
    copy_.emplace(batches * rows * cols);
    pack<T, T>(x, batches, rows, cols, copy_->data());
    operand_ = {copy_->data(), batches == 1 ? 0 : rows * cols, std::max<int64_t>(cols, 1), false};
  }
  const Operand<T>* operator->() const { return &operand_; }

 private:
  std::optional<Scratch<T>> copy_;
  Operand<T> operand_;
};

bool reads_c(const GemmProblem& p) { return p.c.data && p.beta != 0; }

// Fills one tile of the result with beta * c.
template <class T>
void start_tile(const GemmProblem& p, int64_t b, int64_t i0, int64_t j0, int64_t rows, int64_t cols, T* tile,
                int64_t row_stride) {
  const T beta = fault(21) ? T(1) : T(p.beta);
  for (int64_t i = 0; i < rows; ++i) {
    T* out = tile + i * row_stride;
    const T* in = static_cast<const T*>(p.c.data) + b * p.c.batch_stride + (i0 + i) * p.c.row_stride +
                  j0 * p.c.col_stride;
    if (p.c.col_stride == 1) {
      for (int64_t j = 0; j < cols; ++j) out[j] = beta * in[j];
    } else {
      for (int64_t j = 0; j < cols; ++j) out[j] = beta * in[j * p.c.col_stride];
    }
  }
}

void call_provider(const GemmCall<float>& call) { contractions().gemm.f32(call); }
void call_provider(const GemmCall<double>& call) { contractions().gemm.f64(call); }

template <class T>
class Run {
 public:
  Run(const GemmProblem& p)
      : p_(p),
        a_(p.a, p.batch, p.m, p.k),
        b_(p.b, p.batch, p.k, p.n),
        tile_(choose_tiling(p.batch, p.m, p.n, p.k)) {}

  void operator()() {
    splits_ = ceil_div(p_.k, tile_.k);
    if (splits_ > 1) partial_.emplace((splits_ - 1) * p_.batch * p_.m * p_.n);
    tiles_m_ = ceil_div(p_.m, tile_.m);
    tiles_n_ = ceil_div(p_.n, tile_.n);
    int64_t tasks = p_.batch * tiles_m_ * tiles_n_ * splits_;
    int64_t grain = std::max<int64_t>(1, kSmallWork / (tile_.m * tile_.n * tile_.k));
    parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) run_task(task);
    });
    if (splits_ > 1) add_partials();
  }

 private:
  void run_task(int64_t task) {
    int64_t split = task % splits_, rest = task / splits_;
    int64_t j0 = rest % tiles_n_ * tile_.n, i0 = rest / tiles_n_ % tiles_m_ * tile_.m,
            b = rest / tiles_n_ / tiles_m_;
    int64_t rows = std::min(tile_.m, p_.m - i0), cols = std::min(tile_.n, p_.n - j0);
    int64_t k0 = split * tile_.k, depth = std::min(tile_.k, p_.k - k0);
    // The first split goes to the result itself, over beta * c.
    T* whole = split == 0 ? static_cast<T*>(p_.out) : partial_->data() + (split - 1) * p_.batch * p_.m * p_.n;
    T* tile = whole + (b * p_.m + i0) * p_.n + j0;
    bool accumulate = split == 0 && reads_c(p_);
    if (accumulate) start_tile(p_, b, i0, j0, rows, cols, tile, p_.n);
    const T* a =
        a_->data + b * a_->batch_stride + (a_->transposed ? k0 * a_->leading + i0 : i0 * a_->leading + k0);
    const T* bb =
        b_->data + b * b_->batch_stride + (b_->transposed ? j0 * b_->leading + k0 : k0 * b_->leading + j0);
    call_provider(GemmCall<T>{rows, cols, depth, T(p_.alpha), a, a_->leading, a_->transposed, bb, b_->leading,
                              b_->transposed, tile, p_.n, accumulate});
  }

  void add_partials() {
    int64_t size = p_.batch * p_.m * p_.n;
    T* out = static_cast<T*>(p_.out);
    parallel_for(0, size, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t s = 0; s + 1 < splits_ - fault(22); ++s) {
        const T* part = partial_->data() + s * size;
        for (int64_t i = begin; i < end; ++i) out[i] += part[i];
      }
    });
  }

  const GemmProblem& p_;
  Prepared<T> a_, b_;
  Tiling tile_;
  int64_t splits_ = 1, tiles_m_ = 1, tiles_n_ = 1;
  std::optional<Scratch<T>> partial_;
};

// The sum over an empty k.
template <class T>
void only_c(const GemmProblem& p) {
  T* out = static_cast<T*>(p.out);
  if (!reads_c(p)) {
    std::fill(out, out + p.batch * p.m * p.n, T(0));
    return;
  }
  for (int64_t b = 0; b < p.batch; ++b) start_tile(p, b, 0, 0, p.m, p.n, out + b * p.m * p.n, p.n);
}

template <class T>
void gemm_float(const GemmProblem& p) {
  if (p.k == 0) return only_c<T>(p);
  Run<T>{p}();
}

// Through float: 16-bit sums would stop counting.
template <class T>
void gemm_half(const GemmProblem& p) {
  Scratch<float> a(p.batch * p.m * p.k), b(p.batch * p.k * p.n), out(p.batch * p.m * p.n);
  Scratch<float> c(reads_c(p) ? p.batch * p.m * p.n : 0);
  pack<float, T>(p.a, p.batch, p.m, p.k, a.data());
  pack<float, T>(p.b, p.batch, p.k, p.n, b.data());
  if (reads_c(p)) pack<float, T>(p.c, p.batch, p.m, p.n, c.data());
  GemmProblem f = p;
  f.dtype = kFloat;
  f.a = {a.data(), p.m * p.k, p.k, 1};
  f.b = {b.data(), p.k * p.n, p.n, 1};
  f.c = {c.data(), p.m * p.n, p.n, 1};
  f.out = out.data();
  gemm_float<float>(f);
  pack<T, float>({out.data(), p.m * p.n, p.n, 1}, p.batch, p.m, p.n, static_cast<T*>(p.out));
}

// Integers, the plain way. uint64 wraps, and its low bits are those of every narrower type.
template <class T>
void gemm_integer(const GemmProblem& p) {
  const T* a = static_cast<const T*>(p.a.data);
  const T* b = static_cast<const T*>(p.b.data);
  const T* c = static_cast<const T*>(p.c.data);
  int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, p.n * p.k));
  parallel_for(0, p.batch * p.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t batch = r / p.m, i = r % p.m;
      for (int64_t j = 0; j < p.n; ++j) {
        uint64_t sum = 0;
        const T* x = a + batch * p.a.batch_stride + i * p.a.row_stride;
        const T* y = b + batch * p.b.batch_stride + j * p.b.col_stride;
        for (int64_t l = 0; l < p.k; ++l)
          sum += uint64_t(x[l * p.a.col_stride]) * uint64_t(y[l * p.b.row_stride]);
        sum *= uint64_t(int64_t(p.alpha));
        if (reads_c(p))
          sum += uint64_t(int64_t(p.beta)) *
                 uint64_t(c[batch * p.c.batch_stride + i * p.c.row_stride + j * p.c.col_stride]);
        static_cast<T*>(p.out)[r * p.n + j] = T(sum);
      }
    }
  });
}

}  // namespace

void gemm(const GemmProblem& p) {
  if (!p.device.is_cpu()) return gemm_cuda(p);
  if (p.batch * p.m * p.n == 0) return;
  switch (p.dtype) {
    case kFloat:
      return gemm_float<float>(p);
    case kDouble:
      return gemm_float<double>(p);
    case kHalf:
      return gemm_half<Half>(p);
    case kBFloat16:
      return gemm_half<BFloat16>(p);
    case kByte:
      return gemm_integer<uint8_t>(p);
    case kChar:
      return gemm_integer<int8_t>(p);
    case kShort:
      return gemm_integer<int16_t>(p);
    case kInt:
      return gemm_integer<int32_t>(p);
    case kLong:
      return gemm_integer<int64_t>(p);
    default:
      fail("gemm: not implemented for dtype ", p.dtype);
  }
}

}  // namespace tarn::inline v1::detail
