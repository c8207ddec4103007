// Every op, callable with drawn arguments: from its rows (valid calls, spoiled), and from its declaration.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <tarn/tests/ops/fuzz_draw.h>

namespace tarn::testing {

struct FuzzedOp {
  std::vector<const Row*> rows;
  std::vector<std::function<Tensors(Draw&)>> signatures;
};

// By name.
const std::map<std::string, FuzzedOp>& fuzzed_ops();

// Declared functions with a parameter that nothing draws.
const std::vector<std::string>& undrawable_ops();

}  // namespace tarn::testing
