// Tensor: a handle to an n-dimensional array with libtorch's semantics. Copying a Tensor copies the handle;
// views alias their base; methods that end in `_` write in place. A default Tensor is undefined: any use but
// defined() is an Error.
//
// Thread rule: any number of threads may read one tensor; a write needs the tensor to itself.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <tarn/core/mode.h>
#include <tarn/core/options.h>
#include <tarn/core/scalar.h>
#include <tarn/core/tensor_impl.h>

namespace tarn::inline v1 {

class Tensor;
class Generator;
using TensorList = ArrayRef<Tensor>;
template <class T, int N>
class TensorAccessor;
namespace indexing {
class TensorIndex;
}
namespace autograd {
struct Node;
}

class TARN_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(detail::Ref<detail::TensorImpl> impl) : impl_(std::move(impl)) {}

  // --- what it is ---
  bool defined() const { return bool(impl_); }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  int64_t dim() const { return get().sizes.size(); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return get().sizes; }
  IntArrayRef strides() const { return get().strides; }
  int64_t size(int64_t d) const { return get().sizes[wrap_dim(d, dim(), "size")]; }
  int64_t stride(int64_t d) const { return get().strides[wrap_dim(d, dim(), "stride")]; }
  int64_t numel() const { return get().numel; }
  bool is_empty() const { return numel() == 0; }
  ScalarType scalar_type() const { return get().dtype; }
  ScalarType dtype() const { return get().dtype; }
  size_t element_size() const { return tarn::element_size(dtype()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return numel() * element_size(); }
  Device device() const { return get().storage->device; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  int64_t get_device() const { return device().index(); }
  // Whether this is CPU memory that a device can copy from and to without waiting.
  bool is_pinned() const;
  bool is_floating_point() const { return is_floating(dtype()); }
  TensorOptions options() const { return TensorOptions(dtype()).device(device()); }
  int64_t storage_offset() const { return get().offset; }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  MemoryFormat suggest_memory_format() const;
  bool is_alias_of(const Tensor& other) const { return get().storage == other.get().storage; }
  std::string toString() const;

  // --- its values ---
  // The address of the first element. The typed form checks the dtype.
  void* data_ptr() const;
  template <class T>
  T* data_ptr() const {
    check(dtype() == dtype_of<T>, "data_ptr: tensor is ", dtype(), ", asked for ", dtype_of<T>);
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  // The value of a tensor of one element.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  // Bounds-unchecked element access, a[i][j]; include <tarn/core/accessor.h>.
  template <class T, int N>
  TensorAccessor<T, N> accessor() const;

  // --- copies and casts ---
  Tensor clone(MemoryFormat format = MemoryFormat::Preserve) const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType type) const { return to(Device(type)); }
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(const TensorOptions& options) const;
  Tensor to(MemoryFormat format) const { return contiguous(format); }
  Tensor to(const Tensor& like) const { return to(like.device(), like.dtype()); }
  Tensor type(ScalarType t) const { return to(t); }
  Tensor type_as(const Tensor& other) const { return to(other); }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  // A copy in pinned memory; x itself if it is there already.
  Tensor pin_memory() const;
  Tensor& copy_(const Tensor& src, bool non_blocking = false) const;
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;
  Tensor& zero_() const;

  // --- views ---
  Tensor view(IntArrayRef sizes) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape(IntArrayRef sizes) const;
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor permute(IntArrayRef dims) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor t() const;
  Tensor mT() const { return transpose(-2, -1); }
  Tensor movedim(int64_t from, int64_t to) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  Tensor ravel() const { return reshape({-1}); }
  Tensor expand(IntArrayRef sizes) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset = {}) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor unfold(int64_t dim, int64_t size, int64_t step) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor detach() const;
  Tensor& detach_() const;
  Tensor alias() const;
  // An alias without history whose writes autograd does not see.
  Tensor data() const;
  Tensor variable_data() const { return data(); }
  void set_data(const Tensor& other) const;

  // --- indexing ---
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor operator[](int64_t i) const { return select(0, i); }
  Tensor operator[](const Tensor& index) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor flip(IntArrayRef dims) const;
  Tensor repeat(IntArrayRef repeats) const;
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const;
  Tensor nonzero() const;

  // --- reductions ---
  Tensor sum(std::optional<ScalarType> dtype = {}) const;
  Tensor sum(IntArrayRef dims, bool keepdim = false, std::optional<ScalarType> dtype = {}) const;
  Tensor mean(std::optional<ScalarType> dtype = {}) const;
  Tensor mean(IntArrayRef dims, bool keepdim = false, std::optional<ScalarType> dtype = {}) const;
  Tensor prod(std::optional<ScalarType> dtype = {}) const;
  Tensor prod(int64_t dim, bool keepdim = false, std::optional<ScalarType> dtype = {}) const;
  Tensor var() const { return var(IntArrayRef{}, true); }
  // A bool and nothing that converts to one: var(1) and var({1}) mean dim 1.
  template <std::same_as<bool> B>
  Tensor var(B unbiased) const {
    return var(IntArrayRef{}, unbiased);
  }
  Tensor var(IntArrayRef dims, bool unbiased = true, bool keepdim = false) const;
  Tensor std() const { return std(IntArrayRef{}, true); }
  template <std::same_as<bool> B>
  Tensor std(B unbiased) const {
    return std(IntArrayRef{}, unbiased);
  }
  Tensor std(IntArrayRef dims, bool unbiased = true, bool keepdim = false) const;
  Tensor norm(const Scalar& p = 2) const;
  Tensor norm(const Scalar& p, IntArrayRef dims, bool keepdim = false) const;
  Tensor logsumexp(IntArrayRef dims, bool keepdim = false) const;
  Tensor amax(IntArrayRef dims = {}, bool keepdim = false) const;
  Tensor amin(IntArrayRef dims = {}, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any() const;
  Tensor any(int64_t dim, bool keepdim = false) const;
  Tensor all() const;
  Tensor all(int64_t dim, bool keepdim = false) const;
  Tensor cumsum(int64_t dim, std::optional<ScalarType> dtype = {}) const;
  Tensor softmax(int64_t dim, std::optional<ScalarType> dtype = {}) const;
  Tensor log_softmax(int64_t dim, std::optional<ScalarType> dtype = {}) const;
  bool equal(const Tensor& other) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;

  // --- contractions ---
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  Tensor mv(const Tensor& other) const;
  Tensor dot(const Tensor& other) const;
  Tensor matmul(const Tensor& other) const;
  Tensor addmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;

  // --- random, in place ---
  Tensor& uniform_(double from = 0, double to = 1) const;
  Tensor& uniform_(double from, double to, const Generator& generator) const;
  Tensor& normal_(double mean = 0, double std = 1) const;
  Tensor& normal_(double mean, double std, const Generator& generator) const;
  Tensor& bernoulli_(double p = 0.5) const;
  Tensor& bernoulli_(double p, const Generator& generator) const;
  Tensor& random_(int64_t from, int64_t to) const;
  Tensor& random_(int64_t from, int64_t to, const Generator& generator) const;

  // --- pointwise: one method, and one in-place method, per row of pointwise.def ---
#include <tarn/core/ops/pointwise_methods.h>

#include <tarn/core/ops/tensor_methods.h>

  // --- autograd; defined in autograd/ ---
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true) const;
  const Tensor& set_requires_grad(bool on) const { return requires_grad_(on); }
  bool is_leaf() const;
  // The accumulated gradient; undefined before the first backward.
  Tensor& mutable_grad() const;
  const Tensor& grad() const;
  void set_grad(const Tensor& grad) const { mutable_grad() = grad; }
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {},
                bool create_graph = false) const;
  void retain_grad() const;
  bool retains_grad() const;
  autograd::Node* grad_fn() const;
  int64_t output_nr() const;
  uint32_t _version() const { return get().storage->version.load(std::memory_order_relaxed); }
  bool is_view() const { return get().view != nullptr; }
  Tensor _base() const;
  bool is_inference() const { return get().has(detail::kInferenceTensor); }
  // Calls hook(grad) when this tensor's gradient is computed; a returned tensor replaces it. Returns the
  // hook's index for remove_hook.
  template <class Hook>
  unsigned register_hook(Hook&& hook) const;
  void remove_hook(unsigned index) const;

  detail::TensorImpl& get() const {
    if (!impl_) [[unlikely]]
      undefined();
    return *impl_;
  }
  const detail::Ref<detail::TensorImpl>& impl() const { return impl_; }

 private:
  [[noreturn]] static void undefined();
  void check_has_data() const;
  detail::Ref<detail::TensorImpl> impl_;
};

namespace detail {
// A new tensor with memory that nobody has written. Strides empty: row-major.
TARN_API Tensor make_tensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device);
inline Tensor make_tensor(IntArrayRef sizes, ScalarType dtype, Device device = {}) {
  return make_tensor(sizes, {}, dtype, device);
}
// Another tensor on `base`'s storage; knows nothing of autograd.
TARN_API Tensor make_alias(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// A tensor over memory of the caller; `deleter(data, bytes, context)` runs when the last alias dies.
TARN_API Tensor make_foreign(void* data, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype,
                             Device device, StorageDeleter deleter, void* context);
// A 0-dim tensor of a C++ number, which yields to other dtypes of its category in type promotion.
TARN_API Tensor wrapped_scalar(const Scalar& value);
}  // namespace detail

}  // namespace tarn::inline v1
