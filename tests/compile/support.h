// What the compile room's tests share: counters of one stretch of work, and comparisons of a compiled run
// with an eager one.
#pragma once

#include <tarn/tarn.h>

#include <tarn/tests/support.h>

namespace tarn::testing {

// What compile_stats() has grown by since this was made.
class Growth {
 public:
  Growth() : before_(compile_stats()) {}
  int64_t operator()(int64_t CompileStats::*counter) const {
    return compile_stats().*counter - before_.*counter;
  }

 private:
  CompileStats before_;
};

// Bitwise equality of two lists of tensors.
inline std::string bit_difference_of(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  if (got.size() != want.size()) return str("got ", got.size(), " tensors, expected ", want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    std::string text = bit_difference(got[i], want[i]);
    if (!text.empty()) return str("tensor ", i, ": ", text);
  }
  return "";
}

// A small network with its optimizer, always the same.
struct Task {
  nn::Sequential net;
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Task(bool adam = false, bool norm = true) {
    manual_seed(3);
    net->push_back(nn::Linear(6, 8));
    if (norm) net->push_back(nn::BatchNorm1d(8));
    net->push_back(nn::ReLU());
    net->push_back(nn::Dropout(0.25));
    net->push_back(nn::Linear(8, 3));
    if (adam)
      optimizer = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.01));
    else
      optimizer = std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  }

  Tensor step(const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    Tensor loss = cross_entropy_loss(net->forward(x), y);
    loss.backward();
    optimizer->step();
    return loss.detach();
  }

  // Parameters, buffers and the optimizer's memory.
  std::vector<Tensor> state() {
    std::vector<Tensor> all = net->parameters();
    for (const Tensor& t : net->buffers()) all.push_back(t);
    for (const auto& item : optimizer->state_dict()) all.push_back(item.value());
    return all;
  }
};

inline Tensor batch(int64_t n, int step) {
  return formula_tensor({n, 6}, kFloat, {.b = 60 + 37 * step, .d = 128});
}
inline Tensor labels(int64_t n, int step) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(double((i * 7 + step) % 3));
  return tensor_of(values, kLong);
}

}  // namespace tarn::testing
