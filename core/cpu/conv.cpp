// The default convolution: per sample and group, the windows as a matrix (im2col) times the weight; with one
// input channel per group (depthwise), the windows are read in place. The tasks depend on the shape alone;
// each runs on one thread.
#include <tarn/core/cpu/conv.h>

#include <tarn/core/cpu/contractions.h>
#include <tarn/core/cpu/im2col.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

// Partial weight gradients, one per run of samples.
constexpr int64_t kMostPartials = 16;

void call_gemm(const GemmCall<float>& call) { contractions().gemm.f32(call); }
void call_gemm(const GemmCall<double>& call) { contractions().gemm.f64(call); }

// The convolution of one group of one sample as matrices.
struct GroupShape {
  int64_t in, out;         // channels
  int64_t depth, columns;  // of the matrix of windows
  bool is_image;           // a 1x1 window: the image is the matrix

  explicit GroupShape(const ConvShape& s)
      : in(s.in_channels / s.groups),
        out(s.out_channels / s.groups),
        depth(in * s.kernel_size()),
        columns(s.out_size()),
        is_image(true) {
    for (int d = 0; d < s.nd; ++d)
      is_image &= s.kernel[d] == 1 && s.stride[d] == 1 && s.pad_low[d] == 0 && s.pad_high[d] == 0;
  }
  int64_t matrix_size() const { return is_image ? 0 : depth * columns; }
};

template <class F>
void for_groups(const ConvShape& s, const GroupShape& g, const F& body) {
  int64_t work = std::max<int64_t>(1, g.out * g.depth * g.columns);
  parallel_for(0, s.batch * s.groups, std::max<int64_t>(1, (1 << 18) / work), body);
}

// --- one input channel: y (out, columns) from image, and its transposes ---

template <class T, class Run>
void for_depthwise_runs(const ConvShape& s, const Run& run) {
  for_matrix_rows(s, 1, [&](int64_t k, int64_t, const int64_t* at) {
    for_window_runs(
        s, at,
        [&](int64_t column, int64_t count, int64_t start, int64_t step) {
          run(k, column, count, start, step);
        },
        [](int64_t, int64_t) {});
  });
}

template <class T>
void depthwise_forward(const ConvShape& s, const GroupShape& g, const T* image, const T* w, T* y) {
  for_depthwise_runs<T>(s, [&](int64_t k, int64_t column, int64_t count, int64_t start, int64_t step) {
    for (int64_t o = 0; o < g.out; ++o) {
      T weight = w[o * g.depth + k];
      T* to = y + o * g.columns + column;
      for (int64_t i = 0; i < count; ++i) to[i] += weight * image[start + i * step];
    }
  });
}

template <class T>
void depthwise_backward_input(const ConvShape& s, const GroupShape& g, const T* gy, const T* w, T* image) {
  std::fill_n(image, s.in_size(), T(0));
  for_depthwise_runs<T>(s, [&](int64_t k, int64_t column, int64_t count, int64_t start, int64_t step) {
    for (int64_t o = 0; o < g.out; ++o) {
      T weight = w[o * g.depth + k];
      const T* from = gy + o * g.columns + column;
      for (int64_t i = 0; i < count; ++i) image[start + i * step] += weight * from[i];
    }
  });
}

template <class T>
void depthwise_backward_weight(const ConvShape& s, const GroupShape& g, const T* image, const T* gy, T* gw) {
  for_depthwise_runs<T>(s, [&](int64_t k, int64_t column, int64_t count, int64_t start, int64_t step) {
    for (int64_t o = 0; o < g.out; ++o) {
      const T* from = gy + o * g.columns + column;
      T sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += from[i] * image[start + i * step];
      gw[o * g.depth + k] += sum;
    }
  });
}

// --- any number of channels ---

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  GroupShape g(s);
  for_groups(s, g, [&](int64_t begin, int64_t end) {
    Scratch<T> matrix(g.matrix_size());
    for (int64_t i = begin; i < end; ++i) {
      int64_t group = i % s.groups;
      const T* image = x + i * g.in * s.in_size();
      const T* weight = w + group * g.out * g.depth;
      T* out = y + i * g.out * g.columns;
      bool add = bias || g.in == 1;
      for (int64_t o = 0; add && o < g.out; ++o)
        std::fill_n(out + o * g.columns, g.columns, bias ? bias[group * g.out + o] : T(0));
      if (g.in == 1) {
        depthwise_forward(s, g, image, weight, out);
        continue;
      }
      if (!g.is_image) im2col(s, g.in, image, matrix.data());
      call_gemm(GemmCall<T>{g.out, g.columns, g.depth, T(1), weight, g.depth, false,
                            g.is_image ? image : matrix.data(), g.columns, false, out, g.columns, add});
    }
  });
}

template <class T>
void backward_input(const ConvShape& s, const T* gy, const T* w, T* gx) {
  GroupShape g(s);
  for_groups(s, g, [&](int64_t begin, int64_t end) {
    Scratch<T> matrix(g.matrix_size());
    for (int64_t i = begin; i < end; ++i) {
      T* image = gx + i * g.in * s.in_size();
      const T* weight = w + i % s.groups * g.out * g.depth;
      const T* from = gy + i * g.out * g.columns;
      if (g.in == 1) {
        depthwise_backward_input(s, g, from, weight, image);
        continue;
      }
      T* product = g.is_image ? image : matrix.data();
      call_gemm(GemmCall<T>{g.depth, g.columns, g.out, T(1), weight, g.depth, true, from, g.columns, false,
                            product, g.columns, false});
      if (!g.is_image) col2im(s, g.in, matrix.data(), image);
    }
  });
}

template <class T>
void backward_weight(const ConvShape& s, const T* x, const T* gy, T* gw) {
  GroupShape g(s);
  int64_t run = (s.batch + kMostPartials - 1) / kMostPartials, runs = (s.batch + run - 1) / run;
  int64_t size = s.weight_size();
  Scratch<T> partial((runs - 1) * size);
  parallel_for(0, runs * s.groups, 1, [&](int64_t begin, int64_t end) {
    Scratch<T> matrix(g.matrix_size());
    for (int64_t task = begin; task < end; ++task) {
      int64_t part = task / s.groups, group = task % s.groups;
      T* sums = (part == 0 ? gw : partial.data() + (part - 1) * size) + group * g.out * g.depth;
      if (g.in == 1) std::fill_n(sums, g.out * g.depth, T(0));
      for (int64_t n = part * run; n < std::min(s.batch, (part + 1) * run); ++n) {
        const T* image = x + (n * s.groups + group) * g.in * s.in_size();
        const T* from = gy + (n * s.groups + group) * g.out * g.columns;
        if (g.in == 1) {
          depthwise_backward_weight(s, g, image, from, sums);
          continue;
        }
        if (!g.is_image) im2col(s, g.in, image, matrix.data());
        call_gemm(GemmCall<T>{g.out, g.depth, g.columns, T(1), from, g.columns, false,
                              g.is_image ? image : matrix.data(), g.columns, true, sums, g.depth,
                              n > part * run});
      }
    }
  });
  for (int64_t part = 0; part + 1 < runs; ++part)
    for (int64_t i = 0; i < size; ++i) gw[i] += partial[part * size + i];
}

// --- channels_last by way of row-major copies ---

// (batch, rows, columns) to (batch, columns, rows).
template <class T>
void transpose(const T* from, int64_t batch, int64_t rows, int64_t columns, T* to) {
  parallel_for(0, batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
          to[(b * columns + c) * rows + r] = from[(b * rows + r) * columns + c];
  });
}

// A row-major copy of a channels_last tensor (batch, channels, size), or memory for one to be written.
template <class T>
class RowMajor {
 public:
  RowMajor(int64_t batch, int64_t channels, int64_t size)
      : batch_(batch), channels_(channels), size_(size), copy_(batch * channels * size) {}
  const T* read(const T* from) const {
    transpose(from, batch_, size_, channels_, copy_.data());
    return copy_.data();
  }
  T* data() const { return copy_.data(); }
  void write(T* to) const { transpose<T>(copy_.data(), batch_, channels_, size_, to); }

 private:
  int64_t batch_, channels_, size_;
  Scratch<T> copy_;
};

template <class T>
struct RowMajorTensors {
  ConvShape shape;
  RowMajor<T> x, w, y;
  explicit RowMajorTensors(const ConvShape& s)
      : shape(s),
        x(s.batch, s.in_channels, s.in_size()),
        w(s.out_channels, s.in_channels / s.groups, s.kernel_size()),
        y(s.batch, s.out_channels, s.out_size()) {
    shape.channels_last = 0;
  }
};

}  // namespace

void conv_forward(const ConvShape& s, ScalarType dtype, const void* x, const void* w, const void* bias,
                  void* y) {
  visit_float(dtype, "conv", [&]<class T>(Type<T>) {
    auto xs = static_cast<const T*>(x), ws = static_cast<const T*>(w), bs = static_cast<const T*>(bias);
    T* ys = static_cast<T*>(y);
    if constexpr (std::is_same_v<T, float>) {
      auto provider = contractions().conv.forward;
      if (provider && provider(s, xs, ws, bs, ys)) return;
    }
    if (!s.channels_last) return forward(s, xs, ws, bs, ys);
    RowMajorTensors<T> rows(s);
    forward(rows.shape, rows.x.read(xs), rows.w.read(ws), bs, rows.y.data());
    rows.y.write(ys);
  });
}

void conv_backward_input(const ConvShape& s, ScalarType dtype, const void* gy, const void* w, void* gx) {
  visit_float(dtype, "conv", [&]<class T>(Type<T>) {
    auto gs = static_cast<const T*>(gy), ws = static_cast<const T*>(w);
    T* xs = static_cast<T*>(gx);
    if constexpr (std::is_same_v<T, float>) {
      auto provider = contractions().conv.backward_input;
      if (provider && provider(s, gs, ws, xs)) return;
    }
    if (!s.channels_last) return backward_input(s, gs, ws, xs);
    RowMajorTensors<T> rows(s);
    backward_input(rows.shape, rows.y.read(gs), rows.w.read(ws), rows.x.data());
    rows.x.write(xs);
  });
}

void conv_backward_weight(const ConvShape& s, ScalarType dtype, const void* x, const void* gy, void* gw) {
  visit_float(dtype, "conv", [&]<class T>(Type<T>) {
    auto xs = static_cast<const T*>(x), gs = static_cast<const T*>(gy);
    T* ws = static_cast<T*>(gw);
    if constexpr (std::is_same_v<T, float>) {
      auto provider = contractions().conv.backward_weight;
      if (provider && provider(s, xs, gs, ws)) return;
    }
    if (!s.channels_last) return backward_weight(s, xs, gs, ws);
    RowMajorTensors<T> rows(s);
    backward_weight(rows.shape, rows.x.read(xs), rows.y.read(gs), rows.w.data());
    rows.w.write(ws);
  });
}

}  // namespace tarn::inline v1::detail
