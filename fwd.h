// Forward declarations, for headers that only pass Tarn's types on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::inline v1 {

class Error;
class Generator;
class Scalar;
class Tensor;
class TensorOptions;
struct Device;
enum class DeviceType : int8_t;
enum class MemoryFormat : int8_t;
enum class ScalarType : int8_t;
template <class T>
class ArrayRef;
using IntArrayRef = ArrayRef<int64_t>;
using TensorList = ArrayRef<Tensor>;
template <class Key, class Value>
class OrderedDict;

namespace nn {
class AnyModule;
class Module;
class SequentialImpl;
class Sequential;
template <class Contained>
class ModuleHolder;
}  // namespace nn

namespace optim {
class LRScheduler;
class Optimizer;
class OptimizerParamGroup;
}  // namespace optim

}  // namespace tarn::inline v1
