// Learning rate schedules. A scheduler sets the rate of every parameter group at its construction and at each
// step(), which is called after the optimizer's, once per epoch or once per batch. Rates are Python
// PyTorch's: step_size steps give the first decay of StepLR. The optimizer must outlive its schedulers.
#pragma once

#include <memory>
#include <vector>

#include <tarn/core/function.h>
#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::optim {

class TARN_API LRScheduler {
 public:
  using State = OrderedDict<std::string, Tensor>;

  explicit LRScheduler(Optimizer& optimizer);
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;
  virtual ~LRScheduler();

  virtual void step();
  // The rates now in force, one per parameter group.
  std::vector<double> get_last_lr() const { return get_current_lrs(); }
  int64_t last_epoch() const { return last_epoch_; }

  // The place in the schedule. The optimizer's own state holds the rates: load both.
  virtual State state_dict() const;
  virtual void load_state_dict(const State& state);

  // Back to the schedule's first rates. For schedulers that are made of others.
  virtual void restart();

 protected:
  // The rates of epoch last_epoch_, one per group. May build on get_current_lrs(): schedules then combine.
  virtual std::vector<double> get_lrs() = 0;
  // The rates of epoch 0, whatever went before.
  virtual std::vector<double> first_lrs() { return base_lrs_; }
  std::vector<double> get_current_lrs() const;
  void set_lrs(const std::vector<double>& lrs);
  // Each constructor ends with this: epoch 0 begins.
  void begin();

  unsigned step_count_ = 0;  // finished calls of step()
  int64_t last_epoch_ = 0;
  std::vector<double> base_lrs_;

 private:
  Optimizer& optimizer_;
  friend class SequentialLR;
};

// Multiplies the rate by gamma every step_size epochs.
class TARN_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 protected:
  std::vector<double> get_lrs() override;

 private:
  const int64_t step_size_;
  const double gamma_;
};

// The first rate times factor(epoch); one function for all groups, or one per group.
class TARN_API LambdaLR : public LRScheduler {
 public:
  using Factor = detail::Function<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Factor factor);
  LambdaLR(Optimizer& optimizer, std::vector<Factor> factors);

 protected:
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override { return get_lrs(); }

 private:
  std::vector<Factor> factors_;
};

// From start_factor to end_factor times the rate in total_iters even steps, then constant.
class TARN_API LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
                    int64_t total_iters = 5);

 protected:
  std::vector<double> get_lrs() override;
  std::vector<double> first_lrs() override;

 private:
  const double start_factor_, end_factor_;
  const int64_t total_iters_;
};

// Half a cosine from the first rate to eta_min in T_max steps (Loshchilov and Hutter, arXiv 1608.03983,
// without restarts); going on, back up.
class TARN_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 protected:
  std::vector<double> get_lrs() override;

 private:
  const int64_t T_max_;
  const double eta_min_;
};

// One scheduler after the other; milestones[i] is the epoch at which scheduler i + 1 takes over. All of one
// optimizer.
class TARN_API SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  void step() override;
  void restart() override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 protected:
  std::vector<double> get_lrs() override { return get_current_lrs(); }

 private:
  size_t active() const;
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

// A linear warm-up from warmup_factor times the rate, then a cosine to eta_min at step `total`.
TARN_API std::unique_ptr<LRScheduler> warmup_cosine(Optimizer& optimizer, int64_t warmup, int64_t total,
                                                    double warmup_factor = 0.01, double eta_min = 0);

}  // namespace tarn::inline v1::optim
