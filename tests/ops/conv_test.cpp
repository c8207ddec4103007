#include <tarn/autograd/autograd.h>
#include <tarn/core/cpu/contractions.h>
#include <tarn/core/ops/conv.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn_config.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::formula_tensor;
using testing::tensor_of;
using testing::values_of;
using Sizes = std::vector<int64_t>;

namespace {

struct Provider {
  explicit Provider(const char* name) { detail::use_contractions(name); }
  ~Provider() { detail::use_contractions(TARN_HAS_ONEDNN ? "onednn" : "eigen"); }
};

std::vector<const char*> providers() {
  std::vector<const char*> names = {"eigen"};
  if (TARN_HAS_ONEDNN) names.push_back("onednn");
  return names;
}

struct Case {
  Sizes x, w;
  Sizes stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
};

int64_t option(const Sizes& values, size_t d) { return values.size() == 1 ? values[0] : values[d]; }

struct Reference {
  Tensor y, gx, gw;
};

// The definition, one product at a time, in double: y, and for the gradient formula_tensor(y's sizes) those
// of x and w.
Reference reference(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias) {
  size_t nd = c.x.size() - 2;
  Sizes out = {c.x[0], c.w[0]};
  for (size_t d = 0; d < nd; ++d)
    out.push_back((c.x[2 + d] + 2 * option(c.padding, d) - option(c.dilation, d) * (c.w[2 + d] - 1) - 1) /
                      option(c.stride, d) +
                  1);
  Tensor gy = formula_tensor(out, x.dtype());
  std::vector<double> xs = values_of(x), ws = values_of(w), gs = values_of(gy), bs = values_of(bias);
  std::vector<double> ys(gs.size()), gx(xs.size()), gw(ws.size());
  Dims y_step = contiguous_strides(out), x_step = contiguous_strides(c.x), w_step = contiguous_strides(c.w);
  int64_t out_per_group = c.w[0] / c.groups;
  for (int64_t yi = 0; yi < int64_t(ys.size()); ++yi) {
    int64_t n = yi / y_step[0], o = yi / y_step[1] % out[1];
    ys[yi] += bs[o];
    for (int64_t k = 0; k < w_step[0]; ++k) {
      int64_t channel = o / out_per_group * c.w[1] + k / w_step[1];
      int64_t xi = n * x_step[0] + channel * x_step[1];
      bool inside = true;
      for (size_t d = 0; d < nd; ++d) {
        int64_t p = yi / y_step[2 + d] % out[2 + d], q = k / w_step[2 + d] % c.w[2 + d];
        int64_t at = p * option(c.stride, d) + q * option(c.dilation, d) - option(c.padding, d);
        inside = inside && at >= 0 && at < c.x[2 + d];
        xi += at * x_step[2 + d];
      }
      if (!inside) continue;
      int64_t wi = o * w_step[0] + k;
      ys[yi] += xs[xi] * ws[wi];
      gx[xi] += gs[yi] * ws[wi];
      gw[wi] += gs[yi] * xs[xi];
    }
  }
  return {tensor_of(ys, x.dtype(), out), tensor_of(gx, x.dtype(), c.x), tensor_of(gw, x.dtype(), c.w)};
}

Tensor run_conv(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (c.x.size() == 3) return conv1d(x, w, bias, c.stride, c.padding, c.dilation, c.groups);
  if (c.x.size() == 4) return conv2d(x, w, bias, c.stride, c.padding, c.dilation, c.groups);
  return conv3d(x, w, bias, c.stride, c.padding, c.dilation, c.groups);
}

void check_case(const Case& c, ScalarType dtype, MemoryFormat format, testing::Tolerance tolerance) {
  Tensor x = formula_tensor(c.x, dtype).contiguous(format).requires_grad_();
  Tensor w = formula_tensor(c.w, dtype).contiguous(format).requires_grad_();
  Tensor bias = formula_tensor({c.w[0]}, dtype).requires_grad_();
  Reference want = reference(c, x.detach(), w.detach(), bias.detach());
  Tensor y = run_conv(c, x, w, bias);
  CHECK(y.is_contiguous(format));
  CHECK_CLOSE(y, want.y, tolerance);
  y.backward(formula_tensor(want.y.sizes(), dtype).contiguous(format));
  CHECK_CLOSE(x.grad(), want.gx, tolerance);
  CHECK_CLOSE(w.grad(), want.gw, tolerance);
  CHECK(w.grad().is_contiguous(format));
}

const Case kCases2d[] = {
    {{2, 3, 7, 6}, {4, 3, 3, 3}},
    {{2, 3, 7, 6}, {4, 3, 3, 2}, {2}, {1}},
    {{1, 4, 9, 8}, {6, 2, 3, 3}, {2, 1}, {2, 0}, {1, 2}, 2},
    {{3, 6, 5, 5}, {6, 1, 3, 3}, {1}, {1}, {1}, 6},
    {{2, 4, 6, 5}, {8, 1, 3, 3}, {2}, {1}, {1}, 4},
    {{2, 16, 9, 9}, {32, 16, 3, 3}, {1}, {1}},
    {{2, 32, 8, 8}, {16, 32, 1, 1}, {2}},
    {{5, 16, 7, 7}, {16, 16, 1, 1}},
    {{19, 1, 12, 12}, {16, 1, 3, 3}, {1}, {1}},
    {{2, 3, 5, 5}, {2, 3, 5, 5}},
    {{1, 64, 6, 6}, {128, 64, 3, 3}, {1}, {1}},
    {{2, 2, 3, 3}, {2, 2, 3, 3}, {1}, {4}},
};

}  // namespace

TEST_CASE("conv2d and its gradients are the definition's, for either provider and layout") {
  for (const char* name : providers()) {
    Provider provider(name);
    for (const Case& c : kCases2d) {
      INFO(name << " x " << str(c.x) << " w " << str(c.w));
      check_case(c, kFloat, MemoryFormat::Contiguous, {1e-4, 2e-2});
      if (c.x[1] > 1 && c.w[1] > 1) check_case(c, kFloat, MemoryFormat::ChannelsLast, {1e-4, 2e-2});
    }
  }
}

TEST_CASE("conv2d in double is exact to rounding") {
  for (const Case& c : kCases2d) check_case(c, kDouble, MemoryFormat::Contiguous, {1e-12, 1e-9});
  check_case(kCases2d[1], kDouble, MemoryFormat::ChannelsLast, {1e-12, 1e-9});
}

TEST_CASE("conv1d and conv3d go by the same definition") {
  for (const char* name : providers()) {
    Provider provider(name);
    INFO(name);
    check_case({{2, 3, 20}, {4, 3, 5}, {2}, {2}}, kFloat, MemoryFormat::Contiguous, {1e-4, 1e-2});
    check_case({{2, 4, 15}, {4, 1, 3}, {1}, {2}, {2}, 4}, kFloat, MemoryFormat::Contiguous, {1e-4, 1e-2});
    check_case({{2, 3, 5, 6, 7}, {4, 3, 2, 3, 3}, {1, 2, 1}, {1, 0, 1}}, kFloat, MemoryFormat::Contiguous,
               {1e-4, 1e-2});
    check_case({{1, 2, 5, 6, 4}, {4, 2, 2, 3, 3}, {1}, {1}, {1, 1, 2}}, kDouble, MemoryFormat::Contiguous,
               {1e-12, 1e-9});
  }
}

TEST_CASE("second derivatives of conv2d are convolutions") {
  // gx and gw are linear in their tensors: sum(gx v) = sum(conv(v, w) gy), and sum(gw u) = sum(conv(x, u)
  // gy).
  for (const Case& c : {kCases2d[2], kCases2d[4], kCases2d[5]}) {
    INFO("x " << str(c.x) << " w " << str(c.w));
    Tensor x = formula_tensor(c.x, kDouble).requires_grad_(),
           w = formula_tensor(c.w, kDouble).requires_grad_();
    Tensor y = run_conv(c, x, w, {}), gy = formula_tensor(y.sizes(), kDouble).requires_grad_();
    Tensor v = formula_tensor(c.x, kDouble, testing::kUnit), u = formula_tensor(c.w, kDouble, testing::kUnit);
    std::vector<Tensor> first = autograd::grad({y}, {x, w}, {gy}, true, true);

    std::vector<Tensor> of_gx = autograd::grad({first[0]}, {gy, w}, {v});
    CHECK_CLOSE(of_gx[0], run_conv(c, v, w.detach(), {}));
    CHECK_CLOSE(of_gx[1], autograd::grad({run_conv(c, v, w, {})}, {w}, {gy.detach()})[0]);

    std::vector<Tensor> of_gw = autograd::grad({first[1]}, {gy, x}, {u});
    CHECK_CLOSE(of_gw[0], run_conv(c, x.detach(), u, {}));
    CHECK_CLOSE(of_gw[1], autograd::grad({run_conv(c, x, u, {})}, {x}, {gy.detach()})[0]);
  }
}

TEST_CASE("a 3x3 box over ones counts the pixels in reach") {
  Tensor x = tensor_of(std::vector<double>(9, 1), kFloat, {1, 1, 3, 3});
  Tensor want = tensor_of({4, 6, 4, 6, 9, 6, 4, 6, 4}, kFloat, {1, 1, 3, 3});
  CHECK_SAME(conv2d(x, x, {}, 1, 1), want);
  CHECK_SAME(conv2d(x, x, {}, 1, "same"), want);
  CHECK_SAME(conv2d(x[0], x, {}, 1, "same"), want[0]);
  CHECK_SAME(conv2d(x, x, {}, 1, "valid"), tensor_of({9}, kFloat, {1, 1, 1, 1}));
}

TEST_CASE("padding same puts the odd one of an even window last") {
  Tensor x = tensor_of({1, 2, 3}, kFloat, {1, 1, 3}), w = tensor_of({10, 1}, kFloat, {1, 1, 2});
  CHECK_SAME(conv1d(x, w, {}, 1, "same"), tensor_of({12, 23, 30}, kFloat, {1, 1, 3}));
}

TEST_CASE("conv2d has the same bits for any number of threads") {
  Case cases[] = {{{37, 16, 14, 14}, {32, 16, 3, 3}, {1}, {1}},
                  {{3, 64, 12, 12}, {64, 64, 3, 3}, {1}, {1}},
                  {{16, 1, 28, 28}, {16, 1, 3, 3}, {2}, {1}},
                  {{20, 8, 9, 9}, {8, 1, 3, 3}, {1}, {1}, {1}, 8}};
  int before = get_num_threads();
  for (const char* name : providers()) {
    Provider provider(name);
    for (const Case& c : cases) {
      INFO(name << " x " << str(c.x) << " w " << str(c.w));
      Tensor y, gx, gw;
      for (int threads : {1, 2, 3, 8}) {
        set_num_threads(threads);
        Tensor x = formula_tensor(c.x).requires_grad_(), w = formula_tensor(c.w).requires_grad_();
        Tensor got = run_conv(c, x, w, {});
        got.backward(formula_tensor(got.sizes()));
        if (threads == 1) {
          y = got, gx = x.grad(), gw = w.grad();
          continue;
        }
        CHECK_SAME(got, y);
        CHECK_SAME(x.grad(), gx);
        CHECK_SAME(w.grad(), gw);
      }
      set_num_threads(before);
    }
  }
}

TEST_CASE("conv2d reads any strides") {
  Tensor x = formula_tensor({2, 6, 7, 3}).permute({0, 3, 2, 1}),
         w = formula_tensor({8, 3, 6, 3}).slice(2, 0, 6, 2);
  Tensor bias = formula_tensor({16}).slice(0, 0, 16, 2);
  Tensor want = conv2d(x.clone(MemoryFormat::Contiguous), w.contiguous(), bias.contiguous());
  CHECK_CLOSE(conv2d(x, w, bias), want);
}

TEST_CASE("half precision convolutions sum in float and round once") {
  Tensor x = tensor_of(std::vector<double>(300, 1), kBFloat16, {1, 300, 1, 1}), w = x;
  CHECK(values_of(conv2d(x, w))[0] == 300);
  Tensor xh = formula_tensor({2, 3, 6, 6}, kHalf), wh = formula_tensor({4, 3, 3, 3}, kHalf);
  CHECK_CLOSE(conv2d(xh, wh), conv2d(xh.to(kFloat), wh.to(kFloat)).to(kHalf), {1e-3, 1e-2});
}

TEST_CASE("convolutions of nothing") {
  Tensor w = formula_tensor({4, 3, 3, 3}).requires_grad_(), bias = tensor_of({1, 2, 3, 4});
  Tensor x = formula_tensor({0, 3, 8, 8}).requires_grad_();
  Tensor y = conv2d(x, w, bias);
  CHECK(y.sizes() == Sizes{0, 4, 6, 6});
  y.backward(formula_tensor({0, 4, 6, 6}));
  CHECK_SAME(w.grad(), tensor_of(std::vector<double>(108, 0), kFloat, {4, 3, 3, 3}));
  CHECK_SAME(conv2d(formula_tensor({1, 0, 1, 1}), formula_tensor({4, 0, 1, 1}), bias).view({4}), bias);
}

TEST_CASE("conv2d names what does not fit") {
  Tensor x = formula_tensor({2, 3, 8, 8}), w = formula_tensor({8, 4, 3, 3}),
         good = formula_tensor({8, 3, 3, 3});
  CHECK_ERROR(conv2d(x, w), "conv2d: input has 3 channels, weight [8, 4, 3, 3] expects 4");
  CHECK_ERROR(conv2d(x, w, {}, 1, 0, 1, 2),
              "conv2d: input has 3 channels, weight [8, 4, 3, 3] in 2 groups expects 8");
  CHECK_ERROR(conv2d(x, formula_tensor({8, 1, 3, 3}), {}, 1, 0, 1, 3),
              "conv2d: the 8 outputs of weight [8, 1, 3, 3] do not divide into 3 groups");
  CHECK_ERROR(conv2d(x[0][0], good), "conv2d: input must be (N, C, H, W) or (C, H, W), got [8, 8]");
  CHECK_ERROR(conv1d(x, good), "conv1d: input must be (N, C, W) or (C, W), got [2, 3, 8, 8]");
  CHECK_ERROR(conv2d(x, good[0]),
              "conv2d: weight must be (outputs, channels / groups, kernel of 2 dims), got [3, 3, 3]");
  CHECK_ERROR(conv2d(x, good, formula_tensor({3})),
              "conv2d: bias [3] does not fit weight [8, 3, 3, 3], which has 8 outputs");
  CHECK_ERROR(conv2d(x, good, {}, {1, 2, 3}), "conv2d: stride must have 1 or 2 values, got [1, 2, 3]");
  CHECK_ERROR(conv2d(x, good, {}, 0), "conv2d: stride must be at least 1, got [0]");
  CHECK_ERROR(conv2d(x, good, {}, 1, -1), "conv2d: padding must be at least 0, got [-1]");
  CHECK_ERROR(conv2d(x, good, {}, 1, 0, 0), "conv2d: dilation must be at least 1, got [0]");
  CHECK_ERROR(conv2d(x, good, {}, 1, 0, 1, 0), "conv2d: groups must be at least 1, got 0");
  CHECK_ERROR(
      conv2d(x, formula_tensor({8, 3, 9, 3})),
      "conv2d: a kernel of [9, 3] with dilation [1, 1] does not fit input [2, 3, 8, 8] with padding [0, 0]");
  CHECK_ERROR(conv2d(x, good, {}, 2, "same"), "conv2d: padding 'same' needs stride 1, got [2]");
  CHECK_ERROR(conv2d(x, good, {}, 1, "full"),
              "conv2d: padding must be numbers, 'same' or 'valid', got 'full'");
  CHECK_ERROR(conv2d(x, good.to(kDouble)), "conv2d: input is Float, weight is Double; convert one with to()");
  CHECK_ERROR(conv2d(x.to(kLong), good.to(kLong)), "conv2d: not implemented for dtype Long");
}
