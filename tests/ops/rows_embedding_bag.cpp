// Rows of embedding_bag.
#include <tarn/core/ops/embedding_bag.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// The result alone: PyTorch leaves the others empty where it does not need them.
Tensor bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
           const std::optional<Tensor>& weights = {}, bool last = false,
           std::optional<int64_t> padding = {}) {
  return std::get<0>(embedding_bag(weight, indices, offsets, false, mode, false, weights, last, padding));
}

Input some_indices() { return index_list({1, 4, 2, 1, 0, 3, 4}); }
Input starts() { return index_list({0, 3, 3, 5}); }

}  // namespace

std::vector<Row> embedding_bag_rows() {
  return {
      {.name = "embedding_bag",
       .grad = true,
       .samples = {S_PY("torch.embedding_bag(x, y, z, False, 0)[0]", bag(x, y, z, 0), {5, 3}, some_indices(),
                        starts()),
                   S_PY("torch.embedding_bag(x, y, z, False, 1)[0]", bag(x, y, z, 1), {5, 3}, some_indices(),
                        starts()),
                   S_PY("torch.embedding_bag(x, y, z, False, 2)[0]", bag(x, y, z, 2), {5, 3}, some_indices(),
                        starts()),
                   S_PY("torch.embedding_bag(x, y, z, False, 0, False, w)[0]", bag(x, y, z, 0, w), {5, 3},
                        some_indices(), starts(), {7}),
                   S_PY("torch.embedding_bag(x, y, z, False, 1, False, None, True, 1)[0]",
                        bag(x, y, z, 1, {}, true, 1), {5, 3}, some_indices(), index_list({0, 3, 3, 7})),
                   S_PY("torch.embedding_bag(x, y, z, False, 2, False, None, True, 4)[0]",
                        bag(x, y, z, 2, {}, true, -1), {5, 3}, some_indices(), index_list({0, 3, 3, 7})),
                   S_PY("torch.embedding_bag(x, y, z, False, 0, False, None, False, 2)[0]",
                        bag(x, y, z, 0, {}, false, 2), {5, 3}, some_indices(), starts()),
                   S_PY("torch.embedding_bag(x, y, z, False, 0)[0]", bag(x, y, z, 0), {5, 3},
                        index_list({}, {0}), index_list({0, 0}))},
       .errors = {E("embedding_bag: weight must be (V, D), got [5]", bag(x, y, z, 0), {5}, some_indices(),
                    starts()),
                  E("embedding_bag: index 5 is outside of a table of 5 rows", bag(x, y, z, 0), {5, 3},
                    index_list({5}), index_list({0})),
                  E("embedding_bag: offsets must begin with 0, got 1", bag(x, y, z, 0), {5, 3},
                    some_indices(), index_list({1, 2})),
                  E("embedding_bag: offsets must rise and be at most the 7 indices, got 8 after 0",
                    bag(x, y, z, 0), {5, 3}, some_indices(), index_list({0, 8})),
                  E("embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got 3", bag(x, y, z, 3),
                    {5, 3}, some_indices(), starts()),
                  E("embedding_bag: per_sample_weights need mode 0 (sum), got 1", bag(x, y, z, 1, w), {5, 3},
                    some_indices(), starts(), {7}),
                  E("embedding_bag: padding_idx 5 is outside of a table of 5 rows",
                    bag(x, y, z, 0, {}, false, 5), {5, 3}, some_indices(), starts())},
       .bf16 = {1.6e-2, 1e-2},
       .no_layouts = "an expanded list of offsets is another list",
       .no_scalar = "takes (V, D)"},
  };
}

}  // namespace tarn::testing
