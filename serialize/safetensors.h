// safetensors: named tensors in one file, a JSON header in front of their bytes
// (github.com/huggingface/safetensors). Reading runs no code and takes no more memory than the file has
// bytes; every rule of the format is checked.
#pragma once

#include <map>
#include <string>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::safetensors {

struct File {
  std::map<std::string, Tensor> tensors;
  // Free text by key, the header's __metadata__.
  std::map<std::string, std::string> metadata;
};

// Writes to a temporary name, flushes to the disk and renames, so that `path` is the old file or the new one,
// never a part. Tensors may be of any layout and device.
TARN_API void save(const File& file, const std::string& path);

// Error names file and rule: `safetensors: model.safetensors: tensor "fc.bias": data_offsets [0, 48] are 48
// bytes, F32 of shape [10] is 40`.
TARN_API File load(const std::string& path);

}  // namespace tarn::inline v1::safetensors
