// Rows of the losses.
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/loss.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

#define BAD_REDUCTION(op, ...) \
  E(#op ": reduction must be Reduction::None, Mean or Sum, got 7", op(x, y, 7), __VA_ARGS__)

std::vector<Row> regression_rows() {
  return {
      {.name = "mse_loss",
       .grad = true,
       .samples = {S(mse_loss(x, y), {3, 23}, {3, 23}),
                   S_PY("mse_loss(x, y, reduction='sum')", mse_loss(x, y, Reduction::Sum), {3, 5}, {3, 5}),
                   S_PY("mse_loss(x, y, reduction='none')", mse_loss(x, y, Reduction::None), {3, 5}, {3, 5}),
                   S(mse_loss(x, y), {}, {}), S(mse_loss(x, y), {0, 3}, {0, 3}),
                   S(mse_loss(x, y), {3, 5}, {5})},
       .errors = {E("mse_loss: shapes [3, 5] and [4] do not broadcast: dim 1 is 5 and 4", mse_loss(x, y),
                    {3, 5}, {4}),
                  BAD_REDUCTION(mse_loss, {3}, {3}),
                  E("tensor: this tensor is undefined; give it a value first", mse_loss(x, y), undefined(),
                    {3})}},
      {.name = "l1_loss",
       .grad = true,
       .samples = {S(l1_loss(x, y), {3, 23}, {3, 23}),
                   S_PY("l1_loss(x, y, reduction='sum')", l1_loss(x, y, Reduction::Sum), {3, 5}, {3, 5}),
                   S_PY("l1_loss(x, y, reduction='none')", l1_loss(x, y, Reduction::None), {3, 5}, {3, 5}),
                   S(l1_loss(x, y), {}, {}), S(l1_loss(x, y), {0, 3}, {0, 3}),
                   S(l1_loss(x, y), tied({10}), tied({10}))},
       .errors = {E("l1_loss: shapes [3, 5] and [4] do not broadcast: dim 1 is 5 and 4", l1_loss(x, y),
                    {3, 5}, {4}),
                  BAD_REDUCTION(l1_loss, {3}, {3}),
                  E("tensor: this tensor is undefined; give it a value first", l1_loss(x, y), undefined(),
                    {3})}},
      {.name = "binary_cross_entropy_with_logits",
       .grad = true,
       .samples = {S_PY("F.binary_cross_entropy_with_logits(x, y)", binary_cross_entropy_with_logits(x, y),
                        {3, 23}, probability({3, 23})),
                   S_PY("F.binary_cross_entropy_with_logits(x, y, z)",
                        binary_cross_entropy_with_logits(x, y, z), {3, 5}, probability({3, 5}),
                        positive({3, 1}).no_grad()),
                   S_PY("F.binary_cross_entropy_with_logits(x, y, pos_weight=z)",
                        binary_cross_entropy_with_logits(x, y, {}, z), {3, 5}, probability({3, 5}),
                        positive({5}).no_grad()),
                   S_PY("F.binary_cross_entropy_with_logits(x, y, reduction='none')",
                        binary_cross_entropy_with_logits(x, y, {}, {}, Reduction::None), {3, 5},
                        probability({3, 5})),
                   S_PY("F.binary_cross_entropy_with_logits(x, y, reduction='sum')",
                        binary_cross_entropy_with_logits(x, y, {}, {}, Reduction::Sum), {3, 5},
                        probability({3, 5})),
                   S_PY("F.binary_cross_entropy_with_logits(x, y)", binary_cross_entropy_with_logits(x, y),
                        {}, probability({})),
                   S_PY("F.binary_cross_entropy_with_logits(x, y)", binary_cross_entropy_with_logits(x, y),
                        {0, 3}, {0, 3}),
                   S_PY("F.binary_cross_entropy_with_logits(x, y)", binary_cross_entropy_with_logits(x, y),
                        listed({200, -200, 1000}), listed({1, 0, 0}).no_grad())},
       .errors =
           {E("binary_cross_entropy_with_logits: target must have the sizes of the logits [3, 5], got [5]",
              binary_cross_entropy_with_logits(x, y), {3, 5}, {5}),
            E("binary_cross_entropy_with_logits: reduction must be Reduction::None, Mean or Sum, got 7",
              binary_cross_entropy_with_logits(x, y, {}, {}, 7), {3}, {3})},
       .uncompared = kIntegersAndBool,
       .why_uncompared = "PyTorch refuses them",
       .few_errors = "takes logits and targets of any one shape"},
  };
}

#undef BAD_REDUCTION

std::vector<Row> classification_rows() {
  return {
      {.name = "nll_loss",
       .grad = true,
       .samples = {S(nll_loss(x, y), {5, 3}, index_below(3, {5})),
                   S(nll_loss(x, y), {3}, index_list({2}, {})),
                   S(nll_loss(x, y, z), {5, 3}, index_below(3, {5}), positive({3}).no_grad()),
                   S_PY("nll_loss(x, y, reduction='sum')", nll_loss(x, y, {}, Reduction::Sum), {5, 3},
                        index_below(3, {5})),
                   S_PY("nll_loss(x, y, z, reduction='none')", nll_loss(x, y, z, Reduction::None), {5, 3},
                        index_below(3, {5}), positive({3}).no_grad()),
                   S_PY("nll_loss(x, y, ignore_index=1)", nll_loss(x, y, {}, Reduction::Mean, 1), {5, 3},
                        index_below(3, {5})),
                   S(nll_loss(x, y), {2, 3, 2, 2}, index_below(3, {2, 2, 2})),
                   S(nll_loss(x, y), {0, 3}, index_list({}, {0}))},
       .errors = {E("nll_loss: target 3 at position 1 of sizes [2] is not one of 3 classes", nll_loss(x, y),
                    {2, 3}, index_list({0, 3})),
                  E("nll_loss: class scores [2, 3] need a target of sizes [2], got [3]", nll_loss(x, y),
                    {2, 3}, index_list({0, 1, 2})),
                  E("nll_loss: class numbers must be integers, got Float; call to(kLong)", nll_loss(x, y),
                    {2, 3}, {2}),
                  E("nll_loss: weight must be a vector of 3 numbers, one per class, got sizes [2]",
                    nll_loss(x, y, z), {2, 3}, index_list({0, 1}), {2}),
                  E("nll_loss: reduction must be Reduction::None, Mean or Sum, got 7", nll_loss(x, y, {}, 7),
                    {2, 3}, index_list({0, 1}))}},
      {.name = "cross_entropy_loss",
       .grad = true,
       .samples = {S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y), {5, 7}, index_below(7, {5})),
                   S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y), {3}, index_list({2}, {})),
                   S_PY("cross_entropy(x, y, z)", cross_entropy_loss(x, y, z), {5, 3}, index_below(3, {5}),
                        positive({3}).no_grad()),
                   S_PY("cross_entropy(x, y, reduction='sum')", cross_entropy_loss(x, y, {}, Reduction::Sum),
                        {5, 3}, index_below(3, {5})),
                   S_PY("cross_entropy(x, y, reduction='none')",
                        cross_entropy_loss(x, y, {}, Reduction::None), {5, 3}, index_below(3, {5})),
                   S_PY("cross_entropy(x, y, ignore_index=1)",
                        cross_entropy_loss(x, y, {}, Reduction::Mean, 1), {5, 3}, index_below(3, {5})),
                   S_PY("cross_entropy(x, y, z, label_smoothing=0.25)",
                        cross_entropy_loss(x, y, z, Reduction::Mean, -100, 0.25), {5, 3}, index_below(3, {5}),
                        positive({3}).no_grad()),
                   S_PY("cross_entropy(x, y, ignore_index=1, label_smoothing=0.25)",
                        cross_entropy_loss(x, y, {}, Reduction::Mean, 1, 0.25), {5, 3}, index_below(3, {5})),
                   S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y), {2, 3, 2, 2},
                        index_below(3, {2, 2, 2})),
                   S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y), {5, 3},
                        probability({5, 3}).no_grad()),
                   S_PY("cross_entropy(x, y, z, label_smoothing=0.25)",
                        cross_entropy_loss(x, y, z, Reduction::Mean, -100, 0.25), {5, 3},
                        probability({5, 3}).no_grad(), positive({3}).no_grad()),
                   S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y),
                        listed({1000, 0, -1000, 0, 1e4, 5}, {2, 3}), index_list({0, 2})),
                   S_PY("cross_entropy(x, y)", cross_entropy_loss(x, y), {0, 3}, index_list({}, {0}))},
       .errors = {E("cross_entropy: target 3 at position 1 of sizes [2] is not one of 3 classes",
                    cross_entropy_loss(x, y), {2, 3}, index_list({0, 3})),
                  E("cross_entropy: class scores [2, 3] need a target of sizes [2], got [3]",
                    cross_entropy_loss(x, y), {2, 3}, index_list({0, 1, 2})),
                  E("cross_entropy: label_smoothing must be between 0 and 1, got 2",
                    cross_entropy_loss(x, y, {}, Reduction::Mean, -100, 2), {2, 3}, index_list({0, 1})),
                  E("cross_entropy: the target is undefined", cross_entropy_loss(x, y), {2, 3},
                    undefined())}},
  };
}

}  // namespace

std::vector<Row> loss_rows() { return join({regression_rows(), classification_rows()}); }

}  // namespace tarn::testing
