#include <tarn/distributed/reducer.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include <tarn/autograd/accumulate.h>
#include <tarn/autograd/autograd.h>
#include <tarn/autograd/engine.h>
#include <tarn/core/mode.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1::distributed::detail {

namespace {

constexpr double kMiB = 1 << 20;
constexpr double kFirstBucket = 1 * kMiB;
constexpr const char* kOp = "DistributedDataParallel: ";

bool is_dense(const Tensor& t) { return t.is_contiguous() || t.is_contiguous(MemoryFormat::ChannelsLast); }

// The part of `flat` from `offset` on, laid out like `like`.
Tensor part_of(const Tensor& flat, const Tensor& like, int64_t offset) {
  if (is_dense(like)) return tarn::detail::make_alias(flat, like.sizes(), like.strides(), offset);
  return tarn::detail::make_alias(flat, {like.numel()}, {1}, offset).view(like.sizes());
}

bool same_place(const Tensor& a, const Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.strides() == b.strides();
}

// "a, b, c and 4 more".
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", " : "") + names[i];
  return names.size() > kShown ? str(text, " and ", names.size() - kShown, " more") : text;
}

}  // namespace

struct Reducer::Parameter {
  std::string name;
  Tensor tensor;
  unsigned hook = 0;
  size_t bucket = 0;
  Tensor view;            // its part of the bucket
  bool in_place = false;  // its gradient is reduced where it is, its part of the bucket unused
  bool ready = false;     // its part is filled for the backward under way
  bool unused = false;    // the last forward's outputs do not depend on it
};

struct Reducer::Bucket {
  std::vector<size_t> parameters;
  int64_t numel = 0;
  size_t missing = 0;  // gradients that have not come yet
  Tensor flat;
  std::string label;
  WorkPtr work;

  double bytes() const { return double(numel) * double(element_size(flat_dtype)); }
  ScalarType flat_dtype = kFloat;
  Device device;
};

Reducer::Reducer(std::vector<NamedTensor> parameters, const DistributedDataParallelOptions& options)
    : options_(options),
      group_(*options.process_group()),
      reduces_in_place_(group_.device_type() == kCPU && !options.gradient_as_bucket_view()) {
  for (NamedTensor& p : parameters) {
    Parameter parameter;
    parameter.name = std::move(p.name);
    parameter.tensor = std::move(p.tensor);
    parameters_.push_back(std::move(parameter));
  }
  // Backward comes to the last layers first; later the first backward shows the true order.
  std::vector<size_t> order(parameters_.size());
  std::iota(order.rbegin(), order.rend(), size_t(0));
  make_buckets(order);
  for (size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].hook = autograd::register_post_accumulate_grad_hook(
        parameters_[i].tensor, [this, i](const Tensor&) { gradient_ready(i); });
}

Reducer::~Reducer() {
  for (Parameter& p : parameters_) autograd::remove_post_accumulate_grad_hook(p.tensor, p.hook);
}

size_t Reducer::bucket_count() const { return buckets_.size(); }

// A bucket holds one dtype and ends when it has reached the cap.
void Reducer::make_buckets(const std::vector<size_t>& order) {
  buckets_.clear();
  std::vector<Bucket> open;  // at most one of each dtype and device
  for (size_t index : order) {
    const Tensor& t = parameters_[index].tensor;
    auto fits = [&](const Bucket& b) { return b.flat_dtype == t.dtype() && b.device == t.device(); };
    auto bucket = std::find_if(open.begin(), open.end(), fits);
    if (bucket == open.end()) {
      open.emplace_back();
      bucket = std::prev(open.end());
      bucket->flat_dtype = t.dtype();
      bucket->device = t.device();
    }
    bucket->parameters.push_back(index);
    bucket->numel += t.numel();
    double cap = buckets_.empty() ? std::min(kFirstBucket, options_.bucket_cap_mb() * kMiB)
                                  : options_.bucket_cap_mb() * kMiB;
    if (bucket->bytes() < cap) continue;
    close_bucket(std::move(*bucket));
    open.erase(bucket);
  }
  for (Bucket& bucket : open) close_bucket(std::move(bucket));
  for (size_t b = 0; b < buckets_.size(); ++b)
    buckets_[b].label = str("gradients ", b + 1, " of ", buckets_.size(), " (",
                            parameters_[buckets_[b].parameters.front()].name, " to ",
                            parameters_[buckets_[b].parameters.back()].name, ")");
}

void Reducer::close_bucket(Bucket bucket) {
  bucket.flat = zeros({bucket.numel}, TensorOptions(bucket.flat_dtype).device(bucket.device));
  int64_t offset = 0;
  for (size_t index : bucket.parameters) {
    Parameter& p = parameters_[index];
    p.bucket = buckets_.size();
    p.view = part_of(bucket.flat, p.tensor, offset);
    offset += p.tensor.numel();
  }
  buckets_.push_back(std::move(bucket));
}

void Reducer::look_for_unused(const std::vector<Tensor>& outputs) {
  if (!options_.find_unused_parameters() || !enabled_) return;
  std::unordered_set<const autograd::Node*> seen;
  std::unordered_set<const tarn::detail::TensorImpl*> leaves;
  std::vector<const autograd::Node*> stack;
  auto visit = [&](const autograd::Node* node) {
    if (node && seen.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs) {
    if (!output.defined()) continue;
    visit(output.grad_fn());
    leaves.insert(output.impl().get());
  }
  while (!stack.empty()) {
    const autograd::Node* node = stack.back();
    stack.pop_back();
    if (node->is_accumulate)
      leaves.insert(static_cast<const tarn::detail::AccumulateGrad*>(node)->variable.impl().get());
    for (const autograd::Edge& edge : node->next_edges()) visit(edge.function.get());
  }
  for (Parameter& p : parameters_) p.unused = !leaves.count(p.tensor.impl().get());
}

void Reducer::begin_backward() {
  running_ = true;
  launched_ = 0;
  arrival_.clear();
  for (Bucket& b : buckets_) {
    b.missing = b.parameters.size();
    b.work = nullptr;
  }
  for (Parameter& p : parameters_) p.ready = false;
  tarn::detail::queue_callback([this] { finish_backward(); });
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].unused) put_into_bucket(i);
}

// Called by backward, on its thread, when a parameter's .grad is complete.
void Reducer::gradient_ready(size_t index) {
  if (!enabled_) return;
  NoGradGuard no_grad;
  if (!running_) begin_backward();
  Parameter& p = parameters_[index];
  check(!p.ready, kOp, "parameter ", p.name, " got its gradient twice in one backward",
        p.unused
            ? ", though the outputs of forward seemed not to depend on it; return from forward all tensors "
              "that the loss is made of"
            : "; is its part of the module run by a checkpoint?");
  arrival_.push_back(index);
  put_into_bucket(index);
  launch_ready_buckets();
}

void Reducer::put_into_bucket(size_t index) {
  Parameter& p = parameters_[index];
  p.ready = true;
  --buckets_[p.bucket].missing;
  Tensor& grad = p.tensor.mutable_grad();
  p.in_place = false;
  if (p.unused || !grad.defined()) {
    p.view.zero_();
    return;
  }
  // The views of buckets are dense.
  p.in_place = reduces_in_place_ && grad.strides() == p.view.strides() && !same_place(grad, p.view);
  if (p.in_place) return;
  if (!same_place(grad, p.view)) p.view.copy_(grad);
  if (options_.gradient_as_bucket_view()) grad = p.view;
}

void Reducer::launch_ready_buckets() {
  for (; launched_ < buckets_.size() && buckets_[launched_].missing == 0; ++launched_) {
    Bucket& b = buckets_[launched_];
    if (!reduces_in_place_) {
      b.work = group_.allreduce(b.flat, ReduceOp::AVG, b.label);
      continue;
    }
    std::vector<Tensor> parts;
    for (size_t index : b.parameters) {
      const Parameter& p = parameters_[index];
      parts.push_back(p.in_place ? p.tensor.grad() : p.view);
    }
    b.work = group_.allreduce(b.flat, ReduceOp::AVG, b.label, parts);
  }
}

void Reducer::finish_backward() {
  running_ = false;
  NoGradGuard no_grad;
  launch_ready_buckets();  // the last ones may have been unused ones alone
  for (Bucket& b : buckets_)
    if (b.work) b.work->wait();
  check_all_ready();
  take_results();
  if (!order_is_learnt_ && !options_.find_unused_parameters()) follow_arrival_order();
}

void Reducer::check_all_ready() {
  std::vector<std::string> names;
  for (const Parameter& p : parameters_)
    if (!p.ready) names.push_back(p.name);
  check(names.empty(), kOp, "this backward gave no gradient to ", names.size(), " of ", parameters_.size(),
        " parameters: ", some_of(names),
        "; set find_unused_parameters(true), or leave them out with requires_grad_(false)");
}

// Whether any rank's backward reached the parameter.
std::vector<bool> Reducer::used_somewhere() {
  std::vector<bool> used(parameters_.size(), true);
  if (!options_.find_unused_parameters()) return used;
  Tensor flags = zeros({int64_t(parameters_.size())}, kInt);
  for (size_t i = 0; i < parameters_.size(); ++i) flags.data_ptr<int32_t>()[i] = !parameters_[i].unused;
  Tensor there = flags.to(buckets_[0].device);
  group_.allreduce(there, ReduceOp::MAX, "flags of used parameters")->wait();
  flags = there.cpu();
  for (size_t i = 0; i < parameters_.size(); ++i) used[i] = flags.data_ptr<int32_t>()[i] != 0;
  return used;
}

void Reducer::take_results() {
  std::vector<bool> used = used_somewhere();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!used[i]) continue;  // its .grad, if there is one, stays as on every other rank
    Parameter& p = parameters_[i];
    if (p.in_place) continue;
    Tensor& grad = p.tensor.mutable_grad();
    if (grad.defined() && same_place(grad, p.view)) continue;
    if (options_.gradient_as_bucket_view())
      grad = p.view;
    else if (grad.defined())
      grad.copy_(p.view);
    else
      grad = p.view.clone();
  }
}

// From now on buckets fill in the order that rank 0 saw.
void Reducer::follow_arrival_order() {
  order_is_learnt_ = true;
  Tensor order = zeros({int64_t(arrival_.size())}, kLong);
  std::copy(arrival_.begin(), arrival_.end(), order.data_ptr<int64_t>());
  Tensor there = order.to(buckets_[0].device);
  group_.broadcast(there)->wait();
  order = there.cpu();
  const int64_t* indices = order.data_ptr<int64_t>();
  make_buckets(std::vector<size_t>(indices, indices + order.numel()));
}

namespace {

// What must be alike, one line for a tensor.
std::string signature_of(const std::vector<NamedTensor>& tensors) {
  std::string text;
  for (const NamedTensor& t : tensors)
    text += str(t.name, " ", t.tensor.dtype(), " ", t.tensor.sizes(), "\n");
  return text;
}

Tensor as_tensor(const std::string& text) {
  Tensor t = zeros({int64_t(text.size())}, kByte);
  std::copy(text.begin(), text.end(), t.data_ptr<uint8_t>());
  return t;
}

std::string line(const std::string& text, size_t number) {
  size_t at = 0;
  for (size_t i = 0; i < number && at != std::string::npos; ++i) at = text.find('\n', at + (i > 0));
  at = number == 0 ? 0 : at == std::string::npos ? text.size() : at + 1;
  std::string found = text.substr(at, text.find('\n', at) - at);
  return found.empty() ? "nothing" : found;
}

// Every rank sees rank 0's list, and learns the first rank whose list is another.
void check_alike(distributed::ProcessGroup& group, const std::vector<NamedTensor>& tensors, const char* what,
                 Device device) {
  std::string mine = signature_of(tensors);
  Tensor length = full({1}, int64_t(mine.size()), kLong).to(device);
  group.broadcast(length)->wait();
  Tensor bytes = group.getRank() == 0 ? as_tensor(mine) : zeros({length.item<int64_t>()}, kByte);
  bytes = bytes.to(device);
  group.broadcast(bytes)->wait();
  bytes = bytes.cpu();
  std::string first(bytes.data_ptr<uint8_t>(), bytes.data_ptr<uint8_t>() + bytes.numel());

  // The lowest rank that differs tells its line to all.
  Tensor differs =
      full({1}, mine == first ? int64_t(group.getSize()) : int64_t(group.getRank()), kLong).to(device);
  group.allreduce(differs, ReduceOp::MIN)->wait();
  int other = int(differs.item<int64_t>());
  if (other == group.getSize()) return;
  size_t number = 0;
  while (line(mine, number) == line(first, number) && line(mine, number) != "nothing") ++number;
  std::string theirs = str(number, ": ", line(mine, number));
  theirs.resize(200, '\0');
  Tensor text = as_tensor(theirs).to(device);
  group.broadcast(text, other)->wait();
  text = text.cpu();
  theirs = reinterpret_cast<const char*>(text.data_ptr<uint8_t>());
  number = size_t(std::strtoull(theirs.c_str(), nullptr, 10));
  fail(kOp, "ranks have different ", what, ": number ", number, " is ", line(first, number),
       " on rank 0 and ", theirs.substr(theirs.find(' ') + 1), " on rank ", other);
}

}  // namespace

void broadcast_all(distributed::ProcessGroup& group, const std::vector<NamedTensor>& tensors,
                   const char* what, bool check_names) {
  Device device = group.device_type();
  if (!tensors.empty()) device = tensors[0].tensor.device();
  if (check_names) check_alike(group, tensors, what, device);
  if (tensors.empty()) return;
  // One message of bytes: a dozen small ones would each wait for the network.
  int64_t total = 0;
  std::vector<Tensor> parts;
  for (const NamedTensor& t : tensors) total += int64_t(t.tensor.nbytes() + 7) / 8 * 8;
  Tensor flat = zeros({total}, TensorOptions(kByte).device(device));
  NoGradGuard no_grad;
  int64_t offset = 0;
  for (const NamedTensor& t : tensors) {
    const int64_t width = int64_t(t.tensor.element_size());
    Tensor part = tarn::detail::make_foreign(static_cast<char*>(flat.data_ptr()) + offset, t.tensor.sizes(),
                                             {}, t.tensor.dtype(), device, nullptr, nullptr);
    offset += (t.tensor.numel() * width + 7) / 8 * 8;
    parts.push_back(part);
    if (group.getRank() == 0) part.copy_(t.tensor.data());
  }
  group.broadcast(flat)->wait();
  if (group.getRank() == 0) return;
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor.data().copy_(parts[i]);
}

}  // namespace tarn::inline v1::distributed::detail
