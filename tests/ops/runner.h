// The aspects in which each row is tested. Each is a test case of its own, so that a failure names op and
// aspect.
#pragma once

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

void test_values(const Row& row);  // every sample equals PyTorch's result, in value, dtype and shape
void test_dtypes(const Row& row);  // dtypes that the row does not list are refused
void test_layouts(
    const Row& row);  // transposed, strided, offset, channels_last and expanded inputs change nothing
void test_inplace(const Row& row);  // op_ gives what op gives, writes its elements only and counts as a write
void test_errors(const Row& row);   // mistakes have their exact text
void test_gradients(const Row& row);          // equal to PyTorch's, and to finite differences
void test_second_gradients(const Row& row);   // equal to finite differences of the gradients
void test_third_gradients(const Row& row);    // and those to differences of the second ones
void test_inplace_gradients(const Row& row);  // through op_ as through op
// A saved tensor that is changed in place before backward is refused, or its change does no harm.
void test_saved_tensors(const Row& row);

// First and second gradients of every sample, for what they leave behind.
void run_gradients(const Row& row);

Tolerance tolerance_of(const Row& row, ScalarType dtype);
// The tolerance for gradients, which add the errors of a few operations.
Tolerance gradient_tolerance(const Row& row, ScalarType dtype);

}  // namespace tarn::testing
