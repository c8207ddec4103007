// Kernels on the emulated device: right ones are right in every thread order and get no report, planted
// faults are caught.
#include <memory>

#include <tarn/tests/emu/kernels.h>
#include <tarn/tests/emu/support.h>

namespace {

const uint64_t kOrders[] = {0, 1, 2, 3, 7, 11};

std::string run_add(Fault fault, Values* result = nullptr) {
  int n = 1007;
  Array<float> x(numbers(n)), b(numbers(n, 2)), y(n);
  std::string message = text(add(fault, 3, x.p, b.p, y.p, n, nullptr));
  if (result) *result = y.get();
  return message;
}

std::string run_softmax(Fault fault, int threads = 128, Values* result = nullptr) {
  int rows = 7, cols = 300;
  Array<float> x(numbers(rows * cols)), y(rows * cols);
  std::string message = text(softmax(fault, threads, x.p, y.p, rows, cols, nullptr));
  if (result) *result = y.get();
  return message;
}

float softmax_error(Fault fault, int threads = 128) {
  Values y;
  run_softmax(fault, threads, &y);
  return difference(y, softmax_of(numbers(7 * 300), 7, 300));
}

Values run_sums(Fault fault, std::string* message) {
  int rows = 50, cols = 70;
  Array<float> x(numbers(rows * cols)), sums(Values(cols, 0)), parts(4 * cols);
  *message = text(column_sums(fault, x.p, sums.p, parts.p, rows, cols, nullptr));
  return sums.get();
}

Values sums_of_columns() {
  int rows = 50, cols = 70;
  Values x = numbers(rows * cols), sums(cols);
  for (int c = 0; c < cols; ++c) {
    double sum = 0;
    for (int r = 0; r < rows; ++r) sum += x[r * cols + c];
    sums[c] = float(sum);
  }
  return sums;
}

Values run_probe(Probe which, std::string* message, unsigned long long number = 0) {
  Array<float> out(Values(64, 0));
  *message = text(probe(which, out.p, number, nullptr));
  return out.get();
}

std::string probe_error(Probe which, unsigned long long number = 0) {
  std::string message;
  run_probe(which, &message, number);
  return message;
}

}  // namespace

TEST_CASE("right kernels compute what they should in every thread order, without a report") {
  uint64_t order = GENERATE(from_range(std::begin(kOrders), std::end(kOrders)));
  int threads = GENERATE(1, 2);
  With config;
  config->order = order;
  config->threads = threads;
  CAPTURE(order, threads);
  Values y, x = numbers(1007), b = numbers(1007, 2);
  CHECK(run_add(Fault::None, &y) == "");
  for (size_t i = 0; i < x.size(); ++i) x[i] += b[i];
  CHECK(difference(y, x) == 0);
  CHECK(softmax_error(Fault::None) < 1e-6f);
  CHECK(softmax_error(Fault::None, 32) < 1e-6f);
  CHECK(softmax_error(Fault::None, 1024) < 1e-6f);
  std::string message;
  CHECK(difference(run_sums(Fault::None, &message), sums_of_columns()) < 1e-4f);
  CHECK(message == "");
  CHECK(difference(run_sums(Fault::Atomics, &message), sums_of_columns()) < 1e-4f);
  CHECK(message == "");
}

TEST_CASE("half and bfloat16 run through the toolkit's own headers") {
  std::vector<__half> x(101), b(101, __float2half(0.25f));
  std::vector<__nv_bfloat16> x2(101), b2(101, __float2bfloat16(0.25f));
  for (int i = 0; i < 101; ++i) x[i] = __float2half(i / 8.f), x2[i] = __float2bfloat16(i / 8.f);
  Array<__half> dx(x), db(b), dy(101);
  Array<__nv_bfloat16> dx2(x2), db2(b2), dy2(101);
  REQUIRE_OK(add(2, dx.p, db.p, dy.p, 101, nullptr));
  REQUIRE_OK(add(2, dx2.p, db2.p, dy2.p, 101, nullptr));
  std::vector<__half> y = dy.get();
  std::vector<__nv_bfloat16> y2 = dy2.get();
  for (int i = 0; i < 101; ++i) {
    CHECK(__half2float(y[i]) == i / 8.f + 0.25f);
    CHECK(__bfloat162float(y2[i]) == i / 8.f + 0.25f);
  }
}

TEST_CASE("an index one past the end is named with its line and allocation") {
  if (kSanitized) {
    CHECK(is_deadly([] { run_add(Fault::OffByOne); }));
    return;
  }
  std::string message = run_add(Fault::OffByOne);
  CAPTURE(message);
  if (checked())
    CHECK(has(message, {"out of bounds: read of 4 bytes at 0 bytes past the end of allocation #",
                        "(4028 bytes)", "thread (", line_of("y[i] = T(float(x[i])")}));
  else
    CHECK(message == "");  // within the same page: only the checks see it
}

TEST_CASE("a misaligned vector load is named with its line") {
  if (!checked()) {
    CHECK((!kSanitized || is_deadly([] { run_add(Fault::Misaligned); })));
    return;  // x86 loads it as well
  }
  std::string message = run_add(Fault::Misaligned);
  CAPTURE(message);
  CHECK(has(message, {"misaligned read of ", "byte 4 of allocation #", "kernels.cu:"}));
}

TEST_CASE("a missing barrier is caught whatever the thread order, with both lines") {
  uint64_t order = GENERATE(from_range(std::begin(kOrders), std::end(kOrders)));
  With config;
  config->order = order;
  CAPTURE(order);
  if (checked()) {
    std::string write = line_of("partial[warp] = value"), read = line_of("partial[lane] :");
    std::string after = run_softmax(Fault::NoBarrierAfter), before = run_softmax(Fault::NoBarrierBefore);
    CAPTURE(after, before);
    CHECK((has(after, {"uninitialised", read}) || has(after, {"data race", write, read})));
    CHECK(has(before, {"data race on ", "static shared memory", write, read, "with no barrier between"}));
    CHECK(has(before, {"[kernel softmax_kernel<(Fault)4>, block ("}));
  } else {
    // Shared memory holds NaN before it is written.
    CHECK(softmax_error(Fault::NoBarrierAfter) > 1e-3f);
  }
}

TEST_CASE("without checks a buffer reused too early is seen when one warp runs far ahead") {
  With config;
  config->order = 1;
  if (checked())
    CHECK(run_softmax(Fault::NoBarrierBefore) != "");
  else
    CHECK(softmax_error(Fault::NoBarrierBefore) > 1e-6f);
}

TEST_CASE("a shuffle whose mask leaves out a lane is named") {
  std::string message = run_softmax(Fault::NarrowMask);
  CAPTURE(message);
  CHECK(
      has(message, {"__shfl_sync: lane ", "which mask 0xfffff leaves out", line_of("__shfl_xor_sync(mask")}));
}

TEST_CASE("a thread that leaves before a barrier is caught in every order") {
  uint64_t order = GENERATE(from_range(std::begin(kOrders), std::end(kOrders)));
  With config;
  config->order = order;
  std::string message = run_softmax(Fault::LeavesEarly);
  CAPTURE(order, message);
  CHECK((has(message, {"barrier divergence", "exited, the first is thread (127,0,0)", "kernels.cu:"}) ||
         has(message, {"which have exited or do not exist", "kernels.cu:"})));
}

TEST_CASE("threads that meet at different barriers are told both") {
  CHECK_CAUGHT(probe(Probe::TwoBarriers, Array<float>(64).p, 0, nullptr), "different barriers",
               "kernels.cu:");
}

TEST_CASE("plain += by many blocks is a race, atomics are none") {
  std::string message;
  run_sums(Fault::PlainAdd, &message);
  CAPTURE(message);
  if (checked())
    CHECK(has(message, {"data race on byte 0 of allocation #", "a thread of another block", "kernels.cu:"}));
  else
    CHECK(message == "");  // blocks run one after another
}

TEST_CASE("sums by atomics depend on the order of threads, sums in two stages do not") {
  std::string message;
  auto same_in_all_orders = [&](Fault fault) {
    With config;
    config->order = 0;
    Values first = run_sums(fault, &message);
    bool same = true;
    for (uint64_t order : {2, 3, 5, 9}) {
      config->order = order;
      Values sums = run_sums(fault, &message);
      same = same && std::memcmp(sums.data(), first.data(), sums.size() * sizeof(float)) == 0;
    }
    return same;
  };
  CHECK(same_in_all_orders(Fault::None));
  CHECK_FALSE(same_in_all_orders(Fault::Atomics));
}

// 2.2e9 elements: lazily committed, and only the last block runs.
TEST_CASE("index arithmetic that overflows 32 bits is caught") {
  int cols = 1024, rows = 2200000;
  With config;
  config->memory = size_t(64) << 30;
  config->only_first = 0;
  config->only_last = 1;
  Array<float> x(size_t(rows) * cols), y(size_t(rows) * cols);
  Values row = numbers(cols), result(cols);
  float *last_x = x.p + (rows - 1ll) * cols, *last_y = y.p + (rows - 1ll) * cols;
  REQUIRE_OK(cudaMemcpy(last_x, row.data(), cols * sizeof(float), cudaMemcpyHostToDevice));
  REQUIRE_OK(softmax(Fault::None, 128, x.p, y.p, rows, cols, nullptr));
  REQUIRE_OK(cudaMemcpy(result.data(), last_y, cols * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(difference(result, softmax_of(row, 1, cols)) < 1e-6f);
  if (kSanitized) {
    CHECK(is_deadly([&] { softmax(Fault::SignedOverflow, 128, x.p, y.p, rows, cols, nullptr); }));
    return;
  }
  std::string message = text(softmax(Fault::SignedOverflow, 128, x.p, y.p, rows, cols, nullptr));
  CAPTURE(message);
  CHECK(has(message,
            {checked() ? line_of("row[c] = x[begin + c]") : "kernel touches", "which is no device memory"}));
}

TEST_CASE("unsigned arithmetic that wraps computes another row") {
  int cols = 1024, rows = 4200000;
  With config;
  config->memory = size_t(64) << 30;
  config->only_first = 0;
  config->only_last = 1;
  Array<float> x(size_t(rows) * cols), y(size_t(rows) * cols);
  Values row = numbers(cols), result(cols);
  REQUIRE_OK(cudaMemcpy(x.p + (rows - 1ll) * cols, row.data(), cols * sizeof(float), cudaMemcpyHostToDevice));
  REQUIRE_OK(softmax(Fault::UnsignedWrap, 128, x.p, y.p, rows, cols, nullptr));
  REQUIRE_OK(
      cudaMemcpy(result.data(), y.p + (rows - 1ll) * cols, cols * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(difference(result, softmax_of(row, 1, cols)) > 1e-3f);
}

TEST_CASE("shuffles, votes and atomics mean what CUDA says") {
  std::string message;
  Values s = run_probe(Probe::Shuffles, &message);
  CHECK(message == "");
  CHECK(s[0] == 0 + 100 * 2);  // up: its own; down 2 within 8
  CHECK(s[9] == 8 + 100 * 11);
  CHECK(s[14] == 13 + 100 * 14);       // down leaves the segment: its own
  CHECK(s[32 + 20] == 18 + 100 * 23);  // lane 2 of the segment at 16; 20 ^ 3
  Values v = run_probe(Probe::Votes, &message);
  CHECK(message == "");
  CHECK(v[5] == 11);
  CHECK(v[32] == 10);
  Values c = run_probe(Probe::Counts, &message);
  CHECK(message == "");
  CHECK(c[7] == 13 + 100 + 0);
  Values a = run_probe(Probe::IntAtomics, &message);
  CHECK(message == "");
  CHECK(Values(a.begin(), a.begin() + 6) == Values{2016, 7, 63, 31, 1, 9});
}

TEST_CASE("a lane that waits for lanes that have exited is named") {
  CHECK(has(probe_error(Probe::LonelyShuffle), {"names lanes 0xffff0000, which have exited", "kernels.cu:"}));
}

TEST_CASE("a shuffle orders no memory, __syncwarp does") {
  std::string race = probe_error(Probe::WarpRace), ordered = probe_error(Probe::WarpOrdered);
  CAPTURE(race, ordered);
  CHECK((race != "") == checked());
  CHECK(ordered == "");
}

TEST_CASE("shared memory that nobody wrote is not read") {
  std::string message;
  Values out = run_probe(Probe::UninitialisedShared, &message);
  CAPTURE(message);
  if (checked())
    CHECK(has(message,
              {"read of uninitialised memory: static shared memory of 256 bytes +252", "kernels.cu:"}));
  else
    CHECK(std::isnan(out[0]));
}

TEST_CASE("an overrun of shared memory is told by its array") {
  if (kSanitized) {
    CHECK(is_deadly([] { probe_error(Probe::SharedOverrun, 16); }));
    return;
  }
  std::string inside = probe_error(Probe::SharedOverrun, 15), past = probe_error(Probe::SharedOverrun, 16);
  CAPTURE(inside, past);
  CHECK(inside == "");
  if (checked())
    CHECK(has(past, {"out of bounds: write", "static shared memory of 64 bytes +64", "kernels.cu:"}));
  std::string dynamic = probe_error(Probe::DynamicOverrun);
  CAPTURE(dynamic);
  if (checked()) CHECK(has(dynamic, {"dynamic shared memory of 64 bytes", "kernels.cu:"}));
}

TEST_CASE("a host address inside a kernel is caught by the checks, a wild one always") {
  static float host = 3;
  auto heap = std::make_unique<float>(1);
  std::string message = probe_error(Probe::HostAddress, reinterpret_cast<unsigned long long>(heap.get()));
  CAPTURE(message);
  CHECK((message != "") == checked());
  if (checked()) CHECK(has(message, {"read of 4 bytes at 0x", "which is no device memory", "kernels.cu:"}));
  CHECK(probe_error(Probe::HostAddress, reinterpret_cast<unsigned long long>(&host)) ==
        "");  // a constant, for all it knows
  CHECK(has(probe_error(Probe::HostAddress, 0x1000), {"0x1000"}));
}

TEST_CASE("a thread whose stack overflows ends its launch, not the process") {
  CHECK(probe_error(Probe::DeepStack, 5) == "");
  std::string message = probe_error(Probe::DeepStack, 100000);
  CAPTURE(message);
  CHECK(has(message, {"the stack of a thread exceeds 256 KiB"}));
  CHECK(probe_error(Probe::DeepStack, 5) == "");
}

TEST_CASE("bytes of one word, constants and a thread's own arrays are no faults") {
  std::string message;
  CHECK(run_probe(Probe::HalfBytes, &message)[10] == 53);
  CHECK(message == "");
  CHECK(run_probe(Probe::Constants, &message)[6] == 5);
  CHECK(message == "");
  CHECK(run_probe(Probe::LocalArray, &message, 3)[2] == 15);
  CHECK(message == "");
}

TEST_CASE("a thread that does not wait costs no switch") {
  uint64_t before = tarn::emu::switches();
  CHECK(run_add(Fault::None) == "");
  CHECK(tarn::emu::switches() - before == 3 * 2);  // into each of three blocks and back
}
