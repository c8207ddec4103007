#include <tarn/serialize/checkpoint_state.h>

#include <algorithm>
#include <cstring>

#include <tarn/core/parallel.h>

namespace tarn::inline v1::checkpoint {

namespace detail {

namespace {

const char* kind_name(Value::Kind kind) {
  return kind == Value::Kind::Integer ? "a whole number"
         : kind == Value::Kind::Real  ? "a real number"
                                      : "a text";
}

[[noreturn]] void refuse_kind(const Value& value, Value::Kind wanted) {
  fail("is ", kind_name(value.kind), ", expected ", kind_name(wanted));
}

}  // namespace

Value integer_value(int64_t value) { return {.kind = Value::Kind::Integer, .integer = value, .text = {}}; }
Value real_value(double value) { return {.kind = Value::Kind::Real, .real = value, .text = {}}; }
Value text_value(std::string value) { return {.kind = Value::Kind::Text, .text = std::move(value)}; }

int64_t to_integer(const Value& value) {
  if (value.kind != Value::Kind::Integer) refuse_kind(value, Value::Kind::Integer);
  return value.integer;
}

double to_real(const Value& value) {
  if (value.kind != Value::Kind::Real) refuse_kind(value, Value::Kind::Real);
  return value.real;
}

const std::string& to_text(const Value& value) {
  if (value.kind != Value::Kind::Text) refuse_kind(value, Value::Kind::Text);
  return value.text;
}

namespace {

void collect_dict(Contents& to, const std::string& name, const Dict& dict) {
  for (const auto& item : dict) to.tensors.emplace(name + "." + item.key(), item.value());
}

Dict dict_of(const Contents& from, const std::string& name) {
  Dict dict;
  const std::string prefix = name + ".";
  for (auto at = from.tensors.lower_bound(prefix); at != from.tensors.end(); ++at) {
    if (at->first.compare(0, prefix.size(), prefix) != 0) break;
    dict.insert(at->first.substr(prefix.size()), at->second);
  }
  return dict;
}

const Tensor& tensor_of(const Contents& from, const std::string& name) {
  auto found = from.tensors.find(name);
  check(found != from.tensors.end(), "is not in the checkpoint");
  return found->second;
}

const Value& value_of(const Contents& from, const std::string& name) {
  auto found = from.values.find(name);
  check(found != from.values.end(), name, " is not in the checkpoint");
  return found->second;
}

void add_part(StateData& data, Part part) {
  const std::string& name = part.name;
  check(!name.empty() && name.find('.') == std::string::npos,
        "checkpoint: a part's name may not be empty or ", "hold a dot, got \"", name, "\"");
  for (const Part& other : data.parts)
    check(other.name != name, "checkpoint: there are two parts called \"", name, "\"");
  data.parts.push_back(std::move(part));
}

}  // namespace

std::string_view Snapshot::bytes(const Shard& shard) const {
  if (shard.begin == shard.end) return {};
  return {static_cast<const char*>(memory.data_ptr()) + shard.begin, shard.end - shard.begin};
}

}  // namespace detail

using namespace detail;

State::State() : data_(std::make_shared<StateData>()) {}

State& State::add_module(const std::string& name, std::shared_ptr<nn::Module> module) {
  check(module != nullptr, "checkpoint: the module \"", name, "\" is null; make it first");
  return add_dict(
      name, [module] { return module->state_dict(); },
      [module](const Dict& dict) { module->load_state_dict(dict); });
}

State& State::add_optimizer(const std::string& name, optim::Optimizer& optimizer) {
  return add_dict(
      name, [&optimizer] { return optimizer.state_dict(/*copy=*/false); },
      [&optimizer](const Dict& dict) { optimizer.load_state_dict(dict); });
}

State& State::add_dict(const std::string& name, Function<Dict()> get, Function<void(const Dict&)> set) {
  add_part(*data_, {name, [=](Contents& to) { collect_dict(to, name, get()); },
                    [=](const Contents& from) { set(dict_of(from, name)); }});
  return *this;
}

State& State::add_tensor(const std::string& name, const Tensor& tensor) {
  check(tensor.defined(), "checkpoint: the tensor \"", name, "\" is undefined");
  add_part(*data_, {name, [=](Contents& to) { to.tensors.emplace(name, tensor); },
                    [=](const Contents& from) {
                      const Tensor& loaded = tensor_of(from, name);
                      check(loaded.sizes() == tensor.sizes(), "has sizes ", tensor.sizes(),
                            ", the checkpoint's ", loaded.sizes());
                      NoGradGuard no_grad;
                      tensor.copy_(loaded);
                    }});
  return *this;
}

State& State::add_generator(const std::string& name, const Generator& generator) {
  add_part(*data_, {name, [=](Contents& to) { to.tensors.emplace(name, generator.get_state()); },
                    [=](const Contents& from) { generator.set_state(tensor_of(from, name)); }});
  return *this;
}

State& State::add_value(const std::string& name, Function<Value()> get, Function<void(const Value&)> set) {
  add_part(*data_, {name, [=](Contents& to) { to.values.emplace(name, get()); },
                    [=](const Contents& from) { set(value_of(from, name)); }});
  return *this;
}

State& State::add_loader(const std::string& name, Function<Position()> get,
                         Function<void(const Position&)> set) {
  add_part(*data_, {name,
                    [=](Contents& to) {
                      Position at = get();
                      to.values.emplace(name + ".epoch", integer_value(int64_t(at.epoch)));
                      to.values.emplace(name + ".batch", integer_value(int64_t(at.batch)));
                      to.values.emplace(name + ".seed", integer_value(int64_t(at.seed)));
                    },
                    [=](const Contents& from) {
                      auto number = [&](const char* field) {
                        return uint64_t(to_integer(value_of(from, name + field)));
                      };
                      set({number(".epoch"), number(".batch"), number(".seed")});
                    }});
  return *this;
}

State& State::expect(const std::string& name, const std::string& text) {
  return add_value(
      name, [text] { return text_value(text); },
      [name, text](const Value& loaded) {
        check(to_text(loaded) == text, "was ", to_text(loaded), " when it was made and is ", text, " now");
      });
}

namespace detail {

namespace {

// A tensor's bytes and their place in the copy.
struct Piece {
  uint64_t begin, end;
  const char* from;
};

constexpr uint64_t kAlignment = 64;
// Below this a second thread costs more than it saves.
constexpr int64_t kGrain = int64_t(1) << 20;

uint64_t aligned(uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

// Wide elements first: within a file every tensor is then aligned to its element size.
std::vector<std::pair<std::string, Tensor>> in_file_order(const Contents& contents) {
  std::vector<std::pair<std::string, Tensor>> order(contents.tensors.begin(), contents.tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  return order;
}

// Notes what is dense for copy_in_parallel(), copies everything else at once.
void plan_copy(const Tensor& tensor, char* memory, uint64_t begin, std::vector<Piece>& pieces) {
  if (tensor.numel() == 0) return;
  if (tensor.is_cpu() && tensor.is_contiguous()) {
    pieces.push_back({begin, begin + tensor.nbytes(), static_cast<const char*>(tensor.data_ptr())});
    return;
  }
  Tensor place = tarn::detail::make_foreign(memory + begin, tensor.sizes(), {}, tensor.dtype(), Device(),
                                            nullptr, nullptr);
  place.copy_(tensor.detach());
}

// The threads share the bytes evenly, however large the tensors are.
void copy_in_parallel(std::vector<Piece>& pieces, char* memory, int64_t bytes) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  parallel_for(0, bytes, kGrain, [&](int64_t first, int64_t last) {
    uint64_t begin = uint64_t(first), end = uint64_t(last);
    auto piece =
        std::partition_point(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.end <= begin; });
    for (; piece != pieces.end() && piece->begin < end; ++piece) {
      uint64_t from = std::max(begin, piece->begin), to = std::min(end, piece->end);
      std::memcpy(memory + from, piece->from + (from - piece->begin), to - from);
    }
  });
}

}  // namespace

void take_snapshot(StateData& data, int64_t shard_bytes) {
  NoGradGuard no_grad;
  Contents contents;
  for (const Part& part : data.parts) {
    part.collect(contents);
    contents.parts.push_back(part.name);
  }
  auto order = in_file_order(contents);
  Snapshot& snapshot = *data.snapshot;
  snapshot.values = std::move(contents.values);
  snapshot.parts = std::move(contents.parts);
  snapshot.shards.assign(1, {});
  for (const auto& [name, tensor] : order) {
    Shard* shard = &snapshot.shards.back();
    if (shard->end - shard->begin >= uint64_t(shard_bytes)) {
      uint64_t begin = aligned(shard->end);
      shard = &snapshot.shards.emplace_back();
      shard->begin = shard->end = begin;
    }
    uint64_t at = shard->end - shard->begin;
    shard->header.entries[name] = {tensor.dtype(), tensor.sizes(), at, at + tensor.nbytes()};
    shard->end += tensor.nbytes();
  }
  int64_t bytes = int64_t(snapshot.shards.back().end);
  if (!snapshot.memory.defined() || snapshot.memory.numel() < bytes)
    snapshot.memory = tarn::detail::make_tensor({bytes}, kByte);

  std::vector<Piece> pieces;
  char* memory = bytes > 0 ? static_cast<char*>(snapshot.memory.data_ptr()) : nullptr;
  for (const Shard& shard : snapshot.shards)
    for (const auto& [name, entry] : shard.header.entries)
      plan_copy(contents.tensors.at(name), memory, shard.begin + entry.begin, pieces);
  copy_in_parallel(pieces, memory, bytes);
}

void restore(const StateData& data, const Contents& contents, const std::string& where) {
  for (const Part& part : data.parts) {
    try {
      bool there = std::find(contents.parts.begin(), contents.parts.end(), part.name) != contents.parts.end();
      check(there, "is not in the checkpoint");
      part.restore(contents);
    } catch (const Error& e) {
      fail(where, "part \"", part.name, "\": ", e.what());
    }
  }
}

}  // namespace detail

}  // namespace tarn::inline v1::checkpoint
