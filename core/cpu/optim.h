// Optimizer updates over flat memory: all parameters of a step in one parallel sweep, each element read and
// written once. The arithmetic is PyTorch's single-tensor form, in the parameter's type (float for the 16-bit
// ones).
#pragma once
#include <stdint.h>

namespace tarn::inline v1 {
namespace detail {

struct SgdUpdate {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // no momentum buffer yet: it starts as the gradient
};

// Slots: exp_avg, exp_avg_sq, max_exp_avg_sq (amsgrad).
struct AdamUpdate {
  double lr, beta1, beta2, eps, weight_decay;
  double bias_correction1, bias_correction2_sqrt;
  bool amsgrad, maximize;
  bool decoupled;  // AdamW: the decay shrinks the parameter and stays out of the moments
};

struct UpdateRange;

// Updates elements [begin, end) of a range.
using UpdateKernel = void (*)(const UpdateRange& range, int64_t begin, int64_t end);

// A dense run of `n` elements of one parameter, with what its update reads and writes, all of one dtype.
struct UpdateRange {
  UpdateKernel kernel;
  void* param;
  const void* grad;
  void* slots[3];
  int64_t n;
  const void* update;  // an SgdUpdate or AdamUpdate
};

struct UpdateKernels {
  UpdateKernel f32, f64, f16, bf16;
};

struct OptimTable {
  UpdateKernels sgd, adam;
};

// The tables of the chosen instruction set.
const OptimTable& optim_kernels();

// Runs every range's kernel over all its elements, in parallel over the sum of them. No element depends on
// another, so the results are the same for any number of threads.
void update_sweep(const UpdateRange* ranges, int64_t count);

}  // namespace detail

namespace generic {
extern const detail::OptimTable optim_table;
}
namespace v3 {
extern const detail::OptimTable optim_table;
}
namespace v4 {
extern const detail::OptimTable optim_table;
}

}  // namespace tarn::inline v1
