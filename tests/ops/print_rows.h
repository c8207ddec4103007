// Tensors whose printed text is compared with PyTorch's.
#pragma once

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

struct PrintRow {
  std::string name;  // "print/large"
  ScalarType dtype;
  Input input;
};

const std::vector<PrintRow>& print_rows();

}  // namespace tarn::testing
