// manifest.json of a checkpoint: its format's version, the shards with sizes and checksums, what is no
// tensor, and a checksum of all that. Private.
#pragma once

#include <tarn/serialize/checkpoint_state.h>

namespace tarn::inline v1::checkpoint::detail {

inline constexpr const char* kManifestName = "manifest.json";

struct ShardFile {
  uint64_t bytes = 0;
  uint32_t checksum = 0;
};

struct Manifest {
  int64_t step = 0;
  std::vector<ShardFile> shards;
  std::vector<std::string> parts;
  std::map<std::string, Value> values;
};

// "shard-00003.safetensors"
std::string shard_name(size_t index);

std::string write_manifest(const Manifest& manifest);
// Errors begin with `where`.
Manifest parse_manifest(const std::string& text, const std::string& where);

// 1a2b3c4d, the way checksums stand in files and messages.
std::string hex(uint32_t checksum);

}  // namespace tarn::inline v1::checkpoint::detail
