// cuDNN's convolutions on the host: patches of the input become a matrix, which is multiplied with the
// filter.
#include <tarn/core/emu/dnn.h>

#include <cstring>

using namespace tarn::emu;

namespace {

constexpr size_t kWorkspace = 1024;  // what the algorithms ask for, so that callers must bring some

struct Convolution {
  Tensor5 x, w, y;
  int64_t groups, pad[3] = {}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  bool flip, wide;

  Convolution(cudnnTensorDescriptor_t x_desc, cudnnFilterDescriptor_t w_desc,
              cudnnConvolutionDescriptor_t desc, cudnnTensorDescriptor_t y_desc)
      : x(x_desc, "x"), w(w_desc, "w"), y(y_desc, "y") {
    int length = 0, pads[3], strides[3], dilations[3], count = 0;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    bool read = desc &&
                cudnnGetConvolutionNdDescriptor(desc, 3, &length, pads, strides, dilations, &mode,
                                                &compute) == CUDNN_STATUS_SUCCESS &&
                cudnnGetConvolutionGroupCount(desc, &count) == CUDNN_STATUS_SUCCESS;
    require(read, "the convolution's descriptor cannot be read");
    for (int d = 0; d < length; ++d) {
      int place = 3 - length + d;
      pad[place] = pads[d];
      stride[place] = strides[d];
      dilation[place] = dilations[d];
    }
    groups = count;
    flip = mode == CUDNN_CONVOLUTION;
    check(compute);
  }

  int64_t out_size(int d) const {
    return (x.size[2 + d] + 2 * pad[d] - (dilation[d] * (w.size[2 + d] - 1) + 1)) / stride[d] + 1;
  }

  void check(cudnnDataType_t compute) {
    wide = x.type == Element::F64;
    require(x.type == w.type && x.type == y.type,
            "types differ: x " + x.text() + ", w " + w.text() + ", y " + y.text());
    cudnnDataType_t expected = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    if (compute != expected)
      throw CallError{false, format("the compute type is %d; for %s data %d is emulated", int(compute),
                                    name_of(x.type), int(expected))};
    require(
        groups > 0 && x.size[1] == w.size[1] * groups && w.size[0] % groups == 0 && y.size[1] == w.size[0],
        format("%ld groups: channels do not fit: x ", groups) + x.text() + ", w " + w.text() + ", y " +
            y.text());
    require(y.size[0] == x.size[0], "batches differ: x " + x.text() + ", y " + y.text());
    for (int d = 0; d < 3; ++d)
      require(out_size(d) == y.size[2 + d],
              format("y should have size %ld in spatial dim %d: x ", out_size(d), d) + x.text() + ", w " +
                  w.text() + ", y " + y.text());
  }

  int64_t depth() const { return w.size[1] * w.size[2] * w.size[3] * w.size[4]; }  // of a patch
  int64_t points() const { return y.size[2] * y.size[3] * y.size[4]; }

  // f(row of the patch matrix, column, element of x) for the sample's group; elements in the padding are left
  // out.
  template <class F>
  void for_patches(int64_t n, int64_t group, F f) const {
    int64_t row = 0;
    for (int64_t c = 0; c < w.size[1]; ++c)
      for (int64_t t = 0; t < w.size[2]; ++t)
        for (int64_t r = 0; r < w.size[3]; ++r)
          for (int64_t s = 0; s < w.size[4]; ++s, ++row) {
            int64_t column = 0;
            for (int64_t oz = 0; oz < y.size[2]; ++oz)
              for (int64_t oy = 0; oy < y.size[3]; ++oy)
                for (int64_t ox = 0; ox < y.size[4]; ++ox, ++column) {
                  int64_t z = place(0, oz, t), v = place(1, oy, r), u = place(2, ox, s);
                  if (inside(0, z) && inside(1, v) && inside(2, u))
                    f(row, column, x.at(n, group * w.size[1] + c, z, v, u));
                }
          }
  }

  int64_t place(int d, int64_t out, int64_t tap) const {
    if (flip) tap = w.size[2 + d] - 1 - tap;
    return out * stride[d] - pad[d] + tap * dilation[d];
  }
  bool inside(int d, int64_t at) const { return at >= 0 && at < x.size[2 + d]; }

  template <class C>
  std::vector<C> patches(const void* px, int64_t n, int64_t group) const {
    std::vector<C> matrix(depth() * points());
    for_patches(n, group, [&](int64_t row, int64_t column, int64_t at) {
      matrix[row * points() + column] = load<C>(x.type, px, at);
    });
    return matrix;
  }

  // f(index in a matrix (outputs of the group, depth), element of w).
  template <class F>
  void for_filter(int64_t group, F f) const {
    int64_t outputs = w.size[0] / groups, index = 0;
    for (int64_t k = group * outputs; k < (group + 1) * outputs; ++k)
      for (int64_t c = 0; c < w.size[1]; ++c)
        for (int64_t t = 0; t < w.size[2]; ++t)
          for (int64_t r = 0; r < w.size[3]; ++r)
            for (int64_t s = 0; s < w.size[4]; ++s) f(index++, w.at(k, c, t, r, s));
  }

  // f(index in a matrix (outputs of the group, points), element of y).
  template <class F>
  void for_output(int64_t n, int64_t group, F f) const {
    int64_t outputs = w.size[0] / groups, index = 0;
    for (int64_t k = group * outputs; k < (group + 1) * outputs; ++k)
      for (int64_t z = 0; z < y.size[2]; ++z)
        for (int64_t v = 0; v < y.size[3]; ++v)
          for (int64_t u = 0; u < y.size[4]; ++u) f(index++, y.at(n, k, z, v, u));
  }

  template <class C>
  std::vector<C> filter(const void* pw, int64_t group) const {
    std::vector<C> matrix(w.size[0] / groups * depth());
    for_filter(group, [&](int64_t index, int64_t at) { matrix[index] = load<C>(w.type, pw, at); });
    return matrix;
  }

  template <class C>
  std::vector<C> output(const void* py, int64_t n, int64_t group) const {
    std::vector<C> matrix(w.size[0] / groups * points());
    for_output(n, group, [&](int64_t index, int64_t at) { matrix[index] = load<C>(y.type, py, at); });
    return matrix;
  }

  template <class C>
  void forward(const void* px, const void* pw, void* py, double alpha, double beta) const {
    int64_t outputs = w.size[0] / groups;
    for (int64_t group = 0; group < groups; ++group) {
      std::vector<C> taps = filter<C>(pw, group);
      for (int64_t n = 0; n < x.size[0]; ++n) {
        std::vector<C> sums(outputs * points());
        multiply(outputs, points(), depth(), taps.data(), patches<C>(px, n, group).data(), sums.data());
        for_output(n, group,
                   [&](int64_t index, int64_t at) { blend(y.type, py, at, sums[index], alpha, beta); });
      }
    }
  }

  template <class C>
  void backward_data(const void* pw, const void* pdy, void* pdx, double alpha, double beta) const {
    int64_t outputs = w.size[0] / groups;
    std::vector<C> dx(x.bytes() / size_of(x.type));
    for (int64_t group = 0; group < groups; ++group) {
      std::vector<C> taps = transpose(filter<C>(pw, group), outputs, depth());
      for (int64_t n = 0; n < x.size[0]; ++n) {
        std::vector<C> columns(depth() * points());
        multiply(depth(), points(), outputs, taps.data(), output<C>(pdy, n, group).data(), columns.data());
        for_patches(n, group, [&](int64_t row, int64_t column, int64_t at) {
          dx[at] += columns[row * points() + column];
        });
      }
    }
    for (int64_t n = 0; n < x.size[0]; ++n)
      for (int64_t c = 0; c < x.size[1]; ++c)
        for (int64_t z = 0; z < x.size[2]; ++z)
          for (int64_t v = 0; v < x.size[3]; ++v)
            for (int64_t u = 0; u < x.size[4]; ++u) {
              int64_t at = x.at(n, c, z, v, u);
              blend(x.type, pdx, at, dx[at], alpha, beta);
            }
  }

  template <class C>
  void backward_filter(const void* px, const void* pdy, void* pdw, double alpha, double beta) const {
    int64_t outputs = w.size[0] / groups;
    for (int64_t group = 0; group < groups; ++group) {
      std::vector<C> sums(outputs * depth());
      for (int64_t n = 0; n < x.size[0]; ++n) {
        std::vector<C> columns = transpose(patches<C>(px, n, group), depth(), points());
        multiply(outputs, depth(), points(), output<C>(pdy, n, group).data(), columns.data(), sums.data());
      }
      for_filter(group, [&](int64_t index, int64_t at) { blend(w.type, pdw, at, sums[index], alpha, beta); });
    }
  }
};

void check_workspace(bool needed, const void* workspace, size_t bytes) {
  if (!needed) return;
  require(
      workspace && bytes >= kWorkspace,
      format("the algorithm needs a workspace of %zu bytes, got %zu at %p", kWorkspace, bytes, workspace));
}

// The four operands of a call: what is read and what is written.
struct Operand {
  const void* p;
  const Tensor5& shape;
  int argument;
};

void run(cudnnHandle_t handle, const char* call, const Operand& a, const Operand& b, const Operand& out,
         void* workspace, size_t bytes, int workspace_argument, std::function<void()> compute) {
  require(a.p && b.p && out.p, "an operand is null");
  std::vector<Use> uses{{a.p, false, true, a.argument, a.shape.bytes()},
                        {b.p, false, true, b.argument, b.shape.bytes()},
                        {out.p, true, true, out.argument, out.shape.bytes()}};
  if (workspace && bytes) uses.push_back({workspace, true, true, workspace_argument, bytes});
  submit_call(handle->stream, call, std::move(uses), [=] {
    if (workspace) std::memset(workspace, 0xff, std::min(bytes, kWorkspace));
    compute();
  });
}

template <class Result, class Algorithm>
void one_result(Result* results, int requested, int* returned, Algorithm algorithm) {
  require(requested >= 1, format("%d results were asked for", requested));
  results[0] = {};
  results[0].algo = algorithm;
  results[0].status = CUDNN_STATUS_SUCCESS;
  results[0].memory = kWorkspace;
  results[0].determinism = CUDNN_DETERMINISTIC;
  results[0].mathType = CUDNN_DEFAULT_MATH;
  *returned = 1;
}

}  // namespace

extern "C" {

// --- the choice of an algorithm: one, with a workspace ---

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t desc,
                                                     const cudnnTensorDescriptor_t y, const int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results) {
  return guarded_dnn("cudnnGetConvolutionForwardAlgorithm_v7", [&] {
    check_handle(handle);
    Convolution checked(x, w, desc, y);
    one_result(results, requested, returned, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnTensorDescriptor_t dx, const int requested,
    int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return guarded_dnn("cudnnGetConvolutionBackwardDataAlgorithm_v7", [&] {
    check_handle(handle);
    Convolution checked(dx, w, desc, dy);
    one_result(results, requested, returned, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnFilterDescriptor_t dw, const int requested,
    int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return guarded_dnn("cudnnGetConvolutionBackwardFilterAlgorithm_v7", [&] {
    check_handle(handle);
    Convolution checked(x, dw, desc, dy);
    one_result(results, requested, returned, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
  });
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t desc,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return guarded_dnn("cudnnGetConvolutionForwardWorkspaceSize", [&] {
    check_handle(handle);
    Convolution checked(x, w, desc, y);
    *bytes = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ? 0 : kWorkspace;
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return guarded_dnn("cudnnGetConvolutionBackwardDataWorkspaceSize", [&] {
    check_handle(handle);
    Convolution checked(dx, w, desc, dy);
    *bytes = algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ? 0 : kWorkspace;
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return guarded_dnn("cudnnGetConvolutionBackwardFilterWorkspaceSize", [&] {
    check_handle(handle);
    Convolution checked(x, dw, desc, dy);
    *bytes = algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ? 0 : kWorkspace;
  });
}

// --- the convolutions ---

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_desc, const void* x,
                                      const cudnnFilterDescriptor_t w_desc, const void* w,
                                      const cudnnConvolutionDescriptor_t desc,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes,
                                      const void* beta, const cudnnTensorDescriptor_t y_desc, void* y) {
  return guarded_dnn("cudnnConvolutionForward", [&] {
    check_handle(handle);
    Convolution c(x_desc, w_desc, desc, y_desc);
    check_workspace(algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, workspace, bytes);
    double a = scale_of(alpha, c.x.type), b = scale_of(beta, c.x.type);
    run(handle, "cudnnConvolutionForward", {x, c.x, 3}, {w, c.w, 5}, {y, c.y, 12}, workspace, bytes, 8,
        [=] { with_compute_type(c.wide, [&]<class C>(C) { c.forward<C>(x, w, y, a, b); }); });
  });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w_desc, const void* w,
                                           const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const cudnnConvolutionDescriptor_t desc,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_desc, void* dx) {
  return guarded_dnn("cudnnConvolutionBackwardData", [&] {
    check_handle(handle);
    Convolution c(dx_desc, w_desc, desc, dy_desc);
    check_workspace(algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, workspace, bytes);
    double a = scale_of(alpha, c.x.type), b = scale_of(beta, c.x.type);
    run(handle, "cudnnConvolutionBackwardData", {w, c.w, 3}, {dy, c.y, 5}, {dx, c.x, 12}, workspace, bytes, 8,
        [=] { with_compute_type(c.wide, [&]<class C>(C) { c.backward_data<C>(w, dy, dx, a, b); }); });
  });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x_desc, const void* x,
                                             const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             const cudnnConvolutionDescriptor_t desc,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw_desc, void* dw) {
  return guarded_dnn("cudnnConvolutionBackwardFilter", [&] {
    check_handle(handle);
    Convolution c(x_desc, dw_desc, desc, dy_desc);
    check_workspace(algorithm != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, workspace, bytes);
    double a = scale_of(alpha, c.x.type), b = scale_of(beta, c.x.type);
    run(handle, "cudnnConvolutionBackwardFilter", {x, c.x, 3}, {dy, c.y, 5}, {dw, c.w, 12}, workspace, bytes,
        8, [=] { with_compute_type(c.wide, [&]<class C>(C) { c.backward_filter<C>(x, dy, dw, a, b); }); });
  });
}

}  // extern "C"
