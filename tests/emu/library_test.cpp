// The host versions of cuBLASLt's and cuDNN's calls, against loops written out.
#include <cublasLt.h>
#include <cudnn.h>

#include <functional>

#include <tarn/tests/emu/support.h>

namespace {

std::string text(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "" : cublasLtGetStatusString(status);
}

std::string text(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return "";
  char detail[500];
  cudnnGetLastErrorString(detail, sizeof detail);
  return std::string(cudnnGetErrorString(status)) + ": " + detail;
}

// y (m, n) = x (m, k) w (n, k)^T + bias, row-major, as a linear layer calls it; T is the data's type.
template <class T>
struct Linear {
  static constexpr bool kWide = sizeof(T) == 8;
  int m, n, k;
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t w_layout, x_layout, y_layout;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found{};

  Linear(int m, int n, int k, cublasLtEpilogue_t epilogue, const void* bias) : m(m), n(n), k(k) {
    cudaDataType_t type = kWide ? CUDA_R_64F : sizeof(T) == 2 ? CUDA_R_16BF : CUDA_R_32F;
    REQUIRE(text(cublasLtCreate(&handle)) == "");
    REQUIRE(text(cublasLtMatmulDescCreate(&desc, kWide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                          kWide ? CUDA_R_64F : CUDA_R_32F)) == "");
    cublasOperation_t transposed = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    REQUIRE(text(cublasLtMatrixLayoutCreate(&w_layout, type, k, n, k)) == "");
    REQUIRE(text(cublasLtMatrixLayoutCreate(&x_layout, type, k, m, k)) == "");
    REQUIRE(text(cublasLtMatrixLayoutCreate(&y_layout, type, n, m, n)) == "");
    REQUIRE(text(cublasLtMatmulPreferenceCreate(&preference)) == "");
    uint64_t most = 1 << 20;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most);
  }
  ~Linear() {
    cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {w_layout, x_layout, y_layout}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
  }
  template <class V>
  void set(cublasLtMatmulDescAttributes_t which, V value) {
    REQUIRE(text(cublasLtMatmulDescSetAttribute(desc, which, &value, sizeof value)) == "");
  }
  std::string choose() {
    int count = 0;
    return text(cublasLtMatmulAlgoGetHeuristic(handle, desc, w_layout, x_layout, y_layout, y_layout,
                                               preference, 1, &found, &count));
  }
  std::string run(const void* w, const void* x, void* y, void* workspace, size_t bytes, double alpha = 1,
                  double beta = 0) {
    float af = float(alpha), bf = float(beta);
    return text(cublasLtMatmul(handle, desc, kWide ? (void*)&alpha : &af, w, w_layout, x, x_layout,
                               kWide ? (void*)&beta : &bf, y, y_layout, y, y_layout, &found.algo, workspace,
                               bytes, nullptr));
  }
};

template <class T>
std::vector<T> cast(const Values& v) {
  std::vector<T> out;
  for (float x : v) out.push_back(T(x));
  return out;
}

template <class T>
float linear_error(double alpha, double beta) {
  int m = 5, n = 24, k = 16;
  std::vector<T> x = cast<T>(numbers(m * k)), w = cast<T>(numbers(n * k, 2)), bias = cast<T>(numbers(n, 3)),
                 y = cast<T>(numbers(m * n, 4));
  Array<T> dx(x), dw(w), db(bias), dy(y);
  Array<char> workspace(1024);
  Linear<T> linear(m, n, k, CUBLASLT_EPILOGUE_BIAS, db.p);
  REQUIRE(linear.choose() == "");
  REQUIRE(linear.found.workspaceSize == 1024);
  REQUIRE(linear.run(dw.p, dx.p, dy.p, workspace.p, 1024, alpha, beta) == "");
  std::vector<T> result = dy.get();
  float most = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int q = 0; q < k; ++q) sum += double(x[i * k + q]) * double(w[j * k + q]);
      double expected = alpha * sum + beta * double(y[i * n + j]) + double(bias[j]);
      most = std::fmax(most, float(std::fabs(double(result[i * n + j]) - expected)));
    }
  return most;
}

}  // namespace

TEST_CASE("cublasLtMatmul does what the descriptors say, in each type") {
  CHECK(linear_error<float>(1, 0) < 1e-5f);
  CHECK(linear_error<float>(0.5, 2) < 1e-5f);
  CHECK(linear_error<double>(1, 1) < 1e-12);
  CHECK(linear_error<__nv_bfloat16>(1, 0) < 0.07f);
}

TEST_CASE("a bias gradient is summed beside the product") {
  int m = 4, n = 3, k = 6;
  Array<float> x(numbers(m * k)), w(numbers(n * k, 2)), y(m * n), sums(n);
  Linear<float> linear(m, n, k, CUBLASLT_EPILOGUE_BGRADA, sums.p);
  REQUIRE(linear.choose() == "");
  Array<char> workspace(1024);
  REQUIRE(linear.run(w.p, x.p, y.p, workspace.p, 1024) == "");
  Values expected(n, 0), weights = numbers(n * k, 2);
  for (int j = 0; j < n; ++j)
    for (int q = 0; q < k; ++q) expected[j] += weights[j * k + q];
  CHECK(difference(sums.get(), expected) < 1e-5f);
}

TEST_CASE("what is wrong with a product is named") {
  int m = 5, n = 24, k = 16;
  Array<float> x(m * k), w(n * k), y(m * n), small(m * n - 1);
  Array<char> workspace(1024);
  Linear<float> linear(m, n, k, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  REQUIRE(linear.choose() == "");
  CHECK(has(linear.run(w.p, x.p, y.p, nullptr, 0), {"the algorithm needs a workspace of 1024 bytes, got 0"}));
  CHECK(has(linear.run(w.p, x.p, small.p, workspace.p, 1024),
            {"argument 10 of cublasLtMatmul: 480 bytes from byte 0 of allocation #", "reach past its end"}));
  Values host(m * k);
  CHECK(has(linear.run(w.p, host.data(), y.p, workspace.p, 1024),
            {"argument 5 of cublasLtMatmul is the host pointer"}));
  Linear<float> wrong(m, n, k + 1, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  std::swap(wrong.x_layout, linear.x_layout);
  CHECK(has(wrong.choose(), {"a (24, 17) times b (16, 5) cannot give c (24, 5)"}));
  std::swap(wrong.x_layout, linear.x_layout);
  linear.found.algo.data[0] = 5;
  CHECK(has(linear.run(w.p, x.p, y.p, workspace.p, 1024),
            {"does not come from cublasLtMatmulAlgoGetHeuristic"}));
}

namespace {

// A convolution of x (2, 4, 5, 6) with w (6, 2, 3, 2) in two groups, stride (2, 1), padding (1, 0), dilation
// (1, 2).
struct Conv {
  static constexpr int N = 2, C = 4, H = 5, W = 6, K = 6, R = 3, S = 2, P = 3, Q = 4, G = 2;
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t desc;

  explicit Conv(cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW) {
    REQUIRE(text(cudnnCreate(&handle)) == "");
    REQUIRE(text(cudnnCreateTensorDescriptor(&x)) == "");
    REQUIRE(text(cudnnCreateTensorDescriptor(&y)) == "");
    REQUIRE(text(cudnnCreateFilterDescriptor(&w)) == "");
    REQUIRE(text(cudnnCreateConvolutionDescriptor(&desc)) == "");
    REQUIRE(text(cudnnSetTensor4dDescriptor(x, format, CUDNN_DATA_FLOAT, N, C, H, W)) == "");
    REQUIRE(text(cudnnSetTensor4dDescriptor(y, format, CUDNN_DATA_FLOAT, N, K, P, Q)) == "");
    REQUIRE(text(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, format, K, C / G, R, S)) == "");
    REQUIRE(text(cudnnSetConvolution2dDescriptor(desc, 1, 0, 2, 1, 1, 2, CUDNN_CROSS_CORRELATION,
                                                 CUDNN_DATA_FLOAT)) == "");
    REQUIRE(text(cudnnSetConvolutionGroupCount(desc, G)) == "");
    int n, c, h, v;
    REQUIRE(text(cudnnGetConvolution2dForwardOutputDim(desc, x, w, &n, &c, &h, &v)) == "");
    REQUIRE((n == N && c == K && h == P && v == Q));
  }

  ~Conv() {
    cudnnDestroyConvolutionDescriptor(desc);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroy(handle);
  }

  // f(index in x, index in w, index in y) for each product of the sum, NCHW indices.
  static void each(const std::function<void(int, int, int)>& f) {
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        for (int p = 0; p < P; ++p)
          for (int q = 0; q < Q; ++q)
            for (int c = 0; c < C / G; ++c)
              for (int r = 0; r < R; ++r)
                for (int s = 0; s < S; ++s) {
                  int h = p * 2 - 1 + r, v = q + s * 2, channel = k / (K / G) * (C / G) + c;
                  if (h < 0 || h >= H || v >= W) continue;
                  f(((n * C + channel) * H + h) * W + v, ((k * (C / G) + c) * R + r) * S + s,
                    ((n * K + k) * P + p) * Q + q);
                }
  }
};

Values to_nhwc(const Values& v, int n, int c, int points) {
  Values out(v.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < c; ++j)
      for (int p = 0; p < points; ++p) out[(i * points + p) * c + j] = v[(i * c + j) * points + p];
  return out;
}

}  // namespace

TEST_CASE("cuDNN's convolution and its gradients equal the sum written out") {
  Conv conv;
  Values x = numbers(Conv::N * Conv::C * Conv::H * Conv::W), w = numbers(Conv::K * 2 * Conv::R * Conv::S, 2);
  Values dy = numbers(Conv::N * Conv::K * Conv::P * Conv::Q, 3), y(dy.size(), 0), dx(x.size(), 0),
         dw(w.size(), 0);
  Conv::each([&](int i, int j, int o) {
    y[o] += x[i] * w[j];
    dx[i] += dy[o] * w[j];
    dw[j] += dy[o] * x[i];
  });
  float one = 1, zero = 0;
  Array<float> gx(x), gw(w), gdy(dy), gy(y.size()), gdx(x.size()), gdw(w.size());
  Array<char> workspace(1024);
  cudnnConvolutionFwdAlgoPerf_t found;
  int count = 0;
  REQUIRE(text(cudnnGetConvolutionForwardAlgorithm_v7(conv.handle, conv.x, conv.w, conv.desc, conv.y, 1,
                                                      &count, &found)) == "");
  CHECK(found.memory == 1024);
  REQUIRE(text(cudnnConvolutionForward(conv.handle, &one, conv.x, gx.p, conv.w, gw.p, conv.desc, found.algo,
                                       workspace.p, 1024, &zero, conv.y, gy.p)) == "");
  CHECK(difference(gy.get(), y) < 1e-5f);
  REQUIRE(text(cudnnConvolutionBackwardData(conv.handle, &one, conv.w, gw.p, conv.y, gdy.p, conv.desc,
                                            CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace.p, 1024, &zero,
                                            conv.x, gdx.p)) == "");
  CHECK(difference(gdx.get(), dx) < 1e-5f);
  REQUIRE(text(cudnnConvolutionBackwardFilter(conv.handle, &one, conv.x, gx.p, conv.y, gdy.p, conv.desc,
                                              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace.p, 1024, &zero,
                                              conv.w, gdw.p)) == "");
  CHECK(difference(gdw.get(), dw) < 1e-5f);

  // The same in channels-last order.
  Conv last(CUDNN_TENSOR_NHWC);
  Array<float> lx(to_nhwc(x, Conv::N, Conv::C, Conv::H * Conv::W)),
      lw(to_nhwc(w, Conv::K, 2, Conv::R * Conv::S)), ly(y.size());
  REQUIRE(text(cudnnConvolutionForward(last.handle, &one, last.x, lx.p, last.w, lw.p, last.desc,
                                       CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, last.y,
                                       ly.p)) == "");
  CHECK(difference(ly.get(), to_nhwc(y, Conv::N, Conv::K, Conv::P * Conv::Q)) < 1e-5f);
}

TEST_CASE("what is wrong with a convolution is named") {
  Conv conv;
  float one = 1, zero = 0;
  Array<float> x(240), w(72), y(144), small(100);
  auto forward = [&](void* out, cudnnConvolutionFwdAlgo_t algorithm) {
    return text(cudnnConvolutionForward(conv.handle, &one, conv.x, x.p, conv.w, w.p, conv.desc, algorithm,
                                        nullptr, 0, &zero, conv.y, out));
  };
  CHECK(has(forward(y.p, CUDNN_CONVOLUTION_FWD_ALGO_GEMM),
            {"CUDNN_STATUS_BAD_PARAM: cudnnConvolutionForward: the algorithm needs a workspace"}));
  CHECK(has(forward(small.p, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM),
            {"argument 12 of cudnnConvolutionForward: 576 bytes from byte 0 of allocation #"}));
  REQUIRE(text(cudnnSetConvolutionGroupCount(conv.desc, 1)) == "");
  CHECK(has(forward(y.p, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM),
            {"1 groups: channels do not fit: x float32 (2, 4, 1, 5, 6), w float32 (6, 2, 1, 3, 2)"}));
}

TEST_CASE("a library call is ordered like a launch") {
  Conv conv;
  cudaStream_t first, second;
  REQUIRE_OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  REQUIRE_OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  Array<float> x(240), w(72), y(144);
  REQUIRE_OK(cudaDeviceSynchronize());
  REQUIRE_OK(cudaMemsetAsync(x.p, 0, 960, first));
  REQUIRE(text(cudnnSetStream(conv.handle, second)) == "");
  float one = 1, zero = 0;
  CHECK(has(
      text(cudnnConvolutionForward(conv.handle, &one, conv.x, x.p, conv.w, w.p, conv.desc,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, conv.y, y.p)),
      {"stream race on byte 0 of allocation #", "argument 3 of cudnnConvolutionForward on stream ",
       "is not ordered after argument 0 of cudaMemsetAsync"}));
  REQUIRE_OK(cudaDeviceSynchronize());
}

TEST_CASE("batch normalisation and its gradient equal their formulas") {
  int N = 3, C = 2, points = 4, count = N * points;
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x_desc, channel_desc;
  REQUIRE(text(cudnnCreate(&handle)) == "");
  REQUIRE(text(cudnnCreateTensorDescriptor(&x_desc)) == "");
  REQUIRE(text(cudnnCreateTensorDescriptor(&channel_desc)) == "");
  REQUIRE(text(cudnnSetTensor4dDescriptor(x_desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, C, 2, 2)) == "");
  REQUIRE(text(cudnnDeriveBNTensorDescriptor(channel_desc, x_desc, CUDNN_BATCHNORM_SPATIAL)) == "");
  Values x = numbers(N * C * points), dy = numbers(x.size(), 2), scale{0.5f, 2}, bias{1, -1};
  Array<float> gx(x), gdy(dy), gs(scale), gb(bias), y(x.size()), dx(x.size()), mean(Values{0, 0}),
      variance(Values{1, 1}), saved(2), inverse(2), ds(2), db(2);
  float one = 1, zero = 0;
  REQUIRE(text(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x_desc,
                                                      gx.p, x_desc, y.p, channel_desc, gs.p, gb.p, 0.1,
                                                      mean.p, variance.p, 1e-5, saved.p, inverse.p)) == "");
  REQUIRE(text(cudnnBatchNormalizationBackward(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero,
                                               x_desc, gx.p, x_desc, gdy.p, x_desc, dx.p, channel_desc, gs.p,
                                               ds.p, db.p, 1e-5, saved.p, inverse.p)) == "");
  Values want_y(x.size()), want_dx(x.size()), want_ds(2), want_db(2), want_mean(2), want_variance(2);
  for (int c = 0; c < C; ++c) {
    auto at = [&](int i) { return (i / points * C + c) * points + i % points; };
    double m = 0, v = 0, sum = 0, dot = 0;
    for (int i = 0; i < count; ++i) m += x[at(i)] / count;
    for (int i = 0; i < count; ++i) v += (x[at(i)] - m) * (x[at(i)] - m) / count;
    double r = 1 / std::sqrt(v + 1e-5);
    for (int i = 0; i < count; ++i) sum += dy[at(i)], dot += dy[at(i)] * (x[at(i)] - m) * r;
    for (int i = 0; i < count; ++i) {
      double xhat = (x[at(i)] - m) * r;
      want_y[at(i)] = float(xhat * scale[c] + bias[c]);
      want_dx[at(i)] = float(scale[c] * r * (dy[at(i)] - sum / count - xhat * dot / count));
    }
    want_ds[c] = float(dot), want_db[c] = float(sum), want_mean[c] = float(0.1 * m);
    want_variance[c] = float(0.9 + 0.1 * v * count / (count - 1));
  }
  CHECK(difference(y.get(), want_y) < 1e-5f);
  CHECK(difference(dx.get(), want_dx) < 1e-5f);
  CHECK(difference(ds.get(), want_ds) < 1e-5f);
  CHECK(difference(db.get(), want_db) < 1e-5f);
  CHECK(difference(mean.get(), want_mean) < 1e-6f);
  CHECK(difference(variance.get(), want_variance) < 1e-6f);
  cudnnDestroyTensorDescriptor(channel_desc);
  cudnnDestroyTensorDescriptor(x_desc);
  cudnnDestroy(handle);
}
