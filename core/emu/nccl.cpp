// NCCL between emulated devices: the ranks are threads of this process, or one thread that uses groups.
//
// A collective is one operation on each rank's stream. It is ready when it is at the head of every rank's
// queue; the first to run then computes for all. Sums go in the order of the ranks. Ranks that disagree about
// a call are told so, where NCCL hangs.
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <tarn/core/emu/config.h>
#include <tarn/core/emu/library.h>
#include <tarn/core/emu/report.h>
#include <tarn/core/emu/stream.h>

using namespace tarn::emu;

#define TARN_NCCL_API extern "C" __attribute__((visibility("default")))

namespace {

enum class Kind { AllReduce, Reduce, Broadcast, AllGather, ReduceScatter, SendRecv };

constexpr const char* kNames[] = {"ncclAllReduce", "ncclReduce",        "ncclBroadcast",
                                  "ncclAllGather", "ncclReduceScatter", "ncclSend"};

// What all ranks must agree on.
struct Call {
  Kind kind;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  bool operator==(const Call&) const = default;
};

struct Part {
  const void* send = nullptr;
  void* recv = nullptr;
  bool called = false, at_head = false;
};

// One collective, or one message between two ranks (parts 0 and 1).
struct Meeting {
  Call call;
  std::vector<Part> parts;
  bool done = false;

  bool ready(int rank) {
    parts[rank].at_head = true;
    return done || std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.at_head; });
  }
  void run();
};

using Route = std::pair<int, int>;  // sender, receiver

struct Clique {
  int size = 0;
  std::vector<ncclComm_t> members;
  std::map<uint64_t, std::shared_ptr<Meeting>> collectives;  // by number
  std::map<std::pair<Route, uint64_t>, std::shared_ptr<Meeting>> messages;
  bool aborted = false;
  int present() const {
    return int(std::count_if(members.begin(), members.end(), [](auto m) { return m != nullptr; }));
  }
};

std::map<uint64_t, std::shared_ptr<Clique>>& cliques() {
  static auto* all = new std::map<uint64_t, std::shared_ptr<Clique>>;
  return *all;
}

// What is called between ncclGroupStart and ncclGroupEnd becomes one operation for each stream.
struct Pending {
  ncclComm_t comm;
  cudaStream_t stream;
  std::vector<Use> uses;
  std::vector<std::pair<std::shared_ptr<Meeting>, int>> meetings;  // with this rank's part
  const char* name;
};
thread_local int group_depth = 0;
thread_local std::vector<Pending> group;
thread_local std::vector<ncclComm_t>
    group_comms;  // made in this group: their ranks are waited for at its end

}  // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank, device;
  uint64_t collectives = 0;
  std::map<Route, uint64_t> messages{};
};

namespace {

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      throw CallError{false, format("the data type %d is not emulated", int(type))};
  }
}

// Calls f with a value of the element's type.
template <class F>
void with_type(ncclDataType_t type, F f) {
  switch (type) {
    case ncclInt8:
      return f(int8_t());
    case ncclUint8:
      return f(uint8_t());
    case ncclInt32:
      return f(int32_t());
    case ncclUint32:
      return f(uint32_t());
    case ncclInt64:
      return f(int64_t());
    case ncclUint64:
      return f(uint64_t());
    case ncclFloat16:
      return f(__half());
    case ncclBfloat16:
      return f(__nv_bfloat16());
    case ncclFloat32:
      return f(float());
    default:
      return f(double());
  }
}

template <class T>
using Wide = std::conditional_t<sizeof(T) == 2, float, T>;  // the two of 16 bits are floats

template <class W>
W combine(ncclRedOp_t op, W a, W b) {
  switch (op) {
    case ncclProd:
      return W(a * b);
    case ncclMax:
      return a < b ? b : a;
    case ncclMin:
      return b < a ? b : a;
    default:
      return W(a + b);
  }
}

// out[i] = the parts' element offset + i, combined.
void reduce(const Meeting& m, size_t offset, size_t count, void* out) {
  with_type(m.call.type, [&]<class T>(T) {
    std::vector<T> results(count);  // out may be one of the inputs
    for (size_t i = 0; i < count; ++i) {
      Wide<T> sum = Wide<T>(static_cast<const T*>(m.parts[0].send)[offset + i]);
      for (size_t r = 1; r < m.parts.size(); ++r)
        sum = combine(m.call.op, sum, Wide<T>(static_cast<const T*>(m.parts[r].send)[offset + i]));
      if (m.call.op == ncclAvg) sum = Wide<T>(sum / Wide<T>(m.parts.size()));
      results[i] = T(sum);
    }
    std::memcpy(out, results.data(), count * sizeof(T));
  });
}

void Meeting::run() {
  if (std::exchange(done, true)) return;
  size_t count = call.count, bytes = count * size_of(call.type), ranks = parts.size();
  switch (call.kind) {
    case Kind::AllReduce:
    case Kind::Reduce: {
      std::vector<char> result(bytes);
      reduce(*this, 0, count, result.data());
      for (size_t r = 0; r < ranks; ++r)
        if (call.kind == Kind::AllReduce || int(r) == call.root)
          std::memcpy(parts[r].recv, result.data(), bytes);
      return;
    }
    case Kind::Broadcast:
      for (Part& part : parts) std::memmove(part.recv, parts[call.root].send, bytes);
      return;
    case Kind::AllGather: {
      std::vector<char> all(bytes * ranks);
      for (size_t r = 0; r < ranks; ++r) std::memcpy(all.data() + r * bytes, parts[r].send, bytes);
      for (Part& part : parts) std::memcpy(part.recv, all.data(), all.size());
      return;
    }
    case Kind::ReduceScatter: {
      std::vector<std::vector<char>> results(ranks, std::vector<char>(bytes));
      for (size_t r = 0; r < ranks; ++r) reduce(*this, r * count, count, results[r].data());
      for (size_t r = 0; r < ranks; ++r) std::memcpy(parts[r].recv, results[r].data(), bytes);
      return;
    }
    case Kind::SendRecv:
      std::memcpy(parts[1].recv, parts[0].send, bytes);
  }
}

std::string text_of(const Call& c) {
  return format("%s of %zu elements of type %d (operation %d, root %d)", kNames[int(c.kind)], c.count,
                int(c.type), int(c.op), c.root);
}

void submit_pending(Pending&& p) {
  int before = current_device();
  set_current_device(p.comm->device);
  Operation operation{.name = p.name, .uses = std::move(p.uses)};
  auto clique = p.comm->clique;
  operation.ready = [clique, meetings = p.meetings] {
    if (clique->aborted) return true;
    bool all = true;
    for (auto& [meeting, part] : meetings) all = meeting->ready(part) && all;
    return all;
  };
  operation.run = [clique, meetings = p.meetings]() -> Failure {
    if (clique->aborted) return {};
    for (auto& [meeting, part] : meetings) meeting->run();
    return {};
  };
  cudaError_t code = submit(p.stream, std::move(operation));
  set_current_device(before);
  if (code == cudaSuccess) return;
  std::string text = cudaGetErrorString(code);
  cudaGetLastError();
  throw CallError{true, text};
}

// Adds a part of a call to the group, or submits it at once.
void add(ncclComm_t comm, cudaStream_t stream, const char* name, std::shared_ptr<Meeting> meeting, int part,
         std::vector<Use> uses) {
  Pending pending{comm, stream, std::move(uses), {{std::move(meeting), part}}, name};
  if (group_depth == 0) return submit_pending(std::move(pending));
  for (Pending& other : group) {
    if (other.comm != comm || other.stream != stream) continue;
    other.uses.insert(other.uses.end(), pending.uses.begin(), pending.uses.end());
    other.meetings.push_back(std::move(pending.meetings[0]));
    return;
  }
  group.push_back(std::move(pending));
}

void check_comm(ncclComm_t comm) {
  if (!comm) throw CallError{true, "the communicator is null"};
  if (comm->clique->aborted) throw CallError{true, "the communicator was aborted"};
}

// The ranks' buffers of one collective; `sent` and `received` count elements.
void collective(ncclComm_t comm, const Call& call, const void* send, size_t sent, void* recv, size_t received,
                cudaStream_t stream) {
  Lock lock = lock_runtime();
  check_comm(comm);
  size_t width = size_of(call.type);
  if (call.op < ncclSum || call.op > ncclAvg)
    throw CallError{false, format("the operation %d is not emulated", int(call.op))};
  if (call.root < 0 || call.root >= comm->clique->size)
    throw CallError{true, format("root %d of %d ranks", call.root, comm->clique->size)};
  auto& collectives = comm->clique->collectives;
  uint64_t number = comm->collectives++;
  auto& meeting = collectives[number];
  if (!meeting) {
    meeting = std::make_shared<Meeting>(Meeting{call, std::vector<Part>(comm->clique->size)});
  } else if (!(meeting->call == call)) {
    throw CallError{true, format("rank %d calls ", comm->rank) + text_of(call) + ", another rank " +
                              text_of(meeting->call) +
                              format("; both are collective %lu of the communicator", (unsigned long)number)};
  }
  auto mine = meeting;
  Part& part = mine->parts[comm->rank];
  part = {send, recv, true, false};
  if (std::all_of(mine->parts.begin(), mine->parts.end(), [](const Part& p) { return p.called; }))
    collectives.erase(number);
  std::vector<Use> uses;
  if (sent) uses.push_back({send, false, true, 0, sent * width});
  if (received) uses.push_back({recv, true, true, 1, received * width});
  add(comm, stream, kNames[int(call.kind)], mine, comm->rank, std::move(uses));
}

// One side of a message; part 0 is the sender.
void message(ncclComm_t comm, int part, const Call& call, const void* send, void* recv, int peer,
             cudaStream_t stream) {
  Lock lock = lock_runtime();
  check_comm(comm);
  size_t bytes = call.count * size_of(call.type);
  if (peer < 0 || peer >= comm->clique->size)
    throw CallError{true, format("peer %d of %d ranks", peer, comm->clique->size)};
  Route pair = part == 0 ? Route{comm->rank, peer} : Route{peer, comm->rank};
  // Sends and receives are counted apart, so that the n-th of one meets the n-th of the other.
  Route counter = part == 0 ? pair : Route{-1 - pair.first, pair.second};
  auto& messages = comm->clique->messages;
  auto key = std::make_pair(pair, comm->messages[counter]++);
  auto& meeting = messages[key];
  if (!meeting) {
    meeting = std::make_shared<Meeting>(Meeting{call, std::vector<Part>(2)});
  } else if (!(meeting->call == call)) {
    throw CallError{true,
                    format("rank %d sends and rank %d receives another count or type: %zu and %zu elements",
                           pair.first, pair.second, call.count, meeting->call.count)};
  }
  auto mine = meeting;
  mine->parts[part] = {send, recv, true, false};
  if (mine->parts[0].called && mine->parts[1].called) messages.erase(key);
  Use use = part == 0 ? Use{send, false, true, 0, bytes} : Use{recv, true, true, 0, bytes};
  add(comm, stream, part == 0 ? "ncclSend" : "ncclRecv", mine, part, {use});
}

template <class F>
ncclResult_t guarded_nccl(const char* call, F f) {
  try {
    f();
    return ncclSuccess;
  } catch (const CallError& e) {
    set_library_error(std::string(call) + ": " + e.text);
    return ncclInvalidArgument;
  }
}

void wait_for_ranks(Lock& lock, const Clique& clique) {
  double patience = config().patience;
  if (wait_until(lock, patience, [&] { return clique.present() == clique.size; })) return;
  throw CallError{true,
                  format("%d of %d ranks came within %g s; the emulated NCCL joins ranks of one process",
                         clique.present(), clique.size, patience)};
}

ncclComm_t join(uint64_t id, int size, int rank, int device) {
  auto& clique = cliques()[id];
  if (!clique) {
    clique = std::make_shared<Clique>();
    clique->size = size;
    clique->members.resize(size);
  }
  if (clique->size != size || rank < 0 || rank >= size)
    throw CallError{true, format("rank %d of %d joins a communicator of %d ranks", rank, size, clique->size)};
  if (clique->members[rank]) throw CallError{true, format("rank %d joins twice", rank)};
  for (ncclComm_t other : clique->members)
    if (other && other->device == device)
      throw CallError{true, format("ranks %d and %d are both on cuda:%d", other->rank, rank, device)};
  auto* comm = new ncclComm{clique, rank, device};
  clique->members[rank] = comm;
  wake_waiters();
  return comm;
}

uint64_t number_of(const ncclUniqueId& id) {
  uint64_t number;
  std::memcpy(&number, id.internal, sizeof number);
  return number;
}

void leave(ncclComm_t comm) {
  Lock lock = lock_runtime();
  comm->clique->members[comm->rank] = nullptr;
  if (comm->clique->present() == 0)
    std::erase_if(cliques(), [&](auto& entry) { return entry.second == comm->clique; });
  delete comm;
}

}  // namespace

TARN_NCCL_API ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

// Numbers within a process, and its own, so that another process's id is not taken for one of ours.
TARN_NCCL_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  Lock lock = lock_runtime();
  static uint32_t next = 1;
  uint64_t number = uint64_t(getpid()) << 32 | next++;
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

TARN_NCCL_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return guarded_nccl("ncclCommInitRank", [&] {
    Lock lock = lock_runtime();
    *comm = join(number_of(id), size, rank, current_device());
    if (group_depth > 0)
      group_comms.push_back(*comm);
    else
      wait_for_ranks(lock, *(*comm)->clique);
  });
}

TARN_NCCL_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                                  ncclConfig_t*) {
  return ncclCommInitRank(comm, size, id, rank);
}

TARN_NCCL_API ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  return guarded_nccl("ncclCommInitAll", [&] {
    Lock lock = lock_runtime();
    for (int i = 0; i < count; ++i) comms[i] = join(number_of(id), count, i, devices ? devices[i] : i);
  });
}

TARN_NCCL_API ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

TARN_NCCL_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm) leave(comm);
  return ncclSuccess;
}

TARN_NCCL_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  {
    Lock lock = lock_runtime();
    comm->clique->aborted = true;
    wake_waiters();
  }
  leave(comm);
  return ncclSuccess;
}

TARN_NCCL_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  Lock lock = lock_runtime();
  *result = comm->clique->aborted ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

TARN_NCCL_API ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->clique->size;
  return ncclSuccess;
}
TARN_NCCL_API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
TARN_NCCL_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

TARN_NCCL_API const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unhandled error";
  }
}

TARN_NCCL_API const char* ncclGetLastError(ncclComm_t) { return library_error().c_str(); }

TARN_NCCL_API ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

TARN_NCCL_API ncclResult_t ncclGroupEnd() {
  return guarded_nccl("ncclGroupEnd", [&] {
    if (group_depth == 0) throw CallError{true, "there was no ncclGroupStart"};
    if (--group_depth > 0) return;
    std::vector<Pending> calls = std::exchange(group, {});
    std::vector<ncclComm_t> comms = std::exchange(group_comms, {});
    Lock lock = lock_runtime();
    for (ncclComm_t comm : comms) wait_for_ranks(lock, *comm->clique);
    for (Pending& pending : calls) submit_pending(std::move(pending));
  });
}

// --- collectives ---

TARN_NCCL_API ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                         ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclAllReduce", [&] {
    collective(comm, {Kind::AllReduce, count, type, op, 0}, send, count, recv, count, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclReduce", [&] {
    size_t received = comm && comm->rank == root ? count : 0;
    collective(comm, {Kind::Reduce, count, type, op, root}, send, count, recv, received, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                                         int root, ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclBroadcast", [&] {
    size_t sent = comm && comm->rank == root ? count : 0;
    collective(comm, {Kind::Broadcast, count, type, ncclSum, root}, send, sent, recv, count, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                         ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclAllGather", [&] {
    size_t ranks = comm ? size_t(comm->clique->size) : 0;
    collective(comm, {Kind::AllGather, count, type, ncclSum, 0}, send, count, recv, count * ranks, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                                             ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclReduceScatter", [&] {
    size_t ranks = comm ? size_t(comm->clique->size) : 0;
    collective(comm, {Kind::ReduceScatter, count, type, op, 0}, send, count * ranks, recv, count, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                                    ncclComm_t comm, cudaStream_t stream) {
  return guarded_nccl("ncclSend", [&] {
    message(comm, 0, {Kind::SendRecv, count, type, ncclSum, 0}, send, nullptr, peer, stream);
  });
}

TARN_NCCL_API ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    cudaStream_t stream) {
  return guarded_nccl("ncclRecv", [&] {
    message(comm, 1, {Kind::SendRecv, count, type, ncclSum, 0}, nullptr, recv, peer, stream);
  });
}
