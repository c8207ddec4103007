// embedding_bag: rows of a table, summed, averaged or maximised over bags. Sums and means are made of other
// ops; the maximum is a kernel, because bags differ in length.
#include <tarn/core/ops/embedding_bag.h>

#include <algorithm>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/ops/widen.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

constexpr const char* kName = "embedding_bag";
enum Mode : int64_t { kSum, kMean, kMax };

// --- the maximum: inputs weight (V, D), indices (N), bounds (B + 1); outputs (B, D) and the rows it is from,
// -1 where a bag is empty ---

struct MaxAttrs {
  int64_t padding;  // -1: none
};

void max_infer(const Args& a, Spec* out) {
  for (int i = 0; i < 2; ++i) {
    out[i].sizes = {a[2].numel() - 1, a[0].sizes()[1]};
    out[i].dtype = i ? kLong : a[0].dtype();
    out[i].device = a[0].device();
  }
}

void max_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor table = dense(a[0]), list = dense(a[1]), limits = dense(a[2]);
  const int64_t *indices = list.data_ptr<int64_t>(), *bounds = limits.data_ptr<int64_t>();
  const int64_t width = table.sizes()[1], padding = a.attrs<MaxAttrs>().padding;
  visit(table.dtype(), kName, [&]<class T>(Type<T>) {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* rows = static_cast<const T*>(table.data_ptr());
    T* y = static_cast<T*>(out[0].data_ptr());
    int64_t* from = out[1].data_ptr<int64_t>();
    parallel_for(0, out->sizes()[0], std::max<int64_t>(1, 4096 / width), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t c = 0; c < width; ++c) {
          int64_t best = -1;
          for (int64_t i = bounds[b]; i < bounds[b + 1]; ++i) {
            if (indices[i] == padding) continue;
            if (best < 0 || Wide(rows[indices[i] * width + c]) > Wide(rows[best * width + c]))
              best = indices[i];
          }
          y[b * width + c] = best < 0 ? T(0) : rows[best * width + c];
          from[b * width + c] = best;
        }
    });
  });
}

// Each element goes back to the row it came from.
void max_grad(GradArgs& g) {
  Tensor rows = g.output(1), empty = rows < 0;
  Tensor zero = zeros(g.input_sizes(0), g.grad().options());
  g.set(0, scatter_add(zero, 0, where(empty, 0, rows), where(empty, 0, g.grad())));
}

const Op embedding_bag_max_op = {.name = "embedding_bag_max",
                                 .infer = max_infer,
                                 .cpu = max_cpu,
                                 .grad = max_grad,
                                 .saves = save_output(1),
                                 .outputs = 2,
                                 .differentiable = 1};

// --- arguments ---

Tensor as_list(const Tensor& t, const char* name) {
  check(t.dtype() == kLong || t.dtype() == kInt, kName, ": ", name, " must be Int or Long, got ", t.dtype());
  return contiguous(cast(t, kLong));
}

// Where the bags begin and, last, where the last one ends: (B + 1) on the CPU.
Tensor bag_bounds(const Tensor& offsets, int64_t count, bool include_last) {
  check(offsets.dim() == 1, kName, ": offsets must be a vector, got ", offsets.sizes());
  check(!include_last || offsets.numel() > 0, kName, ": include_last_offset needs at least one offset");
  Tensor bounds = include_last ? offsets : cat({offsets, full({1}, count, offsets.options())}, 0);
  Tensor list = contiguous(bounds);
  const int64_t* at = list.data_ptr<int64_t>();
  check(list.numel() == 1 || at[0] == 0, kName, ": offsets must begin with 0, got ", at[0]);
  for (int64_t i = 1; i < list.numel(); ++i)
    check(at[i] >= at[i - 1] && at[i] <= count, kName, ": offsets must rise and be at most the ", count,
          " indices, got ", at[i], " after ", at[i - 1]);
  return list;
}

// The bag of each index (N), -1 for those before or after all bags.
Tensor bag_numbers(const Tensor& bounds, int64_t count) {
  Tensor bags = full({count}, -1, TensorOptions(kLong));
  int64_t* to = bags.data_ptr<int64_t>();
  const int64_t* at = bounds.data_ptr<int64_t>();
  for (int64_t b = 0; b + 1 < bounds.numel(); ++b) std::fill(to + at[b], to + at[b + 1], b);
  return bags;
}

void check_indices(const Tensor& indices, int64_t rows) {
  const int64_t* at = indices.data_ptr<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i)
    check(at[i] >= 0 && at[i] < rows, kName, ": index ", at[i], " is outside of a table of ", rows, " rows");
}

// rows (N, D) added up per bag -> (B, D), in the order of the indices.
Tensor bag_sums(const Tensor& rows, const Tensor& bags, int64_t count) {
  Tensor zero = zeros({count, rows.size(1)}, rows.options());
  return scatter_add(zero, 0, bags.unsqueeze(1).expand(rows.sizes()), rows);
}

}  // namespace

}  // namespace detail

using namespace detail;

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& given_indices,
                                                         const Tensor& given_offsets, bool scale_grad_by_freq,
                                                         int64_t mode, bool sparse,
                                                         const std::optional<Tensor>& per_sample_weights,
                                                         bool include_last_offset,
                                                         std::optional<int64_t> padding_idx) {
  check(weight.dim() == 2, kName, ": weight must be (V, D), got ", weight.sizes());
  check(is_floating(weight.dtype()), kName, ": not implemented for dtype ", weight.dtype());
  check(weight.is_cpu(), kName, ": not implemented for device ", weight.device());
  check(given_indices.dim() == 1, kName, ": indices must be a vector, got ", given_indices.sizes());
  check(mode >= kSum && mode <= kMax, kName, ": mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  check(!sparse && !scale_grad_by_freq, kName, ": sparse and scale_grad_by_freq are not implemented");
  Tensor indices = as_list(given_indices, "indices"), offsets = as_list(given_offsets, "offsets");
  int64_t rows = weight.size(0), count = indices.numel(), padding = padding_idx.value_or(-1);
  check(padding >= -rows && padding < rows, kName, ": padding_idx ", padding, " is outside of a table of ",
        rows, " rows");
  if (padding_idx && padding < 0) padding += rows;
  check_indices(indices, rows);
  bool weighted = per_sample_weights && per_sample_weights->defined();
  check(!weighted || mode == kSum, kName, ": per_sample_weights need mode 0 (sum), got ", mode);
  if (weighted)
    check(per_sample_weights->sizes() == indices.sizes() && per_sample_weights->dtype() == weight.dtype(),
          kName, ": per_sample_weights must be ", weight.dtype(), " of sizes ", indices.sizes(), ", got ",
          per_sample_weights->dtype(), " of sizes ", per_sample_weights->sizes());

  Tensor bounds = bag_bounds(offsets, count, include_last_offset);
  int64_t bags = bounds.numel() - 1;
  Tensor numbers = bag_numbers(bounds, count), counted = numbers >= 0;
  if (padding >= 0) counted = counted & (indices != padding);
  Tensor bag_size = bag_sums(counted.to(kLong).unsqueeze(1), where(counted, numbers, 0), bags).squeeze(1);
  if (mode == kMax) {
    Tensor out[kMaxOutputs];
    dispatch(embedding_bag_max_op, {weight, indices, bounds}, MaxAttrs{padding}, {}, out);
    return {out[0], numbers, bag_size, out[1]};
  }
  Tensor picked = widened(embedding(weight, indices, padding >= 0 ? padding : -1));
  if (weighted) picked = picked * widened(*per_sample_weights).unsqueeze(1);
  picked = where(counted.unsqueeze(1), picked, 0);
  Tensor sums = bag_sums(picked, where(counted, numbers, 0), bags);
  if (mode == kMean) sums = sums / clamp_min(bag_size, 1).to(sums.dtype()).unsqueeze(1);
  return {cast(sums, weight.dtype()), numbers, bag_size, bag_size};
}

}  // namespace tarn::inline v1
