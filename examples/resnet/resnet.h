// A residual network for small images (He, Zhang, Ren, Sun, 2015, arXiv:1512.03385, section 4.2): a 3x3 stem,
// three stages that halve the side and double the width, the mean over what is left, one linear layer.
#pragma once

#include <tarn/tarn.h>

namespace nn = tarn::nn;

inline nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// (N, in, H, W) -> (N, out, H / stride, W / stride): two convolutions beside a shortcut.
struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", conv(in, out, 3, stride))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2", conv(out, out, 3, 1))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))),
        shortcut(register_module("shortcut", nn::Sequential())) {
    if (in == out && stride == 1) return;
    shortcut->push_back(conv(in, out, 1, stride));
    shortcut->push_back(nn::BatchNorm2d(out));
  }

  tarn::Tensor forward(const tarn::Tensor& x) {
    tarn::Tensor y = relu(bn1(conv1(x)));
    y = bn2(conv2(y));
    return relu(y + (shortcut->is_empty() ? x : shortcut->forward(x)));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential shortcut;
};
TARN_MODULE(BasicBlock);

// (N, 1, 28, 28) -> (N, classes), scores before softmax.
struct ResNetImpl : nn::Module {
  explicit ResNetImpl(int64_t classes = 10)
      : conv1(register_module("conv1", conv(1, 16, 3, 1))),
        bn1(register_module("bn1", nn::BatchNorm2d(16))),
        layers(register_module("layers", nn::Sequential(BasicBlock(16, 32, 2),      // 14x14
                                                        BasicBlock(32, 64, 2),      // 7x7
                                                        BasicBlock(64, 128, 2)))),  // 4x4
        fc(register_module("fc", nn::Linear(128, classes))) {}

  tarn::Tensor forward(const tarn::Tensor& images) {
    tarn::Tensor x = relu(bn1(conv1(images)));
    x = layers->forward(x);
    return fc(x.mean({2, 3}));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Sequential layers;
  nn::Linear fc;
};
TARN_MODULE(ResNet);
