// Ops of order and running results on a device: the CPU does the work, and results are where x is.
#include <tarn/tests/cuda/device.h>

#include <functional>
#include <tuple>

using namespace tarn;
using namespace tarn::testing;

namespace {

using Tensors = std::vector<Tensor>;

Tensors list(const Tensor& t) { return {t}; }
template <class... T>
Tensors list(const std::tuple<T...>& results) {
  return std::apply([](const auto&... t) { return Tensors{t...}; }, results);
}

struct Case {
  const char* name;
  std::function<Tensors(const Tensor&)> call;
};

#define ON_BOTH(expression)                                       \
  Case {                                                          \
#expression, [](const Tensor& x) { return list(expression); } \
  }

Tensor flat(const Tensor& x) { return x.detach().reshape({-1}); }

const Case kCases[] = {
    ON_BOTH(sort(x, 0, true)),
    ON_BOTH(topk(x, 3)),
    ON_BOTH(kthvalue(x, 2, 0)),
    ON_BOTH(median(x)),
    ON_BOTH(nanmedian(x, 1)),
    ON_BOTH(mode(x)),
    ON_BOTH(quantile(x, 0.3, 1)),
    ON_BOTH(nanquantile(x, 0.3)),
    ON_BOTH(cumsum(x, 1)),
    ON_BOTH(cumprod(x, 0)),
    ON_BOTH(logcumsumexp(x, 1)),
    ON_BOTH(cummax(x, 0)),
    ON_BOTH(cummin(x, 1)),
    ON_BOTH(nansum(x)),
    ON_BOTH(nanmean(x, {0})),
    ON_BOTH(count_nonzero(x)),
    ON_BOTH(aminmax(x)),
    ON_BOTH(unique(x, true, true, true)),
    ON_BOTH(unique_consecutive(x, true, true, 0)),
    ON_BOTH(searchsorted(msort(flat(x)), x)),
    ON_BOTH(bucketize(0.5, msort(flat(x)))),
    ON_BOTH(bincount(flat(x).abs().mul(9).to(kLong))),
    ON_BOTH(histc(x, 7)),
    ON_BOTH(diff(x)),
    ON_BOTH(trapezoid(x)),
    ON_BOTH(cumulative_trapezoid(x, 2, 0)),
    ON_BOTH(cov(x)),
    ON_BOTH(dist(x, x * 2)),
};

}  // namespace

TEST_CASE("order and running results are the same on the device, and stay there") {
  for (const Case& c : kCases) {
    INFO(c.name);
    Tensor x = formula_tensor({4, 6}, kDouble).requires_grad_();
    Tensor y = x.detach().to(kGpu).requires_grad_();
    Tensors want = c.call(x), got = c.call(y);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].is_cuda());
      CHECK_CLOSE(got[i].detach().cpu(), want[i].detach());
    }
    if (!want[0].requires_grad()) continue;
    want[0].square().sum().backward();
    got[0].square().sum().backward();
    CHECK_CLOSE(y.grad().cpu(), x.grad());
  }
}

TEST_CASE("cumsum_ and cumprod_ write on the device") {
  Tensor x = formula_tensor({4, 6}), y = x.to(kGpu), z = x.to(kGpu);
  y.cumsum_(1);
  z.cumprod_(0);
  CHECK_CLOSE(y.cpu(), x.cumsum(1));
  CHECK_CLOSE(z.cpu(), x.cumprod(0));
}
