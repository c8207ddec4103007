// Optimizer: updates parameters from their gradients. Parameters come in groups, each with options of its
// own; what an optimizer remembers per parameter (momentum and the like) is its state.
//
//   optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   optimizer.zero_grad(); loss.backward(); optimizer.step();
//
// All parameters of a step are updated in one parallel sweep over their memory. An optimizer needs its
// parameters to itself while step() runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tarn/core/arg.h>
#include <tarn/core/function.h>
#include <tarn/core/mode.h>
#include <tarn/core/ordered_dict.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1::optim {

class OptimizerOptions;

// One option of an optimizer by its name in PyTorch: what groups inherit and state_dict() saves. Flags are 0
// or 1.
struct OptionField {
  const char* name;
  double (*get)(const OptimizerOptions& options);
  void (*set)(OptimizerOptions& options, double value);
};

class TARN_API OptimizerOptions {
 public:
  virtual ~OptimizerOptions();
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  // Options of the same class with its defaults.
  virtual std::unique_ptr<OptimizerOptions> fresh() const = 0;
  // Every option of the class; the one called "lr" is there always.
  virtual ArrayRef<OptionField> fields() const = 0;
  // Throws an Error that names `optimizer` and the first option with a bad value.
  virtual void validate(const char* optimizer) const = 0;

  double get_lr() const { return lr_field().get(*this); }
  void set_lr(double lr) { lr_field().set(*this, lr); }

 private:
  const OptionField& lr_field() const;
};

// Gives an options class its copies.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  std::unique_ptr<OptimizerOptions> fresh() const override { return std::make_unique<Derived>(); }
};

class TARN_API OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup& operator=(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;
  ~OptimizerParamGroup();

  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

  // The rate that schedulers start from; set by the first scheduler of the optimizer.
  std::optional<double> initial_lr;

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

// What an optimizer remembers about one parameter.
struct ParamState {
  int64_t step = 0;
  Tensor slots[3];  // the optimizer's slot_names() says what they are
};

class TARN_API Optimizer {
 public:
  using LossClosure = detail::Function<Tensor()>;
  using State = OrderedDict<std::string, Tensor>;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer();

  // Options that a group leaves at their defaults are taken from the optimizer's.
  void add_param_group(const OptimizerParamGroup& group);
  std::vector<OptimizerParamGroup>& param_groups() { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return groups_; }
  OptimizerOptions& defaults() { return *defaults_; }
  const OptimizerOptions& defaults() const { return *defaults_; }
  std::vector<Tensor> parameters() const;

  void zero_grad(bool set_to_none = true);
  // Updates every parameter that has a gradient. A closure computes the loss (and gradients) first; its loss
  // is returned.
  virtual Tensor step(LossClosure closure = {}) = 0;

  // Everything but the parameters, in PyTorch's layout with paths for keys: "state.0.momentum_buffer",
  // "param_groups.0.lr", "param_groups.0.params". The tensors are copies, or with copy = false the
  // optimizer's own, which the next step() writes.
  State state_dict(bool copy = true) const;
  // Takes over values from a state_dict() of an optimizer of the same class with parameters of the same
  // shapes. Checks everything first: after an Error nothing has changed.
  void load_state_dict(const State& state);

 protected:
  // `name` appears in messages; `slot_names` are PyTorch's for ParamState::slots.
  Optimizer(const char* name, std::vector<const char*> slot_names, bool counts_steps,
            std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults);
  ParamState& state_of(const Tensor& param);
  Tensor evaluate(const LossClosure& closure) const;
  const char* name() const { return name_; }

 private:
  const char* name_;
  std::vector<const char*> slot_names_;
  bool counts_steps_;
  std::vector<OptimizerParamGroup> groups_;
  std::unique_ptr<OptimizerOptions> defaults_;
  OrderedDict<const void*, ParamState> state_;  // by the parameter's TensorImpl
};

}  // namespace tarn::inline v1::optim
