#include <tarn/optim/lr_scheduler.h>

#include <cmath>
#include <numbers>

namespace tarn::inline v1::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  for (OptimizerParamGroup& group : optimizer.param_groups()) {
    if (!group.initial_lr) group.initial_lr = group.options().get_lr();
    base_lrs_.push_back(*group.initial_lr);
  }
}

LRScheduler::~LRScheduler() = default;

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> out;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) out.push_back(group.options().get_lr());
  return out;
}

void LRScheduler::set_lrs(const std::vector<double>& lrs) {
  auto& groups = optimizer_.param_groups();
  check(lrs.size() == groups.size(), "LRScheduler: the optimizer has ", groups.size(),
        " parameter groups, got ", lrs.size(), " rates; add groups before the scheduler is made");
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(lrs[i]);
}

void LRScheduler::begin() {
  last_epoch_ = 0;
  set_lrs(get_lrs());
}

void LRScheduler::restart() {
  last_epoch_ = 0;
  set_lrs(first_lrs());
}

void LRScheduler::step() {
  ++last_epoch_;
  set_lrs(get_lrs());
  ++step_count_;
}

namespace {

Tensor integer(int64_t value) { return detail::make_tensor({}, kLong).fill_(value); }

int64_t integer_of(const LRScheduler::State& state, const std::string& key) {
  const Tensor* value = state.find(key);
  check(value && value->defined() && value->numel() == 1,
        "load_state_dict: a scheduler's state needs one number '", key, "'");
  return value->item<int64_t>();
}

}  // namespace

LRScheduler::State LRScheduler::state_dict() const {
  State out;
  out.insert("last_epoch", integer(last_epoch_));
  out.insert("step_count", integer(step_count_));
  return out;
}

void LRScheduler::load_state_dict(const State& state) {
  int64_t epoch = integer_of(state, "last_epoch"), count = integer_of(state, "step_count");
  last_epoch_ = epoch;
  step_count_ = unsigned(count);
}

// --- StepLR ---

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  check(step_size > 0, "StepLR: step_size must be at least 1, got ", step_size);
  begin();
}

std::vector<double> StepLR::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  if (last_epoch_ > 0 && last_epoch_ % step_size_ == 0)
    for (double& lr : lrs) lr *= gamma_;
  return lrs;
}

// --- LambdaLR ---

LambdaLR::LambdaLR(Optimizer& optimizer, Factor factor)
    : LambdaLR(optimizer, std::vector<Factor>(optimizer.param_groups().size(), std::move(factor))) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Factor> factors)
    : LRScheduler(optimizer), factors_(std::move(factors)) {
  check(factors_.size() == base_lrs_.size(), "LambdaLR: the optimizer has ", base_lrs_.size(),
        " parameter groups, got ", factors_.size(), " functions");
  begin();
}

std::vector<double> LambdaLR::get_lrs() {
  std::vector<double> lrs = base_lrs_;
  for (size_t i = 0; i < lrs.size(); ++i) lrs[i] *= factors_[i](last_epoch_);
  return lrs;
}

// --- LinearLR ---

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : LRScheduler(optimizer),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  check(start_factor > 0 && start_factor <= 1, "LinearLR: start_factor must be in (0, 1], got ",
        start_factor);
  check(end_factor >= 0 && end_factor <= 1, "LinearLR: end_factor must be in [0, 1], got ", end_factor);
  check(total_iters > 0, "LinearLR: total_iters must be at least 1, got ", total_iters);
  begin();
}

std::vector<double> LinearLR::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  if (last_epoch_ > total_iters_) return lrs;
  const double rise = end_factor_ - start_factor_;
  // Each step's factor over the one before.
  const double factor =
      last_epoch_ == 0 ? start_factor_ : 1 + rise / (total_iters_ * start_factor_ + (last_epoch_ - 1) * rise);
  for (double& lr : lrs) lr *= factor;
  return lrs;
}

std::vector<double> LinearLR::first_lrs() {
  std::vector<double> lrs = base_lrs_;
  for (double& lr : lrs) lr *= start_factor_;
  return lrs;
}

// --- CosineAnnealingLR ---

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  check(T_max > 0, "CosineAnnealingLR: T_max must be at least 1, got ", T_max);
  check(eta_min >= 0, "CosineAnnealingLR: eta_min must be at least 0, got ", eta_min);
  begin();
}

std::vector<double> CosineAnnealingLR::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  if (last_epoch_ == 0) return lrs;
  const double pi = std::numbers::pi, angle = pi / double(T_max_);
  // Where the step before stood at eta_min there is no ratio to build on.
  const bool from_bottom = last_epoch_ > T_max_ && (last_epoch_ - 1 - T_max_) % (2 * T_max_) == 0;
  for (size_t i = 0; i < lrs.size(); ++i) {
    if (from_bottom)
      lrs[i] += (base_lrs_[i] - eta_min_) * (1 - std::cos(angle)) / 2;
    else
      lrs[i] = (1 + std::cos(angle * double(last_epoch_))) / (1 + std::cos(angle * double(last_epoch_ - 1))) *
                   (lrs[i] - eta_min_) +
               eta_min_;
  }
  return lrs;
}

// --- SequentialLR ---

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  check(!schedulers_.empty(), "SequentialLR: got no schedulers");
  check(milestones_.size() + 1 == schedulers_.size(), "SequentialLR: ", schedulers_.size(),
        " schedulers need ", schedulers_.size() - 1, " milestones, got ", milestones_.size());
  for (size_t i = 0; i < milestones_.size(); ++i)
    check(milestones_[i] > (i ? milestones_[i - 1] : 0),
          "SequentialLR: milestones must rise from above 0, got ", milestones_);
  for (const auto& scheduler : schedulers_) {
    check(scheduler != nullptr, "SequentialLR: a scheduler is null");
    check(&scheduler->optimizer_ == &optimizer_,
          "SequentialLR: all schedulers must be of the same optimizer");
  }
  restart();  // making the others has moved the rates
}

void SequentialLR::restart() {
  last_epoch_ = 0;
  schedulers_[0]->restart();
}

size_t SequentialLR::active() const {
  size_t i = 0;
  while (i < milestones_.size() && milestones_[i] <= last_epoch_) ++i;
  return i;
}

void SequentialLR::step() {
  ++last_epoch_;
  ++step_count_;
  const size_t i = active();
  if (i > 0 && milestones_[i - 1] == last_epoch_)
    schedulers_[i]->restart();
  else
    schedulers_[i]->step();
}

LRScheduler::State SequentialLR::state_dict() const {
  State out = LRScheduler::state_dict();
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (const auto& item : schedulers_[i]->state_dict())
      out.insert(str("schedulers.", i, ".", item.key()), item.value());
  return out;
}

void SequentialLR::load_state_dict(const State& state) {
  LRScheduler::load_state_dict(state);
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    State part;
    const std::string prefix = str("schedulers.", i, ".");
    for (const auto& item : state)
      if (item.key().rfind(prefix, 0) == 0) part.insert(item.key().substr(prefix.size()), item.value());
    schedulers_[i]->load_state_dict(part);
  }
}

std::unique_ptr<LRScheduler> warmup_cosine(Optimizer& optimizer, int64_t warmup, int64_t total,
                                           double warmup_factor, double eta_min) {
  check(warmup >= 0 && warmup < total, "warmup_cosine: warmup must be in [0, total), got ", warmup,
        " and total ", total);
  if (warmup == 0) return std::make_unique<CosineAnnealingLR>(optimizer, total, eta_min);
  auto rise = std::make_shared<LinearLR>(optimizer, warmup_factor, 1.0, warmup);
  auto fall = std::make_shared<CosineAnnealingLR>(optimizer, total - warmup, eta_min);
  return std::make_unique<SequentialLR>(optimizer, std::vector<std::shared_ptr<LRScheduler>>{rise, fall},
                                        std::vector<int64_t>{warmup});
}

}  // namespace tarn::inline v1::optim
