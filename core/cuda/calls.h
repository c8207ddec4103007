// What libtarn hands to a device kernel: plain structs, one per launcher of the call table. Kernel files
// include this, so it knows nothing of Tensor. Pointers are device addresses, strides count elements. A
// struct that goes to a kernel says by uses(f) which pointers it reads and writes, for the emulated device's
// checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::inline v1::detail {

// ScalarType's numbers.
enum class Elem : int {
  U8 = 0,
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  F16 = 5,
  F32 = 6,
  F64 = 7,
  Bool = 11,
  BF16 = 15,
};

constexpr int kWalkRank = 16;

// How N operands of one shape are stepped through. Dim 0 is the innermost; dims that all operands step
// through like one are merged.
template <int N>
struct Walk {
  int rank = 0;  // 0: one element
  int64_t count = 1;
  int64_t size[kWalkRank] = {};
  int64_t stride[N][kWalkRank] = {};
};

// --- pointwise: a text of pointwise.def. Slots are PointwiseSlot's ---

constexpr int kCallSlots = 5;

// What a row computes in.
enum class Compute : int { F32, F64, I64 };

struct PointwiseCall {
  int row, text;
  Compute compute;
  void* out;
  const void* in[kCallSlots];  // null: not read, or a number
  int64_t number[kCallSlots];  // in the compute type's bytes
  int64_t params[3];           // likewise
  Walk<1 + kCallSlots> walk;   // operand 0 is out
  template <class F>
  void uses(F f) const {
    f(out, true);
    for (const void* p : in)
      if (p) f(p, false);
  }
};

// --- copies with conversion, and fills ---

struct CopyCall {
  void* to;
  const void* from;
  Elem to_type, from_type;
  Walk<2> walk;  // to, from
  template <class F>
  void uses(F f) const {
    f(to, true);
    f(from, false);
  }
};

struct FillCall {
  void* to;
  Elem type;
  double real;      // floating types
  int64_t integer;  // the others
  Walk<1> walk;
  template <class F>
  void uses(F f) const {
    f(to, true);
  }
};

// --- random numbers: out is row-major, element i a function of (seed, offset, i) as on the CPU ---

enum class RandomKind : int { Uniform, Normal, Integer, Bernoulli, Dropout };

struct RandomCall {
  RandomKind kind;
  Elem type;
  void* out;
  const void* in;  // Dropout's
  int64_t count;
  uint64_t seed, offset;
  double a, b;          // Uniform: from, to; Normal: mean, std; Bernoulli and Dropout: p
  uint64_t low, range;  // Integer
  template <class F>
  void uses(F f) const {
    f(out, true);
    if (in) f(in, false);
  }
};

// --- reductions ---

enum class Reducer : int { Sum, Prod, Max, Min, Any, All };

struct ReduceCall {
  Reducer reducer;
  Compute compute;
  void* out;       // of the compute type
  const void* in;  // likewise
  int64_t count;   // reduced elements per output
  int64_t parts;   // pieces that an output's elements are cut into; out then has one number for each of them
  double divide;   // a sum's divisor; 0: none
  Walk<2> kept;    // out, in
  Walk<1> reduced;
  template <class F>
  void uses(F f) const {
    f(out, true);
    f(in, false);
  }
};

// The place (and, if not null, the value) of the largest or smallest of each row; x is (outer, n, inner),
// row-major.
struct PlaceCall {
  bool largest;
  Compute compute;
  int64_t* places;
  void* values;
  const void* in;
  int64_t outer, n, inner;
  template <class F>
  void uses(F f) const {
    f(places, true);
    if (values) f(values, true);
    f(in, false);
  }
};

// --- softmax and its like over n of (outer, n, inner), row-major; a: x, or the gradient; b: null, or y ---

enum class SoftmaxKind : int { Softmax, LogSoftmax, SoftmaxGrad, LogSoftmaxGrad };

struct SoftmaxCall {
  SoftmaxKind kind;
  Compute compute;
  void* out;
  const void *a, *b;
  int64_t outer, n, inner;
  template <class F>
  void uses(F f) const {
    f(out, true);
    f(a, false);
    if (b) f(b, false);
  }
};

// --- cross_entropy: x is (outer, classes, inner), row-major; the others have a number per position ---

struct CrossEntropyCall {
  Compute compute;
  const void* x;
  const int64_t* target;
  const void* weight;  // per class, or null
  void *losses, *weights, *log_sums;
  void *loss, *total;  // what finishes: the loss of all positions, and their weight
  int64_t outer, classes, inner, ignore_index;
  double smoothing;
  int reduction;  // 0: each position's loss, 1: mean, 2: sum
  template <class F>
  void uses(F f) const {
    for (void* p : {losses, weights, log_sums, loss, total})
      if (p) f(p, true);
    f(x, false);
    f(target, false);
    if (weight) f(weight, false);
  }
};

struct CrossEntropyGradCall {
  Compute compute;
  void* out;
  const void *grad, *x;
  const int64_t* target;
  const void *weight, *log_sums, *total;
  int64_t outer, classes, inner, ignore_index;
  double smoothing;
  int reduction;
  template <class F>
  void uses(F f) const {
    f(out, true);
    for (const void* p : {grad, x, static_cast<const void*>(target), weight, log_sums, total})
      if (p) f(p, false);
  }
};

// --- pooling of `planes` row-major planes ---

enum class PoolKind : int {
  Max,      // out, places = the maxima of in's windows
  Average,  // out = their means
  Spread,   // the transpose of Average: in has a number per window, out is the plane
  Scatter,  // the transpose of Gather: out[places[i]] += in[i] over zeros
  Gather,   // out[i] = in[places[i]]
};

struct PoolCall {
  PoolKind kind;
  Compute compute;
  const void* in;
  void* out;
  int64_t* places;
  int64_t planes;
  int64_t plane[2], windows[2];  // heights and widths: of what is pooled, of the windows' grid
  bool adaptive, has_windows;    // without windows Scatter looks at all places
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool count_include_pad;
  int64_t divisor;  // 0: the windows' sizes
  template <class F>
  void uses(F f) const {
    f(in, false);
    f(out, true);
    if (places) f(places, kind == PoolKind::Max);
  }
};

// --- gather, scatter, embedding: x is indexed along one dim, `other` has an element for each index. A line
// is what index, other and x have along that dim, at one place of the other dims ---

enum class IndexKind : int { Gather, Scatter, ScatterAdd };

struct IndexCall {
  IndexKind kind;
  Elem type;
  void* to;          // Gather: other; else x
  const void* from;  // Gather: x; else other
  const int64_t* index;
  int64_t n, index_step, other_step;  // indices per line, and steps along it
  int64_t size, x_step;               // of x along the dim
  int64_t skip;                       // an index that does nothing; -1: none
  Walk<3> lines;                      // index, other, x
  template <class F>
  void uses(F f) const {
    f(to, true);
    f(from, false);
    f(index, false);
  }
};

// --- batch_norm: tensors are (N, C, size), row-major; what there is per channel is double ---

struct BatchNormCall {
  Compute compute;
  const void* x;
  void* y;
  const void *weight, *bias;  // of the compute type, or null
  double *mean, *inverse, *variance;
  int64_t batch, channels, size;
  double eps;
  template <class F>
  void uses(F f) const {
    for (void* p : {y, static_cast<void*>(mean), static_cast<void*>(inverse), static_cast<void*>(variance)})
      f(p, true);
    for (const void* p : {x, weight, bias})
      if (p) f(p, false);
  }
};

// layer_norm over the last `size` elements of each row. Statistics are double, one per row.
struct LayerNormCall {
  Compute compute;
  const void *x, *weight, *bias;
  void* y;
  double *mean, *inverse;
  int64_t rows, size;
  double eps;
  template <class F>
  void uses(F f) const {
    for (void* p : {y, static_cast<void*>(mean), static_cast<void*>(inverse)}) f(p, true);
    for (const void* p : {x, weight, bias})
      if (p) f(p, false);
  }
};

struct LayerNormGradCall {
  Compute compute;
  const void *gy, *x, *weight;
  const double *mean, *inverse;
  void *gx, *gweight, *gbias;
  int64_t rows, size;
  template <class F>
  void uses(F f) const {
    for (void* p : {gx, gweight, gbias}) f(p, true);
    for (const void* p : {gy, x, weight, static_cast<const void*>(mean), static_cast<const void*>(inverse)})
      if (p) f(p, false);
  }
};

// With given statistics, of the compute type.
struct BatchNormEvalCall {
  Compute compute;
  const void* x;
  void* y;
  const void *weight, *bias, *mean, *variance;
  int64_t batch, channels, size;
  double eps;
  template <class F>
  void uses(F f) const {
    f(y, true);
    for (const void* p : {x, weight, bias, mean, variance})
      if (p) f(p, false);
  }
};

struct BatchNormGradCall {
  Compute compute;
  const void *gy, *x, *weight;
  const double *mean, *inverse;
  void *gx, *gweight, *gbias;  // the last two of the compute type
  int64_t batch, channels, size;
  template <class F>
  void uses(F f) const {
    for (void* p : {gx, gweight, gbias}) f(p, true);
    for (const void* p : {gy, x, weight, static_cast<const void*>(mean), static_cast<const void*>(inverse)})
      if (p) f(p, false);
  }
};

// running = running * keep + batch * weight, rounded after each step; strides of running in elements.
struct RunningCall {
  Compute compute;
  void* running[2];  // mean, variance
  int64_t stride[2];
  const double* batch[2];
  double keep, weight[2];
  int64_t channels;
  template <class F>
  void uses(F f) const {
    for (int i = 0; i < 2; ++i) f(running[i], true), f(batch[i], false);
  }
};

// --- library calls: products by cuBLASLt, convolutions by cuDNN ---

// A batch of matrices; one of the last two strides is 1 (or that dim's size is).
struct GemmMatrix {
  const void* data;
  int64_t batch_stride, row_stride, column_stride;
};

// out (batch, m, n), row-major, = alpha * a (m, k) b (k, n) + beta * out, + bias (n) if it is not null.
struct ProductCall {
  Elem type;
  int64_t batch, m, n, k;
  GemmMatrix a, b;
  void* out;
  const void* bias;
  double alpha, beta;
  void* workspace;
  size_t workspace_bytes;
};

enum class ConvKind : int { Forward, InputGrad, WeightGrad };

// y = conv(x, w), of which two are read and the third is written. x (N, C, ...), w (outputs, C / groups,
// ...), y all row-major, or all channels last; `rank` spatial dims, 2 or 3; padding is the same on both
// sides.
struct ConvCall {
  ConvKind kind;
  Elem type;
  int rank;
  bool channels_last;
  int x_sizes[5], w_sizes[5], y_sizes[5];
  int padding[3], stride[3], dilation[3], groups;
  void *x, *w, *y;
  bool accumulate;  // the result is added to what is there
  void* workspace;
  size_t workspace_bytes;
};

// --- optimizers: a launch updates up to kUpdateParams parameters ---

constexpr int kUpdateParams = 64;
constexpr int kUpdateElements = 1024;  // per block

struct UpdateParam {
  void* param;
  const void* grad;
  void* slots[3];
  int64_t n;
  int64_t first_block;
};

// Slots: exp_avg, exp_avg_sq, max_exp_avg_sq (amsgrad).
struct AdamCall {
  Compute compute;
  double lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2_sqrt;
  bool amsgrad, maximize, decoupled;
  int count;
  int64_t blocks;
  UpdateParam params[kUpdateParams];
};

struct SgdCall {
  Compute compute;
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize, first;
  int count;
  int64_t blocks;
  UpdateParam params[kUpdateParams];
};

// --- a kernel that was built at run time, from its text ---

struct BuiltKernelCall {
  const void* kernel;
  int64_t blocks;
  int threads;
  const void* parameters;       // the struct that it takes
  const void* const* pointers;  // in it, of device memory
  const bool* written;
  unsigned long count;
};

}  // namespace tarn::inline v1::detail
