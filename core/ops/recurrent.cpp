// Recurrent networks, made of other ops. A sequence is a list of steps whose batch may shrink (packed
// sequences are sorted by length); the inputs' share of all gates is one product for all steps.
#include <tarn/core/ops/recurrent.h>

#include <limits>
#include <vector>

#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// The parameters of one layer in one direction.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

struct State {
  Tensor h, c;  // c: lstm only
};

// How one step goes. `gates` is the input's share, w_ih x + b_ih.
struct Cell {
  const char* name;
  int64_t gates;
  State (*step)(const Tensor& gates, const State& state, const Weights& w);
};

Tensor hidden_share(const State& s, const Weights& w) { return linear(s.h, w.w_hh, w.b_hh); }

State tanh_step(const Tensor& gates, const State& s, const Weights& w) {
  return {tanh(gates + hidden_share(s, w)), {}};
}

State relu_step(const Tensor& gates, const State& s, const Weights& w) {
  return {relu(gates + hidden_share(s, w)), {}};
}

State gru_step(const Tensor& gates, const State& s, const Weights& w) {
  std::vector<Tensor> x = chunk(gates, 3, -1), h = chunk(hidden_share(s, w), 3, -1);
  Tensor r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), n = tanh(x[2] + r * h[2]);
  return {n + z * (s.h - n), {}};
}

State lstm_step(const Tensor& gates, const State& s, const Weights& w) {
  std::vector<Tensor> x = chunk(gates + hidden_share(s, w), 4, -1);
  Tensor c = sigmoid(x[1]) * s.c + sigmoid(x[0]) * tanh(x[2]);
  Tensor h = sigmoid(x[3]) * tanh(c);
  return {w.w_hr.defined() ? linear(h, w.w_hr) : h, c};
}

constexpr Cell kTanh = {"rnn_tanh", 1, tanh_step}, kRelu = {"rnn_relu", 1, relu_step},
               kGru = {"gru", 3, gru_step}, kLstm = {"lstm", 4, lstm_step};

// --- one layer, one direction ---

// The first n sequences of a state, and the rest.
State first_of(const State& s, int64_t n) {
  if (s.h.size(0) == n) return s;
  return {narrow(s.h, 0, 0, n), s.c.defined() ? narrow(s.c, 0, 0, n) : Tensor()};
}

State rest_of(const State& s, int64_t n) {
  int64_t count = s.h.size(0) - n;
  return {narrow(s.h, 0, n, count), s.c.defined() ? narrow(s.c, 0, n, count) : Tensor()};
}

State joined(const State& a, const State& b) {
  return {cat({a.h, b.h}, 0), a.c.defined() ? cat({a.c, b.c}, 0) : Tensor()};
}

struct LayerResult {
  Tensor output;  // (steps, H)
  State last;
};

LayerResult run_forward(const Cell& cell, const std::vector<Tensor>& gates, State state, const Weights& w) {
  std::vector<Tensor> outputs;
  std::vector<State> ended;  // sequences that are over, the shortest first
  for (const Tensor& step : gates) {
    int64_t batch = step.size(0);
    if (batch < state.h.size(0)) {
      ended.push_back(rest_of(state, batch));
      state = first_of(state, batch);
    }
    state = cell.step(step, state, w);
    outputs.push_back(state.h);
  }
  for (; !ended.empty(); ended.pop_back()) state = joined(state, ended.back());
  return {cat(outputs, 0), state};
}

LayerResult run_backward(const Cell& cell, const std::vector<Tensor>& gates, const State& initial,
                         const Weights& w) {
  std::vector<Tensor> outputs(gates.size());
  State state = first_of(initial, gates.back().size(0));
  for (size_t t = gates.size(); t-- > 0;) {
    int64_t batch = gates[t].size(0), before = state.h.size(0);
    if (batch > before) state = joined(state, rest_of(first_of(initial, batch), before));
    state = cell.step(gates[t], state, w);
    outputs[t] = state.h;
  }
  return {cat(outputs, 0), state};
}

// --- all layers ---

struct Settings {
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;
};

void check_weights(const char* op, const Cell& cell, const Weights& w, int64_t inputs, int64_t hidden,
                   int64_t cell_size, int64_t number) {
  int64_t rows = cell.gates * cell_size;
  auto fits = [](const Tensor& t, IntArrayRef sizes) { return t.defined() && t.sizes() == sizes; };
  check(fits(w.w_ih, {rows, inputs}) && fits(w.w_hh, {rows, hidden}), op, ": weights of layer ", number,
        " must be [", rows, ", ", inputs, "] and [", rows, ", ", hidden, "], got ", w.w_ih.sizes(), " and ",
        w.w_hh.sizes());
  if (w.b_ih.defined() || w.b_hh.defined())
    check(fits(w.b_ih, {rows}) && fits(w.b_hh, {rows}), op, ": biases of layer ", number, " must be [", rows,
          "]");
  if (w.w_hr.defined())
    check(fits(w.w_hr, {hidden, cell_size}), op, ": projection of layer ", number, " must be [", hidden, ", ",
          cell_size, "], got ", w.w_hr.sizes());
}

std::vector<Weights> all_weights(const Cell& cell, TensorList params, const Settings& s, bool projected) {
  const size_t count = size_t(s.num_layers) * (s.bidirectional ? 2 : 1);
  const size_t each = 2 + (s.has_biases ? 2 : 0) + (projected ? 1 : 0);
  check(params.size() == count * each, cell.name, ": needs ", count * each, " parameters, ", each,
        " per layer and direction, got ", params.size());
  std::vector<Weights> all;
  for (size_t i = 0; i < params.size(); i += each) {
    Weights w{params[i], params[i + 1], {}, {}, {}};
    if (s.has_biases) w.b_ih = params[i + 2], w.b_hh = params[i + 3];
    if (projected) w.w_hr = params[i + each - 1];
    all.push_back(std::move(w));
  }
  return all;
}

struct NetResult {
  Tensor output, h, c;
};

// data (steps, in), batch[t] steps at time t; state (layers * directions, N, H).
NetResult run_net(const Cell& cell, Tensor data, IntArrayRef batch, const State& state, TensorList params,
                  const Settings& s) {
  const char* op = cell.name;
  check(s.num_layers > 0, op, ": num_layers must be at least 1, got ", s.num_layers);
  check(s.num_layers <= std::numeric_limits<int32_t>::max(), op, ": num_layers must be at most ",
        std::numeric_limits<int32_t>::max(), ", got ", s.num_layers);
  const int64_t directions = s.bidirectional ? 2 : 1, hidden = state.h.size(-1);
  const int64_t cell_size = state.c.defined() ? state.c.size(-1) : hidden;
  check(state.h.dim() == 3 && state.h.size(0) == s.num_layers * directions && state.h.size(1) == batch[0], op,
        ": the hidden state must be (", s.num_layers * directions, ", ", batch[0], ", H), got ",
        state.h.sizes());
  check(!state.c.defined() ||
            (state.c.dim() == 3 && state.c.size(0) == state.h.size(0) && state.c.size(1) == state.h.size(1)),
        op, ": the cell state must be (", s.num_layers * directions, ", ", batch[0], ", H), got ",
        state.c.defined() ? state.c.sizes() : IntArrayRef());
  std::vector<Weights> weights = all_weights(cell, params, s, cell_size != hidden);

  std::vector<Tensor> last_h, last_c;
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t i = layer * directions + direction;
      const Weights& w = weights[size_t(i)];
      check_weights(op, cell, w, data.size(-1), hidden, cell_size, layer);
      std::vector<Tensor> gates = split(linear(data, w.w_ih, w.b_ih), batch, 0);
      State initial{state.h.select(0, i), state.c.defined() ? state.c.select(0, i) : Tensor()};
      LayerResult r =
          direction ? run_backward(cell, gates, initial, w) : run_forward(cell, gates, initial, w);
      outputs.push_back(r.output);
      last_h.push_back(r.last.h);
      if (r.last.c.defined()) last_c.push_back(r.last.c);
    }
    data = outputs.size() == 1 ? outputs[0] : cat(outputs, -1);
    if (layer + 1 < s.num_layers) data = dropout(data, s.dropout, s.train);
  }
  return {data, stack(last_h, 0), last_c.empty() ? Tensor() : stack(last_c, 0)};
}

NetResult run_padded(const Cell& cell, const Tensor& input, const State& state, TensorList params,
                     const Settings& s, bool batch_first) {
  check(input.dim() == 3, cell.name, ": input must be ", batch_first ? "(N, T, in)" : "(T, N, in)", ", got ",
        input.sizes());
  Tensor x = batch_first ? input.transpose(0, 1) : input;
  int64_t steps = x.size(0), batch = x.size(1);
  check(steps > 0, cell.name, ": needs at least one step, got input ", input.sizes());
  std::vector<int64_t> sizes(size_t(steps), batch);
  NetResult r = run_net(cell, x.reshape({steps * batch, x.size(2)}), sizes, state, params, s);
  r.output = r.output.view({steps, batch, r.output.size(-1)});
  if (batch_first) r.output = r.output.transpose(0, 1);
  return r;
}

NetResult run_packed(const Cell& cell, const Tensor& data, const Tensor& batch_sizes, const State& state,
                     TensorList params, const Settings& s) {
  const char* op = cell.name;
  check(data.dim() == 2, op, ": packed data must be (steps, in), got ", data.sizes());
  check(batch_sizes.dim() == 1 && batch_sizes.dtype() == kLong && batch_sizes.is_cpu() &&
            batch_sizes.numel() > 0,
        op, ": batch_sizes must be a vector of Long on the CPU, got ", batch_sizes.dtype(), " ",
        batch_sizes.sizes());
  Tensor list = batch_sizes.contiguous();
  const int64_t* values = list.data_ptr<int64_t>();
  std::vector<int64_t> sizes(values, values + list.numel());
  int64_t total = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    check(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]), op,
          ": batch_sizes must be positive and not increase, got ", IntArrayRef(sizes));
    total += sizes[t];
  }
  check(total == data.size(0), op, ": batch_sizes add up to ", total, ", packed data are ", data.sizes());
  return run_net(cell, data, sizes, state, params, s);
}

State lstm_state(TensorList hx, const char* op) {
  check(hx.size() == 2, op, ": hx must be {h, c}, got ", hx.size(), hx.size() == 1 ? " tensor" : " tensors");
  return {hx[0], hx[1]};
}

std::tuple<Tensor, Tensor> pair(const NetResult& r) { return {r.output, r.h}; }
std::tuple<Tensor, Tensor, Tensor> triple(const NetResult& r) { return {r.output, r.h, r.c}; }

// --- cells ---

State run_cell(const char* op, const Cell& cell, const Tensor& input, const State& state, const Weights& w) {
  check(input.dim() == 1 || input.dim() == 2, op, ": input must be (N, in) or (in), got ", input.sizes());
  check(state.h.dim() == input.dim() && (input.dim() == 1 || state.h.size(0) == input.size(0)), op,
        ": the hidden state ", state.h.sizes(), " does not fit input ", input.sizes());
  check(!state.c.defined() || state.c.sizes() == state.h.sizes(), op, ": the cell state must be ",
        state.h.sizes(), ", got ", state.c.defined() ? state.c.sizes() : IntArrayRef());
  check_weights(op, cell, w, input.size(-1), state.h.size(-1), state.h.size(-1), 0);
  return cell.step(linear(input, w.w_ih, w.b_ih), state, w);
}

}  // namespace

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell("rnn_tanh_cell", kTanh, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell("rnn_relu_cell", kRelu, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell("gru_cell", kGru, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  State s = run_cell("lstm_cell", kLstm, input, lstm_state(hx, "lstm_cell"), {w_ih, w_hh, b_ih, b_hh, {}});
  return {s.h, s.c};
}

std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first) {
  return pair(run_padded(kTanh, input, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first) {
  return pair(run_padded(kRelu, input, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional,
                               bool batch_first) {
  return pair(run_padded(kGru, input, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  return triple(run_padded(kLstm, input, lstm_state(hx, "lstm"), params,
                           {has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                    bool train, bool bidirectional) {
  return pair(run_packed(kTanh, data, batch_sizes, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}));
}

std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                    bool train, bool bidirectional) {
  return pair(run_packed(kRelu, data, batch_sizes, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}));
}

std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                               TensorList params, bool has_biases, int64_t num_layers, double dropout,
                               bool train, bool bidirectional) {
  return pair(run_packed(kGru, data, batch_sizes, {hx, {}}, params,
                         {has_biases, num_layers, dropout, train, bidirectional}));
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                        TensorList params, bool has_biases, int64_t num_layers,
                                        double dropout, bool train, bool bidirectional) {
  return triple(run_packed(kLstm, data, batch_sizes, lstm_state(hx, "lstm"), params,
                           {has_biases, num_layers, dropout, train, bidirectional}));
}

}  // namespace tarn::inline v1
