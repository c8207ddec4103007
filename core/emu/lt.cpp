// cuBLASLt without a device. NVIDIA's own library makes, checks and reads the descriptors; only the calls
// that would need a GPU are ours: handles, the choice of an algorithm, and the product itself, which does
// what the descriptors say.
#include <cublasLt.h>

#include <cmath>
#include <cstring>

#include <tarn/core/emu/library.h>
#include <tarn/core/emu/matrix.h>
#include <tarn/core/emu/report.h>

using namespace tarn::emu;

struct cublasLtContext {
  int device;
};

namespace {

constexpr uint64_t kAlgorithm = 0x7461726e656d75;  // marks an algorithm that our heuristic chose
constexpr size_t kWorkspace = 1024;                // what it asks for, so that callers must bring some

template <class T>
T attribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which) {
  T value{};
  size_t written = 0;
  if (cublasLtMatmulDescGetAttribute(desc, which, &value, sizeof value, &written) != CUBLAS_STATUS_SUCCESS)
    throw CallError{true, format("attribute %d of the product's descriptor cannot be read", int(which))};
  return value;
}

template <class T>
T attribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which) {
  T value{};
  size_t written = 0;
  if (cublasLtMatrixLayoutGetAttribute(layout, which, &value, sizeof value, &written) !=
      CUBLAS_STATUS_SUCCESS)
    throw CallError{true, format("attribute %d of a matrix layout cannot be read", int(which))};
  return value;
}

Element element(cudaDataType_t type, const char* name) {
  switch (type) {
    case CUDA_R_16F:
      return Element::F16;
    case CUDA_R_16BF:
      return Element::BF16;
    case CUDA_R_32F:
      return Element::F32;
    case CUDA_R_64F:
      return Element::F64;
    default:
      throw CallError{
          false, format("%s has the data type %d; float16, bfloat16, float32 and float64 are emulated", name,
                        int(type))};
  }
}

// A matrix (rows, cols) with strides in elements, and a batch of them.
struct Matrix {
  Element type;
  int64_t rows, cols, row_stride, col_stride, batch, batch_stride;

  Matrix(cublasLtMatrixLayout_t layout, const char* name) {
    type = element(cudaDataType_t(attribute<uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE)), name);
    rows = int64_t(attribute<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS));
    cols = int64_t(attribute<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS));
    int64_t ld = attribute<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD);
    auto order = attribute<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER);
    if (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW)
      throw CallError{false, format("%s has the order %d; row and column order are emulated", name, order)};
    bool by_rows = order == CUBLASLT_ORDER_ROW;
    if (ld < (by_rows ? cols : rows))
      throw CallError{true, format("%s is %ld x %ld with a leading dimension of %ld", name, rows, cols, ld)};
    row_stride = by_rows ? ld : 1;
    col_stride = by_rows ? 1 : ld;
    batch = attribute<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
    batch_stride = attribute<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  }

  void transpose() {
    std::swap(rows, cols);
    std::swap(row_stride, col_stride);
  }
  size_t bytes() const {
    if (rows == 0 || cols == 0) return 0;
    int64_t last = (rows - 1) * row_stride + (cols - 1) * col_stride + (batch - 1) * batch_stride;
    return size_t(last + 1) * size_of(type);
  }
  int64_t at(int64_t i, int64_t j, int64_t b) const {
    return i * row_stride + j * col_stride + b * batch_stride;
  }
};

bool has_bias(int epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool has_gelu(int epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool writes_aux(int epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU_AUX || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool has_relu(int epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool writes_bias(int epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADA || epilogue == CUBLASLT_EPILOGUE_BGRADB;
}

// All that a product's descriptors say; a and b as they are multiplied.
struct Product {
  Matrix a, b, c, d;
  bool wide;  // computes in double
  int epilogue;
  void* bias;
  Element bias_type;
  void* aux;
  int64_t aux_ld;

  Product(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a_layout, cublasLtMatrixLayout_t b_layout,
          cublasLtMatrixLayout_t c_layout, cublasLtMatrixLayout_t d_layout)
      : a(a_layout, "a"), b(b_layout, "b"), c(c_layout, "c"), d(d_layout, "d") {
    if (attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_TRANSA) != CUBLAS_OP_N) a.transpose();
    if (attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_TRANSB) != CUBLAS_OP_N) b.transpose();
    epilogue = int(attribute<uint32_t>(desc, CUBLASLT_MATMUL_DESC_EPILOGUE));
    bias = attribute<void*>(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    aux = attribute<void*>(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
    aux_ld = attribute<int64_t>(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
    auto given = attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    bias_type = given < 0 ? d.type : element(cudaDataType_t(given), "the bias");
    check_types(desc);
    check_shapes();
  }

  void check_types(cublasLtMatmulDesc_t desc) {
    auto compute = cublasComputeType_t(attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE));
    auto scale = cudaDataType_t(attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE));
    wide = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
    bool single = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                  compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (!wide && !single) throw CallError{false, format("the compute type %d is not emulated", int(compute))};
    if (scale != (wide ? CUDA_R_64F : CUDA_R_32F))
      throw CallError{
          true, format("the scale type %d does not go with the compute type %d", int(scale), int(compute))};
    bool fits = a.type == b.type && c.type == d.type && wide == (a.type == Element::F64) &&
                wide == (d.type == Element::F64) && (d.type == a.type || d.type == Element::F32);
    if (!fits)
      throw CallError{false, format("types a %s, b %s, c %s, d %s do not go together", ::name_of(a.type),
                                    ::name_of(b.type), ::name_of(c.type), ::name_of(d.type))};
    bool known = epilogue == CUBLASLT_EPILOGUE_DEFAULT || has_bias(epilogue) || has_gelu(epilogue) ||
                 has_relu(epilogue) || writes_bias(epilogue);
    if (!known) throw CallError{false, format("the epilogue %d is not emulated", epilogue)};
    if (attribute<int32_t>(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE) != CUBLASLT_POINTER_MODE_HOST)
      throw CallError{false, "alpha and beta on the device are not emulated"};
  }

  void check_shapes() {
    bool fits =
        a.cols == b.rows && a.rows == d.rows && b.cols == d.cols && c.rows == d.rows && c.cols == d.cols;
    if (!fits)
      throw CallError{true, format("a (%ld, %ld) times b (%ld, %ld) cannot give c (%ld, %ld), d (%ld, %ld)",
                                   a.rows, a.cols, b.rows, b.cols, c.rows, c.cols, d.rows, d.cols)};
    if (a.batch != d.batch || b.batch != d.batch || c.batch != d.batch)
      throw CallError{true, format("batch counts differ: a %ld, b %ld, c %ld, d %ld", a.batch, b.batch,
                                   c.batch, d.batch)};
    if (d.batch > 1 && d.batch_stride == 0) throw CallError{true, "d has a batch of one address"};
  }

  size_t bias_bytes() const {
    int64_t n = epilogue == CUBLASLT_EPILOGUE_BGRADB ? d.cols : d.rows;
    return size_t(n) * size_of(bias_type);
  }

  std::vector<Use> uses(const void* pa, const void* pb, const void* pc, void* pd, double beta) const {
    std::vector<Use> list{
        {pa, false, true, 3, a.bytes()}, {pb, false, true, 5, b.bytes()}, {pd, true, true, 10, d.bytes()}};
    if (beta != 0 && pc != pd) list.push_back({pc, false, true, 8, c.bytes()});
    if (has_bias(epilogue) || writes_bias(epilogue)) {
      if (!bias) throw CallError{true, "the epilogue needs a bias pointer"};
      list.push_back({bias, writes_bias(epilogue), true, 1, bias_bytes()});
    }
    if (writes_aux(epilogue)) {
      if (!aux || aux_ld < d.rows)
        throw CallError{
            true, format("the epilogue needs an aux pointer and its leading dimension, got %p and %ld", aux,
                         aux_ld)};
      list.push_back({aux, true, true, 1, size_t((d.cols - 1) * aux_ld + d.rows) * size_of(d.type)});
    }
    return list;
  }
};

template <class C>
std::vector<C> gather(const Matrix& m, const void* p, int64_t batch) {
  std::vector<C> values(m.rows * m.cols);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.cols; ++j) values[i * m.cols + j] = load<C>(m.type, p, m.at(i, j, batch));
  return values;
}

template <class C>
C gelu(C x) {  // the tanh form, as cuBLASLt has it
  return C(0.5) * x * (1 + std::tanh(C(0.7978845608028654) * (x + C(0.044715) * x * x * x)));
}

template <class C>
void finish(const Product& p, const std::vector<C>& products, const void* c, void* d, C alpha, C beta,
            int64_t batch) {
  for (int64_t i = 0; i < p.d.rows; ++i) {
    C bias = has_bias(p.epilogue) ? load<C>(p.bias_type, p.bias, i) : C(0);
    for (int64_t j = 0; j < p.d.cols; ++j) {
      C value = alpha * products[i * p.d.cols + j];
      if (beta != 0) value += beta * load<C>(p.c.type, c, p.c.at(i, j, batch));
      value += bias;
      if (writes_aux(p.epilogue)) store(p.d.type, p.aux, j * p.aux_ld + i, value);
      if (has_relu(p.epilogue)) value = value > 0 ? value : C(0);
      if (has_gelu(p.epilogue)) value = gelu(value);
      store(p.d.type, d, p.d.at(i, j, batch), value);
    }
  }
}

// BGRADA sums the rows of a, BGRADB the columns of b.
template <class C>
void sum_bias(const Product& p, const std::vector<C>& a, const std::vector<C>& b) {
  bool of_a = p.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  int64_t k = p.a.cols, count = of_a ? p.d.rows : p.d.cols;
  for (int64_t i = 0; i < count; ++i) {
    C sum = 0;
    for (int64_t q = 0; q < k; ++q) sum += of_a ? a[i * k + q] : b[q * p.d.cols + i];
    store(p.bias_type, p.bias, i, sum);
  }
}

template <class C>
void run_product(const Product& p, const void* pa, const void* pb, const void* pc, void* pd, C alpha,
                 C beta) {
  for (int64_t batch = 0; batch < p.d.batch; ++batch) {
    std::vector<C> a = gather<C>(p.a, pa, batch), b = gather<C>(p.b, pb, batch),
                   products(p.d.rows * p.d.cols);
    multiply(p.d.rows, p.d.cols, p.a.cols, a.data(), b.data(), products.data());
    finish(p, products, pc, pd, alpha, beta, batch);
    if (writes_bias(p.epilogue)) sum_bias(p, a, b);
  }
}

// The status of f, with its text kept.
template <class F>
cublasStatus_t guarded(const char* call, F f) {
  try {
    f();
    return CUBLAS_STATUS_SUCCESS;
  } catch (const CallError& e) {
    set_library_error(std::string(call) + ": " + e.text);
    return e.supported ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

void check_workspace(const cublasLtMatmulAlgo_t* algorithm, const void* workspace, size_t bytes) {
  if (!algorithm) return;
  if (algorithm->data[0] != kAlgorithm)
    throw CallError{true, "the algorithm does not come from cublasLtMatmulAlgoGetHeuristic"};
  if (bytes < algorithm->data[1] || (bytes && !workspace))
    throw CallError{true, format("the algorithm needs a workspace of %zu bytes, got %zu at %p",
                                 size_t(algorithm->data[1]), bytes, workspace)};
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  *returned = 0;
  return guarded("cublasLtMatmulAlgoGetHeuristic", [&] {
    if (!handle) throw CallError{true, "the handle is null"};
    Product product(desc, a, b, c, d);
    uint64_t most = 0;
    size_t written;
    cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most, &written);
    if (requested < 1) throw CallError{true, format("%d results were asked for", requested)};
    results[0] = {};
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].wavesCount = 1;
    results[0].workspaceSize = std::min<size_t>(most, kWorkspace);
    results[0].algo.data[0] = kAlgorithm;
    results[0].algo.data[1] = results[0].workspaceSize;
    *returned = 1;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  return guarded("cublasLtMatmul", [&] {
    if (!handle) throw CallError{true, "the handle is null"};
    if (handle->device != current_device())
      throw CallError{true, format("the handle is for cuda:%d, the current device is cuda:%d", handle->device,
                                   current_device())};
    Product product(desc, a_layout, b_layout, c_layout, d_layout);
    check_workspace(algorithm, workspace, workspace_bytes);
    double scale_a = product.wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
    double scale_c = product.wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
    std::vector<Use> uses = product.uses(a, b, c, d, scale_c);
    if (workspace && workspace_bytes) uses.push_back({workspace, true, true, 13, workspace_bytes});
    size_t dirt = std::min(workspace_bytes, kWorkspace);
    submit_call(stream, "cublasLtMatmul", std::move(uses), [=] {
      if (workspace) std::memset(workspace, 0xff, dirt);
      with_compute_type(product.wide,
                        [&]<class C>(C) { run_product<C>(product, a, b, c, d, C(scale_a), C(scale_c)); });
    });
  });
}

// With what was wrong, as its name is all that callers can ask for.
const char* cublasLtGetStatusName(cublasStatus_t status) {
  static thread_local std::string text;
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      text = "CUBLAS_STATUS_INVALID_VALUE: " + library_error();
      break;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      text = "CUBLAS_STATUS_NOT_SUPPORTED: " + library_error();
      break;
    default:
      text = format("cuBLASLt status %d", int(status));
  }
  return text.c_str();
}

const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

}  // extern "C"
