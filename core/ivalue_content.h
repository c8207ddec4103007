// What an IValue's copies share. Private.
#pragma once

#include <tarn/core/ivalue.h>

namespace tarn::inline v1 {

struct IValue::Content {
  std::string text;  // of a class that was named, while a file is read
  Tensor storage;    // bytes of a storage, while a file is read; with the dtype of its class
  ScalarType dtype = ScalarType::Undefined;
  std::vector<IValue> elements;
  Items items;
};

}  // namespace tarn::inline v1
