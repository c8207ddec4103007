// Padding. With constants it is an op that copies the tensor into a filled one; the other modes are joined
// from parts of the tensor itself, dim by dim.
#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/rearrange.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

// --- constants: scalar value ---

struct PadAttrs {
  int64_t rank;
  int64_t before[kMaxRank], after[kMaxRank];
};

PadAttrs pad_attrs(const char* op, const Tensor& x, IntArrayRef pad) {
  check(pad.size() % 2 == 0, op, ": pad must have two numbers a dim, got ", pad);
  check(int64_t(pad.size()) <= 2 * x.dim(), op, ": pad ", pad, " is for more dims than a tensor of sizes ",
        x.sizes(), " has");
  PadAttrs p{.rank = x.dim(), .before = {}, .after = {}};
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    size_t d = size_t(x.dim()) - 1 - i;
    int64_t size = x.sizes()[d];
    p.before[d] = pad[2 * i];
    p.after[d] = pad[2 * i + 1];
    bool overflow = __builtin_add_overflow(size, pad[2 * i], &size) ||
                    __builtin_add_overflow(size, pad[2 * i + 1], &size);
    check(!overflow && size >= 0, op, ": pad ", pad, " leaves no size for dim ", d, " of a tensor of sizes ",
          x.sizes());
  }
  return p;
}

void constant_infer(const Args& a, Spec* out) {
  const auto& p = a.attrs<PadAttrs>();
  infer_like_first(a, out);
  out->strides = {};
  out->sizes = a[0].sizes();
  for (int d = 0; d < int(p.rank); ++d) out->sizes[d] += p.before[d] + p.after[d];
}

void constant_any(const Args& a, Tensor* out) {
  const auto& p = a.attrs<PadAttrs>();
  if (out->numel() == 0) return;
  fill_elements(*out, a.scalar());
  // What both have, as parts of each.
  Dims sizes(a[0].sizes());
  int64_t from = a[0].storage_offset(), to = out->storage_offset();
  for (int d = 0; d < sizes.size(); ++d) {
    sizes[d] += std::min<int64_t>(p.before[d], 0) + std::min<int64_t>(p.after[d], 0);
    if (sizes[d] <= 0) return;
    (p.before[d] < 0 ? from : to) +=
        p.before[d] < 0 ? -p.before[d] * a[0].strides()[d] : p.before[d] * out->strides()[d];
  }
  copy_elements(make_alias(*out, sizes, out->strides(), to), make_alias(a[0], sizes, a[0].strides(), from));
}

void constant_grad(GradArgs& g);

const Op constant_op = {.name = "constant_pad_nd",
                        .infer = constant_infer,
                        .cpu = constant_any,
                        .cuda = constant_any,
                        .grad = constant_grad};

// What was cut has gradient 0.
void constant_grad(GradArgs& g) {
  PadAttrs p = g.attrs<PadAttrs>();
  for (int64_t d = 0; d < p.rank; ++d) {
    p.before[d] = -p.before[d];
    p.after[d] = -p.after[d];
  }
  g.set(0, dispatch(constant_op, {g.grad()}, p, Scalar(0)));
}

// --- reflect, replicate, circular ---

enum class Border { Reflect, Replicate, Circular };

// What stands before (or after) the elements of dim d, `n` > 0 of them.
Tensor edge_of(const Tensor& x, Border mode, int64_t d, int64_t n, bool before) {
  int64_t size = x.sizes()[d];
  switch (mode) {
    case Border::Reflect:
      return flip(narrow(x, d, before ? 1 : size - 1 - n, n), {d});
    case Border::Circular:
      return narrow(x, d, before ? size - n : 0, n);
    default: {
      Dims sizes(x.sizes());
      sizes[int(d)] = n;
      return expand(narrow(x, d, before ? 0 : size - 1, 1), sizes);
    }
  }
}

void check_border(const char* name, Border mode, const Tensor& x, int64_t d, int64_t before, int64_t after) {
  int64_t size = x.sizes()[d], most = std::max(before, after), total = 0;
  if (mode == Border::Reflect)
    check(most < size, "pad: ", name, " needs pads smaller than the size, got ", before, " and ", after,
          " for dim ", d, " of a tensor of sizes ", x.sizes());
  if (mode == Border::Circular)
    check(most <= size, "pad: ", name, " needs pads of at most the size, got ", before, " and ", after,
          " for dim ", d, " of a tensor of sizes ", x.sizes());
  check(size > 0 || most <= 0, "pad: dim ", d, " of a tensor of sizes ", x.sizes(), " has nothing to repeat");
  bool overflow =
      __builtin_add_overflow(size, before, &total) || __builtin_add_overflow(total, after, &total);
  check(!overflow && total > 0, "pad: ", name, " by ", before, " and ", after, " leaves no size for dim ", d,
        " of a tensor of sizes ", x.sizes());
}

Tensor pad_dim(const char* name, const Tensor& x, Border mode, int64_t d, int64_t before, int64_t after) {
  check_border(name, mode, x, d, before, after);
  int64_t cut_before = std::max<int64_t>(-before, 0), cut_after = std::max<int64_t>(-after, 0);
  Tensor middle = x;
  if (cut_before + cut_after > 0) middle = narrow(x, d, cut_before, x.sizes()[d] - cut_before - cut_after);
  // PyTorch repeats what was left by the cut in a circle, but reflects and replicates the whole.
  const Tensor& whole = mode == Border::Circular ? middle : x;
  if (mode == Border::Circular && middle.sizes()[d] < x.sizes()[d])
    check_border(name, mode, middle, d, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
  std::vector<Tensor> parts;
  if (before > 0) parts.push_back(edge_of(whole, mode, d, before, true));
  parts.push_back(middle);
  if (after > 0) parts.push_back(edge_of(whole, mode, d, after, false));
  return parts.size() == 1 ? middle : cat(parts, d);
}

Tensor pad_with_itself(const char* name, const Tensor& x, Border mode, IntArrayRef pad) {
  int64_t padded = int64_t(pad.size()) / 2;
  check(pad.size() % 2 == 0 && padded >= 1 && padded <= 3 && (x.dim() == padded + 1 || x.dim() == padded + 2),
        "pad: ", name, " pads the last 1, 2 or 3 dims of (C, ...) or (N, C, ...) tensors, got pad ", pad,
        " for sizes ", x.sizes());
  Tensor out = x;
  for (int64_t i = 0; i < padded; ++i)
    out = pad_dim(name, out, mode, x.dim() - 1 - i, pad[size_t(2 * i)], pad[size_t(2 * i + 1)]);
  return out.is_same(x) || out.is_alias_of(x) ? clone(out) : out;
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value) {
  return dispatch(constant_op, {x}, pad_attrs("constant_pad_nd", x, pad), value);
}

Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant")
    return dispatch(constant_op, {x}, pad_attrs("pad", x, pad), Scalar(value.value_or(0)));
  check(!value || *value == 0, "pad: mode ", mode, " takes no value, got ", value.value_or(0));
  if (mode == "reflect") return pad_with_itself("reflect", x, Border::Reflect, pad);
  if (mode == "replicate") return pad_with_itself("replicate", x, Border::Replicate, pad);
  if (mode == "circular") return pad_with_itself("circular", x, Border::Circular, pad);
  fail("pad: mode must be constant, reflect, replicate or circular, got \"", mode, "\"");
}

}  // namespace tarn::inline v1
