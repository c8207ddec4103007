// What a loss does with its values of all elements.
#pragma once

#include <cstdint>

namespace tarn::inline v1 {

// An enum in a namespace, so that both Reduction::Mean and an int64_t argument work, as in libtorch.
namespace Reduction {
enum Reduction : int64_t { None = 0, Mean = 1, Sum = 2 };
}

}  // namespace tarn::inline v1
