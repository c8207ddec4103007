// Triangles and diagonals of matrices.
#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cpu/slices.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/rearrange.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// --- tril, triu: element (i, j) stays if j - i <= diagonal (tril), >= diagonal (triu) ---

struct TriangleAttrs {
  int64_t diagonal;  // within -N .. M
};

template <bool upper, class T>
void triangle_rows(const Tensor& x, const Tensor& out, int64_t diagonal) {
  const int last = int(x.dim()) - 1;
  const int64_t n = x.sizes()[last - 1], m = x.sizes()[last];
  const int64_t step = x.strides()[last], out_step = out.strides()[last];
  const T* from = static_cast<const T*>(x.data_ptr());
  T* to = static_cast<T*>(out.data_ptr());
  parallel_for(0, x.numel() / m, std::max<int64_t>(1, (1 << 14) / m), [&](int64_t begin, int64_t end) {
    SliceWalk<2> walk(x.sizes(), last, {x.strides(), out.strides()}, begin);
    for (int64_t row = begin; row < end; ++row, walk.next()) {
      // Columns below `edge` are the left part, kept by tril.
      int64_t edge = std::clamp<int64_t>(row % n + diagonal + !upper, 0, m);
      const T* source = from + walk.offset(0);
      T* target = to + walk.offset(1);
      for (int64_t j = 0; j < edge; ++j) target[j * out_step] = upper ? T() : source[j * step];
      for (int64_t j = edge; j < m; ++j) target[j * out_step] = upper ? source[j * step] : T();
    }
  });
}

template <bool upper>
void triangle_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  visit_bytes(out->dtype(), [&]<class T>(Type<T>) {
    triangle_rows<upper, T>(a[0], *out, a.attrs<TriangleAttrs>().diagonal);
  });
}

template <bool upper>
void triangle_cuda(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  NoGradGuard no_grad;
  TensorOptions options = TensorOptions(kLong).device(out->device());
  int64_t n = out->size(-2), m = out->size(-1), diagonal = a.attrs<TriangleAttrs>().diagonal;
  Tensor distance = sub(arange(m, options), unsqueeze(arange(n, options), 1));
  Tensor zeroed = upper ? lt(distance, diagonal) : gt(distance, diagonal);
  copy_elements(*out, masked_fill(a[0], zeroed, 0));
}

template <bool upper>
void triangle_grad(GradArgs& g);

const Op tril_op = {.name = "tril",
                    .infer = infer_like_first,
                    .cpu = triangle_cpu<false>,
                    .cuda = triangle_cuda<false>,
                    .grad = triangle_grad<false>,
                    .inplace = true};
const Op triu_op = {.name = "triu",
                    .infer = infer_like_first,
                    .cpu = triangle_cpu<true>,
                    .cuda = triangle_cuda<true>,
                    .grad = triangle_grad<true>,
                    .inplace = true};

template <bool upper>
void triangle_grad(GradArgs& g) {
  g.set(0, dispatch(upper ? triu_op : tril_op, {g.grad()}, g.attrs<TriangleAttrs>()));
}

TriangleAttrs triangle_attrs(const char* op, const Tensor& x, int64_t diagonal) {
  check(x.dim() >= 2, op, ": the tensor must have at least 2 dims, got sizes ", x.sizes());
  return {std::clamp(diagonal, -x.size(-2) - 1, x.size(-1) + 1)};
}

// --- diag_embed ---

struct DiagonalAttrs {
  int64_t offset, dim1, dim2;
};

void diag_embed_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<DiagonalAttrs>();
  infer_like_first(a, out);
  out->strides = {};
  out->sizes = a[0].sizes();
  int64_t n = 0;
  uint64_t gap = p.offset < 0 ? 0 - uint64_t(p.offset) : uint64_t(p.offset);
  check(gap < uint64_t(1) << 62 && !__builtin_add_overflow(out->sizes.back(), int64_t(gap), &n),
        "diag_embed: offset ", p.offset, " is too far away");
  out->sizes.erase(out->sizes.size() - 1);
  out->sizes.insert(int(std::min(p.dim1, p.dim2)), n);
  out->sizes.insert(int(std::max(p.dim1, p.dim2)), n);
}

void diag_embed_any(const Args& a, Tensor* out) {
  const auto& p = a.attrs<DiagonalAttrs>();
  fill_elements(*out, 0);
  if (a[0].numel() == 0) return;
  NoGradGuard no_grad;
  copy_elements(diagonal(*out, p.offset, p.dim1, p.dim2), a[0]);
}

void diag_embed_grad(GradArgs& g) {
  const auto& p = g.attrs<DiagonalAttrs>();
  g.set(0, diagonal(g.grad(), p.offset, p.dim1, p.dim2));
}

const Op diag_embed_op = {.name = "diag_embed",
                          .infer = diag_embed_infer,
                          .cpu = diag_embed_any,
                          .cuda = diag_embed_any,
                          .grad = diag_embed_grad};

}  // namespace

}  // namespace detail

using namespace detail;

Tensor tril(const Tensor& x, int64_t diagonal) {
  return dispatch(tril_op, {x}, triangle_attrs("tril", x, diagonal));
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  return dispatch(triu_op, {x}, triangle_attrs("triu", x, diagonal));
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  check(x.dim() >= 1, "diag_embed: a 0-dim tensor has no diagonal to give");
  int a = wrap_dim(dim1, x.dim() + 1, "diag_embed"), b = wrap_dim(dim2, x.dim() + 1, "diag_embed");
  check(a != b, "diag_embed: dims must differ, got ", dim1, " and ", dim2);
  return dispatch(diag_embed_op, {x}, DiagonalAttrs{offset, a, b});
}

Tensor diag(const Tensor& x, int64_t diagonal) {
  check(x.dim() == 1 || x.dim() == 2, "diag: the tensor must have 1 or 2 dims, got sizes ", x.sizes());
  return x.dim() == 1 ? diag_embed(x, diagonal) : clone(tarn::diagonal(x, diagonal));
}

Tensor Tensor::tril(int64_t diagonal) const { return tarn::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return tarn::triu(*this, diagonal); }
Tensor Tensor::diag(int64_t diagonal) const { return tarn::diag(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tarn::diag_embed(*this, offset, dim1, dim2);
}

Tensor& Tensor::tril_(int64_t diagonal) const {
  dispatch_inplace(tril_op, {*this}, triangle_attrs("tril_", *this, diagonal));
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::triu_(int64_t diagonal) const {
  dispatch_inplace(triu_op, {*this}, triangle_attrs("triu_", *this, diagonal));
  return const_cast<Tensor&>(*this);
}

// x[i][i] = value, of tensors of more dims x[i][i]...[i] = value. With wrap the diagonal of a tall matrix
// starts again one row after it has ended.
Tensor& Tensor::fill_diagonal_(const Scalar& value, bool wrap) const {
  check(dim() >= 2, "fill_diagonal_: the tensor must have at least 2 dims, got sizes ", sizes());
  for (int64_t d = 1; dim() > 2 && d < dim(); ++d)
    check(sizes()[d] == sizes()[0],
          "fill_diagonal_: a tensor of more than 2 dims must have equal sizes, got ", sizes());
  if (dim() == 2 && wrap) {
    int64_t n = sizes()[0], m = sizes()[1];
    for (int64_t row = 0; row < n; row += m + 1) {
      int64_t rows = std::min(m, n - row);
      tarn::diagonal(tarn::narrow(*this, 0, row, rows)).fill_(value);
    }
  } else {
    Tensor line = tarn::diagonal(*this);
    while (line.dim() > 1) line = tarn::diagonal(line, 0, 0, -1);
    line.fill_(value);
  }
  return const_cast<Tensor&>(*this);
}

}  // namespace tarn::inline v1
