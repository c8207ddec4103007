// A program in libtorch's words, built against compat/torch/torch.h.
#include <tarn/compat/torch/torch.h>
#include <tarn/tests/catch.h>

// A program may reopen torch's namespaces.
namespace torch {
namespace nn {
struct ScaleImpl : Module {
  explicit ScaleImpl(double factor) : factor(factor) {}
  Tensor forward(const Tensor& x) { return x * factor; }
  double factor;
};
TORCH_MODULE(Scale);
}  // namespace nn
Tensor twice(const Tensor& x) { return x * 2; }
}  // namespace torch

namespace F = torch::nn::functional;

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t in, int64_t out)
      : fc1(torch::nn::LinearOptions(in, 16).bias(true)),
        fc2(register_module("fc2", torch::nn::Linear(16, out))) {
    register_module("fc1", fc1);
    extra = register_module("extra", torch::nn::Sequential());
    extra->push_back(torch::nn::Functional(torch::tanh));
    extra->push_back("scale", torch::nn::Scale(1.0));
    gain = register_parameter("gain", torch::ones({1}));
    for (int i = 0; i < 2; ++i) layers->push_back(torch::nn::Linear(16, 16));
    register_module("layers", layers);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(fc1->forward(x.reshape({x.size(0), -1})));
    for (const auto& layer : *layers) x = layer->as<torch::nn::Linear>()->forward(x);
    x = F::dropout(x, F::DropoutFuncOptions().p(0.5).training(false));
    return fc2(extra->forward(x)) * gain;
  }

  torch::nn::Linear fc1, fc2;
  torch::nn::Sequential extra{nullptr};
  torch::nn::ModuleList layers;
  torch::Tensor gain;
};
TORCH_MODULE(Net);

void weights_init(torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  if (auto* linear = module.as<torch::nn::Linear>()) {
    torch::nn::init::xavier_uniform_(linear->weight);
    torch::nn::init::constant_(linear->bias, 0.0);
  }
}

}  // namespace

TEST_CASE("a libtorch program trains", "[nn]") {
  torch::manual_seed(1);
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  Net net(2, 2);
  net->apply(weights_init);
  net->to(device);
  net->train();
  torch::Tensor x = torch::rand({64, 2}, torch::TensorOptions().device(device)) - 0.5;
  torch::Tensor y = ((x.select(1, 0) * x.select(1, 1)) > 0).to(torch::kLong);  // xor of the signs
  torch::optim::Adam optimizer(net->parameters(),
                               torch::optim::AdamOptions(0.01).betas(std::make_tuple(0.9, 0.99)));
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/150, /*gamma=*/0.1);
  double first = 0, last = 0;
  for (int epoch = 0; epoch < 200; ++epoch) {
    optimizer.zero_grad();
    torch::Tensor loss =
        F::cross_entropy(net->forward(x), y, F::CrossEntropyFuncOptions().reduction(torch::kMean));
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net->parameters(), 5.0);
    optimizer.step();
    scheduler.step();
    (epoch == 0 ? first : last) = loss.item<double>();
  }
  net->eval();
  torch::NoGradGuard no_grad;
  double right = net->forward(x).argmax(1).eq(y).to(torch::kFloat).mean().item<double>();
  CHECK(first > 0.5);
  CHECK(last < 0.2);
  CHECK(right > 0.9);
}

TEST_CASE("libtorch's ways with options, groups and names", "[nn]") {
  Net net(3, 4);
  torch::optim::SGD optimizer(net->parameters(), /*lr=*/0.25);
  for (auto& group : optimizer.param_groups())
    if (group.has_options()) static_cast<torch::optim::SGDOptions&>(group.options()).lr(0.5);
  CHECK(optimizer.param_groups()[0].options().get_lr() == 0.5);
  std::vector<std::string> names;
  for (auto& pair : net->named_parameters()) names.push_back(pair.key());
  CHECK(names.front() == "gain");
  CHECK(net->named_parameters().contains("layers.1.bias"));
  torch::OrderedDict<std::string, torch::Tensor> dict = net->named_parameters();
  CHECK(dict.find("fc1.weight")->sizes() == torch::IntArrayRef({16, 3}));
  c10::optional<int64_t> none = c10::nullopt;
  CHECK(!none.has_value());
  at::Tensor same = torch::twice(torch::ones({2}));
  CHECK(same.sum().item<float>() == 4);
}

TEST_CASE("TORCH_CHECK throws with its parts, or with the condition", "[nn]") {
  auto text = [](auto f) {
    try {
      f();
    } catch (const c10::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(text([] {
          TORCH_CHECK(1 > 2, "one is ", 1, " of ", torch::ones({2, 3}).sizes());
        }) == "one is 1 of [2, 3]");
  CHECK(text([] { TORCH_CHECK(1 > 2); }) == "Expected 1 > 2 to be true, but got false.");
  CHECK(text([] { TORCH_CHECK(2 > 1, "never"); }) == "no error");
}

TEST_CASE("modules print to a stream through every handle", "[nn]") {
  torch::nn::Linear layer(2, 3);
  std::ostringstream holder, value, pointer;
  holder << layer;
  value << *layer;
  pointer << std::static_pointer_cast<torch::nn::Module>(layer.ptr());
  CHECK(holder.str() == "tarn::nn::Linear(in_features=2, out_features=3, bias=true)");
  CHECK(value.str() == holder.str());
  CHECK(pointer.str() == holder.str());
}
