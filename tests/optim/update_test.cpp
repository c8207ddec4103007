// Optimizer updates: values against PyTorch's, options, states, layouts, dtypes and threads.
#include <tarn/core/ops/creation.h>
#include <tarn/core/parallel.h>
#include <tarn/optim/optim.h>
#include <tarn/tests/number_rows.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

Tensor parameter(IntArrayRef sizes, ScalarType dtype = kFloat) {
  return formula_tensor(sizes, dtype).requires_grad_();
}

// The gradient of a step, as in golden/make.py.
Tensor gradient(IntArrayRef sizes, int step, ScalarType dtype = kFloat) {
  return formula_tensor(sizes, dtype, {.b = 60 + 91 * step, .d = step % 2 ? 64 : 256});
}

void run_steps(optim::Optimizer& optimizer, const Tensor& param, int steps, int first = 0) {
  for (int step = first; step < first + steps; ++step) {
    param.set_grad(gradient(param.sizes(), step, param.dtype()));
    optimizer.step();
  }
}

std::unique_ptr<optim::Optimizer> make(const std::string& row, const Tensor& param) {
  using namespace optim;
  auto sgd = [&](SGDOptions o) { return std::make_unique<SGD>(std::vector<Tensor>{param}, o); };
  auto adam = [&](AdamOptions o) { return std::make_unique<Adam>(std::vector<Tensor>{param}, o); };
  auto adamw = [&](AdamWOptions o) { return std::make_unique<AdamW>(std::vector<Tensor>{param}, o); };
  if (row == "sgd") return sgd(0.1);
  if (row == "sgd momentum") return sgd(SGDOptions(0.1).momentum(0.9));
  if (row == "sgd momentum dampening decay")
    return sgd(SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.01));
  if (row == "sgd nesterov decay")
    return sgd(SGDOptions(0.1).momentum(0.8).nesterov(true).weight_decay(0.01));
  if (row == "sgd maximize") return sgd(SGDOptions(0.1).momentum(0.5).maximize(true).weight_decay(0.1));
  if (row == "adam") return adam(0.01);
  if (row == "adam betas eps decay")
    return adam(AdamOptions(0.02).betas({0.5, 0.9}).eps(1e-3).weight_decay(0.1));
  if (row == "adam amsgrad") return adam(AdamOptions(0.01).betas({0.9, 0.5}).amsgrad(true));
  if (row == "adam maximize") return adam(AdamOptions(0.01).maximize(true));
  if (row == "adamw") return adamw(0.01);
  return adamw(AdamWOptions(0.01).weight_decay(0.3).amsgrad(true).maximize(true));
}

const std::vector<std::string> kRows = {
    "sgd",           "sgd momentum", "sgd momentum dampening decay", "sgd nesterov decay",
    "sgd maximize",  "adam",         "adam betas eps decay",         "adam amsgrad",
    "adam maximize", "adamw",        "adamw amsgrad decay maximize"};

}  // namespace

TEST_CASE("five updates equal PyTorch's in float", "[optim]") {
  for (const std::string& row : kRows) {
    INFO(row);
    Tensor param = parameter({37});
    auto optimizer = make(row, param);
    run_steps(*optimizer, param, 5);
    CHECK_CLOSE(param.detach(), tensor_of(golden_row("optim/golden/updates_f32.txt", row)), {1e-6, 1e-6});
  }
}

TEST_CASE("five updates equal PyTorch's in double", "[optim]") {
  for (const std::string& row : kRows) {
    INFO(row);
    Tensor param = parameter({37}, kDouble);
    auto optimizer = make(row, param);
    run_steps(*optimizer, param, 5);
    CHECK_CLOSE(param.detach(), tensor_of(golden_row("optim/golden/updates_f64.txt", row), kDouble),
                {1e-14, 1e-14});
  }
}

TEST_CASE("16-bit parameters compute in float and round once", "[optim]") {
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    Tensor small = parameter({300}, dtype), reference = parameter({300}, kFloat);
    optim::SGD a({small}, 0.1), b({reference}, 0.1);
    small.set_grad(gradient({300}, 0, dtype));
    reference.set_grad(gradient({300}, 0));
    a.step();
    b.step();
    CHECK_SAME(small.detach(), reference.detach().to(dtype));
  }
}

TEST_CASE("updates are the same bits for any number of threads", "[optim]") {
  const int before = get_num_threads();
  for (const char* row : {"sgd nesterov decay", "adamw amsgrad decay maximize"}) {
    Tensor expected;
    for (int threads : {1, 2, 3, 8}) {
      set_num_threads(threads);
      Tensor param = parameter({100003});
      auto optimizer = make(row, param);
      run_steps(*optimizer, param, 2);
      if (!expected.defined()) expected = param.detach();
      CHECK_SAME(param.detach(), expected);
    }
  }
  set_num_threads(before);
}

TEST_CASE("many parameters of many sizes are all updated, empty ones too", "[optim]") {
  std::vector<Tensor> params;
  for (int64_t n : {1, 0, 5000, 3, 4096, 0, 17, 100000}) params.push_back(parameter({n}));
  optim::SGD optimizer(params, optim::SGDOptions(0.5));
  for (const Tensor& p : params) p.set_grad(gradient(p.sizes(), 0));
  optimizer.step();
  for (const Tensor& p : params) {
    Tensor alone = parameter(p.sizes());
    optim::SGD one({alone}, optim::SGDOptions(0.5));
    run_steps(one, alone, 1);
    CHECK_SAME(p.detach(), alone.detach());
  }
}

TEST_CASE("a parameter's layout does not change the update", "[optim]") {
  Tensor expected = parameter({4, 6, 5, 3});
  auto reference = make("sgd nesterov decay", expected);
  run_steps(*reference, expected, 3);

  // Row-major gradients for a channels_last parameter.
  Tensor channels_last = formula_tensor({4, 6, 5, 3}).contiguous(MemoryFormat::ChannelsLast).requires_grad_();
  auto optimizer = make("sgd nesterov decay", channels_last);
  run_steps(*optimizer, channels_last, 3);
  CHECK_SAME(channels_last.detach(), expected.detach());
  CHECK(channels_last.is_contiguous(MemoryFormat::ChannelsLast));

  // A parameter with holes: every second column of a wider matrix, which keeps its other columns.
  Tensor wide = zeros({120, 6});
  Tensor holes = wide.slice(1, 0, 6, 2);
  {
    NoGradGuard no_grad;
    holes.copy_(formula_tensor({120, 3}));
  }
  Tensor dense = parameter({120, 3});
  Tensor leaf = holes.detach().requires_grad_();
  auto with_holes = make("adam", leaf), without = make("adam", dense);
  run_steps(*with_holes, leaf, 3);
  run_steps(*without, dense, 3);
  CHECK_SAME(leaf.detach(), dense.detach());
  CHECK_SAME(wide.select(1, 1), zeros({120}));
}

TEST_CASE("a parameter without a gradient stays as it is", "[optim]") {
  Tensor with = parameter({3}), without = parameter({3});
  optim::Adam optimizer({with, without}, 0.1);
  with.set_grad(gradient({3}, 0));
  optimizer.step();
  CHECK_SAME(without.detach(), formula_tensor({3}));
  CHECK(bit_difference(with.detach(), formula_tensor({3})) != "");
}

TEST_CASE("an update counts as a write", "[optim]") {
  Tensor param = parameter({3});
  const uint32_t before = param._version();
  optim::SGD optimizer({param}, 0.1);
  param.set_grad(gradient({3}, 0));
  optimizer.step();
  CHECK(param._version() > before);
}

TEST_CASE("zero_grad forgets gradients or sets them to zero", "[optim]") {
  Tensor param = parameter({3});
  optim::SGD optimizer({param}, 0.1);
  param.set_grad(gradient({3}, 0));
  optimizer.zero_grad(/*set_to_none=*/false);
  CHECK_SAME(param.grad(), zeros({3}));
  optimizer.zero_grad();
  CHECK(!param.grad().defined());
}

TEST_CASE("a closure's loss comes back from step, computed with gradients on", "[optim]") {
  Tensor param = parameter({3});
  optim::SGD optimizer({param}, 0.1);
  NoGradGuard no_grad;
  bool grad_mode = false;
  Tensor loss = optimizer.step([&] {
    grad_mode = GradMode::is_enabled();
    param.set_grad(gradient({3}, 0));
    return full({}, 7.0);
  });
  CHECK(grad_mode);
  CHECK(loss.item<double>() == 7.0);
  CHECK(bit_difference(param.detach(), formula_tensor({3})) != "");
}

TEST_CASE("a group keeps its own options and takes the others from the optimizer", "[optim]") {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{parameter({2})},
                      std::make_unique<optim::SGDOptions>(optim::SGDOptions().momentum(0.5)));
  groups.emplace_back(std::vector<Tensor>{parameter({3})});
  optim::SGD optimizer(groups, optim::SGDOptions(0.25).momentum(0.9).weight_decay(0.125));
  auto options = [&](int i) {
    return static_cast<optim::SGDOptions&>(optimizer.param_groups()[i].options());
  };
  CHECK(options(0).lr() == 0.25);
  CHECK(options(0).momentum() == 0.5);
  CHECK(options(0).weight_decay() == 0.125);
  CHECK(options(1).momentum() == 0.9);
  optimizer.param_groups()[1].options().set_lr(0.5);
  CHECK(options(1).lr() == 0.5);
  CHECK(options(0).get_lr() == 0.25);
}

TEST_CASE("training goes on from a saved optimizer to the same bits", "[optim]") {
  for (const std::string& row : kRows) {
    INFO(row);
    Tensor whole = parameter({37}), halves = parameter({37});
    auto straight = make(row, whole), first = make(row, halves);
    run_steps(*straight, whole, 5);
    run_steps(*first, halves, 3);
    optim::Optimizer::State saved = first->state_dict();
    Tensor copy = halves.detach().clone().requires_grad_();
    run_steps(*first, halves, 1, 3);  // what happens later does not reach the saved state

    auto second = make(row, copy);
    second->load_state_dict(saved);
    run_steps(*second, copy, 2, 3);
    CHECK_SAME(copy.detach(), whole.detach());
  }
}

TEST_CASE("an optimizer's state has PyTorch's names", "[optim]") {
  Tensor a = parameter({2}), b = parameter({3});
  optim::Adam optimizer({a, b}, optim::AdamOptions(0.5));
  a.set_grad(gradient({2}, 0));
  optimizer.step();
  std::vector<std::string> keys = optimizer.state_dict().keys();
  CHECK(keys == std::vector<std::string>{"state.0.step", "state.0.exp_avg", "state.0.exp_avg_sq",
                                         "param_groups.0.lr", "param_groups.0.betas.0",
                                         "param_groups.0.betas.1", "param_groups.0.eps",
                                         "param_groups.0.weight_decay", "param_groups.0.amsgrad",
                                         "param_groups.0.maximize", "param_groups.0.params"});
  CHECK(optimizer.state_dict()["param_groups.0.lr"].item<double>() == 0.5);
}

TEST_CASE("a state that does not fit changes nothing", "[optim]") {
  Tensor a = parameter({2}), b = parameter({3}), c = parameter({2});
  optim::SGD small({a}, optim::SGDOptions(0.5).momentum(0.9)),
      large({b}, optim::SGDOptions(0.25).momentum(0.9));
  optim::Adam adam({c}, 0.1);
  run_steps(small, a, 1);
  run_steps(large, b, 1);
  CHECK_ERROR(large.load_state_dict(small.state_dict()),
              "load_state_dict: state.0.momentum_buffer has sizes [2], parameter [3]");
  CHECK(large.param_groups()[0].options().get_lr() == 0.25);
  CHECK_ERROR(adam.load_state_dict(small.state_dict()),
              "load_state_dict: the state dict has no param_groups.0.betas.0; was it saved by Adam?");
  CHECK_ERROR(small.load_state_dict(adam.state_dict()),
              "load_state_dict: the state dict has no param_groups.0.momentum; was it saved by SGD?");
  CHECK_ERROR(optim::SGD({parameter({1}), parameter({1})}, 0.1).load_state_dict(small.state_dict()),
              "load_state_dict: group 0 of SGD has 2 parameters, the state dict's 1");
}

TEST_CASE("bad options are named", "[optim]") {
  auto p = [] { return std::vector<Tensor>{parameter({1})}; };
  using namespace optim;
  CHECK_ERROR(SGD(p(), -1), "SGD: lr must be at least 0, got -1");
  CHECK_ERROR(SGD(p(), SGDOptions(0.1).momentum(-0.5)), "SGD: momentum must be at least 0, got -0.5");
  CHECK_ERROR(SGD(p(), SGDOptions(0.1).weight_decay(-2)), "SGD: weight_decay must be at least 0, got -2");
  CHECK_ERROR(SGD(p(), SGDOptions(0.1).nesterov(true)),
              "SGD: nesterov needs momentum above 0 and dampening 0, got momentum 0 and dampening 0");
  CHECK_ERROR(SGD(p(), SGDOptions(NAN)), "SGD: lr must be at least 0, got nan");
  CHECK_ERROR(Adam(p(), -1), "Adam: lr must be at least 0, got -1");
  CHECK_ERROR(Adam(p(), AdamOptions().betas({1.0, 0.9})), "Adam: betas[0] must be in [0, 1), got 1");
  CHECK_ERROR(Adam(p(), AdamOptions().betas({0.9, -1})), "Adam: betas[1] must be in [0, 1), got -1");
  CHECK_ERROR(AdamW(p(), AdamWOptions().eps(-1)), "AdamW: eps must be at least 0, got -1");
}

TEST_CASE("bad parameters are named", "[optim]") {
  Tensor p = parameter({2});
  CHECK_ERROR(optim::SGD(std::vector<Tensor>{}, 0.1), "SGD: a parameter group is empty; is the model built?");
  CHECK_ERROR(optim::SGD({p, p}, 0.1),
              "SGD: parameter 1 of sizes [2] is there already; each parameter belongs to one group, once");
  CHECK_ERROR(optim::SGD({p.clone()}, 0.1),
              "SGD: parameter 0 of sizes [2] is the result of an operation, not a leaf; pass "
              "detach().requires_grad_()");
  CHECK_ERROR(optim::Adam({zeros({2}, kLong)}, 0.1),
              "Adam: parameters must be of a floating dtype, parameter 0 is Long");
  optim::SGD optimizer({p}, 0.1);
  CHECK_ERROR(optimizer.add_param_group(optim::OptimizerParamGroup(
                  std::vector<Tensor>{parameter({1})}, std::make_unique<optim::AdamOptions>(0.1))),
              "SGD: a group's options are of another optimizer");
}
