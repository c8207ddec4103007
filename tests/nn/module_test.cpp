// Module: the tree of names, state, state dicts, copies, printing.
#include <sstream>

#include <tarn/nn/nn.h>
#include <tarn/tarn.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct BlockImpl : nn::Cloneable<BlockImpl> {
  explicit BlockImpl(int64_t width) : width(width) { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(width, width));
    norm = register_module("norm", nn::BatchNorm1d(width));
  }
  Tensor forward(const Tensor& x) { return norm(fc(x)); }
  int64_t width;
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TARN_MODULE(Block);

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", Block(2));
    layers = register_module("layers", nn::Sequential(nn::Linear(2, 3), nn::ReLU(), Block(3)));
    scale = register_parameter("scale", ones({2}));
  }
  Tensor forward(const Tensor& x) { return layers->forward(first(x * scale)); }
  Block first{nullptr};
  nn::Sequential layers{nullptr};
  Tensor scale;
};
TARN_MODULE(Net);

// What no Cloneable is.
struct PlainImpl : nn::Module {
  PlainImpl() { weight = register_parameter("weight", ones({2})); }
  Tensor weight;
};
TARN_MODULE(Plain);

std::string printed(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace

TEST_CASE("parameters are named by their path, the module's own first", "[nn]") {
  Net net;
  CHECK(net->named_parameters().keys() ==
        std::vector<std::string>{"scale", "first.fc.weight", "first.fc.bias", "first.norm.weight",
                                 "first.norm.bias", "layers.0.weight", "layers.0.bias", "layers.2.fc.weight",
                                 "layers.2.fc.bias", "layers.2.norm.weight", "layers.2.norm.bias"});
  CHECK(net->parameters().size() == 11);
  CHECK(net->parameters(/*recurse=*/false).size() == 1);
  CHECK(net->named_parameters()["layers.0.weight"].is_same(net->layers->at<nn::LinearImpl>(0).weight));
  for (const auto& item : net->named_parameters()) CHECK(item.value().requires_grad());
}

TEST_CASE("buffers are named by their path and need no gradient", "[nn]") {
  Block block(2);
  CHECK(block->named_buffers().keys() ==
        std::vector<std::string>{"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"});
  for (const Tensor& buffer : block->buffers()) CHECK(!buffer.requires_grad());
}

TEST_CASE("modules come parents first, each once", "[nn]") {
  Net net;
  CHECK(net->named_modules().keys() == std::vector<std::string>{"", "first", "first.fc", "first.norm",
                                                                "layers", "layers.0", "layers.1", "layers.2",
                                                                "layers.2.fc", "layers.2.norm"});
  CHECK(net->modules(/*include_self=*/false).size() == 9);
  CHECK(net->children().size() == 2);
  CHECK(net->named_children().keys() == std::vector<std::string>{"first", "layers"});
}

TEST_CASE("a parameter or module reached twice is one", "[nn]") {
  nn::Linear shared(2, 2);
  nn::Sequential net(shared, nn::ReLU(), shared);
  CHECK(net->parameters().size() == 2);
  CHECK(net->modules().size() == 3);
  CHECK(net->state_dict().keys() == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
}

TEST_CASE("a module on the stack works, but cannot hand out itself", "[nn]") {
  PlainImpl plain;
  CHECK(plain.parameters().size() == 1);
  CHECK(error_of([&] { plain.modules(); }).find("is not owned by a shared_ptr") != std::string::npos);
}

TEST_CASE("get_submodule and its like follow a path", "[nn]") {
  Net net;
  CHECK(net->get_submodule("layers.2.fc")->as<nn::Linear>() != nullptr);
  CHECK(net->get_submodule("").get() == net.get());
  CHECK(net->get_parameter("layers.2.fc.bias").sizes() == IntArrayRef({3}));
  CHECK(net->get_parameter("scale").is_same(net->scale));
  CHECK(net->get_buffer("first.norm.running_var").sizes() == IntArrayRef({2}));
  CHECK_ERROR(net->get_submodule("layers.7.fc"),
              "get_submodule: there is no '7' in tarn::nn::SequentialImpl, path 'layers.7.fc'");
  CHECK_ERROR(net->get_parameter("layers.0.wait"),
              "get_parameter: there is no parameter 'wait' in tarn::nn::LinearImpl, path 'layers.0.wait'");
}

TEST_CASE("names may not be empty, have dots or be taken", "[nn]") {
  struct Empty : nn::Module {
    Empty() : nn::Module("Empty") {}
  };
  Empty module;
  module.register_parameter("a", ones({1}));
  module.register_buffer("b", ones({1}));
  module.register_module("c", nn::ReLU());
  CHECK_ERROR(module.register_parameter("a", ones({1})), "parameter 'a' already defined");
  CHECK_ERROR(module.register_parameter("c", ones({1})), "register_parameter: 'c' already defined in Empty");
  CHECK_ERROR(module.register_buffer("b", ones({1})), "buffer 'b' already defined");
  CHECK_ERROR(module.register_buffer("a", ones({1})), "register_buffer: 'a' already defined in Empty");
  CHECK_ERROR(module.register_module("c", nn::ReLU()), "submodule 'c' already defined");
  CHECK_ERROR(module.register_module("b", nn::ReLU()), "register_module: 'b' already defined in Empty");
  CHECK_ERROR(module.register_module("", nn::ReLU()), "register_module: the name must not be empty");
  CHECK_ERROR(module.register_parameter("x.y", ones({1})),
              "register_parameter: the name must not contain a dot, got 'x.y'");
  CHECK_ERROR(module.register_module("d", nn::Linear(nullptr)),
              "ModuleHolder: the module is empty; construct it first");
}

TEST_CASE("a module cannot become its own descendant", "[nn]") {
  auto outer = std::make_shared<nn::SequentialImpl>(), inner = std::make_shared<nn::SequentialImpl>();
  outer->push_back(inner);
  CHECK_ERROR(
      inner->push_back(outer),
      "register_module: '0' holds tarn::nn::SequentialImpl itself; a module cannot be its own descendant");
}

TEST_CASE("replace_module and unregister_module change the tree", "[nn]") {
  Net net;
  net->first->fc = net->first->replace_module("fc", nn::Linear(nn::LinearOptions(2, 2).bias(false)));
  CHECK(!net->named_parameters().contains("first.fc.bias"));
  CHECK(net->first->fc->path() == "first.fc");
  net->unregister_module("layers");
  CHECK(net->children().size() == 1);
  CHECK_ERROR(net->unregister_module("layers"),
              ("unregister_module: there is no submodule 'layers' in " + net->name()));
}

TEST_CASE("train and eval reach every module", "[nn]") {
  Net net;
  net->eval();
  for (const auto& module : net->modules()) CHECK(!module->is_training());
  net->train();
  for (const auto& module : net->modules()) CHECK(module->is_training());
}

TEST_CASE("to(dtype) converts what is floating, gradients too, and keeps the handles", "[nn]") {
  Block block(2);
  Tensor weight = block->fc->weight;
  weight.set_grad(ones({2, 2}));
  block->to(kDouble);
  CHECK(weight.dtype() == kDouble);
  CHECK(weight.grad().dtype() == kDouble);
  CHECK(weight.requires_grad());
  CHECK(block->norm->running_mean.dtype() == kDouble);
  CHECK(block->norm->num_batches_tracked.dtype() == kLong);
  CHECK(block->parameters()[0].is_same(weight));
  CHECK_ERROR(block->to(kLong), "Module::to: dtype must be floating, got Long");
}

TEST_CASE("apply takes functions of a module, a pointer, or a path and either", "[nn]") {
  Net net;
  int modules = 0, linears = 0;
  std::string paths;
  net->apply([&](nn::Module& m) { modules += 1, linears += m.as<nn::Linear>() != nullptr; });
  net->apply([&](const std::string& path, nn::Module&) { paths += path + " "; });
  int pointers = 0, both = 0;
  net->apply([&](const std::shared_ptr<nn::Module>& m) { pointers += m != nullptr; });
  net->apply(
      [&](const std::string& path, const std::shared_ptr<nn::Module>& m) { both += m->path() == path; });
  CHECK(modules == 10);
  CHECK(linears == 3);
  CHECK(paths == " first first.fc first.norm layers layers.0 layers.1 layers.2 layers.2.fc layers.2.norm ");
  CHECK(pointers == 10);
  CHECK(both == 10);
}

TEST_CASE("zero_grad forgets gradients or sets them to zero", "[nn]") {
  nn::Linear layer(2, 1);
  layer->weight.set_grad(ones({1, 2}));
  layer->zero_grad(/*set_to_none=*/false);
  CHECK_SAME(layer->weight.grad(), zeros({1, 2}));
  layer->zero_grad();
  CHECK(!layer->weight.grad().defined());
}

// --- state dicts ---

TEST_CASE("a state dict has PyTorch's keys in PyTorch's order", "[nn]") {
  nn::Sequential net(nn::Linear(2, 3), nn::BatchNorm1d(3));
  CHECK(net->state_dict().keys() == std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias",
                                                             "1.running_mean", "1.running_var",
                                                             "1.num_batches_tracked"});
  for (const auto& item : net->state_dict()) CHECK(!item.value().requires_grad());
}

TEST_CASE("a buffer that is not persistent stays out of the state dict", "[nn]") {
  Plain plain;
  plain->register_buffer("kept", ones({1}));
  plain->register_buffer("transient", ones({1}), /*persistent=*/false);
  CHECK(plain->state_dict().keys() == std::vector<std::string>{"weight", "kept"});
  CHECK(plain->buffers().size() == 2);
}

TEST_CASE("load_state_dict copies every value", "[nn]") {
  Net from, to;
  nn::StateDict state = from->state_dict();
  nn::LoadReport report = to->load_state_dict(state);
  CHECK(report.missing_keys.empty());
  CHECK(report.unexpected_keys.empty());
  for (const auto& item : state) {
    CHECK_SAME(to->state_dict()[item.key()], item.value());
    CHECK(!to->state_dict()[item.key()].is_alias_of(item.value()));
  }
}

TEST_CASE("a state dict that does not fit is refused as a whole, with everything listed", "[nn]") {
  nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1));
  nn::StateDict state;
  state.insert("0.weight", ones({3, 2}));
  state.insert("0.bias", ones({4}));
  state.insert("1.weight", ones({1, 2}));
  state.insert("head.weight", ones({1}));
  Tensor before = net->get_parameter("0.weight").detach().clone();
  CHECK_ERROR(net->load_state_dict(state),
              "load_state_dict: the state dict does not fit tarn::nn::SequentialImpl\n"
              "  missing keys:\n    1.bias\n"
              "  unexpected keys:\n    head.weight\n"
              "  wrong shapes:\n    0.bias: module [3], state dict [4]\n"
              "    1.weight: module [1, 3], state dict [1, 2]");
  CHECK_SAME(net->get_parameter("0.weight").detach(), before);
}

TEST_CASE("without strict, missing and unexpected keys are reported and the rest is loaded", "[nn]") {
  nn::Linear layer(2, 3);
  nn::StateDict state;
  state.insert("weight", ones({3, 2}));
  state.insert("extra", ones({1}));
  nn::LoadReport report = layer->load_state_dict(state, /*strict=*/false);
  CHECK(report.missing_keys == std::vector<std::string>{"bias"});
  CHECK(report.unexpected_keys == std::vector<std::string>{"extra"});
  CHECK_SAME(layer->weight.detach(), ones({3, 2}));
  state = nn::StateDict();
  state.insert("weight", ones({2, 3}));
  CHECK(error_of([&] { layer->load_state_dict(state, false); }).find("wrong shapes") != std::string::npos);
}

TEST_CASE("num_batches_tracked may be missing, and may have shape [1]", "[nn]") {
  nn::BatchNorm1d norm(2);
  nn::StateDict state = norm->state_dict();
  state.erase("num_batches_tracked");
  CHECK(norm->load_state_dict(state).missing_keys.empty());
  state.insert("num_batches_tracked", full({1}, 7));
  norm->load_state_dict(state);
  CHECK(norm->num_batches_tracked.item<int64_t>() == 7);
}

// --- copies ---

TEST_CASE("a clone has the same values in its own memory, wired to its own members", "[nn]") {
  Net net;
  net->eval();
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  REQUIRE(copy != nullptr);
  nn::StateDict a = net->state_dict(), b = copy->state_dict();
  CHECK(a.keys() == b.keys());
  for (const auto& item : a) {
    CHECK_SAME(b[item.key()], item.value());
    CHECK(!b[item.key()].is_alias_of(item.value()));
  }
  CHECK(copy->first->fc->weight.is_same(copy->get_parameter("first.fc.weight")));
  CHECK(!copy->is_training());
  CHECK(!copy->get_submodule("layers.2.fc")->is_training());
  CHECK(copy->layers->ptr(2)->path() == "layers.2");
}

TEST_CASE("a clone keeps which parameters are frozen", "[nn]") {
  nn::Linear layer(2, 2);
  layer->bias.requires_grad_(false);
  auto copy = std::dynamic_pointer_cast<nn::LinearImpl>(layer->clone());
  CHECK(copy->weight.requires_grad());
  CHECK(!copy->bias.requires_grad());
}

TEST_CASE("a plain module says how to become cloneable", "[nn]") {
  Plain plain;
  std::string name = plain->name();
  CHECK_ERROR(plain->clone(), ("clone: " + name + " cannot be cloned; derive it from nn::Cloneable<" + name +
                               "> and create parameters and submodules in reset()"));
}

// --- printing ---

TEST_CASE("printing shows the tree as libtorch does", "[nn]") {
  nn::Sequential net({{"conv", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1).bias(false))},
                      {"norm", nn::BatchNorm2d(8)},
                      {"act", nn::ReLU()},
                      {"head", nn::Sequential(nn::Flatten(), nn::Linear(8, 10))}});
  CHECK(printed(*net) ==
        "tarn::nn::Sequential(\n"
        "  (conv): tarn::nn::Conv2d(1, 8, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1], bias=false)\n"
        "  (norm): tarn::nn::BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)\n"
        "  (act): tarn::nn::ReLU()\n"
        "  (head): tarn::nn::Sequential(\n"
        "    (0): tarn::nn::Flatten(start_dim=1, end_dim=-1)\n"
        "    (1): tarn::nn::Linear(in_features=8, out_features=10, bias=true)\n"
        "  )\n"
        ")");
}

TEST_CASE("modules print their options", "[nn]") {
  CHECK(printed(*nn::Dropout(0.25)) == "tarn::nn::Dropout(p=0.25, inplace=false)");
  CHECK(printed(*nn::MaxPool2d(2)) ==
        "tarn::nn::MaxPool2d(kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
        "ceil_mode=false)");
  CHECK(printed(*nn::AvgPool2d(3)) ==
        "tarn::nn::AvgPool2d(kernel_size=[3, 3], stride=[3, 3], padding=[0, 0])");
  CHECK(printed(*nn::AdaptiveAvgPool2d(1)) == "tarn::nn::AdaptiveAvgPool2d(output_size=[1, 1])");
  CHECK(printed(*nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2))) ==
        "tarn::nn::LeakyReLU(negative_slope=0.2)");
  CHECK(printed(*nn::Embedding(nn::EmbeddingOptions(10, 3).padding_idx(1))) ==
        "tarn::nn::Embedding(num_embeddings=10, embedding_dim=3, padding_idx=1)");
  CHECK(printed(*nn::LayerNorm(nn::LayerNormOptions({4, 5}))) ==
        "tarn::nn::LayerNorm([4, 5], eps=1e-05, elementwise_affine=true)");
  CHECK(printed(*nn::Softmax(1)) == "tarn::nn::Softmax(dim=1)");
}
