// Initialisation: ranges, deviations, defaults of the layers; gradient clipping and parameters as a vector.
#include <cmath>

#include <tarn/nn/nn.h>
#include <tarn/tarn.h>
#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

struct Moments {
  double mean = 0, std = 0, low = INFINITY, high = -INFINITY;
};

Moments moments(const Tensor& t) {
  std::vector<double> values = values_of(t.detach());
  Moments m;
  double squares = 0;
  for (double v : values) {
    m.mean += v / double(values.size());
    squares += v * v / double(values.size());
    m.low = std::min(m.low, v), m.high = std::max(m.high, v);
  }
  m.std = std::sqrt(squares - m.mean * m.mean);
  return m;
}

// 120,000 numbers: the deviation of the mean is std / 346.
bool is_uniform(const Tensor& t, double bound) {
  Moments m = moments(t);
  return m.low >= -bound && m.high <= bound && m.low < -0.99 * bound && m.high > 0.99 * bound &&
         std::abs(m.mean) < 0.02 * bound && std::abs(m.std - bound / std::sqrt(3.0)) < 0.01 * bound;
}

bool is_normal(const Tensor& t, double std) {
  Moments m = moments(t);
  return std::abs(m.mean) < 0.02 * std && std::abs(m.std - std) < 0.02 * std && m.high > 3 * std &&
         m.low < -3 * std;
}

}  // namespace

TEST_CASE("xavier and kaiming fill with the published ranges", "[nn]") {
  manual_seed(0);
  Tensor w = empty({300, 400});  // fan in 400, fan out 300
  CHECK(is_uniform(nn::init::xavier_uniform_(w), std::sqrt(6.0 / 700)));
  CHECK(is_normal(nn::init::xavier_normal_(w, 2.0), 2 * std::sqrt(2.0 / 700)));
  CHECK(is_uniform(nn::init::kaiming_uniform_(w, 0, kFanIn, kReLU), std::sqrt(6.0 / 400)));
  CHECK(is_normal(nn::init::kaiming_normal_(w, 0, kFanOut, kReLU), std::sqrt(2.0 / 300)));
  CHECK(is_uniform(nn::init::kaiming_uniform_(w, std::sqrt(5.0)), 1 / std::sqrt(400.0)));
  CHECK(is_uniform(nn::init::uniform_(w, -2, 2), 2));
  CHECK(is_normal(nn::init::normal_(w, 0, 3), 3));
}

TEST_CASE("the fan of a convolution's weight counts its kernel", "[nn]") {
  nn::init::Fans fans = nn::init::calculate_fan_in_and_fan_out(empty({8, 3, 5, 7}));
  CHECK(fans.in == 105);
  CHECK(fans.out == 280);
  CHECK_ERROR(nn::init::xavier_uniform_(empty({3})),
              "init: fan in and fan out need a tensor of at least 2 dims, got [3]");
}

TEST_CASE("gains are PyTorch's", "[nn]") {
  CHECK(nn::init::calculate_gain(kLinear) == 1);
  CHECK(nn::init::calculate_gain(kConv2D) == 1);
  CHECK(nn::init::calculate_gain(kSigmoid) == 1);
  CHECK(nn::init::calculate_gain(kTanh) == Approx(5.0 / 3));
  CHECK(nn::init::calculate_gain(kReLU) == Approx(std::sqrt(2.0)));
  CHECK(nn::init::calculate_gain(kLeakyReLU, 0.2) == Approx(std::sqrt(2 / 1.04)));
  CHECK(nn::init::calculate_gain(kSELU) == 0.75);
}

TEST_CASE("constants, ones, zeros and eye fill in place without history", "[nn]") {
  Tensor t = empty({2, 3}).requires_grad_();
  CHECK_SAME(nn::init::constant_(t, 2.5).detach(), full({2, 3}, 2.5));
  CHECK_SAME(nn::init::ones_(t).detach(), ones({2, 3}));
  CHECK_SAME(nn::init::zeros_(t).detach(), zeros({2, 3}));
  CHECK_SAME(nn::init::eye_(t).detach(), eye(2, 3));
  CHECK(t.is_leaf());
  CHECK(t.requires_grad());
}

TEST_CASE("Linear and Conv2d start as PyTorch's do", "[nn]") {
  manual_seed(1);
  nn::Linear linear(400, 300);
  CHECK(is_uniform(linear->weight, 1 / std::sqrt(400.0)));
  CHECK(moments(linear->bias).high <= 0.05);
  CHECK(moments(linear->bias).std == Approx(0.05 / std::sqrt(3.0)).epsilon(0.2));
  nn::Conv2d conv(nn::Conv2dOptions(64, 96, {5, 4}).groups(4));
  CHECK(is_uniform(conv->weight, 1 / std::sqrt(16 * 20.0)));
  CHECK(moments(conv->bias).high <= 1 / std::sqrt(16 * 20.0));
  nn::Embedding embedding(nn::EmbeddingOptions(1200, 100).padding_idx(-1));
  CHECK(is_normal(embedding->weight, 1));
  CHECK_SAME(embedding->weight.detach()[1199], zeros({100}));
}

TEST_CASE("the seed decides the weights", "[nn]") {
  manual_seed(5);
  nn::Linear a(20, 30);
  manual_seed(5);
  nn::Linear b(20, 30);
  CHECK_SAME(a->weight.detach(), b->weight.detach());
  CHECK_SAME(a->bias.detach(), b->bias.detach());
  CHECK(bit_difference(nn::Linear(20, 30)->weight.detach(), a->weight.detach()) != "");
}

// --- nn::utils ---

TEST_CASE("clip_grad_norm_ scales all gradients by one factor", "[nn]") {
  Tensor a = zeros({2}).requires_grad_(), b = zeros({1}).requires_grad_(), none = zeros({1}).requires_grad_();
  a.set_grad(tensor_of({3, 0}));
  b.set_grad(tensor_of({-4}));
  CHECK(nn::utils::clip_grad_norm_({a, b, none}, 10) == 5);
  CHECK_SAME(a.grad(), tensor_of({3, 0}));
  CHECK(nn::utils::clip_grad_norm_({a, b}, 1) == 5);
  CHECK_CLOSE(a.grad(), tensor_of({0.6, 0}));
  CHECK_CLOSE(b.grad(), tensor_of({-0.8}));
  CHECK(nn::utils::clip_grad_norm_({a, b}, 1, INFINITY) == Approx(0.8));
  CHECK(nn::utils::clip_grad_norm_(a, 1, 1) == Approx(0.6));
  a.set_grad(tensor_of({NAN, 0}));
  CHECK_ERROR(nn::utils::clip_grad_norm_({a, b}, 1, 2, true), "clip_grad_norm_: the gradients' norm is nan");
  CHECK_ERROR(nn::utils::clip_grad_norm_({a, b}, -1), "clip_grad_norm_: max_norm must be at least 0, got -1");
}

TEST_CASE("clip_grad_value_ cuts every gradient", "[nn]") {
  Tensor a = zeros({3}).requires_grad_();
  a.set_grad(tensor_of({-3, 0.5, 7}));
  nn::utils::clip_grad_value_(a, 2);
  CHECK_SAME(a.grad(), tensor_of({-2, 0.5, 2}));
}

TEST_CASE("parameters become one vector and back", "[nn]") {
  nn::Linear layer(2, 3);
  Tensor vector = nn::utils::parameters_to_vector(layer->parameters());
  CHECK(vector.sizes() == IntArrayRef({9}));
  nn::utils::vector_to_parameters(arange(9, kFloat), layer->parameters());
  CHECK_SAME(layer->weight.detach(), arange(6, kFloat).view({3, 2}));
  CHECK_SAME(layer->bias.detach(), arange(6, 9, kFloat));
  CHECK_ERROR(nn::utils::vector_to_parameters(ones({8}), layer->parameters()),
              "vector_to_parameters: the vector must be (9), got [8]");
}
