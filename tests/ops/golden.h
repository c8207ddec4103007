// Reference values made by PyTorch (golden/make.py): golden/values.txt has one line per tensor,
//   softmax/1f3c9a2b77d0e411/out0 float32 2,5 <base64 of the elements, row-major, little-endian>
// sorted, so that a new row adds lines and changes none. The number is a hash of the expression and its
// inputs.
#pragma once

#include <string>
#include <vector>

#include <tarn/tests/support.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

// "softmax/1f3c9a2b77d0e411": where the values of this sample in this dtype are kept.
std::string golden_key(const Row& row, const Sample& sample, ScalarType dtype);

struct GoldenValue {
  bool found = false;
  std::string refused;  // PyTorch's error, if it has no such op for these dtypes
  Tensor value;
};
// `part` is "out0", "out1", ... or "grad0", ...: of the output or input with that number.
GoldenValue golden(const std::string& key, const std::string& part);
// A text, as that of a printed tensor.
std::string golden_text(const std::string& key);
bool has_golden(const std::string& name);
// "softmax/1f3c9a2b77d0e411/out0" of every line.
std::vector<std::string> golden_names();

// The dtypes a sample's values are kept in: the first sample of a row is swept over the row's dtypes.
std::vector<ScalarType> golden_dtypes(const Row& row, size_t sample);

// What golden/make.py reads: every sample of every row, as JSON.
void write_requests(const std::string& path);

// The weights that outputs are multiplied with before gradients are taken, the same in both languages.
Tensor gradient_weight(const Tensor& output, int number);

}  // namespace tarn::testing
