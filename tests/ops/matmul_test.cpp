#include <tarn/autograd/autograd.h>
#include <tarn/core/cpu/contractions.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

#include <tarn_config.h>

#include <tarn/tests/support.h>

using namespace tarn;
using testing::formula_tensor;
using testing::tensor_of;
using testing::values_of;

namespace {

struct Provider {
  explicit Provider(const char* name) { detail::use_contractions(name); }
  ~Provider() { detail::use_contractions(TARN_HAS_ONEDNN ? "onednn" : "eigen"); }
};

struct Threads {
  explicit Threads(int n) : before(get_num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

std::vector<const char*> providers() {
  std::vector<const char*> names = {"eigen"};
  if (TARN_HAS_ONEDNN) names.push_back("onednn");
  return names;
}

// The definition, in double.
Tensor reference_mm(const Tensor& a, const Tensor& b) {
  int64_t n = a.size(0), k = a.size(1), m = b.size(1);
  std::vector<double> x = values_of(a), y = values_of(b), out(n * m);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j)
      for (int64_t l = 0; l < k; ++l) out[i * m + j] += x[i * k + l] * y[l * m + j];
  return tensor_of(out, a.dtype(), {n, m});
}

using Sizes = std::vector<int64_t>;
constexpr testing::Tolerance kSums{2e-4, 2e-3};

}  // namespace

TEST_CASE("mm is the sum of products, for either provider and any shape") {
  int64_t shapes[][3] = {{1, 1, 1},    {2, 3, 4},      {1, 7, 5},   {5, 7, 1},
                         {33, 65, 17}, {130, 300, 97}, {3, 5000, 4}};
  for (const char* name : providers()) {
    Provider provider(name);
    for (auto [n, k, m] : shapes) {
      Tensor a = formula_tensor({n, k}), b = formula_tensor({k, m});
      INFO(name << " " << n << " " << k << " " << m);
      CHECK_CLOSE(mm(a, b), reference_mm(a, b), kSums);
      Tensor x = formula_tensor({n, k}, kDouble), y = formula_tensor({k, m}, kDouble);
      CHECK_CLOSE(mm(x, y), reference_mm(x, y), {1e-12, 1e-9});
    }
  }
}

TEST_CASE("mm reads any strides") {
  for (const char* name : providers()) {
    Provider provider(name);
    INFO(name);
    Tensor a = formula_tensor({40, 30}), b = formula_tensor({30, 50}), want = reference_mm(a, b);
    Tensor at = formula_tensor({30, 40}).t(), bt = formula_tensor({50, 30}).t();
    CHECK_CLOSE(mm(at, b), reference_mm(at, b), kSums);
    CHECK_CLOSE(mm(a, bt), reference_mm(a, bt), kSums);
    CHECK_CLOSE(mm(at, bt), reference_mm(at, bt), kSums);
    Tensor wide = formula_tensor({80, 60}).slice(0, 1, {}, 2).slice(1, {}, {}, 2);
    CHECK_CLOSE(mm(wide, b), reference_mm(wide, b), kSums);
    Tensor part = formula_tensor({60, 70}).narrow(0, 3, 30).narrow(1, 5, 50);
    CHECK_CLOSE(mm(a, part), reference_mm(a, part), kSums);
    Tensor row = formula_tensor({1, 30}).expand({40, 30});
    CHECK_CLOSE(mm(row, b), reference_mm(row, b), kSums);
  }
}

TEST_CASE("mm over nothing is zero, and may be empty") {
  CHECK_SAME(mm(formula_tensor({2, 0}), formula_tensor({0, 3})),
             tensor_of({0, 0, 0, 0, 0, 0}, kFloat, {2, 3}));
  CHECK(mm(formula_tensor({0, 4}), formula_tensor({4, 3})).sizes() == Sizes{0, 3});
}

TEST_CASE("integers multiply exactly and wrap") {
  Tensor a = tensor_of({1, 2, 3, 4}, kLong, {2, 2}), b = tensor_of({5, 6, 7, 8}, kLong, {2, 2});
  CHECK_SAME(mm(a, b), tensor_of({19, 22, 43, 50}, kLong, {2, 2}));
  CHECK_SAME(mm(tensor_of({16}, kChar, {1, 1}), tensor_of({17}, kChar, {1, 1})),
             tensor_of({16}, kChar, {1, 1}));
}

TEST_CASE("half precision sums in float") {
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    Tensor ones_row = tensor_of(std::vector<double>(1000, 1.0), dtype, {1, 1000});
    CHECK(values_of(mm(ones_row, ones_row.t()))[0] == 1000);
  }
}

TEST_CASE("products have the same bits for any number of threads") {
  Tensor a = formula_tensor({310, 700}), b = formula_tensor({700, 290});
  Tensor tall = formula_tensor({20000, 16}), other = formula_tensor({20000, 24});
  for (const char* name : providers()) {
    Provider provider(name);
    Tensor product, sums;
    {
      Threads one(1);
      product = mm(a, b);
      sums = mm(tall.t(), other);
    }
    CHECK_CLOSE(sums, reference_mm(tall.t(), other), {1e-3, 5e-2});
    for (int threads : {2, 3, 8}) {
      Threads many(threads);
      INFO(name << " " << threads);
      CHECK_SAME(mm(a, b), product);
      CHECK_SAME(mm(tall.t(), other), sums);
    }
  }
}

TEST_CASE("addmm scales and broadcasts what it adds") {
  Tensor a = tensor_of({1, 2, 3, 4}, kFloat, {2, 2}), b = tensor_of({1, 0, 0, 1}, kFloat, {2, 2});
  CHECK_SAME(addmm(tensor_of({10, 20}), a, b), tensor_of({11, 22, 13, 24}, kFloat, {2, 2}));
  CHECK_SAME(addmm(tensor_of({10, 20}), a, b, 2, 3), tensor_of({23, 46, 29, 52}, kFloat, {2, 2}));
  CHECK_SAME(addmm(tensor_of({10, 20}, kFloat, {2, 1}), a, b), tensor_of({11, 12, 23, 24}, kFloat, {2, 2}));
  CHECK_SAME(addmm(tensor_of({NAN}), a, b, 0), a);
  CHECK_SAME(addmm(tensor_of({1, 2}, kLong), a.to(kLong), b.to(kLong), 2, 3),
             tensor_of({5, 10, 11, 16}, kLong, {2, 2}));
  CHECK_ERROR(addmm(tensor_of({1, 2, 3}), a, b),
              "addmm: shapes [3] and [2, 2] do not broadcast: dim 1 is 3 and 2");
}

TEST_CASE("bmm multiplies each matrix of the batch") {
  Tensor a = formula_tensor({3, 4, 5}), b = formula_tensor({3, 5, 6});
  Tensor c = bmm(a, b), d = baddbmm(tensor_of({1}), a, b);
  for (int64_t i = 0; i < 3; ++i) {
    CHECK_CLOSE(c[i], reference_mm(a[i], b[i]), kSums);
    CHECK_CLOSE(d[i], addmm(tensor_of({1}), a[i], b[i]));
  }
  Tensor shared = a[0].unsqueeze(0).expand({3, 4, 5});
  CHECK_CLOSE(bmm(shared, b)[2], reference_mm(a[0], b[2]), kSums);
  CHECK_CLOSE(
      bmm(a.transpose(0, 2), b.transpose(0, 1).narrow(1, 0, 3)),
      bmm(a.transpose(0, 2).clone(MemoryFormat::Contiguous), b.transpose(0, 1).narrow(1, 0, 3).contiguous()));
}

TEST_CASE("matmul follows the ranks") {
  Tensor v3 = formula_tensor({3}), v4 = formula_tensor({4}), m34 = formula_tensor({3, 4}),
         m45 = formula_tensor({4, 5});
  CHECK(matmul(v3, v3).sizes() == Sizes{});
  CHECK(matmul(m34, v4).sizes() == Sizes{3});
  CHECK(matmul(v3, m34).sizes() == Sizes{4});
  CHECK(matmul(m34, m45).sizes() == Sizes{3, 5});
  CHECK(matmul(formula_tensor({2, 7, 3, 4}), m45).sizes() == Sizes{2, 7, 3, 5});
  CHECK(matmul(formula_tensor({2, 7, 3, 4}), v4).sizes() == Sizes{2, 7, 3});
  CHECK(matmul(v3, formula_tensor({2, 7, 3, 4})).sizes() == Sizes{2, 7, 4});
  CHECK(matmul(m34, formula_tensor({2, 4, 5})).sizes() == Sizes{2, 3, 5});
  Tensor a = formula_tensor({2, 1, 3, 4}), b = formula_tensor({5, 4, 2}), c = matmul(a, b);
  REQUIRE(c.sizes() == Sizes{2, 5, 3, 2});
  CHECK_CLOSE(c[1][3], reference_mm(a[1][0], b[3]), kSums);
  CHECK_CLOSE(mv(m34, v4), reference_mm(m34, v4.unsqueeze(1)).squeeze(1), kSums);
  CHECK_CLOSE(dot(v4, v4), reference_mm(v4.unsqueeze(0), v4.unsqueeze(1)).view({}), kSums);
  CHECK(outer(v3, v4).sizes() == Sizes{3, 4});
}

TEST_CASE("linear adds the bias to each row") {
  Tensor x = formula_tensor({2, 3, 5}), w = formula_tensor({4, 5}), bias = tensor_of({1, 2, 3, 4});
  Tensor want = addmm(bias, x.reshape({6, 5}), w.t()).view({2, 3, 4});
  CHECK_CLOSE(linear(x, w, bias), want);
  CHECK_CLOSE(linear(x.transpose(0, 1), w, bias), want.transpose(0, 1));
  CHECK_CLOSE(linear(x[0][0], w, bias), want[0][0]);
  CHECK_CLOSE(linear(x, w), matmul(x, w.t()));
  CHECK(linear(x, w[0]).sizes() == Sizes{2, 3});
  CHECK(linear(formula_tensor({0, 5}), w, bias).sizes() == Sizes{0, 4});
}

TEST_CASE("gradients of products are products") {
  Tensor a = formula_tensor({3, 4}).requires_grad_(), b = formula_tensor({4, 5}).requires_grad_();
  Tensor g = formula_tensor({3, 5});
  mm(a, b).backward(g);
  CHECK_CLOSE(a.grad(), reference_mm(g, b.detach().t()), kSums);
  CHECK_CLOSE(b.grad(), reference_mm(a.detach().t(), g), kSums);

  Tensor x = formula_tensor({2, 3, 4}).requires_grad_(), w = formula_tensor({5, 4}).requires_grad_();
  Tensor bias = formula_tensor({5}).requires_grad_(), gy = formula_tensor({2, 3, 5});
  linear(x, w, bias).backward(gy);
  Tensor rows = gy.view({6, 5});
  CHECK_CLOSE(x.grad().view({6, 4}), reference_mm(rows, w.detach()), kSums);
  CHECK_CLOSE(w.grad(), reference_mm(rows.t(), x.detach().view({6, 4})), kSums);
  CHECK_CLOSE(bias.grad(), reference_mm(tensor_of(std::vector<double>(6, 1), kFloat, {1, 6}), rows).view({5}),
              kSums);
}

TEST_CASE("products name what does not fit") {
  Tensor a = formula_tensor({2, 3}), b = formula_tensor({4, 5});
  CHECK_ERROR(mm(a, b), "mm: [2, 3] and [4, 5] do not multiply: 3 columns and 4 rows");
  CHECK_ERROR(mm(a, formula_tensor({3})), "mm: matrices must have 2 dims, got [2, 3] and [3]");
  CHECK_ERROR(mm(a, formula_tensor({3, 2}, kDouble)),
              "mm: dtypes differ: Float and Double; convert one with to()");
  CHECK_ERROR(mm(a.to(kBool), a.to(kBool).t()), "mm: not implemented for dtype Bool; convert with to()");
  CHECK_ERROR(bmm(a, b), "bmm: batches of matrices must have 3 dims, got [2, 3] and [4, 5]");
  CHECK_ERROR(bmm(formula_tensor({2, 3, 4}), formula_tensor({3, 4, 5})),
              "bmm: batch sizes differ: [2, 3, 4] and [3, 4, 5]");
  CHECK_ERROR(mv(a, formula_tensor({2})), "mv: [2, 3] and [2] do not multiply: 3 columns and 2 elements");
  CHECK_ERROR(dot(formula_tensor({2}), formula_tensor({3})),
              "dot: vectors must have the same size, got [2] and [3]");
  CHECK_ERROR(outer(a, b), "outer: two vectors are needed, got [2, 3] and [4, 5]");
  CHECK_ERROR(matmul(a, b), "matmul: [2, 3] and [4, 5] do not multiply: 3 and 4");
  CHECK_ERROR(matmul(a, tensor_of({1}, kFloat, {})),
              "matmul: both tensors must have at least 1 dim, got [2, 3] and []");
  CHECK_ERROR(linear(a, b), "linear: input [2, 3] has 3 features, weight [4, 5] expects 5");
  CHECK_ERROR(linear(a, formula_tensor({4, 3}), formula_tensor({3})),
              "linear: bias [3] does not fit weight [4, 3], which has 4 outputs");
  CHECK_ERROR(detail::use_contractions("mkl"), "use_contractions: must be eigen or onednn, got mkl");
}
