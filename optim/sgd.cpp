#include <tarn/optim/sgd.h>

#include <tarn/core/fault.h>
#include <tarn/optim/fields.h>
#include <tarn/optim/update.h>

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
  Update update("SGD", detail::sgd_op, 4);
  for (const OptimizerParamGroup& group : param_groups()) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    for (const Tensor& param : group.params()) {
      if (!param.grad().defined()) continue;
      ParamState& state = state_of(param);
      const bool uses_momentum = o.momentum() != 0;
      const double momentum = detail::fault(18) ? 0 : o.momentum();
      int64_t flags = (o.nesterov() ? int64_t(detail::kNesterov) : 0) |
                      (o.maximize() ? int64_t(detail::kMaximizeSgd) : 0);
      if (uses_momentum && !state.slots[0].defined()) flags |= detail::kFirstStep;
      update.add(param, state,
                 {.slots = uses_momentum ? 1 : 0,
                  .flags = flags,
                  .numbers = {o.lr(), momentum, o.dampening(), o.weight_decay()}});
    }
  }
  update.run();
  return loss;
}

}  // namespace tarn::inline v1::optim
