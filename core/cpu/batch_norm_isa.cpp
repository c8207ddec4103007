#include <tarn/core/cpu/batch_norm.h>
#include <tarn/core/cpu/moments.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::BatchNormKernels batch_norm_kernels;

namespace {

using detail::NormChannel;
using detail::NormRow;

// --- planes ---

template <class T>
void plane_stats(const T* x, int64_t count, int64_t step, int64_t size, double* mean, double* squares) {
  Moments all = moments_of(x, count, step, size);
  *mean = all.mean;
  *squares = all.squares;
}

template <class T>
void plane_apply(const T* x, T* y, int64_t count, int64_t step, int64_t size, const NormChannel<T>& c) {
  X<T> high(c.high), low(c.low), scale(c.scale), shift(c.shift);
  for (int64_t p = 0; p < count; ++p)
    for_vectors<T>(size, [&](int64_t i, auto io) {
      int64_t at = p * step + i;
      io.store(y + at, (io.load(x + at) - high - low) * scale + shift);
    });
}

template <class T>
void plane_grad_sums(const T* x, const T* gy, int64_t count, int64_t step, int64_t size,
                     const NormChannel<T>& c, double* sum, double* product) {
  X<T> high(c.high), low(c.low);
  *sum = *product = 0;
  for_blocks(
      count, step, size,
      [&](int64_t at, int64_t length) {
        const T *xs = x + at, *gs = gy + at;
        LaneSums<T> plain, times;
        auto product_at = [&](int64_t i, X<T> g, auto io) { return g * (io.load(xs + i) - high - low); };
        int64_t i = 0;
        for (; i + kSumLanes<T> <= length; i += kSumLanes<T>)
          for (int k = 0; k < plain.kVectors; ++k) {
            int64_t j = i + k * kLanes<T>;
            X<T> g = load<T, kLanes<T>>(gs + j);
            plain.v[k] = plain.v[k] + g;
            times.v[k] = times.v[k] + product_at(j, g, Whole<T>());
          }
        *sum += double(plain.finish(length - i, [&](int64_t r, auto io) { return io.load(gs + i + r); }));
        *product += double(times.finish(
            length - i, [&](int64_t r, auto io) { return product_at(i + r, io.load(gs + i + r), io); }));
      },
      x, gy);
}

template <class T>
void plane_grad_apply(const T* x, const T* gy, T* gx, int64_t count, int64_t step, int64_t size,
                      const NormChannel<T>& c) {
  X<T> high(c.high), low(c.low), scale(c.scale), shift(c.shift), slope(c.slope);
  for (int64_t p = 0; p < count; ++p)
    for_vectors<T>(size, [&](int64_t i, auto io) {
      int64_t at = p * step + i;
      X<T> centred = io.load(x + at) - high - low;
      io.store(gx + at, ((io.load(gy + at) - shift) - centred * slope) * scale);
    });
}

// --- rows: the loop over channels is the inner one ---

template <class T>
void row_stats(const T* x, int64_t rows, int64_t channels, T* sum, T* middle, T* squares) {
  X<T> count{T(rows)};
  for_vectors<T>(channels, [&](int64_t c, auto io) {
    X<T> first = io.load(x + c), sums(0), square_sums(0);
    for (int64_t r = 0; r < rows; ++r) sums = sums + (io.load(x + r * channels + c) - first);
    X<T> centre = first + sums / count;
    for (int64_t r = 0; r < rows; ++r) {
      X<T> d = io.load(x + r * channels + c) - centre;
      square_sums = square_sums + d * d;
    }
    io.store(sum + c, sums);
    io.store(middle + c, centre);
    io.store(squares + c, square_sums);
  });
}

template <class T>
void row_apply(const T* x, T* y, int64_t rows, int64_t channels, const NormRow<T>& n) {
  for (int64_t r = 0; r < rows; ++r)
    for_vectors<T>(channels, [&](int64_t c, auto io) {
      X<T> centred = io.load(x + r * channels + c) - io.load(n.high + c) - io.load(n.low + c);
      io.store(y + r * channels + c, centred * io.load(n.scale + c) + io.load(n.shift + c));
    });
}

template <class T>
void row_grad_sums(const T* x, const T* gy, int64_t rows, int64_t channels, const NormRow<T>& n, T* sum,
                   T* product) {
  for_vectors<T>(channels, [&](int64_t c, auto io) {
    X<T> high = io.load(n.high + c), low = io.load(n.low + c), sums(0), products(0);
    for (int64_t r = 0; r < rows; ++r) {
      X<T> g = io.load(gy + r * channels + c);
      sums = sums + g;
      products = products + g * (io.load(x + r * channels + c) - high - low);
    }
    io.store(sum + c, sums);
    io.store(product + c, products);
  });
}

template <class T>
void row_grad_apply(const T* x, const T* gy, T* gx, int64_t rows, int64_t channels, const NormRow<T>& n) {
  for (int64_t r = 0; r < rows; ++r)
    for_vectors<T>(channels, [&](int64_t c, auto io) {
      int64_t at = r * channels + c;
      X<T> centred = io.load(x + at) - io.load(n.high + c) - io.load(n.low + c);
      X<T> inner = (io.load(gy + at) - io.load(n.shift + c)) - centred * io.load(n.slope + c);
      io.store(gx + at, inner * io.load(n.scale + c));
    });
}

template <class T>
constexpr detail::BatchNormTable<T> kTable = {plane_stats<T>,      plane_apply<T>,   plane_grad_sums<T>,
                                              plane_grad_apply<T>, row_stats<T>,     row_apply<T>,
                                              row_grad_sums<T>,    row_grad_apply<T>};

}  // namespace

const detail::BatchNormKernels batch_norm_kernels = {kTable<float>, kTable<double>};

}  // namespace tarn::inline v1::TARN_ISA
