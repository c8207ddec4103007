#include <tarn/distributed/nccl.h>

#if TARN_HAS_NCCL

#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <tarn/core/cuda.h>
#include <tarn/core/mode.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/views.h>
#include <tarn/distributed/collective.h>
#include <tarn/distributed/roll_call.h>

namespace tarn::inline v1::distributed {

namespace {

using namespace detail;

// NCCL's functions, found at run time: libtarn links no library of the toolkit.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduce) reduce;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
};

// The emulated device brings its own, in the library that is loaded already.
void* open_nccl() {
  if (!tarn::detail::cuda_is_emulated()) return dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  void* emulated = dlopen("libtarn_emu.so", RTLD_NOW | RTLD_NOLOAD);
  return emulated ? emulated : dlopen("libtarn_emu_check.so", RTLD_NOW | RTLD_NOLOAD);
}

template <class F>
void find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  check(function != nullptr, "init_process_group: NCCL has no ", name, "; a newer one is needed");
}

const Nccl& nccl() {
  static const Nccl* loaded = [] {
    void* handle = open_nccl();
    check(handle != nullptr, "init_process_group: NCCL cannot be loaded: ", dlerror());
    auto* n = new Nccl;
    find(handle, "ncclGetUniqueId", n->get_unique_id);
    find(handle, "ncclCommInitRank", n->init_rank);
    find(handle, "ncclCommDestroy", n->destroy);
    find(handle, "ncclCommAbort", n->abort);
    find(handle, "ncclCommGetAsyncError", n->async_error);
    find(handle, "ncclGetErrorString", n->error_string);
    find(handle, "ncclGetLastError", n->last_error);
    find(handle, "ncclGroupStart", n->group_start);
    find(handle, "ncclGroupEnd", n->group_end);
    find(handle, "ncclAllReduce", n->all_reduce);
    find(handle, "ncclReduce", n->reduce);
    find(handle, "ncclBroadcast", n->broadcast);
    find(handle, "ncclAllGather", n->all_gather);
    find(handle, "ncclReduceScatter", n->reduce_scatter);
    find(handle, "ncclSend", n->send);
    find(handle, "ncclRecv", n->recv);
    return n;
  }();
  return *loaded;
}

void check_nccl(const char* op, ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail(op, ": NCCL: ", nccl().error_string(result), ": ", nccl().last_error(nullptr));
}

ncclDataType_t type_of(const char* op, ScalarType dtype) {
  switch (dtype) {
    case kByte:
    case kBool:
      return ncclUint8;
    case kChar:
      return ncclInt8;
    case kInt:
      return ncclInt32;
    case kLong:
      return ncclInt64;
    case kHalf:
      return ncclFloat16;
    case kBFloat16:
      return ncclBfloat16;
    case kFloat:
      return ncclFloat32;
    case kDouble:
      return ncclFloat64;
    default:
      fail(op, ": NCCL does not reduce ", dtype);
  }
}

ncclRedOp_t operation_of(const Collective& c) {
  switch (c.op) {
    case ReduceOp::SUM:
      return c.example().dtype() == kBool ? ncclMax : ncclSum;
    case ReduceOp::AVG:
      return ncclAvg;
    case ReduceOp::PRODUCT:
      return ncclProd;
    case ReduceOp::MIN:
      return ncclMin;
    case ReduceOp::MAX:
      return ncclMax;
    default:
      fail(c.name(), ": NCCL has no ", name_of(c.op), "; use gloo");
  }
}

// Tensors of one shape, one after the other.
Tensor room_for(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> sizes(tensors[0].sizes().begin(), tensors[0].sizes().end());
  sizes.insert(sizes.begin(), int64_t(tensors.size()));
  return tarn::detail::make_tensor(sizes, {}, tensors[0].dtype(), tensors[0].device());
}

Tensor pack(const std::vector<Tensor>& tensors) {
  Tensor packed = room_for(tensors);
  for (size_t i = 0; i < tensors.size(); ++i) packed.select(0, int64_t(i)).copy_(tensors[i]);
  return packed;
}

// One operation under way, shared by its Work and by the group's watching thread.
struct Running {
  cuda::Event done;
  std::vector<Tensor> held;  // until it is done: they may belong to other streams
  std::string what;
  Clock::time_point deadline;
};

// What ended a group, for its later operations and for every Work, which may outlive it.
struct Failure {
  std::mutex mutex;
  std::string text;

  std::string get() {
    std::lock_guard lock(mutex);
    return text;
  }
  void check_none(const std::string& op) {
    std::string found = get();
    check(found.empty(), op, ": the process group failed before: ", found);
  }
};

class NcclGroup : public ProcessGroup {
 public:
  NcclGroup(std::shared_ptr<Store> store, int rank, int size, const NcclOptions& options)
      : ProcessGroup(rank, size, options.timeout),
        store_(std::move(store)),
        device_(DeviceIndex(options.device)) {
    check(cuda::is_available(),
          "init_process_group: nccl needs a GPU: ", tarn::detail::cuda_unavailable_reason());
    check(options.device < cuda::device_count(), "init_process_group: rank ", rank,
          " is to use cuda:", options.device, ", but there are ", int(cuda::device_count()), " devices");
    cuda::DeviceGuard guard(device_);
    stream_.emplace(device_);
    connect();
    watcher_ = std::thread([this] { watch(); });
  }

  ~NcclGroup() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    watcher_.join();  // it has seen every operation end, or given them up
    if (comm_) nccl().destroy(comm_);
  }

  std::string getBackendName() const override { return "nccl"; }
  DeviceType device_type() const override { return kCUDA; }
  Counters counters() const override { return {all_reduces_.load(), bytes_all_reduced_.load(), 0}; }

 protected:
  WorkPtr start(Collective c) override;

 private:
  void connect() {
    wait_for_ranks();
    ncclUniqueId id;
    if (getRank() == 0) {
      check_nccl("init_process_group", nccl().get_unique_id(&id));
      auto* bytes = reinterpret_cast<const uint8_t*>(&id);
      store_->set("nccl/id", Store::Bytes(bytes, bytes + sizeof id));
    }
    Store::Bytes bytes = store_->get("nccl/id");
    ensure(bytes.size() == sizeof id, "an NCCL id of ", bytes.size(), " bytes");
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&id));
    check_nccl("init_process_group", nccl().init_rank(&comm_, getSize(), id, getRank()));
  }

  // NCCL itself waits for ever, and for ranks that it cannot name.
  void wait_for_ranks() {
    store_->set(str("nccl/rank/", getRank()), "here");
    std::string missing;
    auto deadline = Clock::now() + timeout();
    for (int rank = 0; rank < getSize(); ++rank) {
      auto time = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (!store_->wait_for({str("nccl/rank/", rank)}, std::max(time, milliseconds(0))))
        missing += str(missing.empty() ? "" : ", ", rank);
    }
    check(missing.empty(), "init_process_group: of ", getSize(), " ranks these did not come within ",
          double(timeout().count()) / 1000, " s: ", missing);
  }

  void call(const Collective& c, std::vector<Tensor>& held);
  void call_in_place(const Collective& c, std::vector<Tensor>& held);
  void exchange(const Collective& c, const Tensor& in, const Tensor& out);
  void send_part(const Collective& c, const Tensor& t, int peer);
  void receive_part(const Collective& c, const Tensor& t, int peer);
  void watch();
  std::string trouble_of(const Running& running);
  void* stream() const { return stream_->handle(); }

  std::shared_ptr<Store> store_;
  const DeviceIndex device_;
  std::optional<cuda::Stream> stream_;
  ncclComm_t comm_ = nullptr;
  uint64_t sequence_ = 0;
  std::atomic<int64_t> all_reduces_{0}, bytes_all_reduced_{0};
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Running>> running_;
  bool closing_ = false;
  std::thread watcher_;
};

struct NcclWork : Work {
  NcclWork(std::shared_ptr<Running> running, std::shared_ptr<Failure> failure, DeviceIndex device, bool host)
      : running(std::move(running)), failure(std::move(failure)), device(device), host(host) {}

  bool isCompleted() override { return running->done.query(); }
  bool isSuccess() override { return isCompleted() && failure->get().empty(); }
  bool wait(std::chrono::milliseconds timeout) override {
    auto deadline = Clock::now() + timeout;
    while ((host || timeout != kUnsetTimeout) && !running->done.query()) {
      failure->check_none(running->what);
      check(timeout == kUnsetTimeout || Clock::now() < deadline, running->what, ": not done within ",
            double(timeout.count()) / 1000, " s");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    failure->check_none(running->what);
    running->done.block(cuda::Stream::current(device));
    return true;
  }

  std::shared_ptr<Running> running;
  std::shared_ptr<Failure> failure;
  DeviceIndex device;
  bool host;  // wait() makes the host wait: a barrier
};

WorkPtr NcclGroup::start(Collective c) {
  failure_->check_none(c.name());
  for (const auto* list : {&c.inputs, &c.outputs})
    for (const Tensor& t : *list)
      check(t.device().index() == device_, c.name(), ": rank ", getRank(), " uses cuda:", int(device_),
            ", got a tensor on ", t.device());
  NoGradGuard no_grad;
  cuda::DeviceGuard device(device_);
  for (Tensor& t : c.inputs) t = t.data();
  for (Tensor& t : c.outputs) t = t.data();

  cuda::Event ready;
  ready.record(cuda::Stream::current(device_));
  ready.block(*stream_);
  auto running = std::make_shared<Running>();
  running->what = c.label.empty() ? c.name() : str(c.name(), " of ", c.label);
  running->deadline = Clock::now() + timeout();
  running->held = c.inputs;
  running->held.insert(running->held.end(), c.outputs.begin(), c.outputs.end());
  {
    // Copies to and from packed tensors are part of the operation.
    cuda::StreamGuard on(*stream_);
    call(c, running->held);
    running->done.record(*stream_);
  }
  ++sequence_;
  if (c.kind == Kind::AllReduce) {
    ++all_reduces_;
    bytes_all_reduced_ += int64_t(c.outputs[0].nbytes());
  }
  std::lock_guard lock(mutex_);
  running_.push_back(running);
  changed_.notify_all();
  return std::make_shared<NcclWork>(running, failure_, device_, c.kind == Kind::Barrier);
}

void NcclGroup::call(const Collective& c, std::vector<Tensor>& held) {
  auto keep = [&](Tensor t) {
    held.push_back(t);
    return t;
  };
  auto s = static_cast<cudaStream_t>(stream());
  switch (c.kind) {
    case Kind::AllReduce:
    case Kind::Broadcast:
    case Kind::Reduce:
      return call_in_place(c, held);
    case Kind::AllGather: {
      Tensor in = keep(c.inputs[0].contiguous()), out = keep(room_for(c.outputs));
      check_nccl(c.name(),
                 nccl().all_gather(in.data_ptr(), out.data_ptr(), in.nbytes(), ncclUint8, comm_, s));
      for (int64_t r = 0; r < getSize(); ++r) c.outputs[size_t(r)].copy_(out.select(0, r));
      return;
    }
    case Kind::ReduceScatter: {
      Tensor in = keep(pack(c.inputs)),
             out = keep(tarn::detail::make_tensor(c.outputs[0].sizes(), {}, in.dtype(), in.device()));
      check_nccl(c.name(), nccl().reduce_scatter(in.data_ptr(), out.data_ptr(), size_t(out.numel()),
                                                 type_of(c.name(), in.dtype()), operation_of(c), comm_, s));
      c.outputs[0].copy_(out);
      return;
    }
    case Kind::Barrier: {
      Tensor flag = keep(zeros({1}, TensorOptions(kFloat).device(Device(kCUDA, device_))));
      check_nccl(c.name(),
                 nccl().all_reduce(flag.data_ptr(), flag.data_ptr(), 1, ncclFloat32, ncclSum, comm_, s));
      return;
    }
    default: {
      // gather, scatter, all_to_all and messages are sends and receives.
      Tensor in = c.inputs.empty() ? Tensor() : keep(pack(c.inputs));
      Tensor out = c.outputs.empty() ? Tensor() : keep(room_for(c.outputs));
      check_nccl(c.name(), nccl().group_start());
      exchange(c, in, out);
      check_nccl(c.name(), nccl().group_end());
      for (size_t i = 0; i < c.outputs.size(); ++i) c.outputs[i].copy_(out.select(0, int64_t(i)));
    }
  }
}

void NcclGroup::call_in_place(const Collective& c, std::vector<Tensor>& held) {
  const Tensor& t = c.outputs[0];
  Tensor flat = t.contiguous();
  held.push_back(flat);
  void* data = flat.data_ptr();
  auto count = size_t(flat.numel());
  auto s = static_cast<cudaStream_t>(stream());
  if (c.kind == Kind::AllReduce)
    check_nccl(c.name(),
               nccl().all_reduce(data, data, count, type_of(c.name(), t.dtype()), operation_of(c), comm_, s));
  else if (c.kind == Kind::Broadcast)
    check_nccl(c.name(), nccl().broadcast(data, data, flat.nbytes(), ncclUint8, c.root, comm_, s));
  else
    check_nccl(c.name(), nccl().reduce(data, data, count, type_of(c.name(), t.dtype()), operation_of(c),
                                       c.root, comm_, s));
  if (!flat.is_same(t) && (c.kind != Kind::Reduce || c.root == getRank())) t.copy_(flat);
}

void NcclGroup::send_part(const Collective& c, const Tensor& t, int peer) {
  check_nccl(c.name(), nccl().send(t.data_ptr(), t.nbytes(), ncclUint8, peer, comm_,
                                   static_cast<cudaStream_t>(stream())));
}
void NcclGroup::receive_part(const Collective& c, const Tensor& t, int peer) {
  check_nccl(c.name(), nccl().recv(t.data_ptr(), t.nbytes(), ncclUint8, peer, comm_,
                                   static_cast<cudaStream_t>(stream())));
}

// `in` and `out` hold the parts in the order of the ranks.
void NcclGroup::exchange(const Collective& c, const Tensor& in, const Tensor& out) {
  if (c.kind == Kind::Send) return send_part(c, in.select(0, 0), c.root);
  if (c.kind == Kind::Recv) return receive_part(c, out.select(0, 0), c.root);
  const bool to_all = c.kind == Kind::AllToAll || (c.kind == Kind::Scatter && c.root == getRank());
  const bool from_all = c.kind == Kind::AllToAll || (c.kind == Kind::Gather && c.root == getRank());
  for (int peer = 0; peer < getSize(); ++peer) {
    if (to_all) send_part(c, in.select(0, peer), peer);
    if (from_all) receive_part(c, out.select(0, peer), peer);
  }
  if (c.kind == Kind::Gather) send_part(c, in.select(0, 0), c.root);
  if (c.kind == Kind::Scatter) receive_part(c, out.select(0, 0), c.root);
}

// What is wrong with an operation, if anything.
std::string NcclGroup::trouble_of(const Running& running) {
  ncclResult_t result = ncclSuccess;
  nccl().async_error(comm_, &result);
  if (result != ncclSuccess && result != ncclInProgress) {
    RankLost lost = RollCall(store_, getRank(), getSize()).settle({-1, true}, false);
    std::string who = lost.rank < 0 ? "" : str("; rank ", lost.rank, " is gone or does not answer");
    return str(running.what, ": NCCL: ", nccl().error_string(result), who);
  }
  if (Clock::now() < running.deadline) return "";
  RankLost lost = RollCall(store_, getRank(), getSize()).settle({-1, false}, false);
  std::string who = lost.rank < 0 ? "not every rank" : str("rank ", lost.rank);
  return str(running.what, ": ", who, lost.rank < 0 ? " came" : " did not come", " within ",
             double(timeout().count()) / 1000, " s (seen by rank ", getRank(), " of ", getSize(), ")");
}

void NcclGroup::watch() {
  cuda::set_device(device_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, milliseconds(running_.empty() ? 1000 : 20),
                      [this] { return closing_ && running_.empty(); });
    if (closing_ && running_.empty()) return;
    while (!running_.empty() && running_.front()->done.query()) running_.pop_front();
    if (running_.empty()) continue;
    std::shared_ptr<Running> first = running_.front();
    lock.unlock();
    std::string trouble = trouble_of(*first);
    // Ends the kernels that wait for the other ranks.
    if (!trouble.empty()) nccl().abort(comm_);
    lock.lock();
    if (trouble.empty()) continue;
    {
      std::lock_guard of_failure(failure_->mutex);
      failure_->text = trouble;
    }
    comm_ = nullptr;
    running_.clear();
    changed_.wait(lock, [this] { return closing_; });
    return;
  }
}

}  // namespace

std::shared_ptr<ProcessGroup> make_nccl_group(std::shared_ptr<Store> store, int rank, int size,
                                              const NcclOptions& options) {
  return std::make_shared<NcclGroup>(std::move(store), rank, size, options);
}
bool is_nccl_available() { return true; }

}  // namespace tarn::inline v1::distributed

#else

namespace tarn::inline v1::distributed {

std::shared_ptr<ProcessGroup> make_nccl_group(std::shared_ptr<Store>, int, int, const NcclOptions&) {
  fail(
      "init_process_group: this build of Tarn has no NCCL; build it where the CUDA toolkit and nccl.h are "
      "found");
}
bool is_nccl_available() { return false; }

}  // namespace tarn::inline v1::distributed

#endif
