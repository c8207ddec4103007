// Rows of OptimizerOptions::fields() and the checks of their values. Private.
#pragma once

#include <cmath>

#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::optim {

// field<SGDOptions, double, &SGDOptions::lr>("lr")
template <class Options, class T, T& (Options::*Member)()>
constexpr OptionField field(const char* name) {
  return {name,
          [](const OptimizerOptions& o) {
            return double((const_cast<Options&>(static_cast<const Options&>(o)).*Member)());
          },
          [](OptimizerOptions& o, double value) { (static_cast<Options&>(o).*Member)() = T(value); }};
}

// One of the two numbers of `betas`.
template <class Options, int I>
constexpr OptionField beta_field(const char* name) {
  return {name, [](const OptimizerOptions& o) { return std::get<I>(static_cast<const Options&>(o).betas()); },
          [](OptimizerOptions& o, double value) { std::get<I>(static_cast<Options&>(o).betas()) = value; }};
}

// NaN fails, too.
inline void check_not_negative(const char* optimizer, const char* option, double value) {
  check(value >= 0 && std::isfinite(value), optimizer, ": ", option, " must be at least 0, got ", value);
}

inline void check_below_one(const char* optimizer, const char* option, double value) {
  check(value >= 0 && value < 1, optimizer, ": ", option, " must be in [0, 1), got ", value);
}

}  // namespace tarn::inline v1::optim
