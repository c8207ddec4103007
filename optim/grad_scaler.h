// GradScaler: keeps small gradients of float16 from vanishing (Micikevicius et al., arXiv 1710.03740): the
// loss is multiplied by a scale before backward, the gradients are divided by it before the optimizer sees
// them. A step whose gradients overflowed is skipped and the scale shrinks; after many good steps it grows.
// Behaviour and defaults are torch.amp.GradScaler's. bfloat16 needs none of this.
//
//   scaler.scale(loss).backward();
//   scaler.unscale_(optimizer);  // only for what looks at the gradients, such as clip_grad_norm_
//   scaler.step(optimizer);
//   scaler.update();
#pragma once

#include <vector>

#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::amp {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // good steps until the scale grows
  bool enabled = true;             // else scale() and step() pass through
};

class TARN_API GradScaler {
 public:
  using State = OrderedDict<std::string, Tensor>;

  explicit GradScaler(const GradScalerOptions& options = {});

  // The loss times the scale, in float32 where the loss is of a lower precision.
  Tensor scale(const Tensor& outputs) const;
  // Divides the gradients of the optimizer's parameters by the scale, in place. At most once between updates.
  void unscale_(optim::Optimizer& optimizer);
  // Unscales if that was not done, then steps, unless a gradient is infinite or NaN. Once between updates.
  Tensor step(optim::Optimizer& optimizer);
  // At the end of an iteration, after the steps of all optimizers: the next scale, or this one.
  void update(std::optional<double> new_scale = {});

  double get_scale() const { return options_.enabled ? scale_ : 1; }
  double get_growth_factor() const { return options_.growth_factor; }
  double get_backoff_factor() const { return options_.backoff_factor; }
  int64_t get_growth_interval() const { return options_.growth_interval; }
  bool is_enabled() const { return options_.enabled; }

  // PyTorch's keys: scale, growth_factor, backoff_factor, growth_interval, _growth_tracker. Empty if
  // disabled.
  State state_dict() const;
  void load_state_dict(const State& state);

 private:
  // What was done to an optimizer since the last update().
  struct Seen {
    const optim::Optimizer* optimizer;
    bool found_inf = false;
    bool stepped = false;
  };
  Seen* find(const optim::Optimizer& optimizer);

  GradScalerOptions options_;
  double scale_;
  int64_t good_steps_ = 0;
  std::vector<Seen> seen_;
};

}  // namespace tarn::inline v1::amp
