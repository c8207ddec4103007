#include <tarn/compile/plan.h>

#include <algorithm>
#include <numeric>

#include <tarn/compile/fused.h>
#include <tarn/core/dispatch.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kAlignment = 256;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool runs(const GraphNode& node) { return node.fused || node.op->kind != Kind::View; }

// The steps from the first to the last that touch a storage.
struct Life {
  int first = INT_MAX, last = -1;
  void touch(int step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

// The lowest place beside those whose lives meet this one's; `placed` is sorted by offset.
struct Place {
  int storage;
  int64_t begin, end;
};
int64_t lowest_gap(const std::vector<Place>& placed, const std::vector<Life>& lives, int storage,
                   int64_t bytes) {
  int64_t at = 0;
  for (const Place& p : placed) {
    if (!lives[size_t(p.storage)].meets(lives[size_t(storage)])) continue;
    if (p.begin - at >= bytes) break;
    at = std::max(at, p.end);
  }
  return at;
}

}  // namespace

void* Arena::reserve(Device device, int64_t bytes) {
  for (Tensor& t : memory_) {
    if (t.device() != device) continue;
    if (t.numel() < bytes) {
      t.reset();  // first, so that both need not exist at once
      t = make_tensor({bytes}, kByte, device);
    }
    return t.data_ptr();
  }
  memory_.push_back(make_tensor({bytes}, kByte, device));
  return memory_.back().data_ptr();
}

struct Plan::Step {
  int node;
  std::vector<In> inputs;
  Tensor outputs[kMaxOutputs];
};

Plan::Plan(Graph graph) : graph_(std::move(graph)) {
  make_tensors();
  place_storages();
}

Plan::~Plan() {
  steps_.clear();
  tensors_.clear();
  for (StorageImpl* storage : storages_) {
    storage->data = nullptr;
    release(storage);
  }
}

void Plan::make_tensors() {
  for (size_t s = 0; s < graph_.storages.size(); ++s) storages_.push_back(new StorageImpl);
  for (const GraphValue& v : graph_.values) {
    storages_[size_t(v.storage)]->device = v.device;
    storages_[size_t(v.storage)]->bytes = size_t(graph_.storages[size_t(v.storage)].bytes);
  }
  tensors_.resize(graph_.values.size());
  auto tensor = [&](int value) -> const Tensor& {
    static const Tensor* none = new Tensor;
    if (value < 0) return *none;
    Tensor& t = tensors_[size_t(value)];
    if (t.defined()) return t;
    const GraphValue& v = graph_.values[size_t(value)];
    TensorImpl* impl = new_impl(storages_[size_t(v.storage)], v.dtype);
    t = Tensor(Ref<TensorImpl>::adopt(impl));
    impl->offset = v.offset;
    impl->set(kWrappedNumber, v.wrapped);
    set_geometry(*impl, v.sizes, v.strides);
    return t;
  };
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const GraphNode& node = graph_.nodes[n];
    if (!runs(node)) continue;
    Step& step = steps_.emplace_back();
    step.node = int(n);
    (node.fused ? groups_ : kernels_) += 1;
    if (node.fused) continue;
    for (int value : node.inputs) step.inputs.push_back(tensor(value));
    for (size_t i = 0; i < node.outputs.size(); ++i) step.outputs[i] = tensor(node.outputs[i]);
    if (node.inplace) step.outputs[0] = tensor(node.inputs[0]);
  }
}

void Plan::place_storages() {
  const size_t count = graph_.storages.size();
  std::vector<Life> lives(count);
  last_write_.assign(count, -1);
  for (size_t k = 0; k < steps_.size(); ++k) {
    const GraphNode& node = graph_.nodes[size_t(steps_[k].node)];
    auto storage = [&](int value) { return size_t(graph_.values[size_t(value)].storage); };
    for (int value : node.inputs)
      if (value >= 0) lives[storage(value)].touch(int(k));
    for (int value : node.outputs) {
      lives[storage(value)].touch(int(k));
      last_write_[storage(value)] = int(k);
    }
    for (int i = node.write_begin; i < node.write_end; ++i)
      last_write_[storage(node.inputs[size_t(i)])] = int(k);
  }
  region_.assign(count, -1);
  arena_offset_.assign(count, 0);
  std::vector<int> order;
  for (size_t s = 0; s < count; ++s) {
    const GraphStorage& g = graph_.storages[s];
    if (!g.external && !g.escapes && g.bytes > 0 && lives[s].last >= 0) order.push_back(int(s));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return graph_.storages[size_t(a)].bytes > graph_.storages[size_t(b)].bytes;
  });
  std::vector<std::vector<Place>> placed;  // by region
  for (int s : order) {
    const Device device = storages_[size_t(s)]->device;
    size_t r = 0;
    while (r < regions_.size() && regions_[r].device != device) ++r;
    if (r == regions_.size()) {
      regions_.push_back({device});
      placed.emplace_back();
    }
    const int64_t bytes = aligned(graph_.storages[size_t(s)].bytes);
    Place place{s, lowest_gap(placed[r], lives, s, bytes), 0};
    place.end = place.begin + bytes;
    auto later = [](const Place& a, const Place& b) { return a.begin < b.begin; };
    placed[r].insert(std::upper_bound(placed[r].begin(), placed[r].end(), place, later), place);
    region_[size_t(s)] = int(r);
    arena_offset_[size_t(s)] = place.begin;
    regions_[r].bytes = std::max(regions_[r].bytes, place.end);
  }
}

int64_t Plan::arena_bytes() const {
  return std::accumulate(regions_.begin(), regions_.end(), int64_t(0),
                         [](int64_t sum, const Region& r) { return sum + r.bytes; });
}

void Plan::run(const std::vector<void*>& storages, const Scalar* scalars, Arena& arena) {
  next_step_ = 0;
  std::vector<char*> bases;
  for (const Region& r : regions_) bases.push_back(static_cast<char*>(arena.reserve(r.device, r.bytes)));
  for (size_t s = 0; s < storages_.size(); ++s)
    storages_[s]->data = region_[s] >= 0       ? bases[size_t(region_[s])] + arena_offset_[s]
                         : s < storages.size() ? storages[s]
                                               : nullptr;  // made by a pass, and then found useless
  for (; next_step_ < int(steps_.size()); ++next_step_) run_step(steps_[size_t(next_step_)], scalars);
}

void Plan::run_step(const Step& step, const Scalar* scalars) {
  const GraphNode& node = graph_.nodes[size_t(step.node)];
  if (node.fused) return run_group(node, scalars);
  Attrs attrs;
  attrs.data = node.attrs.data();
  attrs.size = uint32_t(node.attrs.size());
  Args a{
      *node.op, step.inputs, attrs, {scalars + node.first_scalar, size_t(node.scalar_count)}, node.inplace};
  run_kernel(a, step.outputs[0].defined() ? const_cast<Tensor*>(step.outputs) : nullptr);
}

void Plan::run_group(const GraphNode& node, const Scalar* scalars) {
  operands_.clear();
  auto add = [&](int value) {
    const GraphValue& v = graph_.values[size_t(value)];
    char* start = static_cast<char*>(storages_[size_t(v.storage)]->data);
    operands_.push_back(start + v.offset * int64_t(element_size(v.dtype)));
  };
  for (int value : node.inputs) add(value);
  for (int value : node.outputs) add(value);
  node.fused->run(operands_.data(), scalars);
}

}  // namespace tarn::inline v1::detail
