// Sequential, AnyModule, ModuleList, ModuleDict and OrderedDict.
#include <tarn/nn/nn.h>
#include <tarn/tarn.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct AddImpl : nn::Module {
  Tensor forward(const Tensor& a, const Tensor& b) { return a + b; }
};
TARN_MODULE(Add);

struct SplitImpl : nn::Module {
  std::tuple<Tensor, Tensor> forward(Tensor x) { return {x, x * 2}; }
};
TARN_MODULE(Split);

struct JoinImpl : nn::Module {
  Tensor forward(std::tuple<Tensor, Tensor> pair) { return std::get<0>(pair) + std::get<1>(pair); }
};
TARN_MODULE(Join);

struct DefaultsImpl : nn::Module {
  Tensor forward(const Tensor& x, double factor = 3) { return x * factor; }
};
TARN_MODULE(Defaults);

Tensor twice(const Tensor& x) { return x * 2; }

// A class of its own that is a Sequential.
struct BlockImpl : nn::SequentialImpl {
  BlockImpl() { push_back(nn::Functional(twice)); }
  Tensor forward(Tensor x) { return SequentialImpl::forward(x) + x; }
};
TARN_MODULE(Block);

}  // namespace

TEST_CASE("Sequential calls modules, functions, lambdas and Sequentials in order", "[nn]") {
  nn::Sequential net(
      nn::Functional(twice), [](const Tensor& x) { return x + 1; }, nn::Sequential(nn::Identity(), twice),
      Block(), std::make_shared<DefaultsImpl>());
  CHECK_SAME(net->forward(ones({2})), full({2}, 54.0));
  CHECK_SAME(net(ones({2})), full({2}, 54.0));
}

TEST_CASE("Functional keeps later arguments", "[nn]") {
  nn::Functional leaky([](const Tensor& x, double slope) { return x * slope; }, 0.5);
  CHECK_SAME(leaky(ones({2})), full({2}, 0.5));
}

TEST_CASE("a Sequential takes several inputs and passes values of any type on", "[nn]") {
  nn::Sequential net{Add(), Split(), Join()};
  CHECK_SAME(net->forward(ones({2}), ones({2})), full({2}, 6.0));
  nn::Sequential open{Split()};
  auto pair = open->forward<std::tuple<Tensor, Tensor>>(ones({2}));
  CHECK_SAME(std::get<1>(pair), full({2}, 2.0));
}

TEST_CASE("a Sequential has names, indices and iteration", "[nn]") {
  nn::Sequential net({{"up", nn::Linear(1, 2)}, {"act", nn::Tanh()}});
  net->push_back("down", nn::Linear(2, 1));
  net->push_back(nn::ReLU());
  CHECK(net->size() == 4);
  CHECK(net->named_children().keys() == std::vector<std::string>{"up", "act", "down", "3"});
  CHECK(net->at<nn::LinearImpl>(2).weight.sizes() == IntArrayRef({1, 2}));
  CHECK(net[1]->as<nn::Tanh>() != nullptr);
  int linears = 0;
  for (const auto& module : *net) linears += module.ptr()->as<nn::Linear>() != nullptr;
  CHECK(linears == 2);
  nn::Sequential longer;
  longer->extend(*net);
  CHECK(longer->size() == 4);
}

TEST_CASE("a Sequential's mistakes are named", "[nn]") {
  nn::Sequential net{nn::ReLU()};
  CHECK_ERROR(nn::Sequential()->forward(ones({2})), "Sequential: forward of an empty Sequential");
  CHECK_ERROR(net->ptr(1), "Sequential: index 1 is outside of 1 modules");
  CHECK_ERROR(net->at<nn::TanhImpl>(0), "AnyModule: holds tarn::nn::ReLUImpl, asked for another class");
  CHECK_ERROR(net->push_back("a.b", nn::ReLU()),
              "register_module: the name must not contain a dot, got 'a.b'");
  CHECK_ERROR(net->forward(ones({2}), ones({2})), "forward: tarn::nn::ReLUImpl (0) takes 1 arguments, got 2");
  CHECK_ERROR(net->forward(3), "forward: argument 0 of tarn::nn::ReLUImpl (0) must be Tensor, got int");
  CHECK_ERROR(net->forward<double>(ones({2})), "AnyValue: holds Tensor, asked for another type");
}

TEST_CASE("a clone of a Sequential is of the same classes with its own parameters", "[nn]") {
  nn::Sequential net({{"a", nn::Linear(2, 2)}, {"b", nn::Functional(twice)}});
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  CHECK(copy->named_children().keys() == std::vector<std::string>{"a", "b"});
  CHECK_SAME(copy->at<nn::LinearImpl>(0).weight.detach(), net->at<nn::LinearImpl>(0).weight.detach());
  CHECK(!copy->parameters()[0].is_alias_of(net->parameters()[0]));
  CHECK(error_of([] { Block()->clone(); }).find("derives from SequentialImpl") != std::string::npos);
}

TEST_CASE("ModuleList registers modules by index", "[nn]") {
  nn::ModuleList list(nn::Linear(1, 2), nn::ReLU());
  list->push_back(nn::Linear(2, 3));
  list->insert(1, nn::Tanh());
  CHECK(list->size() == 4);
  CHECK(list->named_parameters().keys() ==
        std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"});
  CHECK(list[1]->as<nn::Tanh>() != nullptr);
  CHECK(list->at<nn::LinearImpl>(3).weight.sizes() == IntArrayRef({3, 2}));
  CHECK(list->ptr(3)->path() == "3");
  int count = 0;
  for (const auto& module : *list) count += module->as<nn::Linear>() != nullptr;
  CHECK(count == 2);
  CHECK_ERROR(list->ptr(4), "ModuleList: index 4 is outside of 4 modules");
  CHECK_ERROR(list->at<nn::LinearImpl>(1),
              "ModuleList: module 1 is a tarn::nn::TanhImpl, asked for another class");
  auto copy = std::dynamic_pointer_cast<nn::ModuleListImpl>(list->clone());
  CHECK(copy->size() == 4);
  CHECK(!copy->parameters()[0].is_alias_of(list->parameters()[0]));
}

TEST_CASE("ModuleDict registers modules by name", "[nn]") {
  nn::ModuleDict dict;
  dict->insert("conv", nn::Linear(1, 2));
  dict->insert("act", nn::ReLU());
  dict->insert("conv", nn::Linear(3, 4));
  CHECK(dict->keys() == std::vector<std::string>{"conv", "act"});
  CHECK(dict->at<nn::LinearImpl>("conv").weight.sizes() == IntArrayRef({4, 3}));
  CHECK(dict->contains("act"));
  CHECK(dict->pop("act")->as<nn::ReLU>() != nullptr);
  CHECK(dict->size() == 1);
  CHECK_ERROR(dict["act"], "submodule 'act' is not defined");
}

TEST_CASE("OrderedDict keeps the order of insertion and finds every key", "[nn]") {
  OrderedDict<std::string, int64_t> dict("thing");
  for (int64_t i = 0; i < 1000; ++i) dict.insert("k" + std::to_string(i * 7919 % 1000), i);
  CHECK(dict.size() == 1000);
  int64_t place = 0, wrong = 0;
  for (const auto& item : dict) wrong += item.value() != place++ || dict[item.key()] != item.value();
  CHECK(wrong == 0);
  dict.erase("k0");
  CHECK(!dict.contains("k0"));
  CHECK(dict["k919"] == 1);
  CHECK(dict[size_t(0)].key() == "k919");
  CHECK_ERROR(dict["k0"], "thing 'k0' is not defined");
  CHECK_ERROR(dict.insert("k5", 1), "thing 'k5' already defined");
}
