// Layers: what they compute on inputs a person can check, their modes, and how they name mistakes.
#include <cmath>

#include <tarn/nn/nn.h>
#include <tarn/tarn.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;
namespace F = tarn::nn::functional;

namespace {

template <class Layer>
Layer filled(Layer layer, double value = 1) {
  for (const Tensor& p : layer->parameters()) nn::init::constant_(p, value);
  return layer;
}

Tensor count(IntArrayRef sizes) {
  Tensor t = empty(sizes);
  fill_with(t, [](int64_t i) { return double(i); });
  return t;
}

}  // namespace

TEST_CASE("Linear multiplies rows and adds the bias", "[nn]") {
  CHECK_SAME(filled(nn::Linear(3, 2))(count({2, 3})), tensor_of({4, 4, 13, 13}, kFloat, {2, 2}));
  nn::Linear no_bias = filled(nn::Linear(nn::LinearOptions(3, 2).bias(false)));
  CHECK_SAME(no_bias(count({2, 3})), tensor_of({3, 3, 12, 12}, kFloat, {2, 2}));
  CHECK(no_bias->parameters().size() == 1);
  CHECK(nn::Linear(3, 2)(ones({4, 5, 3})).sizes() == IntArrayRef({4, 5, 2}));
}

TEST_CASE("Conv2d sums its window", "[nn]") {
  nn::Conv2d conv = filled(nn::Conv2d(nn::Conv2dOptions(1, 1, 2).bias(false)));
  CHECK_SAME(conv(count({1, 1, 3, 3})), tensor_of({8, 12, 20, 24}, kFloat, {1, 1, 2, 2}));
  CHECK(
      nn::Conv2d(nn::Conv2dOptions(4, 6, {3, 5}).stride({2, 1}).padding({1, 2}).groups(2))(ones({2, 4, 9, 7}))
          .sizes() == IntArrayRef({2, 6, 5, 7}));
  CHECK(nn::Conv1d(nn::Conv1dOptions(2, 3, 3).dilation(2))(ones({2, 2, 9})).sizes() ==
        IntArrayRef({2, 3, 5}));
}

TEST_CASE("padding kSame keeps the size, for even kernels too", "[nn]") {
  for (int64_t kernel : {1, 2, 3, 4})
    CHECK(
        nn::Conv2d(nn::Conv2dOptions(1, 2, kernel).padding(kSame).dilation(2))(ones({1, 1, 7, 9})).sizes() ==
        IntArrayRef({1, 2, 7, 9}));
  nn::Conv1d even = filled(nn::Conv1d(nn::Conv1dOptions(1, 1, 2).padding(kSame).bias(false)));
  CHECK_SAME(even(count({1, 1, 3})),
             tensor_of({1, 3, 2}, kFloat, {1, 1, 3}));  // the extra zero is on the right
}

TEST_CASE("BatchNorm normalises by the batch in training and by running statistics in eval", "[nn]") {
  nn::BatchNorm1d norm(1);
  Tensor x = tensor_of({1, 3}, kFloat, {2, 1});  // mean 2, variance 1, unbiased 2
  Tensor y = norm(x);
  CHECK_CLOSE(y.detach(), tensor_of({-1, 1}, kFloat, {2, 1}), {1e-4, 0});
  CHECK_CLOSE(norm->running_mean, tensor_of({0.2}));
  CHECK_CLOSE(norm->running_var, tensor_of({1.1}));
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  norm->eval();
  CHECK_CLOSE(norm(x).detach(), tensor_of({0.8 / std::sqrt(1.1), 2.8 / std::sqrt(1.1)}, kFloat, {2, 1}),
              {1e-4, 0});
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  norm->reset_running_stats();
  CHECK_SAME(norm->running_mean, zeros({1}));
}

TEST_CASE("BatchNorm without momentum keeps the mean over all batches", "[nn]") {
  nn::BatchNorm1d norm(nn::BatchNorm1dOptions(1).momentum(std::nullopt));
  norm(tensor_of({1, 3}, kFloat, {2, 1}));
  norm(tensor_of({5, 7}, kFloat, {2, 1}));
  CHECK_CLOSE(norm->running_mean, tensor_of({4}));
}

TEST_CASE("BatchNorm without running statistics uses the batch in eval, too", "[nn]") {
  nn::BatchNorm2d norm(nn::BatchNorm2dOptions(2).track_running_stats(false).affine(false));
  norm->eval();
  CHECK(norm->state_dict().is_empty());
  Tensor y = norm(formula_tensor({3, 2, 4, 4}));
  CHECK(std::abs(y.mean().item<double>()) < 1e-6);
}

TEST_CASE("LayerNorm normalises the last dims", "[nn]") {
  nn::LayerNorm norm(nn::LayerNormOptions({2}));
  CHECK_CLOSE(norm(tensor_of({1, 3, 10, 20}, kFloat, {2, 2})).detach(),
              tensor_of({-1, 1, -1, 1}, kFloat, {2, 2}), {1e-4, 0});
}

TEST_CASE("pools reduce their window", "[nn]") {
  Tensor x = count({1, 1, 4, 4});
  CHECK_SAME(nn::MaxPool2d(2)(x), tensor_of({5, 7, 13, 15}, kFloat, {1, 1, 2, 2}));
  CHECK_SAME(nn::AvgPool2d(2)(x), tensor_of({2.5, 4.5, 10.5, 12.5}, kFloat, {1, 1, 2, 2}));
  CHECK_SAME(nn::AdaptiveAvgPool2d(1)(x), tensor_of({7.5}, kFloat, {1, 1, 1, 1}));
  CHECK(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({std::nullopt, 2}))(x).sizes() ==
        IntArrayRef({1, 1, 4, 2}));
  CHECK(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1))(x).sizes() == IntArrayRef({1, 1, 2, 2}));
}

TEST_CASE("Flatten and Unflatten only reshape", "[nn]") {
  CHECK(nn::Flatten()(ones({2, 3, 4})).sizes() == IntArrayRef({2, 12}));
  CHECK(nn::Flatten(nn::FlattenOptions().start_dim(0).end_dim(1))(ones({2, 3, 4})).sizes() ==
        IntArrayRef({6, 4}));
  CHECK(nn::Unflatten(1, std::vector<int64_t>{2, -1})(ones({5, 6})).sizes() == IntArrayRef({5, 2, 3}));
}

TEST_CASE("Embedding picks rows, and its padding row gets no gradient", "[nn]") {
  nn::Embedding embedding(nn::EmbeddingOptions(4, 2).padding_idx(1));
  Tensor indices = tensor_of({3, 1, 3}, kLong);
  Tensor rows = embedding(indices);
  CHECK(rows.sizes() == IntArrayRef({3, 2}));
  rows.sum().backward();
  CHECK_SAME(embedding->weight.grad(), tensor_of({0, 0, 0, 0, 0, 0, 2, 2}, kFloat, {4, 2}));
}

TEST_CASE("Dropout drops and scales in training and does nothing in eval", "[nn]") {
  manual_seed(3);
  nn::Dropout dropout(0.25);
  Tensor x = ones({100000});
  Tensor y = dropout(x);
  int64_t dropped = 0, other = 0;
  for (double v : values_of(y)) dropped += v == 0, other += v != 0 && std::abs(v - 4.0 / 3) > 1e-6;
  CHECK(other == 0);
  CHECK(std::abs(double(dropped) - 25000) < 700);  // five standard deviations
  dropout->eval();
  CHECK_SAME(dropout(x), x);
}

TEST_CASE("Dropout2d drops whole channels", "[nn]") {
  manual_seed(3);
  nn::Dropout2d dropout(0.5);
  Tensor y = dropout(ones({50, 40, 2, 3}));
  Tensor sums = y.sum({2, 3});
  int64_t dropped = 0, other = 0;
  for (double v : values_of(sums)) dropped += v == 0, other += v != 0 && v != 12;
  CHECK(other == 0);
  CHECK(std::abs(double(dropped) - 1000) < 120);
  dropout->eval();
  CHECK_SAME(dropout(ones({1, 2, 2, 2})), ones({1, 2, 2, 2}));
}

TEST_CASE("activations compute their formulas", "[nn]") {
  Tensor x = tensor_of({-2, -0.5, 0.5, 8});
  CHECK_SAME(nn::ReLU()(x), tensor_of({0, 0, 0.5, 8}));
  CHECK_SAME(nn::ReLU6()(x), tensor_of({0, 0, 0.5, 6}));
  CHECK_CLOSE(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.5))(x), tensor_of({-1, -0.25, 0.5, 8}));
  CHECK_CLOSE(nn::ELU()(x), tensor_of({std::expm1(-2.0), std::expm1(-0.5), 0.5, 8}));
  CHECK_CLOSE(nn::Sigmoid()(x), tensor_of({1 / (1 + std::exp(2)), 1 / (1 + std::exp(0.5)),
                                           1 / (1 + std::exp(-0.5)), 1 / (1 + std::exp(-8))}));
  CHECK_CLOSE(nn::Tanh()(x), tensor_of({std::tanh(-2), std::tanh(-0.5), std::tanh(0.5), std::tanh(8)}));
  CHECK_SAME(nn::Hardtanh()(x), tensor_of({-1, -0.5, 0.5, 1}));
  CHECK_CLOSE(nn::Softplus()(x), tensor_of({std::log1p(std::exp(-2)), std::log1p(std::exp(-0.5)),
                                            std::log1p(std::exp(0.5)), std::log1p(std::exp(8))}));
  CHECK_CLOSE(nn::SiLU()(x), x * nn::Sigmoid()(x));
  CHECK_CLOSE(nn::LogSigmoid()(x), nn::Sigmoid()(x).log(), {1e-5, 1e-6});
  CHECK_CLOSE(nn::Softmax(0)(zeros({4})), full({4}, 0.25));
  CHECK_CLOSE(nn::LogSoftmax(0)(zeros({4})), full({4}, -std::log(4.0)));
}

TEST_CASE("an in-place activation changes its input", "[nn]") {
  Tensor x = tensor_of({-1, 2});
  Tensor y = nn::ReLU(nn::ReLUOptions().inplace(true))(x);
  CHECK(y.is_same(x));
  CHECK_SAME(x, tensor_of({0, 2}));
}

TEST_CASE("losses compute their formulas", "[nn]") {
  Tensor logits = tensor_of({0, 0, 0, std::log(3.0)}, kFloat, {2, 2});
  Tensor target = tensor_of({0, 1}, kLong);
  double first = std::log(2.0), second = std::log(4.0 / 3);
  CHECK_CLOSE(nn::CrossEntropyLoss()(logits, target), full({}, (first + second) / 2));
  CHECK_CLOSE(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().reduction(kNone))(logits, target),
              tensor_of({first, second}));
  CHECK_CLOSE(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().ignore_index(0))(logits, target),
              full({}, second));
  CHECK_CLOSE(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(tensor_of({3, 1})))(logits, target),
              full({}, (3 * first + second) / 4));
  CHECK_CLOSE(nn::NLLLoss(nn::NLLLossOptions().reduction(kSum))(F::log_softmax(logits, 1), target),
              full({}, first + second));
  Tensor a = tensor_of({1, 2}), b = tensor_of({3, 1});
  CHECK_CLOSE(nn::MSELoss()(a, b), full({}, 2.5));
  CHECK_CLOSE(nn::MSELoss(nn::MSELossOptions(kSum))(a, b), full({}, 5.0));
  CHECK_CLOSE(nn::L1Loss()(a, b), full({}, 1.5));
  CHECK_CLOSE(nn::BCEWithLogitsLoss()(tensor_of({0, 0}), tensor_of({0, 1})), full({}, std::log(2.0)));
}

TEST_CASE("bad options are named", "[nn]") {
  CHECK_ERROR(nn::Linear(-1, 2), "Linear: in_features and out_features must be at least 0, got -1 and 2");
  CHECK_ERROR(nn::Conv2d(0, 2, 3), "Conv2d: in_channels and out_channels must be at least 1, got 0 and 2");
  CHECK_ERROR(nn::Conv2d(nn::Conv2dOptions(4, 6, 3).groups(3)),
              "Conv2d: groups 3 must divide in_channels 4 and out_channels 6");
  CHECK_ERROR(nn::Conv2d(nn::Conv2dOptions(1, 1, {3, 0})),
              "Conv2d: kernel_size must be at least 1, got [3, 0]");
  CHECK_ERROR(nn::Conv1d(nn::Conv1dOptions(1, 1, 3).stride(0)), "Conv1d: stride must be at least 1, got [0]");
  CHECK_ERROR(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(-1)),
              "Conv2d: padding must be at least 0, got [-1, -1]");
  CHECK_ERROR(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(kSame).stride(2)),
              "Conv2d: padding kSame needs stride 1, got [2, 2]");
  CHECK_ERROR(nn::BatchNorm2d(-1), "BatchNorm2d: num_features must be at least 0, got -1");
  CHECK_ERROR(nn::Dropout(1.5), "Dropout: p must be in [0, 1], got 1.5");
  CHECK_ERROR(nn::Dropout2d(-0.5), "Dropout2d: p must be in [0, 1], got -0.5");
  CHECK_ERROR(nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(3)),
              "Embedding: padding_idx 3 is outside of 3 rows");
  CHECK_ERROR(nn::LayerNorm(nn::LayerNormOptions(std::vector<int64_t>{})),
              "LayerNorm: normalized_shape must not be empty");
  CHECK_ERROR(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().label_smoothing(2)),
              "CrossEntropyLoss: label_smoothing must be in [0, 1], got 2");
  CHECK_ERROR((ExpandingArray<2>({1, 2, 3})), "ExpandingArray: expected 2 numbers, or one for all, got 3");
}

// The whole text of the error of a layer inside of a model.
TEST_CASE("a wrong shape in a layer names the op, the shapes and the layer", "[nn]") {
  // Without the end that they all have.
  auto text = [](const nn::AnyModule& layer, const Tensor& input) {
    nn::Sequential body({{"layer", layer}});
    nn::Sequential net({{"body", body}});
    std::string message = error_of([&] { net->forward(input); }), end = "; in module body.layer";
    size_t at = message.rfind(end);
    return at == std::string::npos ? "no module in: " + message : message.substr(0, at);
  };
  using nn::AnyModule;
  CHECK(text(AnyModule(nn::Linear(3, 2)), ones({4, 5})) ==
        "linear: input [4, 5] has 5 features, weight [2, 3] expects 3");
  CHECK(text(AnyModule(nn::Conv1d(3, 2, 1)), ones({4, 5, 6})) ==
        "conv1d: input has 5 channels, weight [2, 3, 1] expects 3");
  CHECK(text(AnyModule(nn::Conv1d(3, 2, 1)), ones({5})) ==
        "conv1d: input must be (N, C, W) or (C, W), got [5]");
  CHECK(text(AnyModule(nn::Conv2d(3, 2, 1)), ones({4, 5, 6, 7})) ==
        "conv2d: input has 5 channels, weight [2, 3, 1, 1] expects 3");
  CHECK(
      text(AnyModule(nn::Conv2d(3, 2, 3)), ones({4, 3, 2, 7})) ==
      "conv2d: a kernel of [3, 3] with dilation [1, 1] does not fit input [4, 3, 2, 7] with padding [0, 0]");
  CHECK(text(AnyModule(nn::BatchNorm1d(3)), ones({4, 5})) ==
        "BatchNorm1d: input [4, 5] has 5 channels, expected 3");
  CHECK(text(AnyModule(nn::BatchNorm1d(3)), ones({4})) ==
        "BatchNorm1d: input must be (N, C) or (N, C, L), got [4]");
  CHECK(text(AnyModule(nn::BatchNorm2d(3)), ones({4, 5})) ==
        "BatchNorm2d: input must be (N, C, H, W), got [4, 5]");
  CHECK(text(AnyModule(nn::BatchNorm2d(3)), ones({4, 5, 2, 2})) ==
        "BatchNorm2d: input [4, 5, 2, 2] has 5 channels, expected 3");
  CHECK(text(AnyModule(nn::BatchNorm2d(3)), ones({1, 3, 1, 1})) ==
        "batch_norm: training needs more than one value per channel, got input [1, 3, 1, 1]");
  CHECK(text(AnyModule(nn::LayerNorm(nn::LayerNormOptions({3}))), ones({4, 5})) ==
        "layer_norm: input [4, 5] does not end in the normalized shape [3]");
  CHECK(text(AnyModule(nn::MaxPool2d(2)), ones({4, 5})) ==
        "max_pool2d: input must be (N, C, H, W) or (C, H, W), got [4, 5]");
  CHECK(text(AnyModule(nn::MaxPool2d(5)), ones({1, 1, 4, 4})) ==
        "max_pool2d: a kernel of [5, 5] with dilation [1, 1] does not fit input [1, 1, 4, 4] with padding "
        "[0, 0]");
  CHECK(text(AnyModule(nn::AvgPool2d(2)), ones({4, 5})) ==
        "avg_pool2d: input must be (N, C, H, W) or (C, H, W), got [4, 5]");
  CHECK(text(AnyModule(nn::AdaptiveAvgPool2d(2)), ones({4})) ==
        "adaptive_avg_pool2d: input must be (N, C, H, W) or (C, H, W), got [4]");
  CHECK(text(AnyModule(nn::Unflatten(1, std::vector<int64_t>{2, 2})), ones({4, 5})) ==
        "unflatten: sizes [2, 2] do not make up dim 1 of size 5 of a tensor of sizes [4, 5]");
  CHECK(text(AnyModule(nn::Flatten(nn::FlattenOptions().start_dim(3))), ones({4, 5})) ==
        "flatten: dim 3 is outside of a tensor of rank 2; use -2 to 1");
  CHECK(text(AnyModule(nn::Dropout2d()), ones({4, 5})) ==
        "dropout2d: input must be (N, C, H, W) or (C, H, W), got [4, 5]");
  CHECK(text(AnyModule(nn::Embedding(3, 2)), full({1}, 3)) ==
        "embedding: index 3 is outside of a table of 3 rows");
  CHECK(text(AnyModule(nn::Softmax(2)), ones({4, 5})) ==
        "softmax: dim 2 is outside of a tensor of rank 2; use -2 to 1");
  CHECK(text(AnyModule(nn::LogSoftmax(2)), ones({4, 5})) ==
        "log_softmax: dim 2 is outside of a tensor of rank 2; use -2 to 1");
}

TEST_CASE("a mistake outside of a model has no module to name", "[nn]") {
  CHECK_ERROR(nn::Linear(3, 2)(ones({4, 5})), "linear: input [4, 5] has 5 features, weight [2, 3] expects 3");
}

TEST_CASE("a wrong target names the loss and both shapes", "[nn]") {
  for (const std::string& message : {error_of([] {
                                       nn::CrossEntropyLoss()(ones({4, 5}), zeros({3}, kLong));
                                     }),
                                     error_of([] {
                                       nn::NLLLoss()(ones({4, 5}), zeros({3}, kLong));
                                     })}) {
    INFO(message);
    bool named = message.find("[4, 5]") != std::string::npos && message.find("[3]") != std::string::npos;
    CHECK(named);
  }
  for (const std::string& message : {error_of([] { nn::MSELoss()(ones({4}), ones({3})); }),
                                     error_of([] { nn::L1Loss()(ones({4}), ones({3})); }),
                                     error_of([] { nn::BCEWithLogitsLoss()(ones({4}), ones({3})); })}) {
    INFO(message);
    bool named = message.find("[4]") != std::string::npos && message.find("[3]") != std::string::npos;
    CHECK(named);
  }
}
