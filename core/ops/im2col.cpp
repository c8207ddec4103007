// im2col and col2im, each the other's gradient.
#include <tarn/core/ops/im2col.h>

#include <algorithm>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct WindowAttrs {
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  int64_t size[2];   // of the plane
  int64_t count[2];  // of windows
};

int64_t kernel_elements(const WindowAttrs& p) { return p.kernel[0] * p.kernel[1]; }
int64_t windows(const WindowAttrs& p) { return p.count[0] * p.count[1]; }

// Calls f(place in the columns (kernel, L), place in the plane) for what lies inside.
template <class F>
void for_places(const WindowAttrs& p, F&& f) {
  int64_t column = 0;
  for (int64_t kh = 0; kh < p.kernel[0]; ++kh)
    for (int64_t kw = 0; kw < p.kernel[1]; ++kw)
      for (int64_t i = 0; i < p.count[0]; ++i, column += p.count[1]) {
        int64_t h = i * p.stride[0] - p.padding[0] + kh * p.dilation[0];
        if (h < 0 || h >= p.size[0]) continue;
        int64_t w = kw * p.dilation[1] - p.padding[1];
        for (int64_t j = 0; j < p.count[1]; ++j, w += p.stride[1])
          if (w >= 0 && w < p.size[1]) f(column + j, h * p.size[1] + w);
      }
}

Tensor computed(const Tensor& x) {
  if (x.dtype() == kFloat || x.dtype() == kDouble) return dense(x);
  Tensor copy = make_tensor(x.sizes(), kFloat, x.device());
  copy_elements(copy, x);
  return copy;
}

// body(in, out) for each (sample, channel) of `in` and `out` elements.
template <class Body>
void for_channels(const Args& a, Tensor* out, int64_t in_size, int64_t out_size, const Body& body) {
  if (out->numel() == 0) return;
  if (a[0].numel() == 0) return fill_elements(*out, 0);
  Tensor x = computed(a[0]);
  Tensor y = out->dtype() == x.dtype() ? *out : make_tensor(out->sizes(), x.dtype(), x.device());
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    int64_t planes = y.numel() / out_size;
    parallel_for(0, planes, std::max<int64_t>(1, 16384 / (in_size + out_size)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     T* to = static_cast<T*>(y.data_ptr()) + i * out_size;
                     std::fill_n(to, out_size, T(0));
                     body(static_cast<const T*>(x.data_ptr()) + i * in_size, to);
                   }
                 });
  });
  if (!y.is_same(*out)) copy_elements(*out, y);
}

void im2col_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<WindowAttrs>();
  infer_like_first(a, out);
  out->strides = {};
  out->sizes = {a[0].sizes()[0], a[0].sizes()[1] * kernel_elements(p), windows(p)};
}

void im2col_cpu(const Args& a, Tensor* out) {
  const auto& p = a.attrs<WindowAttrs>();
  for_channels(a, out, p.size[0] * p.size[1], kernel_elements(p) * windows(p), [&](const auto* x, auto* y) {
    for_places(p, [&](int64_t column, int64_t place) { y[column] = x[place]; });
  });
}

void col2im_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<WindowAttrs>();
  infer_like_first(a, out);
  out->strides = {};
  out->sizes = {a[0].sizes()[0], a[0].sizes()[1] / kernel_elements(p), p.size[0], p.size[1]};
}

void col2im_cpu(const Args& a, Tensor* out) {
  const auto& p = a.attrs<WindowAttrs>();
  for_channels(a, out, kernel_elements(p) * windows(p), p.size[0] * p.size[1], [&](const auto* x, auto* y) {
    for_places(p, [&](int64_t column, int64_t place) { y[place] += x[column]; });
  });
}

void im2col_grad(GradArgs& g);
void col2im_grad(GradArgs& g);

const Op im2col_op = {.name = "im2col", .infer = im2col_infer, .cpu = im2col_cpu, .grad = im2col_grad};
const Op col2im_op = {.name = "col2im", .infer = col2im_infer, .cpu = col2im_cpu, .grad = col2im_grad};

void im2col_grad(GradArgs& g) { g.set(0, dispatch(col2im_op, {g.grad()}, g.attrs<WindowAttrs>())); }
void col2im_grad(GradArgs& g) { g.set(0, dispatch(im2col_op, {g.grad()}, g.attrs<WindowAttrs>())); }

void expand_option(const char* op, const char* name, IntArrayRef values, int64_t least, int64_t* to) {
  check(values.size() == 1 || values.size() == 2, op, ": ", name, " must have 1 or 2 values, got ", values);
  for (size_t d = 0; d < 2; ++d) {
    to[d] = values[values.size() == 1 ? 0 : d];
    // Sums of products of two of these fit in int64.
    check(to[d] >= least && to[d] <= INT32_MAX / 2, op, ": ", name, " must be in [", least, ", 2^30), got ",
          values);
  }
}

WindowAttrs window_attrs(const char* op, IntArrayRef size, IntArrayRef kernel, IntArrayRef dilation,
                         IntArrayRef padding, IntArrayRef stride) {
  WindowAttrs p{};
  expand_option(op, "the plane", size, 1, p.size);
  expand_option(op, "kernel_size", kernel, 1, p.kernel);
  expand_option(op, "dilation", dilation, 1, p.dilation);
  expand_option(op, "padding", padding, 0, p.padding);
  expand_option(op, "stride", stride, 1, p.stride);
  for (int d = 0; d < 2; ++d) {
    int64_t room = p.size[d] + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1;
    check(room >= 0, op, ": a kernel of ", kernel, " with dilation ", dilation, " does not fit a plane of ",
          size, " with padding ", padding);
    p.count[d] = room / p.stride[d] + 1;
  }
  return p;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  check(x.dim() == 3 || x.dim() == 4, "im2col: input must be (N, C, H, W) or (C, H, W), got ", x.sizes());
  check(is_floating(x.dtype()), "im2col: not implemented for dtype ", x.dtype());
  WindowAttrs p =
      window_attrs("im2col", x.sizes().slice(size_t(x.dim() - 2)), kernel_size, dilation, padding, stride);
  if (x.dim() == 4) return dispatch(im2col_op, {x}, p);
  return dispatch(im2col_op, {x.unsqueeze(0)}, p).squeeze(0);
}

Tensor col2im(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
  check(x.dim() == 2 || x.dim() == 3, "col2im: input must be (N, C * kernel, L) or (C * kernel, L), got ",
        x.sizes());
  check(is_floating(x.dtype()), "col2im: not implemented for dtype ", x.dtype());
  WindowAttrs p = window_attrs("col2im", output_size, kernel_size, dilation, padding, stride);
  check(x.size(-2) % kernel_elements(p) == 0, "col2im: the ", x.size(-2), " rows of input ", x.sizes(),
        " are no multiple of the ", kernel_elements(p), " elements of a kernel of ", kernel_size);
  check(x.size(-1) == windows(p), "col2im: input ", x.sizes(), " has ", x.size(-1), " columns, output_size ",
        output_size, " has ", windows(p), " windows");
  if (x.dim() == 3) return dispatch(col2im_op, {x}, p);
  return dispatch(col2im_op, {x.unsqueeze(0)}, p).squeeze(0);
}

}  // namespace tarn::inline v1
