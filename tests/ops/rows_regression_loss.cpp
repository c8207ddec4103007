// Rows of the losses of regression and of distributions.
#include <tarn/core/ops/loss.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

#define BAD_REDUCTION(op, call) \
  E(op ": reduction must be Reduction::None, Mean or Sum, got 7", call, {3}, {3})
#define BAD_SHAPES(op, call) \
  E(op ": shapes [3, 5] and [4] do not broadcast: dim 1 is 5 and 4", call, {3, 5}, {4})
#define BAD_DTYPE(op, call) \
  E(op ": not implemented for dtype Long", call, typed(kLong, {3}), typed(kLong, {3}))

std::vector<Row> robust_rows() {
  return {
      {.name = "smooth_l1_loss",
       .grad = true,
       .samples = {S(smooth_l1_loss(x, y), {3, 23}, {3, 23}),
                   S_PY("smooth_l1_loss(x, y, reduction='sum', beta=0.5)",
                        smooth_l1_loss(x, y, Reduction::Sum, 0.5), {3, 5}, {3, 5}),
                   S_PY("smooth_l1_loss(x, y, reduction='none', beta=0)",
                        smooth_l1_loss(x, y, Reduction::None, 0), {3, 5}, {3, 5}),
                   S(smooth_l1_loss(x, y), {}, {}), S(smooth_l1_loss(x, y), {0, 3}, {0, 3}),
                   S(smooth_l1_loss(x, y), tied({10}), tied({10}))},
       .errors = {BAD_SHAPES("smooth_l1_loss", smooth_l1_loss(x, y)),
                  BAD_REDUCTION("smooth_l1_loss", smooth_l1_loss(x, y, 7)),
                  BAD_DTYPE("smooth_l1_loss", smooth_l1_loss(x, y)),
                  E("smooth_l1_loss: beta must be 0 or more, got -1",
                    smooth_l1_loss(x, y, Reduction::Mean, -1), {3}, {3})}},
      {.name = "huber_loss",
       .grad = true,
       .samples = {S(huber_loss(x, y), {3, 23}, {3, 23}),
                   S_PY("huber_loss(x, y, reduction='sum', delta=0.5)", huber_loss(x, y, Reduction::Sum, 0.5),
                        {3, 5}, {3, 5}),
                   S_PY("huber_loss(x, y, reduction='none')", huber_loss(x, y, Reduction::None), {3, 5},
                        {3, 5}),
                   S(huber_loss(x, y), {}, {}), S(huber_loss(x, y), {0, 3}, {0, 3}),
                   S(huber_loss(x, y), tied({10}), tied({10}))},
       .errors = {BAD_SHAPES("huber_loss", huber_loss(x, y)),
                  BAD_REDUCTION("huber_loss", huber_loss(x, y, 7)), BAD_DTYPE("huber_loss", huber_loss(x, y)),
                  E("huber_loss: delta must be greater than 0, got 0", huber_loss(x, y, Reduction::Mean, 0),
                    {3}, {3})}},
  };
}

std::vector<Row> likelihood_rows() {
  return {
      {.name = "binary_cross_entropy",
       .grad = true,
       .samples = {S(binary_cross_entropy(x, y), probability({3, 23}), probability({3, 23})),
                   S(binary_cross_entropy(x, y, z), probability({3, 5}), probability({3, 5}),
                     positive({5}).no_grad()),
                   S_PY("binary_cross_entropy(x, y, reduction='sum')",
                        binary_cross_entropy(x, y, {}, Reduction::Sum), probability({3, 5}),
                        probability({3, 5})),
                   S_PY("binary_cross_entropy(x, y, reduction='none')",
                        binary_cross_entropy(x, y, {}, Reduction::None), probability({3, 5}),
                        probability({3, 5})),
                   S_PY("binary_cross_entropy(x, y, reduction='none')",
                        binary_cross_entropy(x, y, {}, Reduction::None), listed({0, 0, 1, 1, 0.5}).no_grad(),
                        listed({0, 1, 0, 1, 1}).no_grad()),
                   S(binary_cross_entropy(x, y), probability({}), probability({})),
                   S(binary_cross_entropy(x, y), {0, 3}, {0, 3})},
       .errors = {E("binary_cross_entropy: target must have the sizes of the input [3, 5], got [5]",
                    binary_cross_entropy(x, y), {3, 5}, {5}),
                  BAD_REDUCTION("binary_cross_entropy", binary_cross_entropy(x, y, {}, 7)),
                  BAD_DTYPE("binary_cross_entropy", binary_cross_entropy(x, y))},
       .property =
           [] {
             Tensor x = tensor_of({0, 1}).requires_grad_(), bad = tensor_of({-0.5, 1.5});
             binary_cross_entropy(x, tensor_of({1, 0})).backward();
             CHECK_CLOSE(x.grad(), tensor_of({0, 0}));
             for (double v : values_of(binary_cross_entropy(bad, tensor_of({0, 1}), {}, Reduction::None)))
               CHECK(std::isnan(v));
           }},
      {.name = "kl_div",
       .grad = true,
       .samples = {S_PY("F.kl_div(x, y)", kl_div(x, y), {3, 23}, positive({3, 23})),
                   S(kl_div(x, y, 2), {3, 5}, positive({3, 5})),
                   S_PY("torch.kl_div(x, y, 0, log_target=True)", kl_div(x, y, 0, true), {3, 5}, {3, 5}),
                   S_PY("F.kl_div(x, y)", kl_div(x, y), {}, positive({})),
                   S_PY("F.kl_div(x, y)", kl_div(x, y), listed({1, 2, 3}), listed({0, 1, 2}).no_grad()),
                   S_PY("F.kl_div(x, y)", kl_div(x, y), {0, 3}, {0, 3})},
       .errors = {BAD_SHAPES("kl_div", kl_div(x, y)), BAD_REDUCTION("kl_div", kl_div(x, y, 7)),
                  BAD_DTYPE("kl_div", kl_div(x, y))}},
      {.name = "poisson_nll_loss",
       .grad = true,
       .samples = {S(poisson_nll_loss(x, y, true, false, 1e-8, 1), {3, 23}, {3, 23}),
                   S(poisson_nll_loss(x, y, false, false, 0.01, 2), positive({3, 5}), positive({3, 5})),
                   S(poisson_nll_loss(x, y, true, true, 1e-8, 0), {3, 5}, above_one({3, 5})),
                   S(poisson_nll_loss(x, y, true, true, 1e-8, 0), {5}, listed({0, 1, 2, 3, 10}).no_grad()),
                   S(poisson_nll_loss(x, y, true, false, 1e-8, 1), {}, {}),
                   S(poisson_nll_loss(x, y, true, false, 1e-8, 1), {0, 3}, {0, 3})},
       .errors = {BAD_SHAPES("poisson_nll_loss", poisson_nll_loss(x, y, true, false, 1e-8, 1)),
                  BAD_REDUCTION("poisson_nll_loss", poisson_nll_loss(x, y, true, false, 1e-8, 7)),
                  BAD_DTYPE("poisson_nll_loss", poisson_nll_loss(x, y, true, false, 1e-8, 1))}},
      {.name = "gaussian_nll_loss",
       .grad = true,
       .samples = {S_PY("gaussian_nll_loss(x, y, z)", detail::gaussian_nll_loss(x, y, z), {3, 5}, {3, 5},
                        positive({3, 5})),
                   S_PY("gaussian_nll_loss(x, y, z, True, 0.5, 'none')",
                        detail::gaussian_nll_loss(x, y, z, true, 0.5, Reduction::None), {3, 5}, {3, 5},
                        rough(positive({3, 1}))),
                   S_PY("gaussian_nll_loss(x, y, z)", detail::gaussian_nll_loss(x, y, z), {3, 5}, {3, 5},
                        positive({3})),
                   S_PY("gaussian_nll_loss(x, y, z)", detail::gaussian_nll_loss(x, y, z), {}, {},
                        positive({})),
                   S_PY("gaussian_nll_loss(x, y, z)", detail::gaussian_nll_loss(x, y, z), {0, 3}, {0, 3},
                        positive({0, 3}))},
       .errors = {E("gaussian_nll_loss: var [2] does not fit input [3, 5]",
                    detail::gaussian_nll_loss(x, y, z), {3, 5}, {3, 5}, {2}),
                  E("gaussian_nll_loss: eps must be greater than 0, got 0",
                    detail::gaussian_nll_loss(x, y, z, false, 0), {3}, {3}, {3}),
                  E("gaussian_nll_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    detail::gaussian_nll_loss(x, y, z, false, 1e-6, 7), {3}, {3}, {3})},
       .bf16 = {1.6e-2, 1e-2}},
  };
}

#undef BAD_REDUCTION
#undef BAD_SHAPES
#undef BAD_DTYPE

}  // namespace

std::vector<Row> regression_loss_rows() { return join({robust_rows(), likelihood_rows()}); }

}  // namespace tarn::testing
