// What rearranges, writes by places, makes and draws: on the device as on the CPU.
#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// f of a function that brings tensors to the device, against f of one that leaves them.
template <class F>
void check_moved(F f) {
  Tensor expected = f([](const Tensor& t) { return t; });
  Tensor got = f([](const Tensor& t) { return t.to(kGpu); });
  CHECK(got.device() == kGpu);
  CHECK_CLOSE(got.cpu(), expected, {0, 0});
}

// The same numbers from the same seed.
template <class F>
void check_drawn(F f) {
  manual_seed(5);
  Tensor expected = f(Device(kCPU));
  manual_seed(5);
  Tensor got = f(kGpu);
  CHECK(got.device() == kGpu);
  CHECK_CLOSE(got.cpu(), expected, {0, 0});
}

}  // namespace

TEST_CASE("triangles, diagonals, padding and repeats on the device") {
  Tensor x = formula_tensor({3, 4, 5});
  check_moved([&](auto on) { return tril(on(x), -1); });
  check_moved([&](auto on) { return triu(on(x).transpose(0, 2), 1); });
  check_moved([&](auto on) { return on(x).clone().triu_(2); });
  check_moved([&](auto on) { return diag_embed(on(x), 1, 0, 2); });
  check_moved([&](auto on) { return pad(on(x), {1, -2, 0, 3}, "constant", 2.5); });
  for (const char* mode : {"reflect", "replicate", "circular"})
    check_moved([&](auto on) { return pad(on(x), {1, 2}, mode); });
  check_moved([&](auto on) { return repeat_interleave(on(x), on(tensor({2, 0, 1, 3})), 1); });
  check_moved([&](auto on) { return rot90(on(x), 3, {2, 0}); });
  check_moved([&](auto on) { return block_diag({on(x).select(0, 0), on(x).select(0, 1)}); });
  check_moved([&](auto on) { return combinations(on(x).select(0, 0).select(0, 0), 3); });
}

TEST_CASE("writing by places on the device") {
  Tensor x = formula_tensor({4, 5}), rows = formula_tensor({3, 5}), index = tensor({3, 0, 3});
  check_moved([&](auto on) { return index_add(on(x), 0, on(index), on(rows), 2); });
  check_moved([&](auto on) { return index_copy(on(x), 0, on(index), on(rows)); });
  check_moved([&](auto on) { return index_fill(on(x), 0, on(index), 3); });
  check_moved([&](auto on) { return take(on(x), on(tensor({0, 19, -1}))); });
  check_moved([&](auto on) { return put(on(x), on(tensor({0, 19, -2})), on(rows).select(1, 0)); });
  check_moved([&](auto on) { return on(x).masked_scatter(gt(on(x), 0), on(x)); });
  check_moved([&](auto on) { return take_along_dim(on(x), on(tensor({{1}, {0}, {4}, {2}})), 1); });
  check_moved([&](auto on) { return scatter_reduce(on(x), 0, on(tensor({{1, 0, 3}})), on(rows), "mean"); });
}

TEST_CASE("ranges, windows and draws on the device are the CPU's") {
  check_drawn([](Device d) { return hann_window(9, true, d); });
  check_drawn([](Device d) { return kaiser_window(8, false, 5, d); });
  check_drawn([](Device d) { return logspace(0, 3, 7, 10, d); });
  check_drawn([](Device d) { return tril_indices(3, 4, 1, TensorOptions(kLong).device(d)); });
  auto floats = [](Device d) { return full({7, 11}, 2.5, TensorOptions(kFloat).device(d)); };
  check_drawn([&](Device d) { return floats(d).exponential_(2); });
  check_drawn([&](Device d) { return floats(d).t().cauchy_(); });
  check_drawn([&](Device d) { return floats(d).geometric_(0.1); });
  check_drawn([&](Device d) { return poisson(floats(d)); });
  check_drawn([&](Device d) { return binomial(floats(d) * 10, floats(d) / 5); });
  check_drawn([&](Device d) { return multinomial(floats(d), 4); });
  check_drawn([&](Device d) { return floats(d).random_(); });
}
