#include <tarn/nn/modules/dropout.h>

#include <ostream>

#include <tarn/nn/functional.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

namespace {

void check_p(const char* name, double p) { check(p >= 0 && p <= 1, name, ": p must be in [0, 1], got ", p); }

functional::DropoutFuncOptions function_options(const DropoutOptions& options, bool training) {
  return functional::DropoutFuncOptions().p(options.p()).training(training).inplace(options.inplace());
}

void print_dropout(std::ostream& out, const char* name, const DropoutOptions& options) {
  out << "tarn::nn::" << name << "(p=" << options.p()
      << ", inplace=" << (options.inplace() ? "true" : "false") << ")";
}

}  // namespace

DropoutImpl::DropoutImpl(const DropoutOptions& options_) : options(options_) { reset(); }

void DropoutImpl::reset() { check_p("Dropout", options.p()); }

Tensor DropoutImpl::forward(const Tensor& input) {
  return in_module(*this,
                   [&] { return functional::dropout(input, function_options(options, is_training())); });
}

void DropoutImpl::pretty_print(std::ostream& out) const { print_dropout(out, "Dropout", options); }

Dropout2dImpl::Dropout2dImpl(const Dropout2dOptions& options_) : options(options_) { reset(); }

void Dropout2dImpl::reset() { check_p("Dropout2d", options.p()); }

Tensor Dropout2dImpl::forward(const Tensor& input) {
  return in_module(*this,
                   [&] { return functional::dropout2d(input, function_options(options, is_training())); });
}

void Dropout2dImpl::pretty_print(std::ostream& out) const { print_dropout(out, "Dropout2d", options); }

}  // namespace tarn::inline v1::nn
