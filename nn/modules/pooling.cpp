#include <tarn/nn/modules/pooling.h>

#include <ostream>

#include <tarn/nn/functional.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

namespace {

std::string text(const ExpandingArray<2>& values) { return str(IntArrayRef(values)); }

const char* yes_no(bool value) { return value ? "true" : "false"; }

}  // namespace

MaxPool2dImpl::MaxPool2dImpl(const MaxPool2dOptions& options_) : options(options_) {}

Tensor MaxPool2dImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::max_pool2d(input, options); });
}

void MaxPool2dImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::MaxPool2d(kernel_size=" << text(options.kernel_size())
      << ", stride=" << text(options.stride()) << ", padding=" << text(options.padding())
      << ", dilation=" << text(options.dilation()) << ", ceil_mode=" << yes_no(options.ceil_mode()) << ")";
}

AvgPool2dImpl::AvgPool2dImpl(const AvgPool2dOptions& options_) : options(options_) {}

Tensor AvgPool2dImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::avg_pool2d(input, options); });
}

void AvgPool2dImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::AvgPool2d(kernel_size=" << text(options.kernel_size())
      << ", stride=" << text(options.stride()) << ", padding=" << text(options.padding()) << ")";
}

AdaptiveAvgPool2dImpl::AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options_) : options(options_) {}

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::adaptive_avg_pool2d(input, options); });
}

void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& out) const {
  auto side = [](const std::optional<int64_t>& n) { return n ? std::to_string(*n) : std::string("None"); };
  out << "tarn::nn::AdaptiveAvgPool2d(output_size=[" << side(options.output_size()[0]) << ", "
      << side(options.output_size()[1]) << "])";
}

}  // namespace tarn::inline v1::nn
