// Recurrent networks: cells of one step, and layers over sequences.
#pragma once

#include <tuple>

#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// One step: input (N, in) or (in), hidden state hx (N, H) or (H), w_ih (gates * H, in), w_hh (gates * H, H),
// biases (gates * H) or undefined.
//   rnn   h = f(w_ih x + b_ih + w_hh h + b_hh), f tanh or relu
//   gru   gates r, z, n: n = tanh(w_in x + b_in + r * (w_hn h + b_hn)), h = (1 - z) * n + z * h
//         (Cho et al., arXiv:1406.1078)
//   lstm  gates i, f, g, o: c = f * c + i * tanh(g), h = o * tanh(c); hx is {h, c} and so is the result
//         (Hochreiter and Schmidhuber, 1997)
TARN_API Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                              const Tensor& b_ih = {}, const Tensor& b_hh = {});
TARN_API Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                              const Tensor& b_ih = {}, const Tensor& b_hh = {});
TARN_API Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                         const Tensor& b_ih = {}, const Tensor& b_hh = {});
TARN_API std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                              const Tensor& w_hh, const Tensor& b_ih = {},
                                              const Tensor& b_hh = {});

// Layers: input (T, N, in), or (N, T, in) with batch_first; hx (num_layers * directions, N, H) -> output (T,
// N, directions * H), and the last hidden states in hx's sizes. params: for each layer, and each direction in
// it, w_ih, w_hh and, with has_biases, b_ih, b_hh; an lstm with projections also w_hr (P, H), and then hidden
// states have P elements. Between layers, `dropout` is applied if `train`.
TARN_API std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params,
                                             bool has_biases, int64_t num_layers, double dropout, bool train,
                                             bool bidirectional, bool batch_first);
TARN_API std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params,
                                             bool has_biases, int64_t num_layers, double dropout, bool train,
                                             bool bidirectional, bool batch_first);
TARN_API std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first);
TARN_API std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params,
                                                 bool has_biases, int64_t num_layers, double dropout,
                                                 bool train, bool bidirectional, bool batch_first);

// The same for packed sequences: data (steps, in) holds, time after time, the batch_sizes[t] sequences (Long,
// on the CPU, not increasing) that have a step t.
TARN_API std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                             TensorList params, bool has_biases, int64_t num_layers,
                                             double dropout, bool train, bool bidirectional);
TARN_API std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                             TensorList params, bool has_biases, int64_t num_layers,
                                             double dropout, bool train, bool bidirectional);
TARN_API std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                        TensorList params, bool has_biases, int64_t num_layers,
                                        double dropout, bool train, bool bidirectional);
TARN_API std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                                 TensorList params, bool has_biases, int64_t num_layers,
                                                 double dropout, bool train, bool bidirectional);

}  // namespace tarn::inline v1
