// dispatch(): the one way from a public function to an op's kernel.
#pragma once

#include <tarn/core/op.h>

namespace tarn::inline v1::detail {

// Runs `op` and returns its (first) output.
TARN_API Tensor dispatch(const Op& op, Inputs inputs, Attrs attrs = {}, Scalars scalars = {});

// Runs an op of several outputs; `out` is an array of op.outputs tensors.
TARN_API void dispatch(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars, Tensor* out);

// Runs `op` over its own first input: inputs[0] is self. Needs op.inplace.
TARN_API void dispatch_inplace(const Op& op, Inputs inputs, Attrs attrs = {}, Scalars scalars = {});

// Runs an op without outputs, which writes the inputs that op.writes names. It has no gradient, so they must
// not need one.
TARN_API void dispatch_mutate(const Op& op, Inputs inputs, Attrs attrs = {}, Scalars scalars = {});

// Runs the kernel of the inputs' device and nothing else: no checks, no autograd.
void run_kernel(const Args& a, Tensor* out);

// `infer` for the common case of one output like inputs[0].
TARN_API void infer_like_first(const Args& a, Spec* out);

}  // namespace tarn::inline v1::detail
