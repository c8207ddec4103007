// A picture of test images with what the network takes them for.
#pragma once

#include <string>
#include <vector>

#include <tarn/core/tensor.h>

struct Labelled {
  std::string predicted, truth;
};

// An RGB picture (3, H, W) of grey images (N, h, w), uint8, eight to a row, with two lines under each: the
// predicted and the true name. Wrong ones are framed and written in red.
tarn::Tensor draw_sheet(const tarn::Tensor& images, const std::vector<Labelled>& labels);
