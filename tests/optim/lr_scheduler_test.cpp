// Learning rate schedules against PyTorch's.
#include <cmath>

#include <tarn/core/ops/creation.h>
#include <tarn/optim/optim.h>
#include <tarn/tests/number_rows.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct Fixture {
  Tensor param = zeros({1}).requires_grad_();
  optim::SGD optimizer{{param}, 0.5};

  double rate() { return optimizer.param_groups()[0].options().get_lr(); }

  // Empty if the rates of the start and of each step are those of the golden row.
  std::string compare(optim::LRScheduler& scheduler, const std::string& row) {
    std::vector<double> want = golden_row("optim/golden/rates.txt", row);
    for (size_t i = 0; i < want.size(); ++i) {
      if (i > 0) scheduler.step();
      double got = scheduler.get_last_lr()[0];
      if (std::abs(got - want[i]) > 1e-12 || rate() != got)
        return str("epoch ", i, ": got ", got, ", expected ", want[i]);
    }
    return want.size() == 26 ? "" : "the golden row is short";
  }
};

template <class S, class... Args>
std::shared_ptr<optim::LRScheduler> shared(Args&&... args) {
  return std::make_shared<S>(std::forward<Args>(args)...);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "StepLR follows PyTorch", "[optim]") {
  optim::StepLR scheduler(optimizer, 4, 0.5);
  CHECK(compare(scheduler, "step") == "");
}

TEST_CASE_METHOD(Fixture, "LambdaLR follows PyTorch", "[optim]") {
  optim::LambdaLR scheduler(optimizer, [](int64_t epoch) { return std::pow(0.9, epoch); });
  CHECK(compare(scheduler, "lambda") == "");
}

TEST_CASE_METHOD(Fixture, "LinearLR follows PyTorch upwards", "[optim]") {
  optim::LinearLR scheduler(optimizer, 0.25, 1.0, 8);
  CHECK(compare(scheduler, "linear") == "");
}

TEST_CASE_METHOD(Fixture, "LinearLR follows PyTorch downwards", "[optim]") {
  optim::LinearLR scheduler(optimizer, 1.0, 0.125, 5);
  CHECK(compare(scheduler, "linear down") == "");
}

TEST_CASE_METHOD(Fixture, "CosineAnnealingLR follows PyTorch down and up again", "[optim]") {
  optim::CosineAnnealingLR scheduler(optimizer, 10, 0.01);
  CHECK(compare(scheduler, "cosine") == "");
}

TEST_CASE_METHOD(Fixture, "CosineAnnealingLR reaches zero", "[optim]") {
  optim::CosineAnnealingLR scheduler(optimizer, 25);
  CHECK(compare(scheduler, "cosine to zero") == "");
  CHECK(std::abs(rate()) < 1e-15);
}

TEST_CASE_METHOD(Fixture, "warmup_cosine is PyTorch's LinearLR, then CosineAnnealingLR", "[optim]") {
  auto scheduler = optim::warmup_cosine(optimizer, 5, 25);
  CHECK(compare(*scheduler, "warm-up and cosine") == "");
}

TEST_CASE_METHOD(Fixture, "three schedulers in sequence follow PyTorch", "[optim]") {
  optim::SequentialLR scheduler(
      optimizer,
      {shared<optim::LinearLR>(optimizer, 0.1, 1.0, 3), shared<optim::StepLR>(optimizer, 2, 0.5),
       shared<optim::CosineAnnealingLR>(optimizer, 6, 0.1)},
      {4, 11});
  CHECK(compare(scheduler, "three in sequence") == "");
}

TEST_CASE_METHOD(Fixture, "a function of the epoch in sequence starts from its own epoch 0", "[optim]") {
  optim::SequentialLR scheduler(
      optimizer,
      {shared<optim::StepLR>(optimizer, 2, 0.5),
       shared<optim::LambdaLR>(optimizer, [](int64_t epoch) { return 1.0 / double(1 + epoch); })},
      {5});
  CHECK(compare(scheduler, "step and lambda") == "");
}

TEST_CASE("every parameter group keeps its own rate", "[optim]") {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()},
                      std::make_unique<optim::SGDOptions>(0.5));
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()},
                      std::make_unique<optim::SGDOptions>(0.25));
  optim::SGD optimizer(groups, 0.125);
  optim::StepLR scheduler(optimizer, 1, 0.5);
  scheduler.step();
  CHECK(scheduler.get_last_lr() == std::vector<double>{0.25, 0.125});
}

TEST_CASE_METHOD(Fixture, "a schedule goes on from a saved place", "[optim]") {
  auto whole = optim::warmup_cosine(optimizer, 5, 25);
  for (int i = 0; i < 9; ++i) whole->step();
  optim::LRScheduler::State place = whole->state_dict();
  optim::Optimizer::State state = optimizer.state_dict();

  Fixture other;
  auto resumed = optim::warmup_cosine(other.optimizer, 5, 25);
  other.optimizer.load_state_dict(state);
  resumed->load_state_dict(place);
  for (int i = 0; i < 16; ++i) {
    whole->step();
    resumed->step();
    CHECK(resumed->get_last_lr() == whole->get_last_lr());
  }
}

TEST_CASE_METHOD(Fixture, "bad schedules are named", "[optim]") {
  using namespace optim;
  CHECK_ERROR(StepLR(optimizer, 0), "StepLR: step_size must be at least 1, got 0");
  CHECK_ERROR(CosineAnnealingLR(optimizer, -3), "CosineAnnealingLR: T_max must be at least 1, got -3");
  CHECK_ERROR(LinearLR(optimizer, 0.0), "LinearLR: start_factor must be in (0, 1], got 0");
  CHECK_ERROR(warmup_cosine(optimizer, 5, 5),
              "warmup_cosine: warmup must be in [0, total), got 5 and total 5");
  CHECK_ERROR(SequentialLR(optimizer, {shared<StepLR>(optimizer, 1)}, {3}),
              "SequentialLR: 1 schedulers need 0 milestones, got 1");
}
