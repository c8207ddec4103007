#include <tarn/optim/optimizer.h>

#include <cstring>
#include <typeinfo>
#include <unordered_set>

namespace tarn::inline v1::optim {

OptimizerOptions::~OptimizerOptions() = default;

const OptionField& OptimizerOptions::lr_field() const {
  for (const OptionField& field : fields())
    if (std::strcmp(field.name, "lr") == 0) return field;
  fail("OptimizerOptions: this class has no option lr");
}

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : initial_lr(other.initial_lr),
      params_(other.params_),
      options_(other.options_ ? other.options_->clone() : nullptr) {}

OptimizerParamGroup& OptimizerParamGroup::operator=(const OptimizerParamGroup& other) {
  return *this = OptimizerParamGroup(other);
}

OptimizerParamGroup::~OptimizerParamGroup() = default;

OptimizerOptions& OptimizerParamGroup::options() {
  check(has_options(), "OptimizerParamGroup: this group has no options yet; add it to an optimizer first");
  return *options_;
}

const OptimizerOptions& OptimizerParamGroup::options() const {
  return const_cast<OptimizerParamGroup*>(this)->options();
}

Optimizer::Optimizer(const char* name, std::vector<const char*> slot_names, bool counts_steps,
                     std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults)
    : name_(name),
      slot_names_(std::move(slot_names)),
      counts_steps_(counts_steps),
      defaults_(std::move(defaults)) {
  defaults_->validate(name_);
  check(!groups.empty(), name_, ": got no parameters; is the model built?");
  for (const OptimizerParamGroup& group : groups) add_param_group(group);
}

Optimizer::~Optimizer() = default;

namespace {

// As libtorch: an option that still has its class's default counts as not given.
void inherit(OptimizerOptions& options, const OptimizerOptions& from, const OptimizerOptions& fresh) {
  for (const OptionField& field : options.fields())
    if (field.get(options) == field.get(fresh)) field.set(options, field.get(from));
}

}  // namespace

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  OptimizerParamGroup added = group;
  check(!added.params().empty(), name_, ": a parameter group is empty; is the model built?");
  std::unordered_set<const void*> known;
  for (const Tensor& param : parameters()) known.insert(param.impl().get());
  for (size_t i = 0; i < added.params().size(); ++i) {
    const Tensor& param = added.params()[i];
    check(param.defined(), name_, ": parameter ", i, " of the group is undefined");
    check(is_floating(param.dtype()), name_, ": parameters must be of a floating dtype, parameter ", i,
          " is ", param.dtype());
    check(param.is_leaf(), name_, ": parameter ", i, " of sizes ", param.sizes(),
          " is the result of an operation, not a leaf; pass detach().requires_grad_()");
    check(known.insert(param.impl().get()).second, name_, ": parameter ", i, " of sizes ", param.sizes(),
          " is there already; each parameter belongs to one group, once");
  }
  if (!added.has_options()) {
    added.set_options(defaults_->clone());
  } else {
    check(typeid(added.options()) == typeid(*defaults_), name_,
          ": a group's options are of another optimizer");
    inherit(added.options(), *defaults_, *defaults_->fresh());
    added.options().validate(name_);
  }
  groups_.push_back(std::move(added));
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const OptimizerParamGroup& group : groups_)
    out.insert(out.end(), group.params().begin(), group.params().end());
  return out;
}

void Optimizer::zero_grad(bool set_to_none) {
  NoGradGuard no_grad;
  for (const OptimizerParamGroup& group : groups_) {
    for (const Tensor& param : group.params()) {
      Tensor& grad = param.mutable_grad();
      if (!grad.defined()) continue;
      if (set_to_none)
        grad.reset();
      else
        grad = grad.detach().zero_();
    }
  }
}

ParamState& Optimizer::state_of(const Tensor& param) {
  const void* key = param.impl().get();
  if (ParamState* state = state_.find(key)) return *state;
  return state_.insert(key, {});
}

Tensor Optimizer::evaluate(const LossClosure& closure) const {
  if (!closure) return {};
  AutoGradMode grad(true);
  return closure();
}

// --- state dict ---

namespace {

Tensor number(double value, ScalarType dtype) { return detail::make_tensor({}, dtype).fill_(value); }

double number_of(const Tensor& tensor, const std::string& key) {
  check(tensor.defined() && tensor.numel() == 1, "load_state_dict: ", key, " must be one number");
  return tensor.item<double>();
}

std::string option_key(size_t group, const char* option) { return str("param_groups.", group, ".", option); }

}  // namespace

Optimizer::State Optimizer::state_dict(bool copy) const {
  NoGradGuard no_grad;
  State out;
  int64_t index = 0;
  for (const OptimizerParamGroup& group : groups_) {
    for (const Tensor& param : group.params()) {
      const std::string prefix = str("state.", index++, ".");
      const ParamState* state = state_.find(param.impl().get());
      if (!state) continue;
      if (counts_steps_) out.insert(prefix + "step", number(double(state->step), kFloat));
      for (size_t i = 0; i < slot_names_.size(); ++i)
        if (const Tensor& slot = state->slots[i]; slot.defined())
          out.insert(prefix + slot_names_[i], copy ? slot.clone() : slot);
    }
  }
  int64_t first = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const OptimizerParamGroup& group = groups_[g];
    for (const OptionField& field : group.options().fields())
      out.insert(option_key(g, field.name), number(field.get(group.options()), kDouble));
    if (group.initial_lr) out.insert(option_key(g, "initial_lr"), number(*group.initial_lr, kDouble));
    Tensor params = detail::make_tensor({int64_t(group.params().size())}, kLong);
    for (size_t i = 0; i < group.params().size(); ++i) params.data_ptr<int64_t>()[i] = first++;
    out.insert(option_key(g, "params"), params);
  }
  return out;
}

void Optimizer::load_state_dict(const State& given) {
  NoGradGuard no_grad;
  size_t used = 0;
  auto take = [&](const std::string& key) {
    const Tensor* value = given.find(key);
    used += value != nullptr;
    return value;
  };

  std::vector<OptimizerParamGroup> groups = groups_;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Tensor* params = take(option_key(g, "params"));
    check(params != nullptr, "load_state_dict: ", name_, " has ", groups.size(),
          " parameter groups, the state dict ", g);
    check(params->numel() == int64_t(groups[g].params().size()), "load_state_dict: group ", g, " of ", name_,
          " has ", groups[g].params().size(), " parameters, the state dict's ", params->numel());
    for (const OptionField& field : groups[g].options().fields()) {
      const std::string key = option_key(g, field.name);
      const Tensor* value = take(key);
      check(value != nullptr, "load_state_dict: the state dict has no ", key, "; was it saved by ", name_,
            "?");
      field.set(groups[g].options(), number_of(*value, key));
    }
    groups[g].options().validate(name_);
    const std::string initial = option_key(g, "initial_lr");
    if (const Tensor* value = take(initial)) groups[g].initial_lr = number_of(*value, initial);
  }

  OrderedDict<const void*, ParamState> states;
  int64_t index = 0;
  for (const OptimizerParamGroup& group : groups) {
    for (const Tensor& param : group.params()) {
      const std::string prefix = str("state.", index++, ".");
      ParamState state;
      bool any = false;
      if (const Tensor* step = counts_steps_ ? take(prefix + "step") : nullptr) {
        state.step = int64_t(number_of(*step, prefix + "step"));
        any = true;
      }
      for (size_t i = 0; i < slot_names_.size(); ++i) {
        const std::string key = prefix + slot_names_[i];
        const Tensor* value = take(key);
        if (!value) continue;
        check(value->sizes() == param.sizes(), "load_state_dict: ", key, " has sizes ", value->sizes(),
              ", parameter ", param.sizes());
        state.slots[i] = value->to(param.device(), param.dtype(), false, /*copy=*/true);
        any = true;
      }
      if (any) states.insert(param.impl().get(), std::move(state));
    }
  }
  check(used == given.size(), "load_state_dict: the state dict has ", given.size(), " entries, ", name_,
        " knows ", used, " of them; was it saved by another optimizer, or for other parameters?");
  groups_ = std::move(groups);
  state_ = std::move(states);
}

}  // namespace tarn::inline v1::optim
