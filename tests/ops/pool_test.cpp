#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/pool.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::formula_tensor;
using testing::tensor_of;
using testing::values_of;
using Sizes = std::vector<int64_t>;

namespace {

struct Case {
  Sizes x, kernel, stride, padding = {0, 0}, dilation = {1, 1};
  bool ceil_mode = false;
};

const Case kCases[] = {
    {{2, 3, 6, 7}, {2, 2}, {2, 2}},
    {{2, 3, 7, 9}, {3, 3}, {2, 2}, {1, 1}},
    {{1, 5, 8, 40}, {3, 2}, {1, 1}, {1, 1}},
    {{1, 2, 9, 10}, {3, 2}, {3, 4}, {1, 0}, {1, 1}, true},
    {{1, 2, 9, 400}, {2, 3}, {1, 2}, {1, 1}, {1, 1}, true},
    {{2, 2, 9, 10}, {2, 3}, {1, 2}, {1, 1}, {3, 2}},
    {{1, 20, 4, 4}, {4, 4}, {4, 4}},
};

int64_t output_size(const Case& c, int d) {
  int64_t room = c.x[2 + d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1;
  int64_t out = (c.ceil_mode ? (room + c.stride[d] - 1) : room) / c.stride[d] + 1;
  if (c.ceil_mode && (out - 1) * c.stride[d] >= c.x[2 + d] + c.padding[d]) --out;
  return out;
}

// Calls f(output index, plane number, input positions of its window, elements with padding) for each output.
template <class F>
Sizes for_windows(const Case& c, F f) {
  int64_t H = c.x[2], W = c.x[3], OH = output_size(c, 0), OW = output_size(c, 1), index = 0;
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane)
    for (int64_t i = 0; i < OH; ++i)
      for (int64_t j = 0; j < OW; ++j) {
        Sizes positions;
        int64_t padded = 0;
        for (int64_t kh = 0; kh < c.kernel[0]; ++kh)
          for (int64_t kw = 0; kw < c.kernel[1]; ++kw) {
            int64_t h = i * c.stride[0] - c.padding[0] + kh * c.dilation[0];
            int64_t w = j * c.stride[1] - c.padding[1] + kw * c.dilation[1];
            if (h < H + c.padding[0] && w < W + c.padding[1]) ++padded;
            if (h >= 0 && h < H && w >= 0 && w < W) positions.push_back(h * W + w);
          }
        f(index++, plane, positions, padded);
      }
  return {c.x[0], c.x[1], OH, OW};
}

}  // namespace

TEST_CASE("max_pool2d finds the largest of each window and its place") {
  for (const Case& c : kCases) {
    INFO("x " << str(c.x) << " kernel " << str(c.kernel) << " stride " << str(c.stride));
    Tensor x = formula_tensor(c.x);
    std::vector<double> xs = values_of(x), best, places, gx(xs.size());
    int64_t size = c.x[2] * c.x[3];
    Sizes sizes = for_windows(c, [&](int64_t index, int64_t plane, const Sizes& window, int64_t) {
      int64_t at = window[0];
      for (int64_t p : window)
        if (xs[plane * size + p] > xs[plane * size + at]) at = p;
      best.push_back(xs[plane * size + at]);
      places.push_back(double(at));
      gx[plane * size + at] += testing::evaluate(testing::kAround0, index, false);
    });
    for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
      Tensor input = x.contiguous(format).clone().requires_grad_();
      auto [y, indices] =
          max_pool2d_with_indices(input, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode);
      CHECK(y.is_contiguous(format));
      CHECK_SAME(y, tensor_of(best, kFloat, sizes));
      CHECK_SAME(indices, tensor_of(places, kLong, sizes));
      y.backward(formula_tensor(sizes));
      CHECK_CLOSE(input.grad(), tensor_of(gx, kFloat, c.x));
    }
  }
}

TEST_CASE("avg_pool2d sums each window over its size") {
  for (const Case& c : kCases) {
    if (c.dilation != Sizes{1, 1}) continue;
    for (int mode = 0; mode < 3; ++mode) {
      INFO("x " << str(c.x) << " kernel " << str(c.kernel) << " stride " << str(c.stride) << " mode "
                << mode);
      std::optional<int64_t> divisor = mode == 2 ? std::optional<int64_t>(7) : std::nullopt;
      Tensor x = formula_tensor(c.x, kDouble);
      std::vector<double> xs = values_of(x), ys, gx(xs.size());
      int64_t size = c.x[2] * c.x[3];
      Sizes sizes = for_windows(c, [&](int64_t index, int64_t plane, const Sizes& window, int64_t padded) {
        double sum = 0, by = double(divisor.value_or(mode == 0 ? padded : int64_t(window.size())));
        for (int64_t p : window) sum += xs[plane * size + p];
        ys.push_back(sum / by);
        for (int64_t p : window)
          gx[plane * size + p] += testing::evaluate(testing::kAround0, index, false) / by;
      });
      for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
        Tensor input = x.contiguous(format).clone().requires_grad_();
        Tensor y = avg_pool2d(input, c.kernel, c.stride, c.padding, c.ceil_mode, mode == 0, divisor);
        CHECK(y.is_contiguous(format));
        CHECK_CLOSE(y, tensor_of(ys, kDouble, sizes));
        y.backward(formula_tensor(sizes, kDouble));
        CHECK_CLOSE(input.grad(), tensor_of(gx, kDouble, c.x));
        Tensor single = avg_pool2d(x.to(kFloat).contiguous(format), c.kernel, c.stride, c.padding,
                                   c.ceil_mode, mode == 0, divisor);
        CHECK_CLOSE(single, tensor_of(ys, kFloat, sizes));
      }
    }
  }
}

TEST_CASE("adaptive pools divide the input evenly") {
  Tensor x = arange(1, 8, kFloat).view({1, 1, 1, 7});
  CHECK_CLOSE(adaptive_avg_pool2d(x, {1, 3}),
              tensor_of({2, 4, 6}, kFloat, {1, 1, 1, 3}));  // 1 2 3 | 3 4 5 | 5 6 7
  auto [y, places] = adaptive_max_pool2d(x, {1, 2});
  CHECK_SAME(y, tensor_of({4, 7}, kFloat, {1, 1, 1, 2}));
  CHECK_SAME(places, tensor_of({3, 6}, kLong, {1, 1, 1, 2}));
  for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
    Tensor big = formula_tensor({3, 5, 7, 6}).contiguous(format);
    CHECK_CLOSE(adaptive_avg_pool2d(big, 1), big.mean({2, 3}, true), {1e-5, 1e-6});
    CHECK_CLOSE(std::get<0>(adaptive_max_pool2d(big, 1)), big.amax({2, 3}, true));
    CHECK_CLOSE(adaptive_avg_pool2d(big, {7, 6}), big);
  }
  Tensor wide = formula_tensor({2, 3, 30, 40});
  CHECK_CLOSE(adaptive_avg_pool2d(wide, 1), wide.mean({2, 3}, true), {1e-5, 1e-5});
}

TEST_CASE("pools have first and second derivatives") {
  Tensor x0 = formula_tensor({2, 3, 6, 7}, kDouble);
  auto pools = {+[](const Tensor& x) { return max_pool2d(x, 3, 2, 1); },
                +[](const Tensor& x) { return avg_pool2d(x, 3, 2, 1, true, false); },
                +[](const Tensor& x) {
                  return adaptive_avg_pool2d(x, {4, 3});
                }};
  for (auto pool : pools)
    for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
      Tensor x = x0.contiguous(format).clone().requires_grad_(), y = pool(x);
      Tensor g = formula_tensor(y.sizes(), kDouble).requires_grad_();
      Tensor gx = autograd::grad({y}, {x}, {g}, true, true)[0];
      // Both are linear around x: sum(gx * v) = sum(g * y(v)) for the y that has x's choices.
      Tensor v = formula_tensor(x.sizes(), kDouble, testing::kPositive);
      Tensor to_g = autograd::grad({(gx * v).sum()}, {g})[0];
      Tensor step = pool(x.detach() + v * 1e-9);
      CHECK_CLOSE(to_g, (step - y.detach()) / 1e-9, {1e-5, 1e-5});
    }
}

TEST_CASE("max_pool2d keeps NaN, and the first of equals") {
  Tensor x = tensor_of({1, NAN, 3, 2, 2, 2}, kFloat, {1, 1, 1, 6});
  auto [y, places] = max_pool2d_with_indices(x, {1, 3});
  CHECK(std::isnan(values_of(y)[0]));
  CHECK_SAME(places, tensor_of({1, 3}, kLong, {1, 1, 1, 2}));
  Tensor wide = full({1, 2, 4, 40}, -INFINITY);
  CHECK_SAME(max_pool2d(wide, 2), full({1, 2, 2, 20}, -INFINITY));
}

TEST_CASE("pools take (C, H, W), one dim, halves and strides") {
  Tensor x = formula_tensor({3, 6, 8});
  CHECK_SAME(max_pool2d(x, 2), max_pool2d(x.unsqueeze(0), 2)[0]);
  CHECK_SAME(max_pool1d(x, 2), max_pool2d(x.unsqueeze(0), {1, 2})[0]);
  CHECK_CLOSE(avg_pool1d(x, 3, 1, 1), avg_pool2d(x.unsqueeze(0), {1, 3}, 1, {0, 1})[0]);
  CHECK_CLOSE(adaptive_avg_pool1d(x, 3), adaptive_avg_pool2d(x.unsqueeze(0), {6, 3})[0]);
  CHECK_SAME(max_pool2d(x.to(kHalf), 2), max_pool2d(x, 2).to(kHalf));
  Tensor turned = formula_tensor({2, 8, 6, 3}).permute({0, 3, 2, 1});
  CHECK_SAME(max_pool2d(turned.narrow(1, 1, 2), 2),
             max_pool2d(turned.narrow(1, 1, 2).clone(MemoryFormat::Contiguous), 2));
  CHECK(max_pool2d(formula_tensor({0, 3, 4, 4}), 2).sizes() == Sizes{0, 3, 2, 2});
}

TEST_CASE("pools have the same bits for any number of threads") {
  int before = get_num_threads();
  for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
    Tensor x = formula_tensor({9, 16, 30, 31}).contiguous(format), most, mean;
    for (int threads : {1, 2, 8}) {
      set_num_threads(threads);
      Tensor a = max_pool2d(x, 3, 2, 1), b = avg_pool2d(x, 3, 2, 1);
      if (threads == 1) most = a, mean = b;
      CHECK_SAME(a, most);
      CHECK_SAME(b, mean);
    }
    set_num_threads(before);
  }
}

TEST_CASE("pools name what does not fit") {
  Tensor x = formula_tensor({2, 3, 8, 8});
  CHECK_ERROR(max_pool2d(x[0][0], 2), "max_pool2d: input must be (N, C, H, W) or (C, H, W), got [8, 8]");
  CHECK_ERROR(avg_pool1d(x, 2), "avg_pool1d: input must be (N, C, W) or (C, W), got [2, 3, 8, 8]");
  CHECK_ERROR(max_pool2d(x, {2, 2, 2}), "max_pool2d: kernel_size must have 1 or 2 values, got [2, 2, 2]");
  CHECK_ERROR(max_pool2d(x, 0), "max_pool2d: kernel_size must be at least 1, got [0]");
  CHECK_ERROR(max_pool2d(x, 2, 0), "max_pool2d: stride must be at least 1, got [0]");
  CHECK_ERROR(max_pool2d(x, 3, 1, 2),
              "max_pool2d: padding must be at most half of the kernel, got padding [2] and kernel [3]");
  CHECK_ERROR(max_pool2d(x, 3, 1, 0, 0), "max_pool2d: dilation must be at least 1, got [0]");
  CHECK_ERROR(avg_pool2d(x, 9),
              "avg_pool2d: a kernel of [9, 9] with dilation [1, 1] does not fit input [2, 3, 8, 8] with "
              "padding [0, 0]");
  CHECK_ERROR(avg_pool2d(x, 2, 2, 0, false, true, 0), "avg_pool2d: divisor_override must not be 0");
  CHECK_ERROR(adaptive_avg_pool2d(x, -1), "adaptive_avg_pool2d: output_size must be at least 0, got [-1]");
  CHECK_ERROR(max_pool2d(x.to(kLong), 2), "max_pool2d: not implemented for dtype Long");
  CHECK_ERROR(adaptive_avg_pool2d(formula_tensor({2, 3, 0, 4}), 2),
              "adaptive_avg_pool2d: input [2, 3, 0, 4] has an empty plane");
}
