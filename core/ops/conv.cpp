// Convolution and its two gradients, each an op. All three are linear in each of their tensors and are each
// other's gradients, which gives derivatives of any order:
//   y = conv(x, w), gx = input_grad(gy, w), gw = weight_grad(x, gy).
#include <limits>

#include <tarn/core/ops/conv.h>

#include <algorithm>

#include <tarn/core/cpu/conv.h>
#include <tarn/core/cuda/contractions.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// Entries past the spatial rank are 0.
struct ConvAttrs {
  int64_t stride[kMaxSpatial] = {}, pad_low[kMaxSpatial] = {}, pad_high[kMaxSpatial] = {},
          dilation[kMaxSpatial] = {};
  int64_t groups = 1;
};

// Of the gradient ops: also the spatial sizes of what they make, x or w, and for w whether it is
// channels_last.
struct ConvGradAttrs {
  ConvAttrs conv;
  int64_t sizes[kMaxSpatial] = {};
  int64_t channels_last = 0;
};

bool is_channels_last(const Tensor& x) { return x.suggest_memory_format() == MemoryFormat::ChannelsLast; }

MemoryFormat format_of(bool channels_last) {
  return channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}

IntArrayRef spatial_of(IntArrayRef sizes) { return sizes.slice(2); }

// --- shapes ---

int64_t output_size(const ConvAttrs& p, int d, int64_t in, int64_t kernel) {
  int64_t room = in + p.pad_low[d] + p.pad_high[d] - p.dilation[d] * (kernel - 1) - 1;
  return room < 0 ? -1 : room / p.stride[d] + 1;
}

void check_channels(const char* op, const Tensor& x, const Tensor& w, int64_t groups) {
  int64_t channels = x.sizes()[1], expected = w.sizes()[1] * groups;
  if (groups == 1)
    check(channels == expected, op, ": input has ", channels, " channels, weight ", w.sizes(), " expects ",
          expected);
  check(channels == expected, op, ": input has ", channels, " channels, weight ", w.sizes(), " in ", groups,
        " groups expects ", expected);
  check(w.sizes()[0] % groups == 0, op, ": the ", w.sizes()[0], " outputs of weight ", w.sizes(),
        " do not divide into ", groups, " groups");
}

void check_dtypes(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias) {
  check(is_floating(x.dtype()), op, ": not implemented for dtype ", x.dtype());
  check(w.dtype() == x.dtype(), op, ": input is ", x.dtype(), ", weight is ", w.dtype(),
        "; convert one with to()");
  if (!bias.defined()) return;
  check(bias.dtype() == x.dtype(), op, ": input is ", x.dtype(), ", bias is ", bias.dtype(),
        "; convert one with to()");
  check(bias.dim() == 1 && bias.sizes()[0] == w.sizes()[0], op, ": bias ", bias.sizes(),
        " does not fit weight ", w.sizes(), ", which has ", w.sizes()[0], " outputs");
}

void set_spec(const Args& a, Dims sizes, bool channels_last, Spec* out) {
  if (channels_last) out->strides = channels_last_strides(sizes);
  out->sizes = std::move(sizes);
  out->dtype = a[0].dtype();
  out->device = a[0].device();
}

void infer(const Args& a, Spec* out) {
  const Tensor &x = a[0], &w = a[1];
  const auto& p = a.attrs<ConvAttrs>();
  const char* op = a.op.name;
  check_channels(op, x, w, p.groups);
  check_dtypes(op, x, w, a[2]);
  int nd = int(x.dim()) - 2;
  Dims sizes = {x.sizes()[0], w.sizes()[0]};
  for (int d = 0; d < nd; ++d) sizes.push_back(output_size(p, d, x.sizes()[2 + d], w.sizes()[2 + d]));
  for (int d = 0; d < nd; ++d)
    check(sizes[2 + d] >= 0 && w.sizes()[2 + d] > 0, op, ": a kernel of ", spatial_of(w.sizes()),
          " with dilation ", IntArrayRef(p.dilation, size_t(nd)), " does not fit input ", x.sizes(),
          " with padding ", IntArrayRef(p.pad_low, size_t(nd)));
  set_spec(a, sizes, nd == 2 && (is_channels_last(x) || is_channels_last(w)), out);
}

void infer_input_grad(const Args& a, Spec* out) {
  const Tensor &gy = a[0], &w = a[1];
  const auto& p = a.attrs<ConvGradAttrs>();
  Dims sizes = {gy.sizes()[0], w.sizes()[1] * p.conv.groups};
  for (int d = 0; d + 2 < gy.dim(); ++d) sizes.push_back(p.sizes[d]);
  set_spec(a, sizes, gy.dim() == 4 && (is_channels_last(gy) || is_channels_last(w)), out);
}

void infer_weight_grad(const Args& a, Spec* out) {
  const Tensor &x = a[0], &gy = a[1];
  const auto& p = a.attrs<ConvGradAttrs>();
  Dims sizes = {gy.sizes()[1], x.sizes()[1] / p.conv.groups};
  for (int d = 0; d + 2 < gy.dim(); ++d) sizes.push_back(p.sizes[d]);
  set_spec(a, sizes, p.channels_last, out);
}

// --- kernels ---

// One spatial dim becomes two, the first of size 1.
ConvShape shape_of(const ConvAttrs& p, const Tensor& x, const Tensor& w, const Tensor& y,
                   bool channels_last) {
  ConvShape s{};
  int nd = int(x.dim()) - 2, lead = nd == 1 ? 1 : 0;
  s.batch = x.sizes()[0];
  s.groups = p.groups;
  s.in_channels = x.sizes()[1];
  s.out_channels = y.sizes()[1];
  s.nd = nd + lead;
  s.channels_last = channels_last;
  if (lead) s.in[0] = s.out[0] = s.kernel[0] = s.stride[0] = s.dilation[0] = 1;
  for (int d = 0; d < nd; ++d) {
    s.in[lead + d] = x.sizes()[2 + d];
    s.out[lead + d] = y.sizes()[2 + d];
    s.kernel[lead + d] = w.sizes()[2 + d];
    s.stride[lead + d] = p.stride[d];
    s.pad_low[lead + d] = p.pad_low[d];
    s.pad_high[lead + d] = p.pad_high[d];
    s.dilation[lead + d] = p.dilation[d];
  }
  return s;
}

// A tensor as the kernels take it: dense, in the layout of the whole convolution, Half and BFloat16 as float.
Tensor prepared(const Tensor& x, bool channels_last) {
  if (!x.defined()) return x;
  if (x.dtype() == kFloat || x.dtype() == kDouble)
    return x.dim() == 1 ? dense(x) : dense(x, format_of(channels_last));
  Dims strides = channels_last && x.dim() == 4 ? channels_last_strides(x.sizes()) : Dims();
  Tensor copy = make_tensor(x.sizes(), strides, kFloat, x.device());
  copy_elements(copy, x);
  return copy;
}

// Memory for an output as the kernels write it: the output itself where dtype and layout are right.
Tensor prepared_output(const Tensor& out, bool channels_last) {
  bool computes = out.dtype() == kFloat || out.dtype() == kDouble;
  if (computes && out.is_contiguous(format_of(channels_last))) return out;
  Dims strides = channels_last ? channels_last_strides(out.sizes()) : Dims();
  return make_tensor(out.sizes(), strides, computes ? out.dtype() : kFloat, out.device());
}

void finish_output(const Tensor& out, const Tensor& computed) {
  if (!out.is_same(computed)) copy_elements(out, computed);
}

// The bias alone, or 0.
void fill_empty(const Tensor& out, const Tensor& bias) {
  if (!bias.defined()) return fill_elements(out, 0);
  Dims strides(int(out.dim()), 0);
  strides[1] = bias.strides()[0];
  copy_elements(out, make_alias(bias, out.sizes(), strides, bias.storage_offset()));
}

void forward(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &w = a[1], &bias = a[2];
  if (out->numel() == 0) return;
  if (w.numel() == 0 || x.numel() == 0) return fill_empty(*out, bias);
  bool channels_last =
      is_channels_last(*out) || (x.dim() == 4 && (is_channels_last(x) || is_channels_last(w)));
  Tensor xs = prepared(x, channels_last), ws = prepared(w, channels_last), bs = prepared(bias, false);
  Tensor ys = prepared_output(*out, channels_last);
  ConvShape shape = shape_of(a.attrs<ConvAttrs>(), x, w, *out, channels_last);
  if (out->is_cpu()) {
    conv_forward(shape, ys.dtype(), xs.data_ptr(), ws.data_ptr(), bias.defined() ? bs.data_ptr() : nullptr,
                 ys.data_ptr());
  } else {
    if (bias.defined()) fill_empty(ys, bs);
    conv_cuda(ConvKind::Forward, shape, ys.dtype(), xs.data_ptr(), ws.data_ptr(), ys.data_ptr(),
              bias.defined());
  }
  finish_output(*out, ys);
}

void make_input_grad(const Args& a, Tensor* out) {
  const Tensor &gy = a[0], &w = a[1];
  if (out->numel() == 0) return;
  if (w.numel() == 0 || gy.numel() == 0) return fill_elements(*out, 0);
  bool channels_last = gy.dim() == 4 && (is_channels_last(gy) || is_channels_last(w));
  Tensor gs = prepared(gy, channels_last), ws = prepared(w, channels_last);
  Tensor xs = prepared_output(*out, channels_last);
  ConvShape shape = shape_of(a.attrs<ConvGradAttrs>().conv, *out, w, gy, channels_last);
  if (out->is_cpu())
    conv_backward_input(shape, xs.dtype(), gs.data_ptr(), ws.data_ptr(), xs.data_ptr());
  else
    conv_cuda(ConvKind::InputGrad, shape, xs.dtype(), xs.data_ptr(), ws.data_ptr(), gs.data_ptr());
  finish_output(*out, xs);
}

void make_weight_grad(const Args& a, Tensor* out) {
  const Tensor &x = a[0], &gy = a[1];
  if (out->numel() == 0) return;
  if (x.numel() == 0 || gy.numel() == 0) return fill_elements(*out, 0);
  bool channels_last = x.dim() == 4 && (is_channels_last(x) || is_channels_last(gy));
  Tensor xs = prepared(x, channels_last), gs = prepared(gy, channels_last);
  Tensor ws = prepared_output(*out, channels_last);
  ConvShape shape = shape_of(a.attrs<ConvGradAttrs>().conv, x, *out, gy, channels_last);
  if (out->is_cpu())
    conv_backward_weight(shape, ws.dtype(), xs.data_ptr(), gs.data_ptr(), ws.data_ptr());
  else
    conv_cuda(ConvKind::WeightGrad, shape, ws.dtype(), xs.data_ptr(), ws.data_ptr(), gs.data_ptr());
  finish_output(*out, ws);
}

// --- gradients ---

Tensor convolve(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvAttrs& p);
Tensor input_grad(const Tensor& gy, const Tensor& w, const ConvAttrs& p, IntArrayRef x_sizes);
Tensor weight_grad(const Tensor& x, const Tensor& gy, const ConvAttrs& p, IntArrayRef w_sizes,
                   bool channels_last);

Dims all_but_channels(const Tensor& y) {
  Dims dims = {0};
  for (int d = 2; d < y.dim(); ++d) dims.push_back(d);
  return dims;
}

void grad(GradArgs& g) {
  const auto& p = g.attrs<ConvAttrs>();
  const Tensor& gy = g.grad();
  if (g.needs(0)) g.set(0, input_grad(gy, g.input(1), p, g.input_sizes(0)));
  if (g.needs(1))
    g.set(1,
          weight_grad(g.input(0), gy, p, g.input_sizes(1), g.has_input(1) && is_channels_last(g.input(1))));
  if (g.needs(2)) g.set(2, gy.sum(all_but_channels(gy)));
}

// gx = input_grad(gy, w): gy is the result of a convolution of gx.
void grad_of_input_grad(GradArgs& g) {
  const auto& p = g.attrs<ConvGradAttrs>();
  const Tensor& ggx = g.grad();
  if (g.needs(0)) g.set(0, convolve(ggx, g.input(1), {}, p.conv));
  if (g.needs(1)) g.set(1, weight_grad(ggx, g.input(0), p.conv, g.input_sizes(1), p.channels_last));
}

// gw = weight_grad(x, gy).
void grad_of_weight_grad(GradArgs& g) {
  const auto& p = g.attrs<ConvGradAttrs>();
  const Tensor& ggw = g.grad();
  if (g.needs(0)) g.set(0, input_grad(g.input(1), ggw, p.conv, g.input_sizes(0)));
  if (g.needs(1)) g.set(1, convolve(g.input(0), ggw, {}, p.conv));
}

Saves saves_for(uint32_t needs) { return (needs & 1 ? save_input(1) : 0) | (needs & 2 ? save_input(0) : 0); }

constexpr Op conv_op(const char* name) {
  return {.name = name,
          .kind = Kind::Contraction,
          .infer = infer,
          .cpu = forward,
          .cuda = forward,
          .grad = grad,
          .saves_for = saves_for,
          .autocast = Autocast::Lower};
}
const Op conv1d_op = conv_op("conv1d");
const Op conv2d_op = conv_op("conv2d");
const Op conv3d_op = conv_op("conv3d");
const Op conv_input_grad_op = {.name = "conv_input_grad",
                               .kind = Kind::Contraction,
                               .infer = infer_input_grad,
                               .cpu = make_input_grad,
                               .cuda = make_input_grad,
                               .grad = grad_of_input_grad,
                               .saves_for = saves_for,
                               .autocast = Autocast::Lower};
const Op conv_weight_grad_op = {.name = "conv_weight_grad",
                                .kind = Kind::Contraction,
                                .infer = infer_weight_grad,
                                .cpu = make_weight_grad,
                                .cuda = make_weight_grad,
                                .grad = grad_of_weight_grad,
                                .saves_for = saves_for};

const Op& op_of(int nd) { return nd == 1 ? conv1d_op : nd == 2 ? conv2d_op : conv3d_op; }

Tensor convolve(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvAttrs& p) {
  return dispatch(op_of(int(x.dim()) - 2), {x, w, bias}, p);
}

ConvGradAttrs grad_attrs(const ConvAttrs& p, IntArrayRef sizes, bool channels_last) {
  ConvGradAttrs attrs{.conv = p, .channels_last = channels_last};
  for (size_t d = 2; d < sizes.size(); ++d) attrs.sizes[d - 2] = sizes[d];
  return attrs;
}

Tensor input_grad(const Tensor& gy, const Tensor& w, const ConvAttrs& p, IntArrayRef x_sizes) {
  return dispatch(conv_input_grad_op, {gy, w}, grad_attrs(p, x_sizes, is_channels_last(w)));
}

Tensor weight_grad(const Tensor& x, const Tensor& gy, const ConvAttrs& p, IntArrayRef w_sizes,
                   bool channels_last) {
  return dispatch(conv_weight_grad_op, {x, gy}, grad_attrs(p, w_sizes, channels_last));
}

// --- arguments ---

// Products with sizes stay within int64.
constexpr int64_t kMostOption = std::numeric_limits<int32_t>::max();

// One number for all dims, or one per dim.
void expand_option(const char* op, const char* name, IntArrayRef values, int64_t least, int nd, int64_t* to) {
  check(values.size() == 1 || int(values.size()) == nd, op, ": ", name, " must have 1 or ", nd,
        " values, got ", values);
  for (int d = 0; d < nd; ++d) {
    to[d] = values[values.size() == 1 ? 0 : size_t(d)];
    check(to[d] >= least, op, ": ", name, " must be at least ", least, ", got ", values);
    check(to[d] <= kMostOption, op, ": ", name, " must be at most ", kMostOption, ", got ", values);
  }
}

const char* layout_text(int nd) { return nd == 1 ? "W" : nd == 2 ? "H, W" : "D, H, W"; }

void check_ranks(const char* op, const Tensor& x, const Tensor& w, int nd) {
  check(x.dim() == nd + 2 || x.dim() == nd + 1, op, ": input must be (N, C, ", layout_text(nd), ") or (C, ",
        layout_text(nd), "), got ", x.sizes());
  check(w.dim() == nd + 2, op, ": weight must be (outputs, channels / groups, kernel of ", nd,
        nd == 1 ? " dim" : " dims", "), got ", w.sizes());
}

ConvAttrs basic_attrs(const char* op, IntArrayRef stride, IntArrayRef dilation, int64_t groups, int nd) {
  ConvAttrs p;
  expand_option(op, "stride", stride, 1, nd, p.stride);
  expand_option(op, "dilation", dilation, 1, nd, p.dilation);
  check(groups >= 1, op, ": groups must be at least 1, got ", groups);
  check(groups <= kMostOption, op, ": groups must be at most ", kMostOption, ", got ", groups);
  p.groups = groups;
  return p;
}

Tensor run(int nd, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvAttrs& p) {
  if (x.dim() == nd + 2) return convolve(x, w, bias, p);
  return convolve(x.unsqueeze(0), w, bias, p).squeeze(0);
}

Tensor conv(int nd, const Tensor& x, const Tensor& w, const Tensor& bias, IntArrayRef stride,
            IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const char* op = op_of(nd).name;
  check_ranks(op, x, w, nd);
  ConvAttrs p = basic_attrs(op, stride, dilation, groups, nd);
  expand_option(op, "padding", padding, 0, nd, p.pad_low);
  for (int d = 0; d < nd; ++d) p.pad_high[d] = p.pad_low[d];
  return run(nd, x, w, bias, p);
}

// --- transposed ---

const char* transpose_name(int nd) {
  return nd == 1 ? "conv_transpose1d" : nd == 2 ? "conv_transpose2d" : "conv_transpose3d";
}

void check_transpose(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias, int nd,
                     int64_t groups) {
  int64_t channels = x.size(-1 - nd);
  check(channels == w.size(0), op, ": input has ", channels, " channels, weight ", w.sizes(), " expects ",
        w.size(0));
  check(channels % groups == 0, op, ": the ", channels, " channels of input ", x.sizes(),
        " do not divide into ", groups, " groups");
  check_dtypes(op, x, w, {});
  if (!bias.defined()) return;
  check(bias.dtype() == x.dtype(), op, ": input is ", x.dtype(), ", bias is ", bias.dtype(),
        "; convert one with to()");
  int64_t outputs = w.size(1) * groups;
  check(bias.dim() == 1 && bias.size(0) == outputs, op, ": bias ", bias.sizes(), " does not fit weight ",
        w.sizes(), " in ", groups, groups == 1 ? " group" : " groups", ", which has ", outputs, " outputs");
}

// (in - 1) * stride + dilation * (kernel - 1) + 1, where it fits in int64.
int64_t transposed_size(const char* op, const ConvAttrs& p, int d, int64_t in, int64_t kernel) {
  int64_t steps, span, size;
  bool overflows = __builtin_mul_overflow(in - 1, p.stride[d], &steps) ||
                   __builtin_mul_overflow(kernel - 1, p.dilation[d], &span) ||
                   __builtin_add_overflow(steps, span, &size) || size > INT64_MAX / 4;
  check(!overflows, op, ": the output of input size ", in, ", stride ", p.stride[d], " and dilation ",
        p.dilation[d], " is too large");
  return size + 1;
}

// An output of output_padding >= stride is larger than any that `in` is made from by whole steps: without
// padding on the high side, then cut or filled up with zeros.
Tensor fitted(Tensor y, IntArrayRef sizes) {
  MemoryFormat format = y.suggest_memory_format();
  for (int d = 2; d < y.dim(); ++d) {
    if (y.size(d) > sizes[d]) y = narrow(y, d, 0, sizes[d]);
    if (y.size(d) == sizes[d]) continue;
    Dims missing(y.sizes());
    missing[d] = sizes[d] - y.size(d);
    y = cat({y, zeros(missing, y.options())}, d);
  }
  return contiguous(y, format);
}

Tensor transposed(const char* op, const Tensor& x, const Tensor& w, ConvAttrs p, IntArrayRef output_padding) {
  int nd = int(x.dim()) - 2;
  int64_t extra[kMaxSpatial];
  expand_option(op, "output_padding", output_padding, 0, nd, extra);
  Dims sizes = {x.size(0), w.size(1) * p.groups}, whole = sizes;
  bool fits = true;
  for (int d = 0; d < nd; ++d) {
    check(extra[d] < std::max(p.stride[d], p.dilation[d]), op,
          ": output_padding must be less than stride or dilation, got output_padding ", output_padding,
          ", stride ", IntArrayRef(p.stride, size_t(nd)), ", dilation ", IntArrayRef(p.dilation, size_t(nd)));
    check(p.pad_low[d] <= INT64_MAX / 8, op, ": padding ", p.pad_low[d], " is too large");
    check(x.size(2 + d) > 0 && w.size(2 + d) > 0, op, ": input ", x.sizes(), " or weight ", w.sizes(),
          " has an empty spatial dim");
    int64_t size = transposed_size(op, p, d, x.size(2 + d), w.size(2 + d));
    sizes.push_back(size - 2 * p.pad_low[d] + extra[d]);
    whole.push_back(size - p.pad_low[d]);
    fits = fits && extra[d] < p.stride[d];
  }
  for (int d = 0; d < nd; ++d)
    check(sizes[2 + d] > 0 && whole[2 + d] > 0, op, ": the output of input ", x.sizes(), " would have sizes ",
          sizes, "; padding is too large");
  if (fits) return input_grad(x, w, p, sizes);
  for (int64_t& pad : p.pad_high) pad = 0;
  return fitted(input_grad(x, w, p, whole), sizes);
}

Tensor conv_transpose(int nd, const Tensor& x, const Tensor& w, const Tensor& bias, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  const char* op = transpose_name(nd);
  check(x.dim() == nd + 2 || x.dim() == nd + 1, op, ": input must be (N, C, ", layout_text(nd), ") or (C, ",
        layout_text(nd), "), got ", x.sizes());
  check(w.dim() == nd + 2, op, ": weight must be (channels, outputs / groups, kernel of ", nd,
        nd == 1 ? " dim" : " dims", "), got ", w.sizes());
  ConvAttrs p = basic_attrs(op, stride, dilation, groups, nd);
  expand_option(op, "padding", padding, 0, nd, p.pad_low);
  for (int d = 0; d < nd; ++d) p.pad_high[d] = p.pad_low[d];
  check_transpose(op, x, w, bias, nd, groups);
  bool batched = x.dim() == nd + 2;
  Tensor y = transposed(op, batched ? x : x.unsqueeze(0), w, p, output_padding);
  if (bias.defined()) {
    Dims sizes(nd + 1, 1);
    sizes[0] = bias.size(0);
    y = y + cast(bias, y.dtype()).view(sizes);
  }
  return batched ? y : y.squeeze(0);
}

}  // namespace

Tensor conv_by_name(int nd, const Tensor& x, const Tensor& w, const Tensor& bias, IntArrayRef stride,
                    std::string_view padding, IntArrayRef dilation, int64_t groups) {
  const char* op = op_of(nd).name;
  check(padding == "same" || padding == "valid", op, ": padding must be numbers, 'same' or 'valid', got '",
        padding, "'");
  check_ranks(op, x, w, nd);
  ConvAttrs p = basic_attrs(op, stride, dilation, groups, nd);
  for (int d = 0; d < nd && padding == "same"; ++d) {
    check(p.stride[d] == 1, op, ": padding 'same' needs stride 1, got ", stride);
    int64_t total = p.dilation[d] * (w.sizes()[2 + d] - 1);
    p.pad_low[d] = fault(23) ? total - total / 2 : total / 2;
    p.pad_high[d] = total - p.pad_low[d];
  }
  return run(nd, x, w, bias, p);
}

}  // namespace detail

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv(1, x, weight, bias, stride, padding, dilation, groups);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv(2, x, weight, bias, stride, padding, dilation, groups);
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv(3, x, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return detail::conv_transpose(1, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return detail::conv_transpose(2, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  return detail::conv_transpose(3, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

}  // namespace tarn::inline v1
