#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/overlap.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// The places that a tensor's elements have in their storage.
std::vector<int64_t> places(const Tensor& t) {
  std::vector<int64_t> out;
  for_each_offset(t.sizes(), t.strides(),
                  [&](int64_t offset, int64_t) { out.push_back(t.storage_offset() + offset); });
  std::sort(out.begin(), out.end());
  return out;
}

bool meet(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> x = places(a), y = places(b), both;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
  return !both.empty();
}

}  // namespace

TEST_CASE("columns, even and odd elements share nothing; a row and a column do") {
  Tensor x = detail::make_tensor({4, 5}, kFloat);
  CHECK_FALSE(detail::share_elements(x.select(1, 0), x.select(1, 1)));
  CHECK_FALSE(detail::share_elements(x.slice(1, 0, {}, 2), x.slice(1, 1, {}, 2)));
  CHECK_FALSE(detail::share_elements(x.select(1, 0).slice(0, 1), x.select(0, 0)));
  CHECK(detail::share_elements(x.select(1, 0), x.select(0, 3)));
  CHECK(detail::share_elements(x.slice(1, 0, 4), x.slice(1, 1)));
}

TEST_CASE("share_elements agrees with a count over all small windows") {
  Tensor x = detail::make_tensor({60}, kFloat);
  std::vector<Tensor> windows;
  for (int64_t offset : {0, 1, 3, 7})
    for (int64_t rows : {1, 2, 3})
      for (int64_t columns : {1, 4})
        for (int64_t step : {0, 1, 2, 5, 11})
          for (int64_t inner : {1, 2, 3, 5})
            windows.push_back(x.as_strided({rows, columns}, {step, inner}, offset));
  int wrong = 0;
  for (const Tensor& a : windows)
    for (const Tensor& b : windows) wrong += detail::share_elements(a, b) != meet(a, b);
  CHECK(wrong == 0);
}

TEST_CASE("a column can be added to its neighbour, but not a shifted window to its source") {
  Tensor x = detail::make_tensor({2, 3}, kFloat);
  x.fill_(1);
  x.select(1, 0).add_(x.select(1, 1));
  CHECK(values_of(x) == std::vector<double>{2, 1, 1, 2, 1, 1});
  CHECK_ERROR(x.slice(1, 0, 2).add_(x.slice(1, 1, 3)),
              "add: the tensor written in place shares a part of its memory with input 1; call clone() on "
              "one of them first");
}
