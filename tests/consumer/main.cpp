// What a foreign project does with Tarn: tensors, a gradient, a module, an error that reaches its catch.
#include <tarn/tarn.h>
#include <cstdio>

int main() {
  tarn::manual_seed(0);
  tarn::nn::Linear layer(3, 2);
  tarn::Tensor loss = layer->forward(tarn::ones({4, 3})).pow(2).sum();
  loss.backward();
  if (layer->weight.grad().sizes() != layer->weight.sizes()) return 1;

  try {
    tarn::matmul(tarn::ones({2, 3}), tarn::ones({2, 3}));
    return 2;
  } catch (const tarn::Error& error) {
    std::printf("consumer: loss %.3f; %s\n", loss.item<double>(), error.what());
  }
  return 0;
}
