// nn::init: fills a tensor in place, without history, and returns it. The defaults of the layers are
// PyTorch's.
#pragma once

#include <tarn/core/tensor.h>
#include <tarn/nn/enum.h>

namespace tarn::inline v1::nn::init {

// What the tensor multiplies by, for kaiming_ and calculate_gain.
class Nonlinearity {
 public:
  enum Kind { Linear, Sigmoid, Tanh, ReLU, LeakyReLU, SELU };
  constexpr Nonlinearity(enumtype::kLinear) : kind_(Linear) {}
  constexpr Nonlinearity(enumtype::kConv1D) : kind_(Linear) {}
  constexpr Nonlinearity(enumtype::kConv2D) : kind_(Linear) {}
  constexpr Nonlinearity(enumtype::kConv3D) : kind_(Linear) {}
  constexpr Nonlinearity(enumtype::kSigmoid) : kind_(Sigmoid) {}
  constexpr Nonlinearity(enumtype::kTanh) : kind_(Tanh) {}
  constexpr Nonlinearity(enumtype::kReLU) : kind_(ReLU) {}
  constexpr Nonlinearity(enumtype::kLeakyReLU) : kind_(LeakyReLU) {}
  constexpr Nonlinearity(enumtype::kSELU) : kind_(SELU) {}
  constexpr Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

class FanMode {
 public:
  constexpr FanMode(enumtype::kFanIn) : out_(false) {}
  constexpr FanMode(enumtype::kFanOut) : out_(true) {}
  constexpr bool is_out() const { return out_; }

 private:
  bool out_;
};

struct Fans {
  int64_t in, out;
};
// Inputs per output and outputs per input of a weight (out, in, kernel...) of at least 2 dims.
TARN_API Fans calculate_fan_in_and_fan_out(const Tensor& tensor);
// The factor by which a nonlinearity shrinks its input's deviation; `param` is LeakyReLU's slope.
TARN_API double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);

TARN_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
TARN_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
TARN_API Tensor constant_(Tensor tensor, const Scalar& value);
TARN_API Tensor ones_(Tensor tensor);
TARN_API Tensor zeros_(Tensor tensor);
// 2 dims: ones on the diagonal, zeros elsewhere.
TARN_API Tensor eye_(Tensor matrix);
// Glorot and Bengio, AISTATS 2010.
TARN_API Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);
TARN_API Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
// He et al., arXiv 1502.01852; `a` is the negative slope of the LeakyReLU that follows.
TARN_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanMode mode = kFanIn,
                                 Nonlinearity nonlinearity = kLeakyReLU);
TARN_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanMode mode = kFanIn,
                                Nonlinearity nonlinearity = kLeakyReLU);

}  // namespace tarn::inline v1::nn::init
