// Words that options take, each a type of its own as in libtorch: MSELossOptions().reduction(kSum),
// padding(kSame), init::kaiming_normal_(w, 0, kFanOut, kReLU). An option's type says which words it knows.
#pragma once

#include <tarn/core/error.h>
#include <tarn/core/reduction.h>

namespace tarn::inline v1 {

namespace enumtype {
struct kNone {};
struct kMean {};
struct kSum {};
struct kFanIn {};
struct kFanOut {};
struct kLinear {};
struct kConv1D {};
struct kConv2D {};
struct kConv3D {};
struct kSigmoid {};
struct kTanh {};
struct kReLU {};
struct kLeakyReLU {};
struct kSELU {};
struct kValid {};
struct kSame {};
}  // namespace enumtype

inline constexpr enumtype::kNone kNone;
inline constexpr enumtype::kMean kMean;
inline constexpr enumtype::kSum kSum;
inline constexpr enumtype::kFanIn kFanIn;
inline constexpr enumtype::kFanOut kFanOut;
inline constexpr enumtype::kLinear kLinear;
inline constexpr enumtype::kConv1D kConv1D;
inline constexpr enumtype::kConv2D kConv2D;
inline constexpr enumtype::kConv3D kConv3D;
inline constexpr enumtype::kSigmoid kSigmoid;
inline constexpr enumtype::kTanh kTanh;
inline constexpr enumtype::kReLU kReLU;
inline constexpr enumtype::kLeakyReLU kLeakyReLU;
inline constexpr enumtype::kSELU kSELU;
inline constexpr enumtype::kValid kValid;
inline constexpr enumtype::kSame kSame;

namespace nn {

class LossReduction {
 public:
  constexpr LossReduction(enumtype::kNone) : value_(Reduction::None) {}
  constexpr LossReduction(enumtype::kMean) : value_(Reduction::Mean) {}
  constexpr LossReduction(enumtype::kSum) : value_(Reduction::Sum) {}
  constexpr LossReduction(Reduction::Reduction value) : value_(value) {}
  constexpr operator Reduction::Reduction() const { return value_; }

 private:
  Reduction::Reduction value_;
};

}  // namespace nn
}  // namespace tarn::inline v1
