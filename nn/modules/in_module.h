// Errors of a layer say which one it was. Private.
#pragma once

#include <tarn/nn/module.h>

namespace tarn::inline v1::nn {

// Runs f(); an Error on the way gets the module's path: "...; in module layer1.0.conv1".
template <class F>
auto in_module(const Module& module, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (module.path().empty()) throw;
    throw Error(str(error.message(), "; in module ", module.path()));
  }
}

}  // namespace tarn::inline v1::nn
