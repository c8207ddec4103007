#include <tarn/nn/modules/conv.h>

#include <cmath>
#include <ostream>

#include <tarn/core/ops/creation.h>
#include <tarn/nn/functional.h>
#include <tarn/nn/init.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

namespace {

template <size_t D>
const char* class_of() {
  return D == 1 ? "Conv1d" : "Conv2d";
}

template <size_t D>
void check_positive(const char* option, const ExpandingArray<D>& values, int64_t least) {
  for (int64_t value : *values)
    check(value >= least, class_of<D>(), ": ", option, " must be at least ", least, ", got ",
          IntArrayRef(values));
}

template <size_t D>
void check_options(const ConvOptions<D>& o) {
  const char* name = class_of<D>();
  check(o.in_channels() > 0 && o.out_channels() > 0, name,
        ": in_channels and out_channels must be at least 1, got ", o.in_channels(), " and ",
        o.out_channels());
  check(o.groups() > 0 && o.in_channels() % o.groups() == 0 && o.out_channels() % o.groups() == 0, name,
        ": groups ", o.groups(), " must divide in_channels ", o.in_channels(), " and out_channels ",
        o.out_channels());
  check_positive("kernel_size", o.kernel_size(), 1);
  check_positive("stride", o.stride(), 1);
  check_positive("dilation", o.dilation(), 1);
  check_positive("padding", o.padding().value(), 0);
  if (o.padding().is_same())
    for (int64_t stride : *o.stride())
      check(stride == 1, name, ": padding kSame needs stride 1, got ", IntArrayRef(o.stride()));
}

template <size_t D>
bool all_are(const ExpandingArray<D>& values, int64_t value) {
  for (int64_t v : *values)
    if (v != value) return false;
  return true;
}

}  // namespace

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::make() {
  check_options(options);
  std::vector<int64_t> sizes{options.out_channels(), options.in_channels() / options.groups()};
  sizes.insert(sizes.end(), options.kernel_size()->begin(), options.kernel_size()->end());
  weight = this->register_parameter("weight", tarn::empty(sizes));
  bias = options.bias() ? tarn::empty({options.out_channels()}) : Tensor();
  bias = this->register_parameter("bias", bias);
  reset_parameters();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  double bound = 1 / std::sqrt(double(init::calculate_fan_in_and_fan_out(weight).in));
  init::uniform_(bias, -bound, bound);
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& out) const {
  const ConvOptions<D>& o = options;
  out << "tarn::nn::" << class_of<D>() << "(" << o.in_channels() << ", " << o.out_channels()
      << ", kernel_size=" << str(IntArrayRef(o.kernel_size())) << ", stride=" << str(IntArrayRef(o.stride()));
  if (o.padding().is_same())
    out << ", padding='same'";
  else if (!all_are(o.padding().value(), 0))
    out << ", padding=" << str(IntArrayRef(o.padding().value()));
  if (!all_are(o.dilation(), 1)) out << ", dilation=" << str(IntArrayRef(o.dilation()));
  if (o.groups() != 1) out << ", groups=" << o.groups();
  if (!o.bias()) out << ", bias=false";
  out << ")";
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;

namespace {

template <size_t D>
functional::ConvFuncOptions<D> function_options(const ConvOptions<D>& o, const Tensor& bias) {
  return functional::ConvFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(o.padding())
      .dilation(o.dilation())
      .groups(o.groups());
}

}  // namespace

Conv1dImpl::Conv1dImpl(const Conv1dOptions& options_) : ConvNdImpl(options_) {}

Tensor Conv1dImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::conv1d(input, weight, function_options(options, bias)); });
}

Conv2dImpl::Conv2dImpl(const Conv2dOptions& options_) : ConvNdImpl(options_) {}

Tensor Conv2dImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::conv2d(input, weight, function_options(options, bias)); });
}

}  // namespace tarn::inline v1::nn
