// Op: one operator as one struct, written in one file (design: core/ops/<name>.cpp holds shape rule, kernel,
// gradient, Op, public function, in this order). dispatch() is the only caller of its functions.
//
//   infer(const Args& a, Spec* out)   sizes, dtype, device of each output; checks the user's arguments, once
//   cpu(const Args& a, Tensor* out)   computes into outputs that dispatch() allocated
//   cuda(const Args& a, Tensor* out)  the same on a device, by the kernels of foo.cu (core/cuda/table.h)
//   grad(GradArgs& g)                 gradients of the inputs, written with public ops
#pragma once

#include <initializer_list>
#include <type_traits>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::detail {

inline constexpr int kMaxOutputs = 4;

enum class Kind : uint8_t {
  Opaque,       // nothing is known: the compile layer calls the eager kernel
  Pointwise,    // out[i] = f(in[i]...), with broadcasting
  Reduce,       // identity and combine over some dims
  View,         // an index map: infer gives sizes, strides and offset; no kernel, no memory
  Contraction,  // matmul, conv
};

// What autocast does with an op's floating inputs, doubles aside; see core/autocast.h.
enum class Autocast : uint8_t {
  None,     // runs in whatever dtype comes
  Lower,    // casts to the scope's dtype: contractions, where it pays
  Float32,  // casts to float: losses and the like, where bfloat16 is too coarse
  Widest,   // casts to the widest dtype among them: for an op that wants one dtype
};

// One input. An undefined tensor stands for an optional input that was not given.
struct In {
  const Tensor* tensor;
  In(const Tensor& t) : tensor(&t) {}
  const Tensor& operator*() const { return *tensor; }
};
using Inputs = ArrayRef<In>;

// The op's attributes as bytes: what traces compare. Use int64_t fields, so that there is no padding.
struct Attrs {
  const void* data = nullptr;
  uint32_t size = 0;
  Attrs() = default;
  template <class A>
  Attrs(const A& a) : data(&a), size(sizeof(A)) {
    static_assert(
        std::is_trivially_copyable_v<A> && std::has_unique_object_representations_v<A>,
        "attributes must be plain int64_t fields; floats that do not decide shape or kernel are scalars");
  }
};

// Run-time numbers: a compiled plan takes them as arguments, they are never baked in.
using Scalars = ArrayRef<Scalar>;

struct Op;

struct Args {
  const Op& op;
  Inputs inputs;
  Attrs attributes;
  Scalars scalars;
  bool inplace = false;  // out[0] is inputs[0]

  const Tensor& operator[](size_t i) const { return *inputs[i]; }
  int count() const { return int(inputs.size()); }
  const Scalar& scalar(size_t i = 0) const { return scalars[i]; }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes.data);
  }
};

struct Spec {
  Dims sizes;
  Dims strides;  // empty: row-major
  ScalarType dtype = kFloat;
  Device device;
  int64_t offset = 0;  // views only
};

// Which tensors the gradient reads. `save_input(0) | save_output(0)`.
using Saves = uint32_t;
constexpr Saves save_input(int i) { return 1u << i; }
constexpr Saves save_output(int i = 0) { return 1u << (24 + i); }
inline constexpr Saves kSaveAllInputs = 1u << 23;

// What a gradient function sees. It sets a gradient for each input that needs one; it may return any shape
// that broadcasting made (autograd sums it back) and any floating dtype (autograd casts it back).
class TARN_API GradArgs {
 public:
  // The gradient of an output; always defined for an op with one output, else undefined where it was not
  // used.
  const Tensor& grad(int i = 0) const { return grads[i]; }
  const Tensor& input(int i) const {
    ensure(saved_inputs[i].defined(), name, ": input ", i, " was not saved");
    return saved_inputs[i];
  }
  bool has_input(int i) const { return saved_inputs[i].defined(); }
  const Tensor& output(int i = 0) const {
    ensure(saved_outputs[i].defined(), name, ": output ", i, " was not saved");
    return saved_outputs[i];
  }
  // Known for the inputs that need a gradient.
  const Dims& input_sizes(int i) const { return *sizes[i]; }
  ScalarType input_dtype(int i) const { return dtypes[i]; }
  int inputs() const { return input_count; }
  bool needs(int i) const { return need[i]; }
  const Scalar& scalar(int i = 0) const { return scalars[i]; }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes.data);
  }
  void set(int i, Tensor gradient) { results[i] = std::move(gradient); }

  // Filled by autograd; arrays of input_count (grads, saved_outputs: of the op's outputs).
  const char* name = "";
  const Tensor* grads = nullptr;
  const Tensor* saved_inputs = nullptr;
  const Tensor* saved_outputs = nullptr;
  const Dims* const* sizes = nullptr;
  const ScalarType* dtypes = nullptr;
  const bool* need = nullptr;
  Tensor* results = nullptr;
  int input_count = 0;
  Attrs attributes;
  Scalars scalars;
};

// Inputs [begin, end) of a call.
struct InputRange {
  int begin, end;
};

struct Op {
  const char* name;
  Kind kind = Kind::Opaque;
  void (*infer)(const Args& a, Spec* out);
  void (*cpu)(const Args& a, Tensor* out) = nullptr;
  void (*cuda)(const Args& a, Tensor* out) = nullptr;  // the same on a device: launches from the call table
  void (*grad)(GradArgs& g) = nullptr;                 // null: not differentiable
  Saves saves = 0;
  // If not null: what the gradients of just these inputs (bit i: input i needs one) read. Keeps x out of
  // memory when only the weight is trained.
  Saves (*saves_for)(uint32_t needs) = nullptr;
  uint8_t outputs = 1;            // 0 where `writes` is set
  uint8_t differentiable = 0xff;  // bit i: output i takes part in autograd
  bool inplace = false;           // the kernel can write over inputs[0] (pointwise, copy, index_put)
  // Not null: the op has no outputs and writes these of its inputs (an optimizer's step); see
  // dispatch_mutate(). Its infer only checks.
  InputRange (*writes)(const Args& a) = nullptr;
  bool absolute = false;       // View: infer takes the offset from the attributes, not from the input
  const void* text = nullptr;  // pointwise: the row of pointwise.def, for compile
  Autocast autocast = Autocast::None;
};

}  // namespace tarn::inline v1::detail
