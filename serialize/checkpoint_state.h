// What a checkpoint::State holds, and the copy of it that is written while the run goes on. Private.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tarn/serialize/checkpoint.h>
#include <tarn/serialize/header.h>

namespace tarn::inline v1::checkpoint::detail {

// A run's parts as named tensors and values: "model.fc.weight", "epoch". Collected, the tensors are the
// parts' own; loaded, they are fresh.
struct Contents {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Value> values;
  std::vector<std::string> parts;
};

struct Part {
  std::string name;
  Function<void(Contents&)> collect;
  Function<void(const Contents&)> restore;
};

// One safetensors file's tensors; their bytes are [begin, end) of the copy.
struct Shard {
  safetensors::Header header;
  uint64_t begin = 0, end = 0;
};

// The copy: tensors row-major, in the order of the files.
struct Snapshot {
  Tensor memory;  // bytes; kept for the next snapshot
  std::vector<Shard> shards;
  std::map<std::string, Value> values;
  std::vector<std::string> parts;

  std::string_view bytes(const Shard& shard) const;
};

struct StateData {
  std::vector<Part> parts;
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  std::shared_ptr<Job> job;  // the last save, which may still read the snapshot

  static StateData& of(const State& state) { return *state.data_; }
};

// Copies all parts into data.snapshot, in parallel.
void take_snapshot(StateData& data, int64_t shard_bytes);

// Gives each part what was loaded. Errors begin with `where`.
void restore(const StateData& data, const Contents& contents, const std::string& where);

}  // namespace tarn::inline v1::checkpoint::detail
