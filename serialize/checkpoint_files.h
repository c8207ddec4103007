// Checkpoints in a folder: their names, writing one, reading one. Private.
#pragma once

#include <tarn/serialize/manifest.h>

namespace tarn::inline v1::checkpoint::detail {

// A checkpoint's folder: "step-12", or "step-12.1" where step 12 was saved again.
struct Name {
  int64_t step = 0;
  int64_t attempt = 0;

  std::string text() const;
  friend auto operator<=>(const Name&, const Name&) = default;
};

// The name in a text, if it is exactly one.
std::optional<Name> parse_name(const std::string& text);

// The checkpoints in a folder, newest step first.
std::vector<Name> list(const std::string& dir);

// Writes the snapshot, makes it the latest, removes what is not to be kept.
void write(const std::string& dir, const Snapshot& snapshot, int64_t step, int64_t keep_last);

struct Read {
  int64_t step = 0;
  Contents contents;
};

// Verifies the checkpoint in `path` and reads it.
Read read(const std::string& path);

// What dir/latest names, if it is there and sound.
std::optional<Name> read_latest(const std::string& dir);

}  // namespace tarn::inline v1::checkpoint::detail
