// Rows of recurrent networks. The parameters of a layer are cut from one input, so that five are enough.
#include <tarn/core/ops/recurrent.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/random.h>

#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

namespace {

// Pieces of a vector as tensors of these sizes, one after another.
Tensors cut(const Tensor& from, const std::vector<std::vector<int64_t>>& shapes) {
  Tensors parts;
  int64_t at = 0;
  for (const auto& shape : shapes) {
    int64_t count = 1;
    for (int64_t n : shape) count *= n;
    parts.push_back(reshape(narrow(from, 0, at, count), shape));
    at += count;
  }
  return parts;
}

// As params() of golden/make.py: the parameters of a net of `gates` gates with 3 inputs and 2 hidden units.
Tensors params(const Tensor& from, int64_t gates, int64_t layers, int64_t directions, bool biases) {
  std::vector<std::vector<int64_t>> shapes;
  for (int64_t i = 0; i < layers * directions; ++i) {
    shapes.push_back({gates * 2, i < directions ? 3 : 2 * directions});
    shapes.push_back({gates * 2, 2});
    if (biases) shapes.insert(shapes.end(), {{gates * 2}, {gates * 2}});
  }
  return cut(from, shapes);
}

Tensors one_layer_lstm_with_projection(const Tensor& from) {
  return cut(from, {{8, 3}, {8, 1}, {8}, {8}, {1, 2}});
}

std::vector<Row> cell_rows() {
  return {
      {.name = "rnn_tanh_cell",
       .grad = true,
       .samples = {S(rnn_tanh_cell(x, y, z, w), {2, 3}, {2, 2}, {2, 3}, {2, 2}),
                   S_PY("torch.rnn_tanh_cell(x, y, z, w, v, v)", rnn_tanh_cell(x, y, z, w, v, v), {2, 3},
                        {2, 2}, {2, 3}, {2, 2}, {2}),
                   S(rnn_tanh_cell(x, y, z, w), {0, 3}, {0, 2}, {2, 3}, {2, 2})},
       .errors = {E("rnn_tanh_cell: the hidden state [3, 2] does not fit input [2, 3]",
                    rnn_tanh_cell(x, y, z, w), {2, 3}, {3, 2}, {2, 3}, {2, 2}),
                  E("rnn_tanh_cell: input must be (N, in) or (in), got [2, 3, 4]", rnn_tanh_cell(x, y, z, w),
                    {2, 3, 4}, {3, 2}, {2, 3}, {2, 2}),
                  E("rnn_tanh_cell: weights of layer 0 must be [2, 3] and [2, 2], got [2, 4] and [2, 2]",
                    rnn_tanh_cell(x, y, z, w), {2, 3}, {2, 2}, {2, 4}, {2, 2})},
       .no_scalar = "takes (N, in)"},
      {.name = "rnn_relu_cell",
       .grad = true,
       .samples = {S(rnn_relu_cell(x, y, z, w), {2, 3}, {2, 2}, {2, 3}, {2, 2}),
                   S(rnn_relu_cell(x, y, z, w), {0, 3}, {0, 2}, {2, 3}, {2, 2})},
       .errors = {E("rnn_relu_cell: the hidden state [3, 2] does not fit input [2, 3]",
                    rnn_relu_cell(x, y, z, w), {2, 3}, {3, 2}, {2, 3}, {2, 2})},
       .bf16 = {1.6e-2, 1e-2},
       .no_scalar = "takes (N, in)",
       .few_errors = "as rnn_tanh_cell"},
      {.name = "gru_cell",
       .grad = true,
       .samples = {S(gru_cell(x, y, z, w), {2, 3}, {2, 2}, {6, 3}, {6, 2}),
                   S_PY("torch.gru_cell(x, y, z, w, v, v)", gru_cell(x, y, z, w, v, v), {2, 3}, {2, 2},
                        {6, 3}, {6, 2}, {6}),
                   S(gru_cell(x, y, z, w), {0, 3}, {0, 2}, {6, 3}, {6, 2})},
       .errors = {E("gru_cell: the hidden state [3, 2] does not fit input [2, 3]", gru_cell(x, y, z, w),
                    {2, 3}, {3, 2}, {6, 3}, {6, 2}),
                  E("gru_cell: weights of layer 0 must be [6, 3] and [6, 2], got [4, 3] and [6, 2]",
                    gru_cell(x, y, z, w), {2, 3}, {2, 2}, {4, 3}, {6, 2}),
                  E("gru_cell: biases of layer 0 must be [6]", gru_cell(x, y, z, w, v, v), {2, 3}, {2, 2},
                    {6, 3}, {6, 2}, {2})},
       .bf16 = {1.6e-2, 1e-2},
       .no_scalar = "takes (N, in)"},
      {.name = "lstm_cell",
       .grad = true,
       .samples = {S_PY("torch.lstm_cell(x, [y, y], z, w)", lstm_cell(x, Tensors{y, y}, z, w), {2, 3}, {2, 2},
                        {8, 3}, {8, 2}),
                   S_PY("torch.lstm_cell(x, [y, y], z, w, v, v)", lstm_cell(x, Tensors{y, y}, z, w, v, v),
                        {2, 3}, {2, 2}, {8, 3}, {8, 2}, {8}),
                   S_PY("torch.lstm_cell(x, [y, y], z, w)", lstm_cell(x, Tensors{y, y}, z, w), {0, 3}, {0, 2},
                        {8, 3}, {8, 2})},
       .errors = {E("lstm_cell: hx must be {h, c}, got 1 tensor", lstm_cell(x, Tensors{y}, z, w), {2, 3},
                    {2, 2}, {8, 3}, {8, 2}),
                  E("lstm_cell: the hidden state [3, 2] does not fit input [2, 3]",
                    lstm_cell(x, Tensors{y, y}, z, w), {2, 3}, {3, 2}, {8, 3}, {8, 2}),
                  E("lstm_cell: weights of layer 0 must be [8, 3] and [8, 2], got [6, 3] and [8, 2]",
                    lstm_cell(x, Tensors{y, y}, z, w), {2, 3}, {2, 2}, {6, 3}, {8, 2})},
       .bf16 = {1.6e-2, 1e-2},
       .no_scalar = "takes (N, in)"},
  };
}

std::vector<Row> simple_layer_rows() {
  return {
      {.name = "rnn_tanh",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S_PY("torch.rnn_tanh(x, y, params(z, 1, 1, 1, True), True, 1, 0., False, False, False)",
                        rnn_tanh(x, y, params(z, 1, 1, 1, true), true, 1, 0, false, false, false), {3, 2, 3},
                        {1, 2, 2}, {14}),
                   S_PY("torch.rnn_tanh(x, y, params(z, 1, 2, 2, False), False, 2, 0., False, True, True)",
                        rnn_tanh(x, y, params(z, 1, 2, 2, false), false, 2, 0, false, true, true), {2, 3, 3},
                        {4, 2, 2}, {44})},
       .errors = {E("rnn_tanh: input must be (T, N, in), got [2, 3]",
                    rnn_tanh(x, y, params(z, 1, 1, 1, true), true, 1, 0, false, false, false), {2, 3},
                    {1, 2, 2}, {14}),
                  E("rnn_tanh: needs 4 parameters, 4 per layer and direction, got 2",
                    rnn_tanh(x, y, params(z, 1, 1, 1, false), true, 1, 0, false, false, false), {3, 2, 3},
                    {1, 2, 2}, {14}),
                  E("rnn_tanh: the hidden state must be (1, 2, H), got [1, 3, 2]",
                    rnn_tanh(x, y, params(z, 1, 1, 1, true), true, 1, 0, false, false, false), {3, 2, 3},
                    {1, 3, 2}, {14})},
       .uncompared = {kHalf, kBFloat16},
       .why_uncompared = "products of linear",
       .no_empty = "PyTorch refuses it",
       .no_scalar = "takes (T, N, in)"},
      {.name = "rnn_relu",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S_PY("torch.rnn_relu(x, y, params(z, 1, 1, 1, True), True, 1, 0., False, False, False)",
                        rnn_relu(x, y, params(z, 1, 1, 1, true), true, 1, 0, false, false, false), {3, 2, 3},
                        {1, 2, 2}, {14})},
       .errors = {E("rnn_relu: needs at least one step, got input [0, 2, 3]",
                    rnn_relu(x, y, params(z, 1, 1, 1, true), true, 1, 0, false, false, false), {0, 2, 3},
                    {1, 2, 2}, {14})},
       .uncompared = {kHalf, kBFloat16},
       .why_uncompared = "products of linear",
       .no_empty = "PyTorch refuses it",
       .no_scalar = "takes (T, N, in)",
       .few_errors = "as rnn_tanh"},
      {.name = "gru",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S_PY("torch.gru(x, y, params(z, 3, 1, 1, True), True, 1, 0., False, False, False)",
                        gru(x, y, params(z, 3, 1, 1, true), true, 1, 0, false, false, false), {3, 2, 3},
                        {1, 2, 2}, {42}),
                   S_PY("torch.gru(x, y, params(z, 3, 2, 2, True), True, 2, 0., False, True, False)",
                        gru(x, y, params(z, 3, 2, 2, true), true, 2, 0, false, true, false), {3, 2, 3},
                        {4, 2, 2}, {180}),
                   S_PY("torch.gru(x, w, y, params(z, 3, 1, 2, True), True, 1, 0., False, True)",
                        gru(x, w, y, params(z, 3, 1, 2, true), true, 1, 0, false, true), {6, 3}, {2, 3, 2},
                        {84}, index_list({3, 2, 1}))},
       .errors = {E("gru: num_layers must be at least 1, got 0",
                    gru(x, y, params(z, 3, 1, 1, true), true, 0, 0, false, false, false), {3, 2, 3},
                    {1, 2, 2}, {42}),
                  E("gru: batch_sizes add up to 5, packed data are [6, 3]",
                    gru(x, w, y, params(z, 3, 1, 1, true), true, 1, 0, false, false), {6, 3}, {1, 3, 2}, {42},
                    index_list({3, 2})),
                  E("gru: batch_sizes must be positive and not increase, got [2, 3]",
                    gru(x, w, y, params(z, 3, 1, 1, true), true, 1, 0, false, false), {5, 3}, {1, 3, 2}, {42},
                    index_list({2, 3}))},
       .uncompared = {kHalf, kBFloat16},
       .why_uncompared = "products of linear",
       .no_empty = "PyTorch refuses it",
       .no_layouts = "an expanded list of batch sizes is another list",
       .no_scalar = "takes (T, N, in)"},
  };
}

// Dropout between layers draws from the default generator and leaves the last layer's output whole.
void check_layer_dropout() {
  Tensor x = formula_tensor({5, 4, 3}), weights = formula_tensor({180}), h = formula_tensor({2, 4, 2});
  Tensors p = params(weights, 4, 2, 1, true);
  auto run = [&](bool train) {
    return std::get<0>(lstm(x, Tensors{h, h}, p, true, 2, 0.5, train, false, false));
  };
  manual_seed(5);
  Tensor first = run(true);
  CHECK_FALSE(bit_difference(first, run(true)) == "");
  manual_seed(5);
  CHECK_SAME(run(true), first);
  CHECK_SAME(run(false), run(false));
}

std::vector<Row> lstm_rows() {
  return {
      {.name = "lstm",
       .dtypes = kSingleDouble,
       .grad = true,
       .samples = {S_PY("torch.lstm(x, [y, y], params(z, 4, 1, 1, True), True, 1, 0., False, False, False)",
                        lstm(x, Tensors{y, y}, params(z, 4, 1, 1, true), true, 1, 0, false, false, false),
                        {3, 2, 3}, {1, 2, 2}, {56}),
                   S_PY("torch.lstm(x, [y, w], params(z, 4, 2, 2, True), True, 2, 0., False, True, True)",
                        lstm(x, Tensors{y, w}, params(z, 4, 2, 2, true), true, 2, 0, false, true, true),
                        {2, 3, 3}, {4, 2, 2}, {240}, {4, 2, 2}),
                   S_PY("torch.lstm(x, [y, y], params(z, 4, 1, 1, False), False, 1, 0., False, False, False)",
                        lstm(x, Tensors{y, y}, params(z, 4, 1, 1, false), false, 1, 0, false, false, false),
                        {3, 2, 3}, {1, 2, 2}, {40}),
                   S_PY("torch.lstm(x, [y, w], [z[:24].reshape(8, 3), z[24:32].reshape(8, 1), z[32:40], "
                        "z[40:48], z[48:50].reshape(1, 2)], True, 1, 0., False, False, False)",
                        lstm(x, Tensors{y, w}, one_layer_lstm_with_projection(z), true, 1, 0, false, false,
                             false),
                        {3, 2, 3}, {1, 2, 1}, {50}, {1, 2, 2}),
                   S_PY("torch.lstm(x, w, [y, y], params(z, 4, 1, 2, True), True, 1, 0., False, True)",
                        lstm(x, w, Tensors{y, y}, params(z, 4, 1, 2, true), true, 1, 0, false, true), {7, 3},
                        {2, 3, 2}, {112}, index_list({3, 3, 1}))},
       .errors = {E("lstm: hx must be {h, c}, got 1 tensor",
                    lstm(x, Tensors{y}, params(z, 4, 1, 1, true), true, 1, 0, false, false, false), {3, 2, 3},
                    {1, 2, 2}, {56}),
                  E("lstm: input must be (N, T, in), got [2, 3]",
                    lstm(x, Tensors{y, y}, params(z, 4, 1, 1, true), true, 1, 0, false, false, true), {2, 3},
                    {1, 2, 2}, {56}),
                  E("lstm: weights of layer 0 must be [8, 4] and [8, 2], got [8, 3] and [8, 2]",
                    lstm(x, Tensors{y, y}, params(z, 4, 1, 1, true), true, 1, 0, false, false, false),
                    {3, 2, 4}, {1, 2, 2}, {56}),
                  E("lstm: packed data must be (steps, in), got [3, 2, 3]",
                    lstm(x, w, Tensors{y, y}, params(z, 4, 1, 1, true), true, 1, 0, false, false), {3, 2, 3},
                    {1, 2, 2}, {56}, index_list({3}))},
       .property = check_layer_dropout,
       .uncompared = {kHalf, kBFloat16},
       .why_uncompared = "products of linear",
       .no_empty = "PyTorch refuses it",
       .no_layouts = "an expanded list of batch sizes is another list",
       .no_scalar = "takes (T, N, in)"},
  };
}

}  // namespace

std::vector<Row> recurrent_rows() { return join({cell_rows(), simple_layer_rows(), lstm_rows()}); }

}  // namespace tarn::testing
