// Matrix products by cuBLASLt, which thinks in columns: our row-major out is its transpose, so it is given
// out^T (n, m) = b^T (n, k) a^T (k, m), and a bias per column of ours is one per row of its.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include <tarn/core/cuda/device/libraries.h>

namespace tarn::inline v1::detail {

namespace {

thread_local std::string error_text;

// Throws nothing: a chain of calls stops at the first error.
#define TARN_LT(call)                                                  \
  if (cublasStatus_t status = (call); status != CUBLAS_STATUS_SUCCESS) \
  return library_error(std::string("cuBLASLt: ") + cublasLtGetStatusName(status) + " from " #call)

int device_handle(cublasLtHandle_t* handle) {
  static auto* mutex = new std::mutex;
  static auto* handles = new std::map<int, cublasLtHandle_t>;
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device)) return int(error);
  std::lock_guard lock(*mutex);
  cublasLtHandle_t& known = (*handles)[device];
  if (!known) TARN_LT(cublasLtCreate(&known));
  *handle = known;
  return 0;
}

cudaDataType_t data_type(Elem type) {
  switch (type) {
    case Elem::F64:
      return CUDA_R_64F;
    case Elem::F16:
      return CUDA_R_16F;
    case Elem::BF16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// What one product needs of cuBLASLt, and its end.
struct Product {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t b = nullptr, a = nullptr, out = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  ~Product() {
    if (desc) cublasLtMatmulDescDestroy(desc);
    for (cublasLtMatrixLayout_t layout : {a, b, out})
      if (layout) cublasLtMatrixLayoutDestroy(layout);
    if (preference) cublasLtMatmulPreferenceDestroy(preference);
  }
};

template <class Layout, class Attribute, class T>
cublasStatus_t set_attribute(Layout layout, Attribute which, const T& value) {
  return cublasLtMatrixLayoutSetAttribute(layout, which, &value, sizeof value);
}

int set_batch(cublasLtMatrixLayout_t layout, int64_t batch, int64_t stride) {
  if (batch <= 1) return 0;
  TARN_LT(set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(batch)));
  TARN_LT(set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride));
  return 0;
}

// Our matrix (rows, columns) as cuBLASLt's (columns, rows): as it lies where rows are contiguous, else
// transposed.
int describe(const GemmMatrix& m, int64_t rows, int64_t columns, int64_t batch, cudaDataType_t type,
             cublasLtMatrixLayout_t* layout, cublasOperation_t* op) {
  bool by_rows = m.column_stride == 1 || columns == 1;
  *op = by_rows ? CUBLAS_OP_N : CUBLAS_OP_T;
  int64_t first = by_rows ? columns : rows, second = by_rows ? rows : columns;
  int64_t step = by_rows ? m.row_stride : m.column_stride;
  // A single row or column may have any stride.
  if (second == 1 || step < first) step = first;
  TARN_LT(cublasLtMatrixLayoutCreate(layout, type, uint64_t(first), uint64_t(second), step));
  return set_batch(*layout, batch, m.batch_stride);
}

int describe(const ProductCall& call, Product* p) {
  cudaDataType_t type = data_type(call.type);
  bool wide = call.type == Elem::F64;
  TARN_LT(cublasLtMatmulDescCreate(&p->desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                   wide ? CUDA_R_64F : CUDA_R_32F));
  cublasOperation_t op_a, op_b;
  if (int error = describe(call.a, call.m, call.k, call.batch, type, &p->a, &op_a)) return error;
  if (int error = describe(call.b, call.k, call.n, call.batch, type, &p->b, &op_b)) return error;
  TARN_LT(cublasLtMatrixLayoutCreate(&p->out, type, uint64_t(call.n), uint64_t(call.m), call.n));
  if (int error = set_batch(p->out, call.batch, call.m * call.n)) return error;
  // cuBLASLt's first factor is our second.
  TARN_LT(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b));
  TARN_LT(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a));
  if (call.bias) {
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    TARN_LT(
        cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TARN_LT(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &call.bias,
                                           sizeof call.bias));
  }
  return 0;
}

}  // namespace

const char* library_error_text() { return error_text.c_str(); }

int library_error(std::string text) {
  error_text = std::move(text);
  return kLibraryError;
}

// The size that NVIDIA recommends for Hopper; smaller GPUs use less of it, the emulated device 1 KiB.
int gemm_workspace(const ProductCall&, size_t* bytes) {
  *bytes = TARN_CUDA_EMULATED ? size_t(1) << 16 : size_t(32) << 20;
  return 0;
}

int gemm(const ProductCall& call, void* stream) {
  cublasLtHandle_t handle;
  if (int error = device_handle(&handle)) return error;
  Product p;
  if (int error = describe(call, &p)) return error;
  TARN_LT(cublasLtMatmulPreferenceCreate(&p.preference));
  TARN_LT(cublasLtMatmulPreferenceSetAttribute(p.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &call.workspace_bytes, sizeof call.workspace_bytes));
  cublasLtMatmulHeuristicResult_t best;
  int found = 0;
  TARN_LT(
      cublasLtMatmulAlgoGetHeuristic(handle, p.desc, p.b, p.a, p.out, p.out, p.preference, 1, &best, &found));
  if (found == 0) return library_error("cuBLASLt: has no algorithm for this product");
  float alpha = float(call.alpha), beta = float(call.beta);
  bool wide = call.type == Elem::F64;
  const void* factors[2] = {&alpha, &beta};
  if (wide) factors[0] = &call.alpha, factors[1] = &call.beta;
  TARN_LT(cublasLtMatmul(handle, p.desc, factors[0], call.b.data, p.b, call.a.data, p.a, factors[1], call.out,
                         p.out, call.out, p.out, &best.algo, call.workspace, call.workspace_bytes,
                         static_cast<cudaStream_t>(stream)));
  return 0;
}

}  // namespace tarn::inline v1::detail
