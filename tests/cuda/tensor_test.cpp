// Tensors on a device: where they are made, how they move, what is refused.
#include <tarn/tests/cuda/device.h>

#include <sstream>

#include <tarn/core/dispatch.h>

using namespace tarn;
using namespace tarn::testing;

TEST_CASE("there are devices, and they have names") {
  INFO(detail::cuda_unavailable_reason());
  REQUIRE(cuda::is_available());
  CHECK(cuda::device_count() >= 1);
  CHECK(!cuda::device_name(0).empty());
}

TEST_CASE("a tensor goes to the device and comes back") {
  for (ScalarType dtype : {kFloat, kDouble, kLong, kInt, kShort, kChar, kByte, kBool, kHalf, kBFloat16}) {
    Tensor x = formula_tensor({3, 5}, dtype), y = x.to(kGpu);
    CHECK(y.is_cuda());
    CHECK(y.get_device() == 0);
    CHECK_SAME(y.cpu(), x);
  }
  CHECK(formula_tensor({2}).cuda().device() == Device("cuda:0"));
  CHECK(formula_tensor({0, 3}).to(kGpu).cpu().sizes() == IntArrayRef({0, 3}));
}

TEST_CASE("a strided tensor keeps its values and a dense one its layout on the way") {
  Tensor x = formula_tensor({4, 6});
  CHECK_SAME(x.slice(1, 0, 6, 2).to(kGpu).cpu(), x.slice(1, 0, 6, 2));
  CHECK(x.t().to(kGpu).strides() == x.t().strides());
  CHECK_SAME(x.to(kGpu).t().cpu(), x.t());
  CHECK_SAME(x.to(kGpu).slice(0, 1, 4, 2).cpu(), x.slice(0, 1, 4, 2));
}

TEST_CASE("creation on the device") {
  TensorOptions gpu = TensorOptions(kFloat).device(kGpu);
  CHECK_SAME(zeros({2, 3}, gpu).cpu(), zeros({2, 3}));
  CHECK_SAME(ones({2, 3}, gpu).cpu(), ones({2, 3}));
  CHECK_SAME(full({7}, 2.5, gpu).cpu(), full({7}, 2.5));
  CHECK_SAME(full({7}, -3, TensorOptions(kShort).device(kGpu)).cpu(), full({7}, -3, kShort));
  CHECK_SAME(tensor({{1, 2}, {3, 4}}, gpu).cpu(), tensor({{1, 2}, {3, 4}}, kFloat));
  CHECK_SAME(zeros_like(ones({3}, gpu)).cpu(), zeros({3}));
  CHECK(empty({2}, TensorOptions(kCUDA)).device() == kGpu);
}

TEST_CASE("casts on the device give what the CPU gives") {
  for (ScalarType from : {kFloat, kDouble, kLong, kInt, kShort, kChar, kByte, kBool, kHalf, kBFloat16})
    for (ScalarType to : {kFloat, kDouble, kLong, kInt, kShort, kChar, kBool, kHalf, kBFloat16}) {
      INFO(to_string(from) << " to " << to_string(to));
      Tensor x = formula_tensor({9}, from, from == kByte ? kPositive : kAround0);
      CHECK_SAME(x.to(kGpu).to(to).cpu(), x.to(to));
    }
}

TEST_CASE("fill_, copy_, clone and contiguous on the device") {
  Tensor x = formula_tensor({4, 6}), y = x.to(kGpu);
  y.select(0, 1).fill_(7);
  y.slice(1, 0, 6, 3).zero_();
  Tensor expected = x.clone();
  expected.select(0, 1).fill_(7);
  expected.slice(1, 0, 6, 3).zero_();
  CHECK_SAME(y.cpu(), expected);
  y.copy_(x);  // from the CPU
  CHECK_SAME(y.cpu(), x);
  y.copy_(ones({6}, kDouble).to(kGpu));
  CHECK_SAME(y.cpu(), ones({4, 6}));
  Tensor z = zeros({4, 6});
  z.copy_(x.to(kGpu));
  CHECK_SAME(z, x);
  CHECK_SAME(x.to(kGpu).t().contiguous().cpu(), x.t());
  CHECK_SAME(x.to(kGpu).t().clone().cpu(), x.t());
}

TEST_CASE("item and printing bring the values") {
  Tensor x = full({}, 2.5, TensorOptions(kDouble).device(kGpu));
  CHECK(x.item<double>() == 2.5);
  std::ostringstream text;
  text << tensor({1.5f, 2.0f}).to(kGpu);
  CHECK(text.str() == " 1.5000\n 2.0000\n[ CUDAFloatType{2} ]");
}

TEST_CASE("a gradient comes back through moves between devices") {
  Tensor x = formula_tensor({3}, kDouble).requires_grad_();
  Tensor y = x.to(kGpu) * 3;
  y.backward(ones({3}, kDouble).to(kGpu));
  CHECK(x.grad().is_cpu());
  CHECK_SAME(x.grad(), full({3}, 3, kDouble));
}

TEST_CASE("tensors on different devices are refused") {
  Tensor a = ones({2}), b = ones({2}).to(kGpu);
  CHECK_ERROR(a + b, "add: tensors are on different devices: cpu and cuda:0; move them with to()");
  CHECK_ERROR(b.add_(a), "add: tensors are on different devices: cuda:0 and cpu; move them with to()");
}

TEST_CASE("numbers on the CPU go with tensors on the device") {
  Tensor x = formula_tensor({5});
  CHECK_SAME((x.to(kGpu) + tensor(2.0f)).cpu(), x + 2);
  CHECK_SAME((tensor(2.0f) * x.to(kGpu)).cpu(), x * 2);
}

TEST_CASE("no such device") {
  int count = cuda::device_count();
  std::string rest = count == 1 ? str(": there is ", count) : str(": there are ", count);
  CHECK_ERROR(ones({2}).to(Device("cuda:63")), "to: no such device cuda:63" + rest);
  CHECK_ERROR(ones({2}, Device("cuda:63")), "empty: no such device cuda:63" + rest);
  CHECK_ERROR(cuda::set_device(63), "set_device: no such device cuda:63" + rest);
}

TEST_CASE("views and their gradients on the device") {
  Tensor x = formula_tensor({4, 6}, kDouble);
  auto gradient = [&](auto on) {
    Tensor leaf = on(x).detach().requires_grad_();
    Tensor y = leaf.slice(1, 0, 6, 2).sum() + leaf.select(0, 1).square().sum() + leaf.t().flip({0})[2].sum();
    y.backward();
    return leaf.grad();
  };
  CHECK_DEVICE(gradient(on));
  CHECK_DEVICE(on(x).flip({0, 1}));
  CHECK_DEVICE(on(x).roll({2}, {1}));
  CHECK(x.to(kGpu).equal(x.to(kGpu)));
  CHECK(!x.to(kGpu).allclose(x.to(kGpu) + 1));
}

TEST_CASE("an op without a kernel says so") {
  const detail::Op op = {.name = "hostonly", .infer = detail::infer_like_first};
  CHECK_ERROR(detail::dispatch(op, {ones({2, 2}).to(kGpu)}),
              "hostonly: not implemented on cuda; move the tensors with cpu()");
}

TEST_CASE("pinned memory copies without waiting") {
  Tensor x = formula_tensor({1000}).pin_memory();
  CHECK(x.is_pinned());
  CHECK(!ones({2}).is_pinned());
  CHECK(empty({3}, TensorOptions().pinned_memory(true)).is_pinned());
  Tensor y = x.to(kGpu, /*non_blocking=*/true);
  cuda::synchronize();
  CHECK_SAME(y.cpu(), x);
}

TEST_CASE("memory is counted, cached, and given back") {
  cuda::empty_cache();
  cuda::MemoryStats before = cuda::memory_stats();
  {
    Tensor x = ones({1000, 1000}, Device(kGpu));
    CHECK(cuda::memory_stats().live_bytes == before.live_bytes + 4000000);
    CHECK(cuda::memory_stats().live_blocks == before.live_blocks + 1);
  }
  cuda::MemoryStats after = cuda::memory_stats();
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.peak_bytes >= before.live_bytes + 4000000);
  cuda::empty_cache();
  CHECK(cuda::memory_stats().reserved_bytes <= before.reserved_bytes);
}

TEST_CASE("too much memory is an error that says how much there is") {
  std::string text = error_of([] { empty({int64_t(1) << 50}, TensorOptions(kByte).device(kGpu)); });
  INFO(text);
  CHECK(text.rfind("cuda: out of memory: 1125899906842624 bytes were asked for", 0) == 0);
}

TEST_CASE("work on another stream is ordered by an event") {
  Tensor x = formula_tensor({4096});
  cuda::Stream side;
  CHECK(!(side == cuda::Stream::current()));
  Tensor a = x.to(kGpu), b;
  cuda::Event ready, done;
  ready.record();
  {
    cuda::StreamGuard guard(side);
    CHECK(cuda::Stream::current() == side);
    ready.block(side);
    b = a * 2;
    done.record(side);
  }
  CHECK(cuda::Stream::current() == cuda::Stream::default_stream());
  done.block(cuda::Stream::current());
  CHECK_SAME(b.cpu(), x * 2);
  side.synchronize();
  CHECK(side.query());
}

TEST_CASE("a second device") {
  if (cuda::device_count() < 2) {
    SUCCEED("there is one device");
    return;
  }
  Device second(kCUDA, 1);
  Tensor x = formula_tensor({50}), y = x.to(kGpu);
  CHECK_SAME(y.to(second).cpu(), x);
  CHECK_SAME((y.to(second) + 1).to(kGpu).cpu(), x + 1);
  cuda::DeviceGuard guard(second);
  CHECK(ones({2}, Device(kCUDA)).device() == second);
  CHECK(cuda::current_device() == 1);
}
