// The plain interpreter: what an expression means. One element at a time, by the kernels of the plain C++
// instruction set; slow and obvious, for tests and for verify mode to compare with.
#pragma once

#include <tarn/compile/expression.h>

namespace tarn::inline v1::detail {

// operands[k]: where operand k's element is. Loads see what stores before them wrote.
TARN_API void run_element(const Expression& e, void* const* operands, const int64_t* numbers);

}  // namespace tarn::inline v1::detail
