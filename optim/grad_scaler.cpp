#include <tarn/optim/grad_scaler.h>

#include <cmath>

#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>

namespace tarn::inline v1::amp {

namespace {

void check_options(const GradScalerOptions& o) {
  check(o.init_scale > 0 && std::isfinite(o.init_scale), "GradScaler: init_scale must be above 0, got ",
        o.init_scale);
  check(o.growth_factor > 1 && std::isfinite(o.growth_factor),
        "GradScaler: growth_factor must be above 1, got ", o.growth_factor);
  check(o.backoff_factor > 0 && o.backoff_factor < 1,
        "GradScaler: backoff_factor must be between 0 and 1, got ", o.backoff_factor);
  check(o.growth_interval > 0, "GradScaler: growth_interval must be at least 1, got ", o.growth_interval);
}

Tensor number(double value, ScalarType dtype) { return detail::make_tensor({}, dtype).fill_(value); }

double number_of(const GradScaler::State& state, const char* key) {
  const Tensor* value = state.find(key);
  check(value && value->numel() == 1, "GradScaler: the state dict has no number \"", key, "\"");
  return value->item<double>();
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options) : options_(options), scale_(options.init_scale) {
  check_options(options);
}

GradScaler::Seen* GradScaler::find(const optim::Optimizer& optimizer) {
  for (Seen& seen : seen_)
    if (seen.optimizer == &optimizer) return &seen;
  return nullptr;
}

Tensor GradScaler::scale(const Tensor& outputs) const {
  if (!options_.enabled) return outputs;
  // 65536 is infinite in float16.
  bool low = outputs.dtype() == kHalf || outputs.dtype() == kBFloat16;
  return mul(low ? outputs.to(kFloat) : outputs, scale_);
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!options_.enabled) return;
  if (const Seen* seen = find(optimizer))
    fail("GradScaler: unscale_ was called ", seen->stepped ? "after step()" : "twice",
         " for an optimizer since the last update()");
  NoGradGuard no_grad;
  const double inverse = float(1 / scale_);
  Seen seen{&optimizer};
  for (const Tensor& param : optimizer.parameters()) {
    Tensor grad = param.grad();
    if (!grad.defined()) continue;
    check(grad.dtype() != kHalf, "GradScaler: a gradient of Half cannot be unscaled without loss; keep the ",
          "parameters in Float and use autocast");
    grad.mul_(inverse);
    if (!seen.found_inf) seen.found_inf = !all(isfinite(grad)).item<bool>();
  }
  seen_.push_back(seen);
}

Tensor GradScaler::step(optim::Optimizer& optimizer) {
  if (!options_.enabled) return optimizer.step();
  if (!find(optimizer)) unscale_(optimizer);
  Seen& seen = *find(optimizer);
  check(!seen.stepped, "GradScaler: step was called twice for an optimizer since the last update()");
  seen.stepped = true;
  return seen.found_inf ? Tensor() : optimizer.step();
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!options_.enabled) return;
  if (new_scale) {
    check(*new_scale > 0 && std::isfinite(*new_scale), "GradScaler: a scale must be above 0, got ",
          *new_scale);
    scale_ = *new_scale;
    seen_.clear();
    return;
  }
  check(!seen_.empty(), "GradScaler: update needs a step() or unscale_() before it");
  bool found_inf = false;
  for (const Seen& seen : seen_) found_inf |= seen.found_inf;
  seen_.clear();
  if (found_inf) {
    scale_ *= options_.backoff_factor;
    good_steps_ = 0;
  } else if (++good_steps_ >= options_.growth_interval) {
    // The scale stays a finite float.
    if (std::isfinite(float(scale_ * options_.growth_factor))) scale_ *= options_.growth_factor;
    good_steps_ = 0;
  }
}

GradScaler::State GradScaler::state_dict() const {
  State state;
  if (!options_.enabled) return state;
  NoGradGuard no_grad;
  state.insert("scale", number(scale_, kDouble));
  state.insert("growth_factor", number(options_.growth_factor, kDouble));
  state.insert("backoff_factor", number(options_.backoff_factor, kDouble));
  state.insert("growth_interval", number(double(options_.growth_interval), kLong));
  state.insert("_growth_tracker", number(double(good_steps_), kLong));
  return state;
}

void GradScaler::load_state_dict(const State& state) {
  if (!options_.enabled) return;
  check(!state.empty(), "GradScaler: the state dict is empty; was it saved by a disabled GradScaler?");
  GradScalerOptions options = options_;
  options.init_scale = number_of(state, "scale");
  options.growth_factor = number_of(state, "growth_factor");
  options.backoff_factor = number_of(state, "backoff_factor");
  options.growth_interval = int64_t(number_of(state, "growth_interval"));
  int64_t good_steps = int64_t(number_of(state, "_growth_tracker"));
  check_options(options);
  check(good_steps >= 0, "GradScaler: _growth_tracker must not be negative, got ", good_steps);
  scale_ = options.init_scale;
  options.init_scale = options_.init_scale;
  options_ = options;
  good_steps_ = good_steps;
  seen_.clear();
}

}  // namespace tarn::inline v1::amp
