// The ops that optimizers' steps are made of, and Update, which collects the parameters of a step for them.
// Private.
#pragma once

#include <vector>

#include <tarn/core/op.h>
#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::detail {

// One op updates all parameters of a step that have the same options. Inputs: n parameters, then `slots`
// times n tensors of state (slot 0 of all parameters, slot 1 of all, ...), then n gradients; all of one
// parameter are dense, with their elements in the same order, and of one dtype. Parameters and state are
// written.
struct UpdateAttrs {
  int64_t params;
  int64_t slots;
  int64_t flags;
};

// sgd: scalars lr, momentum, dampening, weight_decay; slot 0 is the momentum buffer.
enum SgdFlag : int64_t { kNesterov = 1, kMaximizeSgd = 2, kFirstStep = 4 };
extern const Op sgd_op;

// adam: scalars lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2_sqrt; slots exp_avg,
// exp_avg_sq and, with amsgrad, max_exp_avg_sq. Decoupled is AdamW.
enum AdamFlag : int64_t { kAmsgrad = 1, kMaximizeAdam = 2, kDecoupled = 4 };
extern const Op adam_op;

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1::optim {

class Update {
 public:
  static constexpr int kMaxNumbers = 7;

  // What the update of one parameter depends on beside its tensors.
  struct Options {
    int slots;
    int64_t flags;
    double numbers[kMaxNumbers];  // the op's scalars; unused ones are 0
    friend bool operator==(const Options&, const Options&) = default;
  };

  // `numbers`: how many scalars the op takes.
  Update(const char* optimizer, const detail::Op& op, int numbers)
      : optimizer_(optimizer), op_(op), numbers_(numbers) {}

  // Takes a parameter that has a gradient, with the slots of its state; missing ones start as zero.
  void add(const Tensor& param, ParamState& state, const Options& options);
  // Updates the parameters: one call of the op for each device and set of options.
  void run();

 private:
  struct Entry {
    Tensor param, flat_param, grad;
    Tensor slots[3];
    Options options;
    bool done = false;
  };
  void run_like(size_t first);

  const char* optimizer_;
  const detail::Op& op_;
  const int numbers_;
  std::vector<Entry> entries_;
};

}  // namespace tarn::inline v1::optim
