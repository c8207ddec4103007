#include <tarn/distributed/gloo.h>

#include "tarn_config.h"

#if TARN_HAS_GLOO

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>

#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/distributed/introduction.h>
#include <tarn/distributed/roll_call.h>
#include <tarn/distributed/work_queue.h>

namespace tarn::inline v1::distributed {

namespace {

using namespace detail;
using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

// Below this Gloo's messages are as fast as copies through shared memory.
constexpr int64_t kSharedBytes = 64 << 10;

// Gloo numbers its own messages by a byte per collective from 1 up; these are ours. The tag stands above the
// byte that a collective may add to.
enum class Message : uint64_t { Signature = 0xE0, SendHead, SendBody };
uint64_t slot_of(Message message, int tag = 0) {
  return uint64_t(message) << 56 | uint64_t(uint32_t(tag)) << 24;
}

milliseconds left(Clock::time_point deadline) {
  // Gloo takes 0 for no limit.
  return std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), milliseconds(1));
}

// Ends all that waits in a context, with an exception there: Gloo does so when one of its waits times out.
void end_waits(gloo::Context& context) {
  char byte = 0;
  Buffer buffer = context.createUnboundBuffer(&byte, sizeof byte);
  try {
    buffer->waitRecv(milliseconds(1));
  } catch (const gloo::Exception&) {
  }
}

// Gloo's rendezvous reads and writes its addresses in our store.
class StoreForGloo : public gloo::rendezvous::Store {
 public:
  explicit StoreForGloo(distributed::Store& store) : store_(store) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(key, distributed::Store::Bytes(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    auto bytes = store_.get(key);
    return std::vector<char>(bytes.begin(), bytes.end());
  }
  void wait(const std::vector<std::string>& keys) override { store_.wait(keys); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    store_.wait(keys, timeout);
  }

 private:
  distributed::Store& store_;
};

// Whether Gloo says that a connection broke, and not that a time is up.
bool is_broken(const gloo::Exception& e) {
  std::string_view text = e.what();
  return text.find("imed out") == std::string_view::npos && text.find("timeout") == std::string_view::npos;
}

// Runs what concerns one other rank; Gloo's exceptions become RankLost.
template <class F>
void with_rank(int rank, F f) {
  try {
    f();
  } catch (const gloo::Exception& e) {
    throw RankLost{rank, is_broken(e)};
  }
}

// Each rank sends its signature to each other one.
class GlooMeeting : public Meeting {
 public:
  GlooMeeting(gloo::Context& context) : context_(context), signatures_(size_t(context.size)) {
    for (int rank = 0; rank < context.size; ++rank) {
      sends_.push_back(context.createUnboundBuffer(&mine_, sizeof mine_));
      receives_.push_back(context.createUnboundBuffer(&signatures_[size_t(rank)], sizeof(Signature)));
    }
  }

  const Signature* meet(const Signature& mine, Clock::time_point deadline) override {
    mine_ = mine;
    for (int rank = 0; rank < context_.size; ++rank) {
      if (rank == context_.rank) continue;
      with_rank(rank, [&] {
        receives_[size_t(rank)]->recv(rank, slot_of(Message::Signature));
        sends_[size_t(rank)]->send(rank, slot_of(Message::Signature));
      });
    }
    for (int rank = 0; rank < context_.size; ++rank) {
      if (rank == context_.rank) continue;
      with_rank(rank, [&] {
        receives_[size_t(rank)]->waitRecv(left(deadline));
        sends_[size_t(rank)]->waitSend(left(deadline));
      });
    }
    signatures_[size_t(context_.rank)] = mine;
    return signatures_.data();
  }

  std::optional<int> find_lost() override { return std::nullopt; }

 private:
  gloo::Context& context_;
  Signature mine_;
  std::vector<Signature> signatures_;
  std::vector<Buffer> sends_, receives_;
};

Tensor zeros_bytes(int64_t bytes) { return tarn::detail::make_tensor({bytes}, kByte); }

uint8_t* bytes_of(const Tensor& t) { return static_cast<uint8_t*>(t.data_ptr()); }

// The tensors' elements one after the other, in row-major order.
Tensor pack(const std::vector<Tensor>& tensors) {
  Tensor first = tensors[0];
  std::vector<int64_t> sizes(first.sizes().begin(), first.sizes().end());
  sizes.insert(sizes.begin(), int64_t(tensors.size()));
  Tensor packed = tarn::detail::make_tensor(sizes, first.dtype());
  for (size_t i = 0; i < tensors.size(); ++i) packed.select(0, int64_t(i)).copy_(tensors[i]);
  return packed;
}

Tensor pack_like(const std::vector<Tensor>& tensors) {
  Tensor first = tensors[0];
  std::vector<int64_t> sizes(first.sizes().begin(), first.sizes().end());
  sizes.insert(sizes.begin(), int64_t(tensors.size()));
  return tarn::detail::make_tensor(sizes, first.dtype());
}

void unpack(const Tensor& packed, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(packed.select(0, int64_t(i)));
}

class GlooGroup : public ProcessGroup {
 public:
  GlooGroup(std::shared_ptr<distributed::Store> store, int rank, int size, const GlooOptions& options)
      : ProcessGroup(rank, size, options.timeout), store_(std::move(store)) {
    Introduction found = introduce(*store_, rank, size, options.address, options.timeout);
    if (options.shared_memory) shared_ = std::move(found.shared);
    if (size > 1) connect(found.address);
    if (context_ && shared_) watcher_ = std::thread([this] { watch(); });
  }

  ~GlooGroup() override {
    if (!watcher_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      watched_.notify_all();
    }
    watcher_.join();
  }

  std::string getBackendName() const override { return "gloo"; }
  DeviceType device_type() const override { return kCPU; }
  Counters counters() const override {
    return {all_reduces_.load(), bytes_all_reduced_.load(), bytes_shared_.load()};
  }

 protected:
  WorkPtr start(Collective c) override {
    // Aliases without history: what runs on the queue's thread is no business of autograd's.
    for (Tensor& t : c.inputs) t = t.data();
    for (Tensor& t : c.outputs) t = t.data();
    for (Tensor& t : c.parts) t = t.data();
    const char* name = c.name();
    WorkQueue& queue = queue_for(c);
    auto task = [this, c = std::move(c)] {
      check_not_failed(c);
      try {
        run(c);
      } catch (const RankLost& lost) {
        give_up(c, lost);
      }
    };
    return queue.push(name, std::move(task));
  }

 private:
  void connect(const std::string& address) {
    SigpipeBlocked blocked;  // for the device's thread
    try {
      gloo::transport::tcp::attr attr;
      const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
      if (interface && *interface)
        attr.iface = interface;
      else
        attr.hostname = address;
      auto device = gloo::transport::tcp::CreateDevice(attr);
      context_ = std::make_shared<gloo::rendezvous::Context>(getRank(), getSize());
      context_->setTimeout(timeout());
      StoreForGloo store(*store_);
      context_->connectFullMesh(store, device);
    } catch (const gloo::Exception& e) {
      RankLost lost = RollCall(store_, getRank(), getSize()).settle({-1, is_broken(e)}, false);
      check(lost.rank < 0, "init_process_group: ", text_of(lost));
      fail("init_process_group: rank ", getRank(), " cannot connect to the others from ", address, ": ",
           e.what());
    }
    if (shared_)
      meeting_ = shared_.get();
    else
      meeting_ = (gloo_meeting_ = std::make_unique<GlooMeeting>(*context_)).get();
  }

  // Collectives run in one order on all ranks; messages of one kind between two ranks do too, but a receive
  // must not hold up the send that it waits for.
  WorkQueue& queue_for(const Collective& c) {
    if (c.kind != Kind::Send && c.kind != Kind::Recv) return collectives_;
    std::lock_guard lock(mutex_);
    auto& queue = messages_[{c.kind, c.root, c.tag}];
    if (!queue) queue = std::make_unique<WorkQueue>(/*keeps_thread=*/false);
    return *queue;
  }

  void check_not_failed(const Collective& c) {
    std::lock_guard lock(mutex_);
    check(failure_.empty(), c.name(), ": the process group failed before: ", failure_);
  }

  std::string text_of(const RankLost& lost) const {
    return lost.gone
               ? str("rank ", lost.rank, " is gone: its process ended or cannot be reached")
               : str("rank ", lost.rank, " did not come within ", double(timeout().count()) / 1000, " s");
  }

  [[noreturn]] void give_up(const Collective& c, const RankLost& seen) {
    bool certain = shared_ && shared_->find_lost() == seen.rank;
    RankLost lost = RollCall(store_, getRank(), getSize()).settle(seen, certain);
    std::string of = c.label.empty() ? "" : " of " + c.label;
    std::string what = lost.rank < 0 ? seen.detail : text_of(lost);
    std::string text = str(c.name(), of, ": ", what, " (seen by rank ", getRank(), " of ", getSize(), ")");
    std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = text;
    throw Error(text);
  }

  // Gloo may miss that a rank's process ended while it sends; the shared segment's locks show it. So while
  // Gloo is at work this thread looks, and ends its waits.
  void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      watched_.wait(lock, [this] { return closing_ || in_gloo_ > 0; });
      if (watched_.wait_for(lock, milliseconds(20), [this] { return closing_; })) return;
      if (in_gloo_ == 0 || !shared_->find_lost()) continue;
      lock.unlock();
      end_waits(*context_);
      lock.lock();
      watched_.wait(lock, [this] { return closing_; });
      return;
    }
  }

  // While it lives, Gloo is waited for.
  struct InGloo {
    explicit InGloo(GlooGroup& group) : group(group) { add(1); }
    ~InGloo() { add(-1); }
    void add(int n) {
      std::lock_guard lock(group.mutex_);
      group.in_gloo_ += n;
      group.watched_.notify_all();
    }
    GlooGroup& group;
  };

  void run(const Collective& c) {
    auto deadline = Clock::now() + timeout();
    if (c.kind == Kind::Send || c.kind == Kind::Recv) {
      InGloo in_gloo(*this);
      return c.kind == Kind::Send ? send_message(c, deadline) : receive_message(c, deadline);
    }
    if (context_) {
      const Signature* all = meeting_->meet(signature_of(c, ++sequence_), deadline);
      check_agreement(all, getSize());
    }
    try {
      InGloo in_gloo(*this);
      carry_out(c, deadline);
    } catch (const gloo::Exception& e) {
      if (auto lost = meeting_->find_lost()) throw RankLost{*lost, true};
      throw RankLost{-1, is_broken(e), str("a rank stopped answering; Gloo says ", e.what())};
    }
  }

  void carry_out(const Collective& c, Clock::time_point deadline) {
    switch (c.kind) {
      case Kind::AllReduce:
        return all_reduce(c, deadline);
      case Kind::Broadcast:
        return broadcast(c, deadline);
      case Kind::Reduce:
        return reduce(c, deadline);
      case Kind::AllGather:
      case Kind::Gather:
        return gather(c, deadline);
      case Kind::Scatter:
        return scatter(c, deadline);
      case Kind::ReduceScatter:
        return reduce_scatter(c, deadline);
      case Kind::AllToAll:
        return all_to_all(c, deadline);
      default:
        return;  // the ranks have met: that is a barrier
    }
  }

  static SharedMemory::Piece piece_of(const Tensor& t) {
    return {static_cast<char*>(t.data_ptr()), size_t(t.nbytes())};
  }

  void reduce_shared(const std::vector<SharedMemory::Piece>& pieces, const Tensor& like, ReduceOp op,
                     Clock::time_point deadline) {
    shared_->all_reduce(pieces, like.element_size(), rank_reduction(like.dtype(), op), deadline);
    bytes_shared_ += int64_t(like.nbytes());
  }

  // Where shared memory serves, parts need not be joined.
  void reduce_parts(const Collective& c, Clock::time_point deadline) {
    const Tensor& room = c.outputs[0];
    if (room.numel() == 0 || !context_) return;
    std::vector<SharedMemory::Piece> pieces;
    for (const Tensor& part : c.parts)
      if (part.numel() > 0) pieces.push_back(piece_of(part));
    if (shared_ && int64_t(room.nbytes()) >= kSharedBytes) return reduce_shared(pieces, room, c.op, deadline);
    auto each = [&](auto copy) {
      char* at = static_cast<char*>(room.data_ptr());
      for (const SharedMemory::Piece& piece : pieces) {
        if (at != piece.data) copy(at, piece.data, piece.bytes);
        at += piece.bytes;
      }
    };
    each([](char* joined, const char* part, size_t n) { std::memcpy(joined, part, n); });
    reduce_flat(room, c.op, deadline);
    each([](const char* joined, char* part, size_t n) { std::memcpy(part, joined, n); });
  }

  // Reduces a contiguous tensor in place.
  void reduce_flat(const Tensor& flat, ReduceOp op, Clock::time_point deadline) {
    const int64_t bytes = int64_t(flat.nbytes());
    if (bytes == 0 || !context_) return;
    if (shared_ && bytes >= kSharedBytes) return reduce_shared({piece_of(flat)}, flat, op, deadline);
    tarn::detail::visit_bytes(flat.dtype(), [&]<class T>(tarn::detail::Type<T>) {
      gloo::AllreduceOptions options(context_);
      options.setOutput(static_cast<T*>(flat.data_ptr()), size_t(flat.numel()));
      options.setReduceFunction(pairwise(flat.dtype(), op));
      options.setTimeout(left(deadline));
      gloo::allreduce(options);
    });
    if (op == ReduceOp::AVG) flat.div_(getSize());
  }

  static std::function<void(void*, const void*, const void*, size_t)> pairwise(ScalarType dtype,
                                                                               ReduceOp op) {
    auto kernel = rank_reduction(dtype, op == ReduceOp::AVG ? ReduceOp::SUM : op);
    return [kernel](void* out, const void* a, const void* b, size_t n) {
      const void* in[] = {a, b};
      kernel(out, in, 2, int64_t(n));
    };
  }

  void all_reduce(const Collective& c, Clock::time_point deadline) {
    const Tensor& t = c.outputs[0];
    if (c.parts.empty()) {
      Tensor flat = t.contiguous();
      reduce_flat(flat, c.op, deadline);
      if (!flat.is_same(t)) t.copy_(flat);
    } else {
      reduce_parts(c, deadline);
    }
    ++all_reduces_;
    bytes_all_reduced_ += int64_t(t.nbytes());
  }

  void broadcast(const Collective& c, Clock::time_point deadline) {
    const Tensor& t = c.outputs[0];
    if (t.numel() == 0 || !context_) return;
    Tensor flat = t.contiguous();
    gloo::BroadcastOptions options(context_);
    options.setOutput(bytes_of(flat), flat.nbytes());
    options.setRoot(c.root);
    options.setTimeout(left(deadline));
    gloo::broadcast(options);
    if (!flat.is_same(t)) t.copy_(flat);
  }

  void reduce(const Collective& c, Clock::time_point deadline) {
    const Tensor& t = c.outputs[0];
    if (t.numel() == 0 || !context_) return;
    Tensor in = t.contiguous(), out = tarn::detail::make_tensor(t.sizes(), t.dtype());
    tarn::detail::visit_bytes(t.dtype(), [&]<class T>(tarn::detail::Type<T>) {
      gloo::ReduceOptions options(context_);
      options.setInput(static_cast<T*>(in.data_ptr()), size_t(in.numel()));
      options.setOutput(static_cast<T*>(out.data_ptr()), size_t(out.numel()));
      options.setReduceFunction(pairwise(t.dtype(), c.op));
      options.setRoot(c.root);
      options.setTimeout(left(deadline));
      gloo::reduce(options);
    });
    if (c.root != getRank()) return;
    if (c.op == ReduceOp::AVG) out.div_(getSize());
    t.copy_(out);
  }

  void gather(const Collective& c, Clock::time_point deadline) {
    Tensor in = c.inputs[0].contiguous();
    if (in.numel() == 0) return;
    if (!context_) return void(c.outputs[0].copy_(in));
    Tensor out = c.outputs.empty() ? Tensor() : pack_like(c.outputs);
    if (c.kind == Kind::AllGather) {
      gloo::AllgatherOptions options(context_);
      options.setInput(bytes_of(in), in.nbytes());
      options.setOutput(bytes_of(out), out.nbytes());
      options.setTimeout(left(deadline));
      gloo::allgather(options);
    } else {
      gloo::GatherOptions options(context_);
      options.setInput(bytes_of(in), in.nbytes());
      if (out.defined()) options.setOutput(bytes_of(out), out.nbytes());
      options.setRoot(c.root);
      options.setTimeout(left(deadline));
      gloo::gather(options);
    }
    unpack(out, c.outputs);
  }

  void scatter(const Collective& c, Clock::time_point deadline) {
    const Tensor& t = c.outputs[0];
    if (t.numel() == 0) return;
    if (!context_) return void(t.copy_(c.inputs[0]));
    std::vector<Tensor> in;
    std::vector<uint8_t*> pointers;
    for (const Tensor& input : c.inputs) {
      in.push_back(input.contiguous());
      pointers.push_back(bytes_of(in.back()));
    }
    Tensor out = tarn::detail::make_tensor(t.sizes(), t.dtype());
    gloo::ScatterOptions options(context_);
    if (!in.empty()) options.setInputs(pointers, out.nbytes());
    options.setOutput(bytes_of(out), out.nbytes());
    options.setRoot(c.root);
    options.setTimeout(left(deadline));
    gloo::scatter(options);
    t.copy_(out);
  }

  // This Gloo has no reduce_scatter for every size: every rank gets the whole sum and keeps its part.
  void reduce_scatter(const Collective& c, Clock::time_point deadline) {
    Tensor packed = pack(c.inputs);
    reduce_flat(packed, c.op, deadline);
    c.outputs[0].copy_(packed.select(0, getRank()));
  }

  void all_to_all(const Collective& c, Clock::time_point deadline) {
    Tensor in = pack(c.inputs), out = context_ ? pack_like(c.outputs) : in;
    if (context_ && in.numel() > 0) {
      gloo::AlltoallOptions options(context_);
      options.setInput(bytes_of(in), in.nbytes());
      options.setOutput(bytes_of(out), out.nbytes());
      options.setTimeout(left(deadline));
      gloo::alltoall(options);
    }
    unpack(out, c.outputs);
  }

  // A message is a head that says what it is, and a body that Gloo sends once the receiver asks for it. So a
  // receiver that expects something else can say so instead of writing past its tensor.
  void send_message(const Collective& c, Clock::time_point deadline) {
    Signature head = signature_of(c, 0);
    Tensor flat = c.inputs[0].contiguous();
    with_rank(c.root, [&] {
      Buffer head_buffer = context_->createUnboundBuffer(&head, sizeof head);
      Buffer body = context_->createUnboundBuffer(flat.data_ptr(), flat.nbytes());
      head_buffer->send(c.root, slot_of(Message::SendHead, c.tag));
      if (flat.nbytes() > 0) body->send(c.root, slot_of(Message::SendBody, c.tag));
      head_buffer->waitSend(left(deadline));
      if (flat.nbytes() > 0) body->waitSend(left(deadline));
    });
  }

  void receive_message(const Collective& c, Clock::time_point deadline) {
    const Tensor& t = c.outputs[0];
    Signature head, expected = signature_of(c, 0);
    with_rank(c.root, [&] {
      Buffer buffer = context_->createUnboundBuffer(&head, sizeof head);
      buffer->recv(c.root, slot_of(Message::SendHead, c.tag));
      buffer->waitRecv(left(deadline));
    });
    Signature sent = head;
    sent.kind = Kind::Recv;
    bool fits = sent == expected;
    int64_t bytes = int64_t(element_size(head.dtype));
    for (int d = 0; d < head.dim; ++d) bytes *= head.sizes[d];
    // What does not fit is taken all the same, so that the sender is not left waiting.
    Tensor flat = fits ? tarn::detail::make_tensor(t.sizes(), t.dtype()) : zeros_bytes(bytes);
    if (bytes > 0)
      with_rank(c.root, [&] {
        Buffer body = context_->createUnboundBuffer(flat.data_ptr(), size_t(bytes));
        body->recv(c.root, slot_of(Message::SendBody, c.tag));
        body->waitRecv(left(deadline));
      });
    check(fits, "recv: rank ", getRank(), " expects ", describe(expected), ", rank ", c.root, " sent ",
          describe(head), ", tag ", c.tag);
    t.copy_(flat);
  }

  std::shared_ptr<distributed::Store> store_;
  std::shared_ptr<gloo::rendezvous::Context> context_;  // none for a single rank
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<GlooMeeting> gloo_meeting_;
  Meeting* meeting_ = nullptr;
  uint64_t sequence_ = 0;
  std::atomic<int64_t> all_reduces_{0}, bytes_all_reduced_{0}, bytes_shared_{0};

  std::thread watcher_;
  std::mutex mutex_;  // of what follows
  std::condition_variable watched_;
  int in_gloo_ = 0;  // operations that may wait for Gloo
  bool closing_ = false;
  std::string failure_;  // what every later operation reports
  // Ended first, so that what they run still has the rest.
  std::map<std::tuple<Kind, int, int>, std::unique_ptr<WorkQueue>> messages_;
  WorkQueue collectives_{/*keeps_thread=*/true};
};

}  // namespace

std::shared_ptr<ProcessGroup> make_gloo_group(std::shared_ptr<Store> store, int rank, int size,
                                              const GlooOptions& options) {
  return std::make_shared<GlooGroup>(std::move(store), rank, size, options);
}
bool is_gloo_available() { return true; }

}  // namespace tarn::inline v1::distributed

#else

namespace tarn::inline v1::distributed {

std::shared_ptr<ProcessGroup> make_gloo_group(std::shared_ptr<Store>, int, int, const GlooOptions&) {
  fail(
      "init_process_group: this build of Tarn has no Gloo; install it (on Debian libgloo-dev) and build "
      "again");
}
bool is_gloo_available() { return false; }

}  // namespace tarn::inline v1::distributed

#endif
