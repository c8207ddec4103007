// <torch/torch.h> for programs written for libtorch: Tarn's names under torch, at and c10, and the standard
// headers that libtorch's brings. Put the folder that holds torch/ on the include path.
//
// The namespaces are real ones with using-directives, not aliases, so that a program may reopen them:
// `namespace torch::nn { struct MyLayer ... }`. Names found through a directive are the program's own types
// as well: torch::Tensor is tarn::Tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <tarn/tarn.h>

namespace torch {
using namespace tarn;
using std::nullopt;
using std::optional;

namespace autograd {
using namespace tarn::autograd;
}
namespace cuda {
using namespace tarn::cuda;
}
namespace indexing {
using namespace tarn::indexing;
}
namespace data {
using namespace tarn::data;
namespace datasets {
using namespace tarn::data::datasets;
}
namespace samplers {
using namespace tarn::data::samplers;
}
namespace transforms {
using namespace tarn::data::transforms;
}
}  // namespace data
namespace enumtype {
using namespace tarn::enumtype;
}
namespace nn {
using namespace tarn::nn;
namespace functional {
using namespace tarn::nn::functional;
}
namespace init {
using namespace tarn::nn::init;
}
namespace utils {
using namespace tarn::nn::utils;
}
}  // namespace nn
namespace optim {
using namespace tarn::optim;
}
}  // namespace torch

namespace at {
using namespace tarn;
namespace indexing {
using namespace tarn::indexing;
}
}  // namespace at

namespace c10 {
using namespace tarn;
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace c10

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.15.0"

#define TORCH_API
#define TORCH_ARG TARN_ARG
#define TORCH_MODULE TARN_MODULE
#define TORCH_MODULE_IMPL TARN_MODULE_IMPL

// Throws torch::Error with the given parts, or with the condition's text if there are none.
#define TORCH_CHECK(condition, ...)                                                                          \
  do {                                                                                                       \
    if (!(condition)) [[unlikely]]                                                                           \
      ::torch::compat_fail("Expected " #condition " to be true, but got false." __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERT TORCH_CHECK

namespace torch {
template <class... Parts>
[[noreturn]] void compat_fail(const char* condition, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0)
    ::tarn::fail(condition);
  else
    ::tarn::fail(parts...);
}
}  // namespace torch
