// embedding: rows of a table by index. Its gradient adds rows up in the order of the indices, so that the
// sums do not depend on the number of threads.
#include <limits>

#include <tarn/core/cpu/copy.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct EmbeddingAttrs {
  int64_t padding;  // -1: none
  int64_t rows;
};

const int64_t* index_data(const Tensor& t) { return static_cast<const int64_t*>(t.data_ptr()); }

// --- embedding: inputs weight (V, D), indices (N) ---

void embedding_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->sizes = {a[1].numel(), a[0].sizes()[1]};
}

void embedding_cpu(const Args& a, Tensor* out) {
  const int64_t rows = a[0].sizes()[0], width = a[0].sizes()[1];
  for (int64_t i = 0; i < a[1].numel(); ++i)
    check(index_data(a[1])[i] >= 0 && index_data(a[1])[i] < rows, "embedding: index ", index_data(a[1])[i],
          " is outside of a table of ", rows, " rows");
  const size_t bytes = size_t(width) * a[0].element_size();
  if (bytes == 0) return;
  const char* from = static_cast<const char*>(a[0].data_ptr());
  char* to = static_cast<char*>(out->data_ptr());
  parallel_for(0, a[1].numel(), std::max<int64_t>(1, 32768 / std::max<int64_t>(width, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i)
                   std::memcpy(to + size_t(i) * bytes, from + size_t(index_data(a[1])[i]) * bytes, bytes);
               });
}

void embedding_cuda(const Args& a, Tensor* out) {
  index_rows_cuda("embedding", IndexKind::Gather, a[0], a[1], *out, -1);
}

void embedding_grad(GradArgs& g);
const Op embedding_op = {.name = "embedding",
                         .infer = embedding_infer,
                         .cpu = embedding_cpu,
                         .cuda = embedding_cuda,
                         .grad = embedding_grad,
                         .saves = save_input(1)};

// --- embedding_backward: inputs gradient (N, D), indices (N) -> (V, D) ---

void backward_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->sizes = {a.attrs<EmbeddingAttrs>().rows, a[0].sizes()[1]};
}

void backward_cpu(const Args& a, Tensor* out) {
  fill_elements(*out, 0);
  const auto& p = a.attrs<EmbeddingAttrs>();
  const int64_t width = a[0].sizes()[1], count = a[1].numel();
  Tensor gradient = contiguous(a[0]);
  visit(a[0].dtype(), "embedding", [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(out->data_ptr());
    const T* from = static_cast<const T*>(gradient.data_ptr());
    // Each thread owns a range of columns and walks all indices in order.
    parallel_for(0, width, std::max<int64_t>(16, 32768 / std::max<int64_t>(count, 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = 0; i < count; ++i) {
                     int64_t row = index_data(a[1])[i];
                     if (row == p.padding) continue;
                     for (int64_t c = b; c < e; ++c)
                       to[row * width + c] = T(to[row * width + c] + from[i * width + c]);
                   }
                 });
  });
}

void backward_cuda(const Args& a, Tensor* out) {
  ScalarType dtype = compute_dtype_of(out->dtype());
  Tensor gradient = row_major(a[0], dtype), table = row_major_output(*out, dtype);
  fill_elements(table, 0);
  index_rows_cuda("embedding", IndexKind::ScatterAdd, table, a[1], gradient,
                  a.attrs<EmbeddingAttrs>().padding);
  finish_output(*out, table);
}

void backward_grad(GradArgs& g) {
  // Rows of the padding index got nothing, so they give nothing.
  const auto& p = g.attrs<EmbeddingAttrs>();
  Tensor rows = g.grad();
  if (p.padding >= 0) {
    Tensor cleared = narrow(rows, 0, p.padding, 1);
    Tensor zero = make_tensor(cleared.sizes(), rows.dtype(), rows.device());
    fill_elements(zero, 0);
    rows =
        cat({narrow(rows, 0, 0, p.padding), zero, narrow(rows, 0, p.padding + 1, p.rows - p.padding - 1)}, 0);
  }
  g.set(0, dispatch(embedding_op, {contiguous(rows), g.input(1)}, p));
}

const Op backward_op = {.name = "embedding_backward",
                        .infer = backward_infer,
                        .cpu = backward_cpu,
                        .cuda = backward_cuda,
                        .grad = backward_grad,
                        .saves = save_input(1)};

void embedding_grad(GradArgs& g) {
  EmbeddingAttrs p = g.attrs<EmbeddingAttrs>();
  g.set(0, dispatch(backward_op, {g.grad(), g.input(1)}, p));
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx) {
  check(weight.dim() == 2, "embedding: weight must be (V, D), got ", weight.sizes());
  check(indices.dtype() == kLong || indices.dtype() == kInt, "embedding: indices must be Int or Long, got ",
        indices.dtype());
  check(padding_idx >= -1 && padding_idx < weight.size(0), "embedding: padding_idx ", padding_idx,
        " is outside of a table of ", weight.size(0), " rows");
  Tensor flat = contiguous(cast(reshape(indices, {-1}), kLong));
  Tensor rows =
      dispatch(embedding_op, {contiguous(weight), flat}, EmbeddingAttrs{padding_idx, weight.size(0)});
  Dims sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  return view(rows, sizes);
}

Tensor one_hot(const Tensor& indices, int64_t classes) {
  check(indices.dtype() == kLong, "one_hot: indices must be Long, got ", indices.dtype());
  check(classes > 0 || (classes == -1 && indices.numel() > 0),
        "one_hot: the number of classes must be positive, got ", classes);
  Tensor dense = contiguous(indices);
  int64_t largest = -1;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check(index_data(dense)[i] >= 0, "one_hot: indices must not be negative, got ", index_data(dense)[i]);
    largest = std::max(largest, index_data(dense)[i]);
  }
  if (classes == -1 && largest < std::numeric_limits<int64_t>::max()) classes = largest + 1;
  check(largest < classes, "one_hot: index ", largest, " is outside of ", classes, " classes");
  Dims sizes(indices.sizes());
  sizes.push_back(classes);
  Tensor out = make_tensor(sizes, kLong);
  fill_elements(out, 0);
  return out.scatter_(-1, unsqueeze(dense, -1), 1);
}

}  // namespace tarn::inline v1
