#include <tarn/optim/adam.h>

#include <cmath>

#include <tarn/core/fault.h>
#include <tarn/optim/fields.h>
#include <tarn/optim/update.h>

namespace tarn::inline v1::optim {

namespace {

template <class O>
inline constexpr OptionField kFields[] = {
    field<O, double, &O::lr>("lr"),
    beta_field<O, 0>("betas.0"),
    beta_field<O, 1>("betas.1"),
    field<O, double, &O::eps>("eps"),
    field<O, double, &O::weight_decay>("weight_decay"),
    field<O, bool, &O::amsgrad>("amsgrad"),
    field<O, bool, &O::maximize>("maximize"),
};

template <class O>
void validate_options(const char* optimizer, const O& o) {
  check_not_negative(optimizer, "lr", o.lr());
  check_below_one(optimizer, "betas[0]", std::get<0>(o.betas()));
  check_below_one(optimizer, "betas[1]", std::get<1>(o.betas()));
  check_not_negative(optimizer, "eps", o.eps());
  check_not_negative(optimizer, "weight_decay", o.weight_decay());
}

std::vector<const char*> slot_names() { return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}; }

template <class O>
Update::Options update_of(const O& o, int64_t step, bool decoupled) {
  const auto [beta1, beta2] = o.betas();
  const double correction1 = 1 - std::pow(beta1, double(step));
  const double correction2 = detail::fault(51) ? 1 : std::sqrt(1 - std::pow(beta2, double(step)));
  return {.slots = o.amsgrad() ? 3 : 2,
          .flags = (o.amsgrad() ? int64_t(detail::kAmsgrad) : 0) |
                   (o.maximize() ? int64_t(detail::kMaximizeAdam) : 0) |
                   (decoupled ? int64_t(detail::kDecoupled) : 0),
          .numbers = {o.lr(), beta1, beta2, o.eps(), o.weight_decay(), correction1, correction2}};
}

// `state_of` is the optimizer's own.
template <class O, class StateOf>
void update_all(const char* name, const std::vector<OptimizerParamGroup>& groups, bool decoupled,
                StateOf state_of) {
  NoGradGuard no_grad;
  Update update(name, detail::adam_op, 7);
  for (const OptimizerParamGroup& group : groups) {
    const O& options = static_cast<const O&>(group.options());
    for (const Tensor& param : group.params()) {
      if (!param.grad().defined()) continue;
      ParamState& state = state_of(param);
      ++state.step;
      update.add(param, state, update_of(options, state.step, decoupled));
    }
  }
  update.run();
}

}  // namespace

ArrayRef<OptionField> AdamOptions::fields() const { return kFields<AdamOptions>; }
ArrayRef<OptionField> AdamWOptions::fields() const { return kFields<AdamWOptions>; }
void AdamOptions::validate(const char* optimizer) const { validate_options(optimizer, *this); }
void AdamWOptions::validate(const char* optimizer) const { validate_options(optimizer, *this); }

Adam::Adam(std::vector<OptimizerParamGroup> groups, AdamOptions defaults)
    : Optimizer("Adam", slot_names(), /*counts_steps=*/true, std::move(groups), defaults.clone()) {}

Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Adam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

Tensor Adam::step(LossClosure closure) {
  Tensor loss = evaluate(closure);
  update_all<AdamOptions>("Adam", param_groups(), false,
                          [&](const Tensor& p) -> ParamState& { return state_of(p); });
  return loss;
}

AdamW::AdamW(std::vector<OptimizerParamGroup> groups, AdamWOptions defaults)
    : Optimizer("AdamW", slot_names(), /*counts_steps=*/true, std::move(groups), defaults.clone()) {}

AdamW::AdamW(std::vector<Tensor> params, AdamWOptions defaults)
    : AdamW(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

Tensor AdamW::step(LossClosure closure) {
  Tensor loss = evaluate(closure);
  update_all<AdamWOptions>("AdamW", param_groups(), true,
                           [&](const Tensor& p) -> ParamState& { return state_of(p); });
  return loss;
}

}  // namespace tarn::inline v1::optim
