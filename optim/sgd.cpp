#include <tarn/optim/sgd.h>

#include <tarn/core/fault.h>
#include <tarn/optim/fields.h>
#include <tarn/optim/sweep.h>

namespace tarn::inline v1::optim {

ArrayRef<OptionField> SGDOptions::fields() const {
  using O = SGDOptions;
  static constexpr OptionField kFields[] = {
      field<O, double, &O::lr>("lr"),
      field<O, double, &O::momentum>("momentum"),
      field<O, double, &O::dampening>("dampening"),
      field<O, double, &O::weight_decay>("weight_decay"),
      field<O, bool, &O::nesterov>("nesterov"),
      field<O, bool, &O::maximize>("maximize"),
  };
  return kFields;
}

void SGDOptions::validate(const char* optimizer) const {
  check_not_negative(optimizer, "lr", lr());
  check_not_negative(optimizer, "momentum", momentum());
  check_not_negative(optimizer, "weight_decay", weight_decay());
  check(!nesterov() || (momentum() > 0 && dampening() == 0), optimizer,
        ": nesterov needs momentum above 0 and dampening 0, got momentum ", momentum(), " and dampening ",
        dampening());
}

SGD::SGD(std::vector<OptimizerParamGroup> groups, SGDOptions defaults)
    : Optimizer("SGD", {"momentum_buffer"}, /*counts_steps=*/false, std::move(groups), defaults.clone()) {}

SGD::SGD(std::vector<Tensor> params, SGDOptions defaults)
    : SGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

Tensor SGD::step(LossClosure closure) {
  Tensor loss = evaluate(closure);
  NoGradGuard no_grad;
  Sweep<detail::SgdUpdate> sweep("SGD", detail::optim_kernels().sgd);
  for (const OptimizerParamGroup& group : param_groups()) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    for (const Tensor& param : group.params()) {
      if (!param.grad().defined()) continue;
      ParamState& state = state_of(param);
      const bool uses_momentum = o.momentum() != 0;
      sweep.add(param, state, uses_momentum ? 1 : 0,
                {.lr = o.lr(),
                 .momentum = detail::fault(18) ? 0 : o.momentum(),
                 .dampening = o.dampening(),
                 .weight_decay = o.weight_decay(),
                 .nesterov = o.nesterov(),
                 .maximize = o.maximize(),
                 .first = !state.slots[0].defined()});
    }
  }
  sweep.run();
  return loss;
}

}  // namespace tarn::inline v1::optim
