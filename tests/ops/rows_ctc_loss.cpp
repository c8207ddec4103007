// Rows of ctc_loss, behind a log_softmax: PyTorch's gradient holds only there.
#include <tarn/core/ops/ctc_loss.h>
#include <tarn/core/ops/softmax.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// {1, 2, 1}, {2, 2, -}, the first with 5 steps, the second with 4.
Input labels() { return index_list({1, 2, 1, 2, 2, 0}, {2, 3}); }

}  // namespace

std::vector<Row> ctc_loss_rows() {
  return {
      {.name = "ctc_loss",
       .grad = true,
       .second = false,
       .samples =
           {S_PY("torch.ctc_loss(log_softmax(x, 2), y, (5, 4), (3, 2), 0, 1)",
                 ctc_loss(log_softmax(x, 2), y, IntArrayRef{5, 4}, IntArrayRef{3, 2}), {5, 2, 4}, labels()),
            S_PY("torch.ctc_loss(log_softmax(x, 2), y, (5, 4), (3, 2), 0, 0)",
                 ctc_loss(log_softmax(x, 2), y, IntArrayRef{5, 4}, IntArrayRef{3, 2}, 0, Reduction::None),
                 {5, 2, 4}, labels()),
            S_PY("torch.ctc_loss(log_softmax(x, 2), y, (5, 4), (3, 2), 3, 2)",
                 ctc_loss(log_softmax(x, 2), y, IntArrayRef{5, 4}, IntArrayRef{3, 2}, 3, Reduction::Sum),
                 {5, 2, 4}, labels()),
            // All labels one after another, lengths as tensors.
            S_PY("torch.ctc_loss(log_softmax(x, 2), y, z, w, 0, 1)", ctc_loss(log_softmax(x, 2), y, z, w),
                 {5, 2, 4}, index_list({1, 2, 1, 2, 2}), index_list({5, 4}), index_list({3, 2})),
            // The second target is too long for its input.
            S_PY("torch.ctc_loss(log_softmax(x, 2), y, (5, 2), (3, 2), 0, 1, True)",
                 ctc_loss(log_softmax(x, 2), y, IntArrayRef{5, 2}, IntArrayRef{3, 2}, 0, Reduction::Mean,
                          true),
                 {5, 2, 4}, labels()),
            S_PY("torch.ctc_loss(log_softmax(x, 2), y, (5, 4), (0, 1), 0, 0)",
                 ctc_loss(log_softmax(x, 2), y, IntArrayRef{5, 4}, IntArrayRef{0, 1}, 0, Reduction::None),
                 {5, 2, 4}, labels()),
            S_PY("torch.ctc_loss(log_softmax(x, 1), y, (5,), (3,), 0, 1)",
                 ctc_loss(log_softmax(x, 1), y, IntArrayRef{5}, IntArrayRef{3}), {5, 4},
                 index_list({1, 2, 1}))},
       .errors = {E("ctc_loss: log_probs must be (T, N, C) or (T, C), got [5]",
                    ctc_loss(x, y, IntArrayRef{5}, IntArrayRef{3}), {5}, index_list({1, 2, 1})),
                  E("ctc_loss: blank 4 is not one of 4 classes",
                    ctc_loss(x, y, IntArrayRef{5, 4}, IntArrayRef{3, 2}, 4), {5, 2, 4}, labels()),
                  E("ctc_loss: label 9 is not one of 4 classes",
                    ctc_loss(x, y, IntArrayRef{5}, IntArrayRef{3}), {5, 4}, index_list({1, 9, 1})),
                  E("ctc_loss: input_lengths must be between 0 and 5, got [5, 6]",
                    ctc_loss(x, y, IntArrayRef{5, 6}, IntArrayRef{3, 2}), {5, 2, 4}, labels()),
                  E("ctc_loss: needs 2 target_lengths, got 1",
                    ctc_loss(x, y, IntArrayRef{5, 5}, IntArrayRef{3}), {5, 2, 4}, labels()),
                  E("ctc_loss: target_lengths add up to 4, targets have 3 labels",
                    ctc_loss(x, y, IntArrayRef{5, 5}, IntArrayRef{3, 1}), {5, 2, 4}, index_list({1, 2, 1})),
                  E("ctc_loss: not implemented for dtype Long",
                    ctc_loss(x, y, IntArrayRef{5, 4}, IntArrayRef{3, 2}), typed(kLong, {5, 2, 4}), labels())},
       .no_empty = "a loss of no sample has no mean",
       .no_layouts = "an expanded list of lengths is another list",
       .no_scalar = "takes (T, N, C)"},
  };
}

}  // namespace tarn::testing
