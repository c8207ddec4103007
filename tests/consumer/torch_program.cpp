// A program written for libtorch, unchanged.
#include <torch/torch.h>

#include <iostream>

struct NetImpl : torch::nn::Module {
  NetImpl() { fc = register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(4, 2).bias(false))); }
  torch::Tensor forward(torch::Tensor x) { return torch::relu(fc->forward(x)); }
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

int main() {
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto loss = torch::mse_loss(net->forward(torch::ones({3, 4})), torch::ones({3, 2}));
  loss.backward();
  optimizer.step();
  std::cout << "torch program: loss " << loss.item<float>() << std::endl;
}
