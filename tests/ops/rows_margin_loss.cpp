// Rows of the losses that ask for a margin.
#include <tarn/core/ops/loss.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// 1 and -1 in turn.
Input signs(std::vector<int64_t> sizes) { return listed({1, -1}, std::move(sizes)).no_grad(); }
Input smooth_signs(std::vector<int64_t> sizes) {
  Input i = signs(std::move(sizes));
  i.smooth = true;
  return i;
}

std::vector<Row> pair_rows() {
  return {
      {.name = "hinge_embedding_loss",
       .grad = true,
       .samples = {S_PY("F.hinge_embedding_loss(x, y)", hinge_embedding_loss(x, y), {3, 5},
                        smooth_signs({3, 5})),
                   S(hinge_embedding_loss(x, y, 0.5, 2), {3, 5}, smooth_signs({3, 5})),
                   S(hinge_embedding_loss(x, y, 2, 0), {3}, listed({1, -1, 0}).no_grad()),
                   S_PY("F.hinge_embedding_loss(x, y)", hinge_embedding_loss(x, y), {}, signs({})),
                   S_PY("F.hinge_embedding_loss(x, y)", hinge_embedding_loss(x, y), {0, 3}, {0, 3})},
       .errors = {E("hinge_embedding_loss: shapes [3, 5] and [4] do not broadcast: dim 1 is 5 and 4",
                    hinge_embedding_loss(x, y), {3, 5}, {4}),
                  E("hinge_embedding_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    hinge_embedding_loss(x, y, 1, 7), {3}, {3}),
                  E("hinge_embedding_loss: not implemented for dtype Long", hinge_embedding_loss(x, y),
                    typed(kLong, {3}), {3})}},
      {.name = "cosine_embedding_loss",
       .grad = true,
       .samples = {S_PY("F.cosine_embedding_loss(x, y, z)", cosine_embedding_loss(x, y, z), {4, 5}, {4, 5},
                        smooth_signs({4})),
                   S(cosine_embedding_loss(x, y, z, 0.25, 2), {4, 5}, {4, 5}, smooth_signs({4})),
                   S(cosine_embedding_loss(x, y, z, 0, 0), {4, 3}, {4, 3}, smooth_signs({4})),
                   S_PY("F.cosine_embedding_loss(x, y, z)", cosine_embedding_loss(x, y, z), {5}, {5},
                        signs({})),
                   S_PY("F.cosine_embedding_loss(x, y, z)", cosine_embedding_loss(x, y, z), {0, 5}, {0, 5},
                        {0})},
       .errors =
           {E("cosine_embedding_loss: needs inputs (N, D) and target (N), or (D) and (), got [3, 5], [3, "
              "5], [3, 1]",
              cosine_embedding_loss(x, y, z), {3, 5}, {3, 5}, {3, 1}),
            E("cosine_embedding_loss: shapes [3] and [4] do not broadcast: dim 0 is 3 and 4",
              cosine_embedding_loss(x, y, z), {3, 5}, {3, 5}, {4}),
            E("cosine_embedding_loss: reduction must be Reduction::None, Mean or Sum, got 7",
              cosine_embedding_loss(x, y, z, 0, 7), {3, 5}, {3, 5}, {3})},
       .bf16 = {1.6e-2, 1e-2}},
      {.name = "margin_ranking_loss",
       .grad = true,
       .samples = {S_PY("F.margin_ranking_loss(x, y, z)", margin_ranking_loss(x, y, z), {3, 5}, {3, 5},
                        smooth_signs({3, 5})),
                   S(margin_ranking_loss(x, y, z, 0.5, 2), {3, 5}, {3, 5}, smooth_signs({3, 5})),
                   S(margin_ranking_loss(x, y, z, 0.5, 0), {7}, {7}, smooth_signs({7})),
                   S_PY("F.margin_ranking_loss(x, y, z)", margin_ranking_loss(x, y, z), {}, {}, signs({})),
                   S_PY("F.margin_ranking_loss(x, y, z)", margin_ranking_loss(x, y, z), {0}, {0}, {0})},
       .errors = {E("margin_ranking_loss: shapes [3] and [4] do not broadcast: dim 0 is 3 and 4",
                    margin_ranking_loss(x, y, z), {3}, {4}, {3}),
                  E("margin_ranking_loss: shapes [3] and [4] do not broadcast: dim 0 is 3 and 4",
                    margin_ranking_loss(x, y, z), {3}, {3}, {4}),
                  E("margin_ranking_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    margin_ranking_loss(x, y, z, 0, 7), {3}, {3}, {3})}},
      {.name = "soft_margin_loss",
       .grad = true,
       .samples = {S(soft_margin_loss(x, y), {3, 23}, smooth_signs({3, 23})),
                   S_PY("soft_margin_loss(x, y, reduction='sum')", soft_margin_loss(x, y, Reduction::Sum),
                        {3, 5}, smooth_signs({3, 5})),
                   S_PY("soft_margin_loss(x, y, reduction='none')", soft_margin_loss(x, y, Reduction::None),
                        {3, 5}, smooth_signs({3, 5})),
                   S(soft_margin_loss(x, y), {}, signs({})),
                   S(soft_margin_loss(x, y), {0, 3}, Input({0, 3}).no_grad())},
       .errors = {E("soft_margin_loss: target must have the sizes of the input [3, 5], got [5]",
                    soft_margin_loss(x, y), {3, 5}, {5}),
                  E("soft_margin_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    soft_margin_loss(x, y, 7), {3}, {3}),
                  E("soft_margin_loss: not implemented for dtype Long", soft_margin_loss(x, y),
                    typed(kLong, {3}), {3})}},
  };
}

std::vector<Row> triplet_rows() {
  return {
      {.name = "triplet_margin_loss",
       .grad = true,
       .samples = {S_PY("F.triplet_margin_loss(x, y, z)", triplet_margin_loss(x, y, z), {4, 5}, {4, 5},
                        {4, 5}),
                   S(triplet_margin_loss(x, y, z, 0.5, 2, 1e-6, true, 2), {4, 5}, {4, 5}, {4, 5}),
                   S(triplet_margin_loss(x, y, z, 2, 1, 1e-6, false, 0), {4, 3}, {4, 3}, {4, 3}),
                   S_PY("F.triplet_margin_loss(x, y, z)", triplet_margin_loss(x, y, z), {5}, {5}, {5}),
                   S_PY("F.triplet_margin_loss(x, y, z)", triplet_margin_loss(x, y, z), {0, 5}, {0, 5},
                        {0, 5})},
       .errors = {E("triplet_margin_loss: margin must be greater than 0, got 0",
                    triplet_margin_loss(x, y, z, 0), {3, 5}, {3, 5}, {3, 5}),
                  E("triplet_margin_loss: shapes [3, 5] and [3, 4] do not broadcast: dim 1 is 5 and 4",
                    triplet_margin_loss(x, y, z), {3, 5}, {3, 4}, {3, 5}),
                  E("triplet_margin_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    triplet_margin_loss(x, y, z, 1, 2, 1e-6, false, 7), {3, 5}, {3, 5}, {3, 5})},
       .bf16 = {1.6e-2, 2e-2},
       .no_scalar = "takes (..., D)"},
  };
}

std::vector<Row> class_rows() {
  return {
      {.name = "multi_margin_loss",
       .grad = true,
       .samples = {S(multi_margin_loss(x, y), {5, 3}, index_below(3, {5})),
                   S(multi_margin_loss(x, y, 2, 0.5), {5, 3}, index_below(3, {5})),
                   S(multi_margin_loss(x, y, 1, 1, z), {5, 3}, index_below(3, {5}), positive({3}).no_grad()),
                   S_PY("multi_margin_loss(x, y, reduction='none')",
                        multi_margin_loss(x, y, 1, 1, {}, Reduction::None), {5, 3}, index_below(3, {5})),
                   S(multi_margin_loss(x, y), {4}, index_list({2}, {}))},
       .errors = {E("multi_margin_loss: p must be 1 or 2, got 3", multi_margin_loss(x, y, 3), {2, 3},
                    index_list({0, 1})),
                  E("multi_margin_loss: input [2, 3] needs one class number per sample, got target [3]",
                    multi_margin_loss(x, y), {2, 3}, index_list({0, 1, 2})),
                  E("multi_margin_loss: class numbers must be Long, got Float", multi_margin_loss(x, y),
                    {2, 3}, {2}),
                  E("multi_margin_loss: weight must be a vector of 3 numbers, one per class",
                    multi_margin_loss(x, y, 1, 1, z), {2, 3}, index_list({0, 1}), {2}),
                  E("gather: index 3 is outside of dim 1 of a tensor of sizes [2, 3]",
                    multi_margin_loss(x, y), {2, 3}, index_list({0, 3}))},
       .no_empty = "PyTorch leaves its sum unwritten"},
      {.name = "multilabel_margin_loss",
       .grad = true,
       .samples = {S(multilabel_margin_loss(x, y), {3, 4},
                     index_list({3, 0, -1, 1, -1, 2, 1, 0, 0, 1, 2, 3}, {3, 4})),
                   S_PY("multilabel_margin_loss(x, y, reduction='none')",
                        multilabel_margin_loss(x, y, Reduction::None), {2, 3},
                        index_list({1, -1, 0, 2, 0, -1}, {2, 3})),
                   S(multilabel_margin_loss(x, y), {4}, index_list({3, 0, -1, 1}))},
       .errors = {E("multilabel_margin_loss: target must have the sizes of the input [2, 3], got [2]",
                    multilabel_margin_loss(x, y), {2, 3}, index_list({0, 1})),
                  E("multilabel_margin_loss: class numbers must be Long, got Float",
                    multilabel_margin_loss(x, y), {2, 3}, {2, 3}),
                  E("multilabel_margin_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    multilabel_margin_loss(x, y, 7), {2, 3}, index_list({0, -1}, {2, 3}))},
       .no_empty = "needs a class",
       .no_scalar = "takes (N, C) or (C)"},
      {.name = "multilabel_soft_margin_loss",
       .grad = true,
       .samples = {S_PY("multilabel_soft_margin_loss(x, y)", detail::multilabel_soft_margin_loss(x, y),
                        {3, 5}, probability({3, 5})),
                   S_PY("multilabel_soft_margin_loss(x, y, z)", detail::multilabel_soft_margin_loss(x, y, z),
                        {3, 5}, probability({3, 5}), positive({5}).no_grad()),
                   S_PY("multilabel_soft_margin_loss(x, y, reduction='none')",
                        detail::multilabel_soft_margin_loss(x, y, {}, Reduction::None), {3, 5},
                        probability({3, 5})),
                   S_PY("multilabel_soft_margin_loss(x, y)", detail::multilabel_soft_margin_loss(x, y),
                        {0, 3}, {0, 3})},
       .errors = {E("multilabel_soft_margin_loss: target must have the sizes of the input [3, 5], got [5]",
                    detail::multilabel_soft_margin_loss(x, y), {3, 5}, {5}),
                  E("multilabel_soft_margin_loss: input must have a dim of classes, got []",
                    detail::multilabel_soft_margin_loss(x, y), {}, {}),
                  E("multilabel_soft_margin_loss: reduction must be Reduction::None, Mean or Sum, got 7",
                    detail::multilabel_soft_margin_loss(x, y, {}, 7), {3, 5}, {3, 5})},
       .no_scalar = "takes (..., C)"},
  };
}

}  // namespace

std::vector<Row> margin_loss_rows() { return join({pair_rows(), triplet_rows(), class_rows()}); }

}  // namespace tarn::testing
