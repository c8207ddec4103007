// Indexing with tensors. x.index({...}) first takes what views can give (integers, slices, None, Ellipsis);
// what remains are index tensors for some dims. Those dims are moved to the front, so that the two ops below
// have one simple form:
//   index:     out[p, rest...] = x[i0[p], i1[p], ..., rest...]
//   index_put: x[i0[p], i1[p], ..., rest...] = values[p, rest...]
#include <tarn/core/ops/indexing.h>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cpu/strided.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct PutAttrs {
  int64_t accumulate;
};

// Sizes of x after its first `indexed` dims.
IntArrayRef rest_of(IntArrayRef dims, int indexed) { return dims.slice(size_t(indexed)); }

// For each position of the index tensors, where its row of x begins. Checks every index.
std::vector<int64_t> row_offsets(const Args& a, int first_index) {
  const Tensor& x = a[0];
  const int64_t count = a[first_index].numel();
  std::vector<int64_t> offsets(size_t(count), 0);
  for (int k = first_index; k < a.count(); ++k) {
    const int64_t* index = static_cast<const int64_t*>(a[k].data_ptr());
    int64_t size = x.sizes()[k - first_index], stride = x.strides()[k - first_index];
    for (int64_t p = 0; p < count; ++p) {
      int64_t i = index[p];
      check(i >= -size && i < size, a.op.name, ": index ", i, " is outside of a dim of size ", size,
            "; x has sizes ", x.sizes(), " with the indexed dims in front");
      offsets[size_t(p)] += (i >= 0 ? i : fault(13) ? 0 : i + size) * stride;
    }
  }
  return offsets;
}

// --- index: inputs x, then one Long tensor per leading dim, all of one shape and row-major ---

void index_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->sizes = a[1].sizes();
  for (int64_t s : rest_of(a[0].sizes(), a.count() - 1)) out->sizes.push_back(s);
}

// On a device: the place of each row of x as a matrix (places of the indexed dims, the rest); -1 where an
// index lies outside, for which a kernel gives NaN or writes nothing.
Tensor flat_rows(const Args& a, int first_index) {
  NoGradGuard no_grad;
  Tensor rows, outside;
  for (int k = first_index; k < a.count(); ++k) {
    int64_t size = a[0].sizes()[k - first_index];
    Tensor wrong = logical_or(lt(a[k], -size), ge(a[k], size));
    Tensor place = where(lt(a[k], 0), add(a[k], size), a[k]);
    rows = rows.defined() ? add(mul(rows, size), place) : place;
    outside = outside.defined() ? logical_or(outside, wrong) : wrong;
  }
  return contiguous(reshape(masked_fill(rows, outside, -1), {-1}));
}

// x, row-major, as that matrix.
Tensor as_rows(const Tensor& x, int indexed) {
  int64_t width = numel_of(rest_of(x.sizes(), indexed), "index");
  return make_alias(x, {width ? x.numel() / width : 0, width}, {width, 1}, x.storage_offset());
}

void index_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor x = row_major(a[0], a[0].dtype()), target = row_major_output(*out, out->dtype());
  Tensor rows = flat_rows(a, 1);
  int64_t width = target.numel() / rows.numel();
  index_rows_cuda("index", IndexKind::Gather, as_rows(x, a.count() - 1), rows,
                  make_alias(target, {rows.numel(), width}, {width, 1}, target.storage_offset()), -1);
  finish_output(*out, target);
}

void index_put_cuda(const Args& a, Tensor* out) {
  if (!a.inplace) copy_elements(*out, a[0]);
  if (a[1].numel() == 0) return;
  bool accumulate = a.attrs<PutAttrs>().accumulate;
  // Sums are made in the compute type.
  ScalarType dtype = accumulate ? compute_dtype_of(out->dtype()) : out->dtype();
  Tensor target = row_major(*out, dtype), values = row_major(a[1], dtype), rows = flat_rows(a, 2);
  int64_t width = values.numel() / rows.numel();
  index_rows_cuda("index_put", accumulate ? IndexKind::ScatterAdd : IndexKind::Scatter,
                  as_rows(target, a.count() - 2), rows,
                  make_alias(values, {rows.numel(), width}, {width, 1}, values.storage_offset()), -1);
  finish_output(*out, target);
}

void index_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  const int indexed = a.count() - 1;
  std::vector<int64_t> offsets = row_offsets(a, 1);
  IntArrayRef rest = rest_of(a[0].sizes(), indexed);
  Dims dense = contiguous_strides(rest);
  StridedLoop<2> loop(rest, {IntArrayRef(dense), rest_of(a[0].strides(), indexed)});
  const int64_t row = numel_of(rest, "index");
  visit_bytes(a[0].dtype(), [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out->data_ptr());
    const T* from = static_cast<const T*>(a[0].data_ptr());
    parallel_for(0, int64_t(offsets.size()), std::max<int64_t>(1, (1 << 15) / row),
                 [&](int64_t b, int64_t e) {
                   for (int64_t p = b; p < e; ++p)
                     loop.for_rows(0, loop.rows(), [&](const auto& at) {
                       T* dst = to + p * row + at[0];
                       const T* src = from + offsets[size_t(p)] + at[1];
                       for (int64_t i = 0; i < loop.row_length(); ++i)
                         dst[i * loop.stride(0, 0)] = src[i * loop.stride(1, 0)];
                     });
                 });
  });
}

// The index tensors alone: inputs `first` and later.
constexpr Saves saves_from(int first) { return kSaveAllInputs - save_input(first); }

void index_grad(GradArgs& g);

const Op index_op = {.name = "index",
                     .infer = index_infer,
                     .cpu = index_cpu,
                     .cuda = index_cuda,
                     .grad = index_grad,
                     .saves = saves_from(1)};

// --- index_put: inputs x, values (shape of index's result), then the index tensors ---

void index_put_cpu(const Args& a, Tensor* out) {
  if (!a.inplace) copy_elements(*out, a[0]);
  const int indexed = a.count() - 2;
  if (a[1].numel() == 0) return;
  std::vector<int64_t> offsets;
  {
    // Offsets are into out, whose strides may differ from those of a[0].
    std::vector<In> inputs(a.inputs.begin(), a.inputs.end());
    inputs[0] = In(*out);
    offsets = row_offsets(Args{a.op, inputs, a.attributes, a.scalars}, 2);
  }
  Tensor values = contiguous(a[1]);
  IntArrayRef rest = rest_of(a[0].sizes(), indexed);
  Dims dense = contiguous_strides(rest);
  StridedLoop<2> loop(rest, {rest_of(out->strides(), indexed), IntArrayRef(dense)});
  const int64_t row = numel_of(rest, "index_put");
  const bool accumulate = a.attrs<PutAttrs>().accumulate;
  visit(a[0].dtype(), "index_put_", [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out->data_ptr());
    const T* from = static_cast<const T*>(values.data_ptr());
    for (size_t p = 0; p < offsets.size(); ++p)  // in order: the same index may come twice
      loop.for_rows(0, loop.rows(), [&](const auto& at) {
        T* dst = to + offsets[p] + at[0];
        const T* src = from + int64_t(p) * row + at[1];
        for (int64_t i = 0; i < loop.row_length(); ++i) {
          T& place = dst[i * loop.stride(0, 0)];
          T value = src[i * loop.stride(1, 0)];
          if constexpr (std::is_integral_v<T>)
            place = accumulate ? T(uint64_t(place) + uint64_t(value)) : value;  // wraps
          else
            place = accumulate ? T(place + value) : value;
        }
      });
  });
}

Tensor index_front(const Tensor& x, const std::vector<Tensor>& indices) {
  std::vector<In> inputs{x};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return dispatch(index_op, inputs);
}

void index_put_grad(GradArgs& g);

const Op index_put_op = {.name = "index_put",
                         .infer = infer_like_first,
                         .cpu = index_put_cpu,
                         .cuda = index_put_cuda,
                         .grad = index_put_grad,
                         .saves = saves_from(2),
                         .inplace = true};

Tensor index_put_front(const Tensor& x, const Tensor& values, const std::vector<Tensor>& indices,
                       bool accumulate, bool inplace) {
  std::vector<In> inputs{x, values};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  PutAttrs attrs{accumulate};
  if (!inplace) return dispatch(index_put_op, inputs, attrs);
  dispatch_inplace(index_put_op, inputs, attrs);
  return x;
}

std::vector<Tensor> saved_indices(const GradArgs& g, int first) {
  std::vector<Tensor> indices;
  for (int k = first; k < g.inputs(); ++k) indices.push_back(g.input(k));
  return indices;
}

Tensor zeros_of(IntArrayRef sizes, const Tensor& like) {
  Tensor out = make_tensor(sizes, like.dtype(), like.device());
  fill_elements(out, 0);
  return out;
}

void index_grad(GradArgs& g) {
  g.set(0, index_put_front(zeros_of(g.input_sizes(0), g.grad()), g.grad(), saved_indices(g, 1), true, false));
}

void index_put_grad(GradArgs& g) {
  std::vector<Tensor> indices = saved_indices(g, 2);
  bool accumulate = g.attrs<PutAttrs>().accumulate;
  Tensor at = index_front(g.grad(), indices);
  if (g.needs(0))
    g.set(0,
          accumulate ? g.grad() : index_put_front(g.grad(), zeros_of(at.sizes(), at), indices, false, false));
  if (g.needs(1)) g.set(1, at);
}

// --- from what the user wrote to the two ops ---

struct Indexed {
  Tensor x;                     // after integers, slices, None and Ellipsis
  Dims dims;                    // the dims of x that have index tensors, ascending
  std::vector<Tensor> indices;  // Long, row-major, one shape
};

int dims_taken(const indexing::TensorIndex& i) {
  using Kind = indexing::TensorIndex::Kind;
  switch (i.kind()) {
    case Kind::Integer:
    case Kind::Slice:
      return 1;
    case Kind::Tensor:
      return i.tensor().dtype() == kBool || i.tensor().dtype() == kByte ? int(i.tensor().dim()) : 1;
    default:
      return 0;
  }
}

// A mask stands for the places where it is true, one index tensor per dim of the mask.
void add_mask(Indexed& out, const Tensor& mask, int dim) {
  for (int d = 0; d < mask.dim(); ++d)
    check(dim + d < out.x.dim() && mask.sizes()[d] == out.x.sizes()[dim + d], "index: a mask of sizes ",
          mask.sizes(), " does not fit a tensor of sizes ", out.x.sizes(), " at dim ", dim);
  Tensor places = nonzero(mask);
  for (int d = 0; d < mask.dim(); ++d) {
    out.dims.push_back(dim + d);
    out.indices.push_back(contiguous(select(places, 1, d)));
  }
}

// Takes one place of the index; returns the dim of out.x that the next place is about.
int take(Indexed& out, const indexing::TensorIndex& place, int dim, int left) {
  using Kind = indexing::TensorIndex::Kind;
  Tensor& x = out.x;
  switch (place.kind()) {
    case Kind::None:
      x = unsqueeze(x, dim);
      return dim + 1;
    case Kind::Ellipsis:
      return int(x.dim()) - left;
    case Kind::Integer:
      x = select(x, dim, place.integer());
      return dim;
    case Kind::Slice: {
      const auto& s = place.slice();
      bool whole = !s.start && !s.stop && s.step == 1;
      if (!whole) x = slice(x, dim, s.start, s.stop, s.step);
      return dim + 1;
    }
    case Kind::Boolean: {
      x = unsqueeze(x, dim);
      out.dims.push_back(dim);
      out.indices.push_back(zeros_of({place.integer() ? 1 : 0}, make_tensor({}, kLong)));
      return dim + 1;
    }
    case Kind::Tensor:
      break;
  }
  const Tensor& t = place.tensor();
  if (t.dtype() == kBool || t.dtype() == kByte) {
    add_mask(out, t, dim);
    return dim + int(t.dim());
  }
  check(is_integral(t.dtype()), "index: index tensors must be integer or Bool, got ", t.dtype());
  out.dims.push_back(dim);
  out.indices.push_back(cast(t, kLong));
  return dim + 1;
}

void broadcast_indices(Indexed& out) {
  Dims shape;
  for (const Tensor& t : out.indices) shape = broadcast_sizes(shape, t.sizes(), "index");
  for (Tensor& t : out.indices) t = contiguous(expand(t, shape));
}

Indexed resolve(const char* op, const Tensor& x, ArrayRef<indexing::TensorIndex> places) {
  using Kind = indexing::TensorIndex::Kind;
  int left = 0, ellipses = 0;
  for (const auto& p : places) {
    left += dims_taken(p);
    ellipses += p.kind() == Kind::Ellipsis;
  }
  check(ellipses <= 1, op, ": only one Ellipsis may stand in an index");
  check(left <= x.dim(), op, ": an index for ", left, " dims is too long for a tensor of sizes ", x.sizes());
  Indexed out{x, {}, {}};
  int dim = 0;
  for (const auto& p : places) {
    left -= dims_taken(p);
    dim = take(out, p, dim, p.kind() == Kind::Ellipsis ? left : 0);
  }
  broadcast_indices(out);
  return out;
}

bool adjacent(const Dims& dims) { return dims.empty() || dims.back() - dims[0] == dims.size() - 1; }

Tensor indexed_dims_first(const Tensor& x, const Dims& dims) {
  Dims order = dims;
  uint32_t taken = 0;
  for (int64_t d : dims) taken |= 1u << d;
  for (int d = 0; d < x.dim(); ++d)
    if (!(taken >> d & 1)) order.push_back(d);
  return permute(x, order);
}

// Where a result (index shape, rest) has to have its index shape: at the first indexed dim if they are
// neighbours, else in front. Returns the permutation from the front form to the final form.
Dims final_order(const Indexed& in) {
  int index_rank = int(in.indices[0].dim()), rest = int(in.x.dim()) - in.dims.size();
  int before = adjacent(in.dims) ? int(in.dims[0]) : 0;
  Dims order;
  for (int i = 0; i < before; ++i) order.push_back(index_rank + i);
  for (int i = 0; i < index_rank; ++i) order.push_back(i);
  for (int i = before; i < rest; ++i) order.push_back(index_rank + i);
  return order;
}

Tensor take_indexed(const Indexed& in) {
  return permute(index_front(indexed_dims_first(in.x, in.dims), in.indices), final_order(in));
}

void put_indexed(const Indexed& in, const Tensor& value, bool accumulate) {
  Tensor front = indexed_dims_first(in.x, in.dims);
  Dims order = final_order(in), inverse(order.size()), sizes(order.size());
  Dims front_sizes = in.indices[0].sizes();
  for (int64_t s : rest_of(front.sizes(), in.dims.size())) front_sizes.push_back(s);
  for (int i = 0; i < order.size(); ++i) {
    inverse[int(order[i])] = i;
    sizes[i] = front_sizes[int(order[i])];
  }
  Tensor v = value;
  while (v.dim() > sizes.size() && v.sizes()[0] == 1) v = squeeze(v, 0);
  Dims joined = broadcast_sizes(v.sizes(), sizes, "index_put_");
  check(joined == sizes, "index_put_: a value of sizes ", value.sizes(),
        " does not broadcast to the indexed sizes ", sizes);
  v = permute(expand(cast(v, in.x.dtype()), sizes), inverse);
  index_put_front(front, v, in.indices, accumulate, true);
}

Tensor index_at(const char* op, const Tensor& x, ArrayRef<indexing::TensorIndex> places) {
  Indexed in = resolve(op, x, places);
  if (!in.indices.empty()) return take_indexed(in);
  return in.x.is_same(x) ? alias(x) : in.x;
}

}  // namespace

}  // namespace detail

using namespace detail;

indexing::TensorIndex::TensorIndex(const char* text) : kind_(Kind::Ellipsis) {
  check(std::string_view(text) == "...", "index: the only text in an index is \"...\", got \"", text, "\"");
}

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  return index_at("index", *this, indices);
}

Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()));
}

Tensor& index_put_(const Tensor& x, ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                   bool accumulate) {
  Indexed in = resolve("index_put_", x, indices);
  if (!in.indices.empty())
    put_indexed(in, value, accumulate);
  else if (accumulate)
    in.x.copy_(add(in.x, value));
  else
    in.x.copy_(value);
  return const_cast<Tensor&>(x);
}

Tensor index_put(const Tensor& x, ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                 bool accumulate) {
  Tensor out = clone(x);
  return index_put_(out, indices, value, accumulate);
}

Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) const {
  return tarn::index_put(*this, indices, value);
}

Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) const {
  return tarn::index_put_(*this, indices, value);
}

Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, wrapped_scalar(value));
}

Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()), value);
}

Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()), wrapped_scalar(value));
}

Tensor Tensor::operator[](const Tensor& index) const { return this->index({indexing::TensorIndex(index)}); }

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  int d = wrap_dim(dim, x.dim(), "index_select");
  check(index.dim() <= 1, "index_select: index must have at most 1 dim, got sizes ", index.sizes());
  check(index.dtype() == kLong || index.dtype() == kInt, "index_select: index must be Int or Long, got ",
        index.dtype());
  Tensor flat = contiguous(cast(reshape(index, {-1}), kLong));
  if (x.dim() == 0) return reshape(take_indexed({reshape(x, {1}), {0}, {flat}}), {});
  return take_indexed({x, {d}, {flat}});
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check(mask.dtype() == kBool, "masked_select: mask must be Bool, got ", mask.dtype());
  Dims sizes = broadcast_sizes(x.sizes(), mask.sizes(), "masked_select");
  return expand(x, sizes).index({indexing::TensorIndex(expand(mask, sizes))}).reshape({-1});
}

Tensor nonzero(const Tensor& x) {
  check(x.defined(), "nonzero: the tensor is undefined");
  Tensor dense = contiguous(detach(x).cpu());
  std::vector<int64_t> places;
  visit(x.dtype(), "nonzero", [&]<class T>(Type<T>) {
    const T* p = static_cast<const T*>(dense.data_ptr());
    for (int64_t i = 0; i < dense.numel(); ++i)
      if (p[i] != T(0)) places.push_back(i);
  });
  int64_t rank = x.dim();
  Tensor out = make_tensor({int64_t(places.size()), rank}, kLong);
  int64_t* to = rank > 0 ? static_cast<int64_t*>(out.data_ptr()) : nullptr;
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t rest = places[i];
    for (int64_t d = rank - 1; d >= 0; --d) {
      to[int64_t(i) * rank + d] = rest % x.sizes()[d];
      rest /= x.sizes()[d];
    }
  }
  return out.to(x.device());
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return tarn::index_select(*this, dim, index);
}
Tensor Tensor::masked_select(const Tensor& mask) const { return tarn::masked_select(*this, mask); }
Tensor Tensor::nonzero() const { return tarn::nonzero(*this); }

}  // namespace tarn::inline v1
