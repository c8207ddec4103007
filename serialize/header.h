// The JSON header of a safetensors file: what it may say, read and written. Private.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::safetensors {

// One tensor's entry; its bytes are [begin, end) of what follows the header.
struct Entry {
  ScalarType dtype = kFloat;
  Dims sizes;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct Header {
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
};

// The size that other readers accept at most.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// Parses and checks all that does not need the tensors' bytes: `data_bytes` follow the header and the entries
// must cover them without gap or overlap. Errors begin with `where`.
Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& where);

// Padded with spaces to a multiple of 8 bytes, so that the data is aligned.
std::string write_header(const Header& header);

}  // namespace tarn::inline v1::safetensors
