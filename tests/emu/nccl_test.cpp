// NCCL between the two emulated devices: by two threads, and by one thread with groups.
#include <nccl.h>

#include <functional>
#include <thread>

#include <tarn/tests/emu/support.h>

namespace {

std::string text(ncclResult_t result) { return result == ncclSuccess ? "" : ncclGetLastError(nullptr); }

// A rank: its device, stream and communicator.
struct Rank {
  int rank;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  std::string error;  // the first one

  void check(const std::string& message) {
    if (error.empty()) error = message;
  }
  float* upload(const Values& v) {
    void* p = nullptr;
    check(::text(cudaMalloc(&p, v.size() * sizeof(float))));
    check(::text(cudaMemcpyAsync(p, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice, stream)));
    return static_cast<float*>(p);
  }
  Values download(const float* p, size_t n) {
    Values v(n);
    check(::text(cudaMemcpyAsync(v.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost, stream)));
    check(::text(cudaStreamSynchronize(stream)));
    return v;
  }
};

// Two threads that do the same; gives their first errors.
std::vector<std::string> on_two_ranks(const std::function<void(Rank&)>& work) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  Rank ranks[2];
  auto run = [&](int r) {
    Rank& rank = ranks[r];
    rank.rank = r;
    rank.check(::text(cudaSetDevice(r)));
    rank.check(::text(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking)));
    rank.check(text(ncclCommInitRank(&rank.comm, 2, id, r)));
    work(rank);
    ncclCommDestroy(rank.comm);
  };
  std::thread first(run, 0), second(run, 1);
  first.join();
  second.join();
  return {ranks[0].error, ranks[1].error};
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("two ranks sum, gather, scatter and broadcast") {
  With config;
  config->lazy = GENERATE(0, 1, 2);
  Values sums[2], means[2], all[2], halves[2], roots[2];
  Texts errors = on_two_ranks([&](Rank& r) {
    Values mine = numbers(6, r.rank + 1);
    float *p = r.upload(mine), *q = r.upload(Values(12)), *half = r.upload(Values(3)), *root = r.upload(mine);
    for (int i = 0; i < 3; ++i)
      r.check(text(ncclAllReduce(p, p, 6, ncclFloat32, i < 2 ? ncclMax : ncclSum, r.comm, r.stream)));
    sums[r.rank] = r.download(p, 6);
    p = r.upload(mine);
    r.check(text(ncclAllGather(p, q, 6, ncclFloat32, r.comm, r.stream)));
    r.check(text(ncclReduceScatter(p, half, 3, ncclFloat32, ncclSum, r.comm, r.stream)));
    r.check(text(ncclBroadcast(root, root, 6, ncclFloat32, 1, r.comm, r.stream)));
    r.check(text(ncclAllReduce(p, p, 6, ncclFloat32, ncclAvg, r.comm, r.stream)));
    all[r.rank] = r.download(q, 12);
    halves[r.rank] = r.download(half, 3);
    roots[r.rank] = r.download(root, 6);
    means[r.rank] = r.download(p, 6);
  });
  REQUIRE(errors == Texts{"", ""});
  Values a = numbers(6, 1), b = numbers(6, 2);
  for (int r = 0; r < 2; ++r)
    for (int i = 0; i < 6; ++i) {
      CHECK(sums[r][i] == 2 * std::fmax(a[i], b[i]));
      CHECK(means[r][i] == (a[i] + b[i]) / 2);
      CHECK(all[r][i] == a[i]);
      CHECK(all[r][6 + i] == b[i]);
      CHECK(roots[r][i] == b[i]);
      if (i < 3) CHECK(halves[r][i] == a[r * 3 + i] + b[r * 3 + i]);
    }
}

TEST_CASE("a collective waits for the other rank's stream") {
  Values result[2];
  Texts errors = on_two_ranks([&](Rank& r) {
    float* p = r.upload(Values(4, float(r.rank + 1)));
    // The late rank's part comes after work that the other one cannot see.
    if (r.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      r.check(::text(cudaMemsetAsync(p, 0, 16, r.stream)));
    }
    r.check(text(ncclAllReduce(p, p, 4, ncclFloat32, ncclSum, r.comm, r.stream)));
    result[r.rank] = r.download(p, 4);
  });
  CHECK(errors == Texts{"", ""});
  CHECK(result[0] == Values(4, 1));
  CHECK(result[1] == Values(4, 1));
}

TEST_CASE("ranks that disagree about a collective are told so") {
  With config;
  config->patience = 0.3;
  Texts errors = on_two_ranks([&](Rank& r) {
    float* p = r.upload(Values(8));
    r.check(text(ncclAllReduce(p, p, 8 - r.rank, ncclFloat32, ncclSum, r.comm, r.stream)));
    r.check(::text(cudaStreamSynchronize(r.stream)));
    // What waits for the other rank goes away.
    r.check(text(ncclCommAbort(std::exchange(r.comm, nullptr))));
    r.check(::text(cudaStreamSynchronize(r.stream)));
  });
  std::string both = errors[0] + errors[1];
  CAPTURE(both);
  CHECK(has(both, {"ncclAllReduce of 8 elements", "ncclAllReduce of 7 elements",
                   "both are collective 0 of the communicator"}));
}

TEST_CASE("a collective that another rank leaves out ends the wait, and abort clears it away") {
  With config;
  config->patience = 0.2;
  Texts errors = on_two_ranks([&](Rank& r) {
    if (r.rank == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(400));
    float* p = r.upload(Values(8));
    r.check(text(ncclAllReduce(p, p, 8, ncclFloat32, ncclSum, r.comm, r.stream)));
    r.check(::text(cudaStreamSynchronize(r.stream)));
    ncclCommAbort(std::exchange(r.comm, nullptr));
    if (cudaStreamSynchronize(r.stream) != cudaSuccess) r.error = "still waiting";
  });
  CAPTURE(errors[0]);
  CHECK(has(errors[0], {"waited 0.2 s in vain; at the heads of the queues: ncclAllReduce on stream "}));
  CHECK(errors[1] == "");
}

TEST_CASE("a rank that never comes is missed") {
  With config;
  config->patience = 0.1;
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t comm;
  CHECK(has(text(ncclCommInitRank(&comm, 2, id, 0)), {"1 of 2 ranks came within 0.1 s"}));
  CHECK(has(text(ncclCommInitRank(&comm, 3, id, 1)), {"rank 1 of 3 joins a communicator of 2 ranks"}));
  ncclCommDestroy(comm);
}

TEST_CASE("one thread drives two devices in groups, messages cross within one") {
  ncclComm_t comms[2];
  REQUIRE(text(ncclCommInitAll(comms, 2, nullptr)) == "");
  float *from[2], *to[2];
  cudaStream_t streams[2];
  for (int d = 0; d < 2; ++d) {
    REQUIRE_OK(cudaSetDevice(d));
    Values v(3, float(d + 1));
    REQUIRE_OK(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
    REQUIRE_OK(cudaMalloc(reinterpret_cast<void**>(&from[d]), 12));
    REQUIRE_OK(cudaMalloc(reinterpret_cast<void**>(&to[d]), 12));
    REQUIRE_OK(cudaMemcpy(from[d], v.data(), 12, cudaMemcpyHostToDevice));
  }
  REQUIRE(text(ncclGroupStart()) == "");
  for (int d = 0; d < 2; ++d) {
    REQUIRE(text(ncclSend(from[d], 3, ncclFloat32, 1 - d, comms[d], streams[d])) == "");
    REQUIRE(text(ncclRecv(to[d], 3, ncclFloat32, 1 - d, comms[d], streams[d])) == "");
  }
  REQUIRE(text(ncclGroupEnd()) == "");
  for (int d = 0; d < 2; ++d) {
    REQUIRE_OK(cudaSetDevice(d));
    Values v(3);
    REQUIRE_OK(cudaStreamSynchronize(streams[d]));
    REQUIRE_OK(cudaMemcpy(v.data(), to[d], 12, cudaMemcpyDeviceToHost));
    CHECK(v == Values(3, float(2 - d)));
  }
  REQUIRE_OK(cudaSetDevice(0));
  CHECK(has(text(ncclAllReduce(from[1], from[1], 3, ncclFloat32, ncclSum, comms[0], streams[0])),
            {"argument 0 of ncclAllReduce is memory of cuda:1, used on cuda:0"}));
  for (ncclComm_t comm : comms) CHECK(text(ncclCommDestroy(comm)) == "");
}
