// The runtime's calls: values, order between streams, lifetimes, capture, two devices, and what a caller gets
// wrong.
#include <thread>

#include <tarn/core/emu/blocks.h>
#include <tarn/tests/emu/kernels.h>
#include <tarn/tests/emu/support.h>

namespace {

cudaStream_t new_stream() {
  cudaStream_t stream;
  REQUIRE_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cudaEvent_t new_event() {
  cudaEvent_t event;
  REQUIRE_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// y = x + x on the stream.
cudaError_t twice(const Array<float>& x, const Array<float>& y, cudaStream_t stream) {
  return add(Fault::None, 1, x.p, x.p, y.p, (long long)x.n, stream);
}

Values doubled(Values x) {
  for (float& v : x) v += v;
  return x;
}

}  // namespace

TEST_CASE("a host pointer as a kernel argument is named") {
  Array<float> x(100);
  Values host(100);
  CHECK_CAUGHT(add(Fault::None, 1, host.data(), x.p, x.p, 100, nullptr),
               "argument 0 of add_kernel<(Fault)0, float> is the host pointer 0x");
}

TEST_CASE("freed memory cannot be used, in place or as a struct's member, and not freed twice") {
  Array<float> x(numbers(64)), y(64);
  float* p = x.p;
  REQUIRE_OK(cudaFree(x.p));
  x.p = nullptr;
  CHECK_CAUGHT(add(Fault::None, 1, p, p, y.p, 64, nullptr), "use after free: argument 0 of add_kernel",
               "byte 0 of freed allocation #", "(256 bytes)",
               "freed by cudaFree on the legacy stream of cuda:0");
  CHECK_CAUGHT(copy_pair({p, y.p}, 64, nullptr), "use after free: argument 0 of copy_pair_kernel");
  CHECK_CAUGHT(cudaFree(p), "cudaFree: freed twice");
  CHECK_CAUGHT(cudaFree(y.p + 1), "is no allocation", "byte 4 of allocation #");
}

TEST_CASE("an address is never given out twice") {
  std::vector<void*> seen;
  for (int i = 0; i < 20; ++i) {
    void* p;
    REQUIRE_OK(cudaMalloc(&p, 1000));
    for (void* other : seen) CHECK(other != p);
    seen.push_back(p);
    REQUIRE_OK(cudaFree(p));
  }
}

TEST_CASE("new memory holds NaN") {
  for (float v : Array<float>(50).get()) CHECK(std::isnan(v));
}

TEST_CASE("two streams without an event are a race, with one they are not") {
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event = new_event();
  Array<float> a(numbers(64)), b(64), c(64);
  REQUIRE_OK(twice(a, b, first));
  CHECK_CAUGHT(twice(b, c, second), "stream race on byte 0 of allocation #", "argument 0 of add_kernel",
               " is not ordered after argument 2 of add_kernel", "record an event there and wait for it");
  REQUIRE_OK(cudaEventRecord(event, first));
  REQUIRE_OK(cudaStreamWaitEvent(second, event, 0));
  REQUIRE_OK(twice(b, c, second));
  CHECK_CAUGHT(cudaFreeAsync(b.p, first), "cudaFreeAsync of byte 0 of allocation #",
               "is not ordered after argument");
  // A host wait orders as well.
  REQUIRE_OK(cudaStreamSynchronize(second));
  REQUIRE_OK(twice(c, b, first));
  REQUIRE_OK(cudaDeviceSynchronize());
  CHECK(difference(b.get(), doubled(doubled(doubled(numbers(64))))) == 0);
}

TEST_CASE("reads on two streams are no race, a write after them is") {
  cudaStream_t first = new_stream(), second = new_stream();
  Array<float> a(numbers(64)), b(64), c(64);
  REQUIRE_OK(cudaDeviceSynchronize());
  REQUIRE_OK(twice(a, b, first));
  REQUIRE_OK(twice(a, c, second));
  CHECK_CAUGHT(cudaMemsetAsync(a.p, 0, 256, first), "stream race", "argument 0 of cudaMemsetAsync",
               "is not ordered after argument 1 of add_kernel");
  REQUIRE_OK(cudaDeviceSynchronize());
}

TEST_CASE("the legacy stream is ordered with blocking streams alone") {
  cudaStream_t blocking;
  REQUIRE_OK(cudaStreamCreate(&blocking));
  Array<float> a(numbers(64)), b(64), c(64), d(64);
  REQUIRE_OK(cudaDeviceSynchronize());
  REQUIRE_OK(twice(a, b, blocking));
  REQUIRE_OK(twice(b, c, nullptr));
  REQUIRE_OK(twice(c, d, blocking));
  CHECK_CAUGHT(twice(d, a, new_stream()), "stream race");
  REQUIRE_OK(cudaDeviceSynchronize());
}

TEST_CASE("a pageable source may change after the call, a pinned one may not") {
  With config;
  config->lazy = 5;
  cudaStream_t stream = new_stream();
  Array<float> x(16), y(16);
  Values pageable(16, 1);
  float* pinned;
  REQUIRE_OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 64));
  std::fill(pinned, pinned + 16, 1.f);
  REQUIRE_OK(cudaMemcpyAsync(x.p, pageable.data(), 64, cudaMemcpyHostToDevice, stream));
  REQUIRE_OK(cudaMemcpyAsync(y.p, pinned, 64, cudaMemcpyHostToDevice, stream));
  pageable[3] = pinned[3] = 2;
  REQUIRE_OK(cudaStreamSynchronize(stream));
  CHECK(x.get()[3] == 1);
  CHECK(y.get()[3] == 2);
  REQUIRE_OK(cudaFreeHost(pinned));
  CHECK_CAUGHT(cudaFreeHost(pinned), "is no pinned allocation");
}

TEST_CASE("what is read before the stream was waited for is stale when operations are lazy") {
  With config;
  config->lazy = GENERATE(1, 2, 3);
  cudaStream_t stream = new_stream();
  Array<float> a(numbers(64)), b(64);
  REQUIRE_OK(cudaDeviceSynchronize());
  float* host;
  REQUIRE_OK(cudaMallocHost(reinterpret_cast<void**>(&host), 256));
  host[5] = -7;
  REQUIRE_OK(twice(a, b, stream));
  REQUIRE_OK(cudaMemcpyAsync(host, b.p, 256, cudaMemcpyDeviceToHost, stream));
  CHECK(host[5] == -7);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  REQUIRE_OK(cudaStreamSynchronize(stream));
  CHECK(host[5] == 2 * numbers(64)[5]);
  REQUIRE_OK(cudaFreeHost(host));
}

TEST_CASE("lazy streams run in many orders and give the same values") {
  With config;
  config->lazy = GENERATE(1, 2, 3, 4);
  cudaStream_t streams[] = {new_stream(), new_stream(), new_stream()};
  Array<float> x(numbers(64)), y(64);
  REQUIRE_OK(cudaDeviceSynchronize());
  const Array<float>*from = &x, *to = &y;
  for (int i = 0; i < 9; ++i) {
    cudaEvent_t event = new_event();
    REQUIRE_OK(twice(*from, *to, streams[i % 3]));
    REQUIRE_OK(cudaEventRecord(event, streams[i % 3]));
    REQUIRE_OK(cudaStreamWaitEvent(streams[(i + 1) % 3], event, 0));
    std::swap(from, to);
  }
  REQUIRE_OK(cudaStreamSynchronize(streams[0]));
  Values expected = numbers(64);
  for (float& v : expected) v *= 512;
  CHECK(difference(from->get(), expected) == 0);
}

TEST_CASE("copies are checked: bounds, kind, stream") {
  Array<float> x(16);
  Values host(32);
  CHECK_CAUGHT(cudaMemcpy(x.p, host.data(), 65, cudaMemcpyHostToDevice),
               "argument 0 of cudaMemcpy: 65 bytes from byte 0 of allocation #", "reach past its end");
  CHECK_CAUGHT(cudaMemcpy(x.p, host.data(), 64, cudaMemcpyDeviceToHost),
               "its destination is host memory, but it is byte 0 of allocation #");
  CHECK_CAUGHT(cudaMemcpy(host.data(), host.data(), 64, cudaMemcpyDeviceToHost),
               "argument 1 of cudaMemcpy is the host pointer");
  REQUIRE_OK(cudaMemcpy(x.p, host.data(), 64, cudaMemcpyDefault));
  cudaStream_t stream = new_stream();
  REQUIRE_OK(cudaStreamDestroy(stream));
  CHECK_CAUGHT(cudaMemsetAsync(x.p, 0, 64, stream), "cudaMemsetAsync: the stream does not exist any more");
  cudaEvent_t event = new_event();
  REQUIRE_OK(cudaEventDestroy(event));
  CHECK_CAUGHT(cudaEventRecord(event, nullptr), "cudaEventRecord: the event does not exist any more");
}

TEST_CASE("a launch's configuration is checked") {
  Array<float> x(16);
  CHECK_CAUGHT(probe(Probe::Constants, 1025, 0, x.p, 0, nullptr),
               "constants: block (1025, 1, 1) must have 1 to 1024 threads");
  CHECK_CAUGHT(probe(Probe::Constants, 0, 0, x.p, 0, nullptr), "block (0, 1, 1)");
  CHECK_CAUGHT(probe(Probe::DynamicOverrun, 1, 60000, x.p, 0, nullptr),
               "60000 bytes of dynamic shared memory, allowed are 49152");
  CHECK_CAUGHT(add(Fault::None, 0, x.p, x.p, x.p, 16, nullptr), "grid (0, 1, 1)");
}

TEST_CASE("a graph is checked again at each replay") {
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  Array<float> a(numbers(64)), b(64), c(64);
  REQUIRE_OK(cudaDeviceSynchronize());
  REQUIRE_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  REQUIRE_OK(twice(a, b, stream));
  REQUIRE_OK(twice(b, c, stream));
  void* p;
  CHECK_CAUGHT(cudaMalloc(&p, 4), "cudaMalloc while stream ", " captures a graph");
  CHECK_CAUGHT(cudaStreamSynchronize(stream), "cudaStreamSynchronize: stream ", " captures a graph");
  REQUIRE_OK(cudaStreamEndCapture(stream, &graph));
  REQUIRE_OK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(std::isnan(c.get()[0]));
  for (int i = 0; i < 2; ++i) REQUIRE_OK(cudaGraphLaunch(executable, stream));
  REQUIRE_OK(cudaStreamSynchronize(stream));
  CHECK(difference(c.get(), doubled(doubled(numbers(64)))) == 0);
  REQUIRE_OK(cudaFree(b.p));
  b.p = nullptr;
  CHECK_CAUGHT(cudaGraphLaunch(executable, stream), "use after free: argument 2 of add_kernel");
  REQUIRE_OK(cudaGraphExecDestroy(executable));
  REQUIRE_OK(cudaGraphDestroy(graph));
}

TEST_CASE("two devices have their own memory, streams and peer access") {
  int count;
  REQUIRE_OK(cudaGetDeviceCount(&count));
  REQUIRE(count == 2);
  CHECK_CAUGHT(cudaSetDevice(2), "cudaSetDevice: device 2 of 2");
  Array<float> here(numbers(64));
  cudaStream_t stream = new_stream();
  REQUIRE_OK(cudaSetDevice(1));
  Array<float> there(64);
  cudaPointerAttributes attributes;
  REQUIRE_OK(cudaPointerGetAttributes(&attributes, there.p));
  CHECK(attributes.device == 1);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK_CAUGHT(twice(here, there, nullptr), "argument 0 of add_kernel",
               "is memory of cuda:0, used on cuda:1 without peer access");
  CHECK_CAUGHT(twice(there, there, stream), "cuda:1 is the current device, but the call names stream ");
  REQUIRE_OK(cudaMemcpy(there.p, here.p, 256, cudaMemcpyDeviceToDevice));
  CHECK(difference(there.get(), numbers(64)) == 0);
  REQUIRE_OK(cudaDeviceEnablePeerAccess(0, 0));
  CHECK_CAUGHT(cudaDeviceEnablePeerAccess(0, 0), "already");
  REQUIRE_OK(cudaDeviceSynchronize());
  REQUIRE_OK(twice(here, there, nullptr));
  REQUIRE_OK(cudaDeviceDisablePeerAccess(0));
  REQUIRE_OK(cudaSetDevice(0));
}

TEST_CASE("device memory runs out") {
  With config;
  config->memory = 1 << 20;
  size_t free, total;
  REQUIRE_OK(cudaMemGetInfo(&free, &total));
  CHECK(total == size_t(1 << 20));
  void* p = &free;
  CHECK_CAUGHT(cudaMalloc(&p, 2 << 20), "out of memory", "2097152 bytes asked");
  CHECK(p == nullptr);
}

TEST_CASE("blocks of a caching allocator are checked one by one") {
  cudaStream_t first = new_stream(), second = new_stream();
  Array<char> segment(4096);
  auto block = [&](size_t at) { return reinterpret_cast<float*>(segment.p + at); };
  REQUIRE_OK(cudaDeviceSynchronize());
  tarn_emu_block_taken(block(0), 256, first);
  tarn_emu_block_taken(block(512), 256, second);
  // Neighbours on two streams are no race.
  REQUIRE_OK(cudaMemsetAsync(block(0), 0, 256, first));
  REQUIRE_OK(cudaMemsetAsync(block(512), 0, 256, second));
  CHECK_CAUGHT(cudaMemsetAsync(block(0), 0, 257, first),
               "257 bytes from byte 0 of block at byte 0 of allocation #", "reach past its end");
  CHECK_CAUGHT(cudaMemsetAsync(block(1024), 0, 4, first), "past the end of block at byte 512");
  // Given back while another stream may still use it.
  tarn_emu_block_returned(block(512), first);
  CHECK_CAUGHT(cudaGetLastError(), "early free: byte 0 of block at byte 512",
               "is not ordered after argument 0 of cudaMemsetAsync on stream ");
  tarn_emu_block_returned(block(512), second);
  REQUIRE_OK(cudaGetLastError());
  CHECK_CAUGHT(cudaMemsetAsync(block(512), 0, 4, second), "use after free", "freed block at byte 512",
               "freed by its allocator on stream ");
  // Handed out again, on another stream, before the first is known to be done with it.
  tarn_emu_block_taken(block(512), 128, first);
  CHECK_CAUGHT(cudaGetLastError(), "is handed out on stream ",
               "which is not ordered after its return on stream ");
  tarn_emu_block_taken(block(512), 128, second);
  REQUIRE_OK(cudaGetLastError());
  tarn_emu_block_taken(block(0), 64, first);
  CHECK_CAUGHT(cudaGetLastError(), "overlaps byte 0 of block at byte 0 of allocation #");
  REQUIRE_OK(cudaDeviceSynchronize());
}

TEST_CASE("an off-by-one into the next block of a segment is out of bounds") {
  Array<float> segment(256);
  tarn_emu_block_taken(segment.p, 4 * 101, nullptr);
  tarn_emu_block_taken(segment.p + 128, 4 * 101, nullptr);
  REQUIRE_OK(cudaMemset(segment.p, 0, 4 * 101));
  REQUIRE_OK(cudaMemset(segment.p + 128, 0, 4 * 101));
  // AddressSanitizer knows segments, not blocks.
  std::string message = text(add(Fault::OffByOne, 1, segment.p, segment.p, segment.p + 128, 101, nullptr));
  CAPTURE(message);
  CHECK((message != "") == checked());
  if (checked())
    CHECK(has(message, {"out of bounds", "0 bytes past the end of block at byte 0 of allocation #",
                        line_of("y[i] = T(float(x[i])")}));
}

TEST_CASE("two threads drive two devices at once") {
  auto work = [](int device, Values* result) {
    cudaSetDevice(device);
    float *x, *y;
    Values v = numbers(500, device + 1);
    cudaMalloc(reinterpret_cast<void**>(&x), 2000);
    cudaMalloc(reinterpret_cast<void**>(&y), 2000);
    cudaMemcpy(x, v.data(), 2000, cudaMemcpyHostToDevice);
    for (int i = 0; i < 20; ++i) softmax(Fault::None, 64, x, y, 5, 100, nullptr);
    result->resize(500);
    cudaMemcpy(result->data(), y, 2000, cudaMemcpyDeviceToHost);
  };
  Values results[2];
  std::thread other(work, 1, &results[1]);
  work(0, &results[0]);
  other.join();
  for (int d = 0; d < 2; ++d) CHECK(difference(results[d], softmax_of(numbers(500, d + 1), 5, 100)) < 1e-6f);
}

TEST_CASE("guarded device memory is closed to host code and open to kernels and copies") {
  auto guarded = [](bool touch) {
    tarn::emu::config().guard = true;
    cudaSetDevice(0);
    Array<float> x(numbers(64)), y(64);
    if (twice(x, y, nullptr) != cudaSuccess || difference(y.get(), doubled(numbers(64))) != 0) _exit(1);
    _exit(touch && y.p[3] > 0 ? 2 : 0);
  };
  CHECK(exit_status([&] { guarded(false); }) == 0);
  CHECK(exit_status([&] { guarded(true); }) == 42);
}

TEST_CASE("an error is told once, with what CUDA calls it") {
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFree(reinterpret_cast<void*>(0x1234)) == cudaErrorInvalidValue);
  CHECK(has(cudaGetErrorString(cudaErrorInvalidValue),
            {"invalid argument: cudaFree: 0x1234 is no allocation"}));
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
}
