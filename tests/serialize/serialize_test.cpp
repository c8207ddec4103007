#include <tarn/serialize/serialize.h>

#include <tarn/nn/holder.h>
#include <tarn/optim/sgd.h>
#include <tarn/tests/python.h>
#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;

struct LayerImpl : nn::Module {
  LayerImpl() {
    weight = register_parameter("weight", formula_tensor({2, 3}));
    running_mean = register_buffer("running_mean", formula_tensor({2}));
  }
  Tensor weight, running_mean;
};

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", std::make_shared<LayerImpl>());
    bias = register_parameter("bias", formula_tensor({4}));
  }
  std::shared_ptr<LayerImpl> first;
  Tensor bias;
};

TEST_CASE("a module's state is saved and loaded by PyTorch's names") {
  TempDir folder;
  auto net = std::make_shared<NetImpl>(), other = std::make_shared<NetImpl>();
  {
    NoGradGuard guard;
    other->bias.zero_();
    other->first->running_mean.zero_();
  }
  save(net, folder / "net");
  load(other, folder / "net");
  CHECK_SAME(other->bias, net->bias);
  CHECK_SAME(other->first->running_mean, net->first->running_mean);
  if (auto read = ask_python("serialize/read_safetensors.py", folder / "net"))
    CHECK(*read ==
          "bias float32 [4] [-2.984375, 0.046875, 3.078125]\n"
          "first.running_mean float32 [2] [-2.984375, 0.046875]\n"
          "first.weight float32 [2, 3] [-2.984375, 0.046875, 3.078125]\n");
}

TEST_CASE("a module refuses a file that does not fit and stays as it was") {
  TempDir folder;
  auto net = std::make_shared<NetImpl>();
  Tensor before = net->bias.clone();
  safetensors::File file;
  file.tensors["bias"] = tensor_of({1, 2, 3, 4});
  file.tensors["extra"] = tensor_of({1});
  safetensors::save(file, folder / "x");
  std::string text = error_of([&] { load(net, folder / "x"); });
  CHECK(text.find("first.weight") != std::string::npos);
  CHECK(text.find("extra") != std::string::npos);
  CHECK_SAME(net->bias, before);
}

TEST_CASE("tensors are saved alone and in vectors") {
  TempDir folder;
  Tensor x = formula_tensor({2, 2}, kDouble), y;
  save(x, folder / "x");
  load(y, folder / "x");
  CHECK_SAME(y, x);

  std::vector<Tensor> many, loaded;
  for (int i = 0; i < 12; ++i) many.push_back(tensor_of({double(i)}, kLong));
  save(many, folder / "many");
  load(loaded, folder / "many");
  REQUIRE(loaded.size() == 12);
  for (int i = 0; i < 12; ++i) CHECK_SAME(loaded[i], many[i]);
  CHECK_ERROR(load(y, folder / "many"), "load: " + (folder / "many") + " holds 12 tensors, expected one");
  CHECK_ERROR(load(loaded, folder / "x"),
              "load: " + (folder / "x") + " holds 1 tensors, but none named \"0\"");
}

TEST_CASE("an optimizer's momentum and options are saved and loaded") {
  TempDir folder;
  auto trained = [](double lr, int steps) {
    Tensor w = formula_tensor({3});
    auto optimizer = std::make_unique<optim::SGD>(std::vector<Tensor>{w.requires_grad_()},
                                                  optim::SGDOptions(lr).momentum(0.9));
    for (int i = 0; i < steps; ++i) {
      w.set_grad(formula_tensor({3}, kFloat, kUnit));
      optimizer->step();
    }
    return optimizer;
  };
  auto first = trained(0.5, 2), second = trained(0.1, 0);
  save(*first, folder / "sgd");
  load(*second, folder / "sgd");
  optim::Optimizer::State want = first->state_dict(), got = second->state_dict();
  REQUIRE(got.size() == want.size());
  for (const auto& item : want) CHECK_SAME(got[item.key()], item.value());
}

TEST_CASE("a null module is refused") {
  std::shared_ptr<NetImpl> none;
  CHECK_ERROR(save(none, "x"), "save: the module is null");
  CHECK_ERROR(load(none, "x"), "load: the module is null; make it first");
}

}  // namespace
}  // namespace tarn
