// How far an epoch is: a bar that is drawn over on a terminal, a few plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

class Progress {
 public:
  // `label` is "epoch 3/15", `total` counts images.
  Progress(std::string label, int64_t total);
  void add(int64_t images, double loss);
  // Replaces the bar by a line that stays: the epoch's figures and `result`.
  void finish(const std::string& result);

  double images_per_second() const;
  double mean_loss() const;

 private:
  void draw();

  std::string label_;
  int64_t total_;
  int64_t done_ = 0;
  int64_t next_line_;
  double loss_sum_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, drawn_;
};
