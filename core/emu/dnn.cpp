// cuDNN's handles and descriptors on the host.
#include <tarn/core/emu/dnn.h>

#include <cstring>

namespace tarn::inline v1::emu {

Element element_of(cudnnDataType_t type, const char* name) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return Element::F16;
    case CUDNN_DATA_BFLOAT16:
      return Element::BF16;
    case CUDNN_DATA_FLOAT:
      return Element::F32;
    case CUDNN_DATA_DOUBLE:
      return Element::F64;
    default:
      throw CallError{
          false, format("%s has the data type %d; float16, bfloat16, float32 and float64 are emulated", name,
                        int(type))};
  }
}

// Dims of a description of 3 to 5 dims at their places among five.
static void spread(Tensor5& t, const char* name, int rank, const int* sizes, const int* strides) {
  if (rank < 3 || rank > 5) throw CallError{false, format("%s has %d dims; 3 to 5 are emulated", name, rank)};
  t.size.fill(1);
  t.stride.fill(0);
  for (int d = 0; d < rank; ++d) {
    int place = d < 2 ? d : 5 - (rank - d);
    t.size[place] = sizes[d];
    t.stride[place] = strides[d];
  }
}

Tensor5::Tensor5(cudnnTensorDescriptor_t desc, const char* name) {
  cudnnDataType_t data_type;
  int rank = 0, sizes[CUDNN_DIM_MAX], strides[CUDNN_DIM_MAX];
  if (!desc || cudnnGetTensorNdDescriptor(desc, 5, &data_type, &rank, sizes, strides) != CUDNN_STATUS_SUCCESS)
    throw CallError{true, std::string(name) + ": its descriptor cannot be read"};
  type = element_of(data_type, name);
  spread(*this, name, rank, sizes, strides);
}

Tensor5::Tensor5(cudnnFilterDescriptor_t desc, const char* name) {
  cudnnDataType_t data_type;
  cudnnTensorFormat_t order;
  int rank = 0, sizes[CUDNN_DIM_MAX], strides[CUDNN_DIM_MAX];
  if (!desc || cudnnGetFilterNdDescriptor(desc, 5, &data_type, &order, &rank, sizes) != CUDNN_STATUS_SUCCESS)
    throw CallError{true, std::string(name) + ": its descriptor cannot be read"};
  type = element_of(data_type, name);
  if (order != CUDNN_TENSOR_NCHW && order != CUDNN_TENSOR_NHWC)
    throw CallError{false, format("%s has the format %d; NCHW and NHWC are emulated", name, int(order))};
  int step = 1;
  auto lay_out = [&](int d) {
    strides[d] = step;
    step *= sizes[d];
  };
  if (order == CUDNN_TENSOR_NHWC) lay_out(1);
  for (int d = rank - 1; d >= 2; --d) lay_out(d);
  if (order == CUDNN_TENSOR_NCHW) lay_out(1);
  lay_out(0);
  spread(*this, name, rank, sizes, strides);
}

size_t Tensor5::bytes() const {
  int64_t last = 0;
  for (int d = 0; d < 5; ++d) {
    if (size[d] == 0) return 0;
    last += (size[d] - 1) * stride[d];
  }
  return size_t(last + 1) * size_of(type);
}

std::string Tensor5::text() const {
  return format("%s (%ld, %ld, %ld, %ld, %ld)", name_of(type), size[0], size[1], size[2], size[3], size[4]);
}

void require(bool ok, const std::string& text) {
  if (!ok) throw CallError{true, text};
}

void check_handle(cudnnHandle_t handle) {
  require(handle, "the handle is null");
  require(
      handle->device == current_device(),
      format("the handle is for cuda:%d, the current device is cuda:%d", handle->device, current_device()));
}

}  // namespace tarn::inline v1::emu

using namespace tarn::emu;

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext{current_device()};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return guarded_dnn("cudnnSetStream", [&] {
    check_handle(handle);
    Lock lock = lock_runtime();
    require(find_stream(stream), "the stream does not exist any more");
    handle->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return guarded_dnn("cudnnGetStream", [&] {
    require(handle, "the handle is null");
    *stream = handle->stream;
  });
}

void cudnnGetLastErrorString(char* text, size_t room) {
  if (room == 0) return;
  std::strncpy(text, library_error().c_str(), room - 1);
  text[room - 1] = 0;
}

}  // extern "C"
