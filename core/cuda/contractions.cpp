#include <tarn/core/cuda/contractions.h>

#include <algorithm>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/library.h>

namespace tarn::inline v1::detail {

namespace {

Tensor workspace_of(size_t bytes, Device device) { return make_tensor({int64_t(bytes)}, kByte, device); }

Device current_cuda() { return {kCUDA, cuda::current_device()}; }

// A tensor over the problem's memory.
Tensor matrices(const MatrixBatch& m, int64_t batch, int64_t rows, int64_t columns, const GemmProblem& p) {
  return make_foreign(const_cast<void*>(m.data), {batch, rows, columns},
                      {m.batch_stride, m.row_stride, m.col_stride}, p.dtype, p.device, nullptr, nullptr);
}

// As cuBLASLt takes it: rows or columns contiguous. `copy` keeps what had to be copied alive.
GemmMatrix usable(const MatrixBatch& m, int64_t rows, int64_t columns, const GemmProblem& p, Tensor* copy) {
  bool by_rows = (m.col_stride == 1 || columns == 1) && (m.row_stride >= columns || rows == 1);
  bool by_columns = (m.row_stride == 1 || rows == 1) && (m.col_stride >= rows || columns == 1);
  if (by_rows && columns > 1) return {m.data, m.batch_stride, m.row_stride, 1};
  if (by_columns && rows > 1 && m.row_stride == 1) return {m.data, m.batch_stride, 1, m.col_stride};
  Tensor from = matrices(m, p.batch, rows, columns, p);
  *copy = make_tensor(from.sizes(), p.dtype, p.device);
  copy_elements(*copy, from);
  return {copy->data_ptr(), rows * columns, columns, 1};
}

// c is one row for all rows of out, which a product in float or less can add by itself.
bool is_bias(const GemmProblem& p) {
  return p.c.data && p.beta == 1 && p.dtype != kDouble && p.batch == 1 && p.c.row_stride == 0 &&
         (p.c.col_stride == 1 || p.n == 1);
}

}  // namespace

void gemm_cuda(const GemmProblem& p) {
  check(is_floating(p.dtype), "matmul: not implemented on cuda for dtype ", p.dtype, "; convert with to()");
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  Tensor out = matrices({p.out, p.m * p.n, p.n, 1}, p.batch, p.m, p.n, p);
  bool reads_c = p.c.data && p.beta != 0, bias = is_bias(p);
  if (reads_c && !bias) copy_elements(out, matrices(p.c, p.batch, p.m, p.n, p));
  if (p.k == 0) {
    if (bias) copy_elements(out, matrices(p.c, p.batch, p.m, p.n, p));
    if (!reads_c) fill_elements(out, 0);
    check(!reads_c || p.beta == 1,
          "matmul: an empty product with beta other than 1 is not implemented on cuda");
    return;
  }
  Tensor copies[2];
  ProductCall call{};
  call.type = Elem(p.dtype);
  call.batch = p.batch, call.m = p.m, call.n = p.n, call.k = p.k;
  call.a = usable(p.a, p.m, p.k, p, &copies[0]);
  call.b = usable(p.b, p.k, p.n, p, &copies[1]);
  call.out = p.out;
  call.bias = bias ? p.c.data : nullptr;
  call.alpha = p.alpha;
  call.beta = reads_c && !bias ? p.beta : 0;
  check_cuda("matmul", cuda_table().gemm_workspace(call, &call.workspace_bytes));
  Tensor workspace = workspace_of(call.workspace_bytes, p.device);
  call.workspace = workspace.data_ptr();
  launch_cuda("matmul", &CudaTable::gemm, call);
}

void conv_cuda(ConvKind kind, const ConvShape& s, ScalarType dtype, void* x, void* w, void* y,
               bool accumulate) {
  ConvCall call{};
  call.kind = kind;
  call.type = Elem(dtype);
  call.rank = s.nd;
  call.channels_last = s.channels_last;
  call.x_sizes[0] = call.y_sizes[0] = int(s.batch);
  call.x_sizes[1] = int(s.in_channels);
  call.w_sizes[0] = call.y_sizes[1] = int(s.out_channels);
  call.w_sizes[1] = int(s.in_channels / s.groups);
  call.groups = int(s.groups);
  for (int d = 0; d < s.nd; ++d) {
    check(s.pad_low[d] == s.pad_high[d], "conv: padding of ", s.pad_low[d], " before and ", s.pad_high[d],
          " after is not implemented on cuda; pad the input first");
    call.x_sizes[2 + d] = int(s.in[d]);
    call.w_sizes[2 + d] = int(s.kernel[d]);
    call.y_sizes[2 + d] = int(s.out[d]);
    call.padding[d] = int(s.pad_low[d]);
    call.stride[d] = int(s.stride[d]);
    call.dilation[d] = int(s.dilation[d]);
  }
  call.x = x, call.w = w, call.y = y;
  call.accumulate = accumulate;
  check_cuda("conv", cuda_table().conv_workspace(call, &call.workspace_bytes));
  Tensor workspace = workspace_of(call.workspace_bytes, current_cuda());
  call.workspace = workspace.data_ptr();
  launch_cuda("conv", &CudaTable::conv, call);
}

}  // namespace tarn::inline v1::detail
