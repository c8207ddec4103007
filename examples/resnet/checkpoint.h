// All that a training run needs to go on, in one safetensors file.
#pragma once

#include <string>

#include "options.h"
#include "resnet.h"

struct Training {
  ResNet net;
  tarn::optim::SGD& optimizer;
  tarn::optim::LRScheduler& scheduler;
  int64_t finished_epochs = 0;
};

// Keys are "model.", "optimizer." and "scheduler." before PyTorch's names; epoch, options and the random
// generator are metadata. The file is replaced as a whole: whenever the process dies, the last finished epoch
// is there.
void save_checkpoint(const std::string& path, const Training& training, const Options& options);

// Error if the file was made with other --epochs, --batch-size, --lr or --seed, which would give another run.
void load_checkpoint(const std::string& path, Training& training, const Options& options);
