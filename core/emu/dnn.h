// What the host versions of cuDNN's calls share. The descriptors are NVIDIA's own and are read back from
// them.
#pragma once

#include <cudnn.h>

#include <array>

#include <tarn/core/emu/library.h>
#include <tarn/core/emu/matrix.h>
#include <tarn/core/emu/report.h>

struct cudnnContext {
  int device;
  cudaStream_t stream = nullptr;
};

namespace tarn::inline v1::emu {

Element element_of(cudnnDataType_t type, const char* name);

// (N, C, D, H, W) with strides in elements; missing dims are 1.
struct Tensor5 {
  Element type;
  std::array<int64_t, 5> size, stride;

  Tensor5(cudnnTensorDescriptor_t desc, const char* name);
  // A filter (K, C, T, R, S) in the order of its format.
  Tensor5(cudnnFilterDescriptor_t desc, const char* name);
  int64_t at(int64_t n, int64_t c, int64_t z, int64_t y, int64_t x) const {
    return n * stride[0] + c * stride[1] + z * stride[2] + y * stride[3] + x * stride[4];
  }
  size_t bytes() const;
  std::string text() const;  // "float32 (8, 3, 1, 28, 28)"
};

// The status of f, with its text kept for cudnnGetLastErrorString.
template <class F>
cudnnStatus_t guarded_dnn(const char* call, F f) {
  try {
    f();
    return CUDNN_STATUS_SUCCESS;
  } catch (const CallError& e) {
    set_library_error(std::string(call) + ": " + e.text);
    return e.supported ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_SUPPORTED;
  }
}

// alpha or beta: double for double data, float for all other.
inline double scale_of(const void* p, Element type) {
  if (!p) throw CallError{true, "a scaling factor is null"};
  return type == Element::F64 ? *static_cast<const double*>(p) : double(*static_cast<const float*>(p));
}

void check_handle(cudnnHandle_t handle);
void require(bool ok, const std::string& text);

}  // namespace tarn::inline v1::emu
