// Results are the same to the bit for any number of threads: every row's samples, with their few elements cut
// among the threads as large inputs are, and some inputs that are large.
#include <atomic>

#include <tarn/autograd/autograd.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/conv.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>
#include <tarn/core/random.h>

#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

struct Threads {
  explicit Threads(int n) : before(get_num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

struct SplitEverything {
  SplitEverything() { detail::split_everything = true; }
  ~SplitEverything() { detail::split_everything = false; }
};

// The outputs, then the gradients of the floating inputs.
Tensors run(const Sample& sample, ScalarType dtype) {
  manual_seed(3);
  Tensors inputs = make_all(sample.inputs, dtype), leaves, used, weights;
  for (Tensor& t : inputs)
    if (t.defined() && t.is_floating_point()) leaves.push_back(t.requires_grad_());
  Tensors results = sample.call(inputs);
  if (leaves.empty()) return results;
  for (const Tensor& t : results)
    if (t.defined() && t.requires_grad()) used.push_back(t), weights.push_back(gradient_weight(t, 0));
  if (used.empty()) return results;
  for (const Tensor& g : autograd::grad(used, leaves, weights, false, false, true)) results.push_back(g);
  return results;
}

void check_threads(const std::vector<Sample>& samples,
                   const std::vector<ScalarType>& dtypes = {kFloat, kDouble}) {
  for (const Sample& sample : samples)
    for (ScalarType dtype : dtypes) {
      INFO(sample.text << " of " << to_string(dtype));
      Tensors want;
      {
        Threads one(1);
        want = run(sample, dtype);
      }
      for (int threads : {2, 3, 4, 8}) {
        INFO(threads << " threads");
        Threads some(threads);
        Tensors got = run(sample, dtype);
        REQUIRE(got.size() == want.size());
        for (size_t k = 0; k < got.size(); ++k) CHECK_SAME(got[k], want[k]);
      }
    }
}

}  // namespace

TEST_CASE("with everything split, ranges of two elements go to two threads") {
  SplitEverything split;
  Threads two(2);
  std::atomic<int> pieces{0};
  parallel_for(0, 2, 1 << 20, [&](int64_t begin, int64_t end) { pieces += end - begin == 1; });
  CHECK(pieces == 2);
}

TEST_CASE("no op of the tables depends on the number of threads, however its input is cut") {
  SplitEverything split;
  for (const Row& row : all_rows()) {
    if (row.name.starts_with("empty")) continue;  // whatever was in the memory
    INFO(row.name);
    for (size_t i = 0; i < row.samples.size(); ++i) check_threads({row.samples[i]}, golden_dtypes(row, i));
  }
}

TEST_CASE("pointwise ops do not depend on the number of threads") {
  check_threads({S(exp(x), {300, 1001}), S(add(x, y), {300, 1001}, {1001}),
                 S(mul(x, y), {1001, 300}, {1001, 1}), S(gelu(x.t()), {1001, 300}),
                 S(where(y, x, z), {70001}, mask({70001}), {70001}),
                 S(div(x, y), {65, 1025}, positive({65, 1025}))});
}

TEST_CASE("reductions do not depend on the number of threads") {
  check_threads({S(sum(x), {300, 1001}), S(sum(x, {0}), {3001, 100}), S(sum(x, {1}), {100, 3001}),
                 S(mean(x, {0, 2}), {64, 33, 65}), S(amax(x, {1}), {33, 7001}), S(max(x, 0), {5001, 17}),
                 S(argmax(x), {300, 1001}), S(sum(x.t(), {0}), {3001, 100}), S(sum(x), {1, 1, 200003})});
}

TEST_CASE("contractions do not depend on the number of threads") {
  check_threads({S(mm(x, y), {129, 257}, {257, 65}), S(mm(x, y), {17, 3001}, {3001, 19}),
                 S(mm(x.t(), y.t()), {257, 129}, {65, 257}), S(bmm(x, y), {7, 33, 65}, {7, 65, 31}),
                 S(mv(x, y), {301, 1001}, {1001}), S(dot(x, y), {100003}, {100003}),
                 S(linear(x, y, z), {129, 200}, {70, 200}, {70}), S(matmul(x, y), {5, 33, 65}, {65, 17})});
}

TEST_CASE("convolutions and batch norm do not depend on the number of threads") {
  check_threads({S(conv2d(x, y, z, 1, 1), {6, 16, 14, 13}, {24, 16, 3, 3}, {24}),
                 S(conv2d(x, y, {}, 2, 0), {5, 8, 15, 15}, {16, 8, 1, 1}),
                 S(conv2d(x, y, z, 1, 1, 1, 8), {3, 8, 12, 12}, {8, 1, 3, 3}, {8}),
                 S(conv1d(x, y), {4, 8, 301}, {16, 8, 5}),
                 S(batch_norm(x, y, z, {}, {}, true), {16, 7, 13, 13}, {7}, {7})});
}

TEST_CASE("indexing does not depend on the number of threads") {
  check_threads({S(index_select(x, 0, y), {3001, 33}, index_below(3001, {5003})),
                 S(embedding(x, y), {101, 64}, index_below(101, {3001})),
                 S(gather(x, 1, y), {301, 301}, index_below(301, {301, 200})),
                 S(scatter_add(x, 0, y, z), {301, 101}, index_below(301, {999, 101}), {999, 101}),
                 S(cat({x, y}, 1), {301, 301}, {301, 77}), S(flip(x, {0, 1}), {301, 301})});
}

}  // namespace tarn::testing
