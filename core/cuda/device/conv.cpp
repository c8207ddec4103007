// Convolutions by cuDNN's descriptor calls, with algorithms whose sums have a fixed order, and without TF32:
// a float convolution has float's precision. (cuDNN's graph API fuses more, but takes no double and seconds
// to plan.)
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <map>
#include <mutex>

#include <tarn/core/cuda/device/libraries.h>

namespace tarn::inline v1::detail {

namespace {

#define TARN_DNN(call) \
  if (cudnnStatus_t status = (call); status != CUDNN_STATUS_SUCCESS) return dnn_error(status, #call)

int dnn_error(cudnnStatus_t status, const char* call) {
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof text);
  return library_error(std::string("cuDNN: ") + cudnnGetErrorString(status) + (*text ? ": " : "") + text +
                       " from " + call);
}

constexpr cudnnConvolutionFwdAlgo_t kForward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr cudnnConvolutionBwdDataAlgo_t kInputGrad = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr cudnnConvolutionBwdFilterAlgo_t kWeightGrad = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

// One per thread and device: a handle may not be used by two threads at once.
int thread_handle(cudnnHandle_t* handle) {
  static thread_local auto* handles = new std::map<int, cudnnHandle_t>;
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device)) return int(error);
  cudnnHandle_t& known = (*handles)[device];
  if (!known) TARN_DNN(cudnnCreate(&known));
  *handle = known;
  return 0;
}

struct Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  ~Descriptors() {
    if (x) cudnnDestroyTensorDescriptor(x);
    if (y) cudnnDestroyTensorDescriptor(y);
    if (w) cudnnDestroyFilterDescriptor(w);
    if (conv) cudnnDestroyConvolutionDescriptor(conv);
  }
};

int describe(const ConvCall& call, Descriptors* d) {
  cudnnDataType_t type = call.type == Elem::F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = call.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  TARN_DNN(cudnnCreateTensorDescriptor(&d->x));
  TARN_DNN(cudnnCreateTensorDescriptor(&d->y));
  TARN_DNN(cudnnCreateFilterDescriptor(&d->w));
  TARN_DNN(cudnnCreateConvolutionDescriptor(&d->conv));
  TARN_DNN(cudnnSetTensorNdDescriptorEx(d->x, format, type, 2 + call.rank, call.x_sizes));
  TARN_DNN(cudnnSetTensorNdDescriptorEx(d->y, format, type, 2 + call.rank, call.y_sizes));
  TARN_DNN(cudnnSetFilterNdDescriptor(d->w, type, format, 2 + call.rank, call.w_sizes));
  TARN_DNN(cudnnSetConvolutionNdDescriptor(d->conv, call.rank, call.padding, call.stride, call.dilation,
                                           CUDNN_CROSS_CORRELATION, type));
  TARN_DNN(cudnnSetConvolutionGroupCount(d->conv, call.groups));
  TARN_DNN(cudnnSetConvolutionMathType(d->conv, CUDNN_FMA_MATH));
  return 0;
}

}  // namespace

int conv_workspace(const ConvCall& call, size_t* bytes) {
  cudnnHandle_t handle;
  if (int error = thread_handle(&handle)) return error;
  Descriptors d;
  if (int error = describe(call, &d)) return error;
  switch (call.kind) {
    case ConvKind::Forward:
      TARN_DNN(cudnnGetConvolutionForwardWorkspaceSize(handle, d.x, d.w, d.conv, d.y, kForward, bytes));
      break;
    case ConvKind::InputGrad:
      TARN_DNN(
          cudnnGetConvolutionBackwardDataWorkspaceSize(handle, d.w, d.y, d.conv, d.x, kInputGrad, bytes));
      break;
    default:
      TARN_DNN(
          cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, d.x, d.y, d.conv, d.w, kWeightGrad, bytes));
  }
  return 0;
}

int conv(const ConvCall& call, void* stream) {
  cudnnHandle_t handle;
  if (int error = thread_handle(&handle)) return error;
  Descriptors d;
  if (int error = describe(call, &d)) return error;
  TARN_DNN(cudnnSetStream(handle, static_cast<cudaStream_t>(stream)));
  float one = 1, zero = 0;
  double wide_one = 1, wide_zero = 0;
  bool wide = call.type == Elem::F64;
  const void *alpha = wide ? static_cast<const void*>(&wide_one) : &one,
             *beta = call.accumulate ? alpha
                     : wide          ? static_cast<const void*>(&wide_zero)
                                     : &zero;
  switch (call.kind) {
    case ConvKind::Forward:
      TARN_DNN(cudnnConvolutionForward(handle, alpha, d.x, call.x, d.w, call.w, d.conv, kForward,
                                       call.workspace, call.workspace_bytes, beta, d.y, call.y));
      break;
    case ConvKind::InputGrad:
      TARN_DNN(cudnnConvolutionBackwardData(handle, alpha, d.w, call.w, d.y, call.y, d.conv, kInputGrad,
                                            call.workspace, call.workspace_bytes, beta, d.x, call.x));
      break;
    default:
      TARN_DNN(cudnnConvolutionBackwardFilter(handle, alpha, d.x, call.x, d.y, call.y, d.conv, kWeightGrad,
                                              call.workspace, call.workspace_bytes, beta, d.w, call.w));
  }
  return 0;
}

}  // namespace tarn::inline v1::detail
