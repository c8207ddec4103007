#include <tarn/core/cpu/layer_norm.h>
#include <tarn/core/cpu/moments.h>

namespace tarn::inline v1::TARN_ISA {

extern const detail::LayerNormKernels layer_norm_kernels;

namespace {

TARN_INLINE double inverse_root(double x) { return 1 / sqrt(V<double, 1>(x)).v; }

// (x - mean) is (x - high) - low, so that a row of large equal values comes out as the bias.
template <class T>
struct RowCentre {
  T high, low;
  explicit TARN_INLINE RowCentre(double mean) : high(T(mean)), low(T(mean - double(high))) {}
  TARN_INLINE X<T> operator()(X<T> x) const { return x - X<T>(high) - X<T>(low); }
};

template <class T>
void forward(const T* x, const T* weight, const T* bias, double eps, int64_t rows, int64_t size, T* y,
             double* mean, double* inverse) {
  for (int64_t r = 0; r < rows; ++r, x += size, y += size) {
    Moments m = moments_of(x, 1, 0, size);
    mean[r] = m.mean;
    inverse[r] = inverse_root(m.squares / double(size) + eps);
    RowCentre<T> centre(m.mean);
    X<T> scale{T(inverse[r])};
    for_vectors<T>(size, [&](int64_t i, auto io) {
      X<T> n = centre(io.load(x + i)) * scale;
      if (weight) n = n * io.load(weight + i);
      if (bias) n = n + io.load(bias + i);
      io.store(y + i, n);
    });
  }
}

// Sums of h = gy * weight and of h * (x - mean) over a row, block by block.
template <class T>
TARN_INLINE void row_sums(const T* x, const T* gy, const T* weight, const RowCentre<T>& centre, int64_t size,
                          double& sum, double& product) {
  sum = product = 0;
  for_blocks(1, 0, size, [&](int64_t at, int64_t length) {
    LaneSums<T> plain, times;
    auto h_at = [&](int64_t j, auto io) {
      X<T> h = io.load(gy + j);
      return weight ? h * io.load(weight + j) : h;
    };
    int64_t i = 0;
    for (; i + kSumLanes<T> <= length; i += kSumLanes<T>)
      for (int k = 0; k < plain.kVectors; ++k) {
        int64_t j = at + i + k * kLanes<T>;
        X<T> h = h_at(j, Whole<T>());
        plain.v[k] = plain.v[k] + h;
        times.v[k] = times.v[k] + h * centre(load<T, kLanes<T>>(x + j));
      }
    const int64_t end = at + i;
    sum += double(plain.finish(length - i, [&](int64_t r, auto io) { return h_at(end + r, io); }));
    product += double(times.finish(
        length - i, [&](int64_t r, auto io) { return h_at(end + r, io) * centre(io.load(x + end + r)); }));
  });
}

template <class T>
void backward(const T* x, const T* gy, const T* weight, const double* mean, const double* inverse,
              int64_t rows, int64_t size, T* gx, T* gweight, T* gbias) {
  for (int64_t r = 0; r < rows; ++r, x += size, gy += size, gx += size) {
    RowCentre<T> centre(mean[r]);
    double sum, product;
    row_sums(x, gy, weight, centre, size, sum, product);
    X<T> shift{T(sum / double(size))}, scale{T(inverse[r])};
    X<T> slope{T(inverse[r] * inverse[r] * product / double(size))};
    for_vectors<T>(size, [&](int64_t i, auto io) {
      X<T> g = io.load(gy + i), centred = centre(io.load(x + i));
      X<T> h = weight ? g * io.load(weight + i) : g;
      io.store(gx + i, ((h - shift) - centred * slope) * scale);
      if (gweight) io.store(gweight + i, io.load(gweight + i) + g * (centred * scale));
      if (gbias) io.store(gbias + i, io.load(gbias + i) + g);
    });
  }
}

template <class T>
constexpr detail::LayerNormTable<T> kTable = {forward<T>, backward<T>};

}  // namespace

const detail::LayerNormKernels layer_norm_kernels = {kTable<float>, kTable<double>};

}  // namespace tarn::inline v1::TARN_ISA
