// Each kernel against the CPU.
#include <functional>

#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

const ScalarType kReal[] = {kFloat, kDouble};

Tensor classes_of(std::initializer_list<int64_t> values) { return tensor(std::vector<int64_t>(values)); }

}  // namespace

TEST_CASE("sums and means over any dims") {
  for (ScalarType dtype : kReal) {
    Tensor x = formula_tensor({3, 40, 5}, dtype);
    CHECK_DEVICE(on(x).sum());
    CHECK_DEVICE(on(x).sum({0}));
    CHECK_DEVICE(on(x).sum({1}));
    CHECK_DEVICE(on(x).sum({2}, true));
    CHECK_DEVICE(on(x).sum({0, 2}));
    CHECK_DEVICE(on(x).mean({1, 2}));
    CHECK_DEVICE(on(x).transpose(0, 2).mean({0}));
    CHECK_DEVICE(on(x).prod(2));
  }
  CHECK_DEVICE(on(formula_tensor({70000})).sum());
  CHECK_DEVICE(on(formula_tensor({3, 70001}, kDouble)).mean({1}));
  CHECK_DEVICE(on(formula_tensor({40000, 3}, kDouble)).sum({0}));
  CHECK_DEVICE((on(formula_tensor({70000})) > 3.8).any());
  CHECK_DEVICE(on(formula_tensor({70000})).amax({0}));
  CHECK_DEVICE(on(formula_tensor({40, 3}, kInt)).sum());
  CHECK_DEVICE(on(formula_tensor({40, 3}, kHalf)).sum({0}));
  CHECK_DEVICE(on(zeros({0, 3})).sum({0}));
}

TEST_CASE("a sum on the device is the same bits every time") {
  Tensor x = formula_tensor({1000, 33}).to(kGpu);
  CHECK_SAME(x.sum({0}).cpu(), x.sum({0}).cpu());
  CHECK_SAME(x.sum().cpu(), x.sum().cpu());
}

TEST_CASE("extremes, their places, any and all") {
  for (ScalarType dtype : {kFloat, kDouble, kLong}) {
    Tensor x = formula_tensor({6, 50}, dtype);
    CHECK_DEVICE(on(x).amax({1}));
    CHECK_DEVICE(on(x).amin({0}));
    CHECK_DEVICE(on(x).max());
    CHECK_DEVICE(on(x).argmax(1));
    CHECK_DEVICE(on(x).argmin(0));
    CHECK_DEVICE(on(x).argmax());
    CHECK_DEVICE(std::get<0>(on(x).max(1)));
    CHECK_DEVICE(std::get<1>(on(x).min(0)));
    CHECK_DEVICE((on(x) > 3).any(1));
    CHECK_DEVICE((on(x) > -3).all(0));
  }
  Tensor with_nan = tensor({1.0f, NAN, 3.0f, NAN});
  CHECK_DEVICE(on(with_nan).max());
  CHECK_DEVICE(on(with_nan).argmax(0));
}

TEST_CASE("softmax and log_softmax along any dim, with gradients") {
  for (ScalarType dtype : kReal) {
    for (int64_t dim : {0, 1, 2}) {
      Tensor x = formula_tensor({3, 37, 4}, dtype), g = formula_tensor({3, 37, 4}, dtype, kUnit);
      CHECK_DEVICE(softmax(on(x), dim));
      CHECK_DEVICE(log_softmax(on(x), dim));
      for (bool log : {false, true}) {
        auto gradient = [&](auto on) {
          Tensor leaf = on(x).detach().requires_grad_();
          (log ? log_softmax(leaf, dim) : softmax(leaf, dim)).backward(on(g));
          return leaf.grad();
        };
        CHECK_DEVICE(gradient(on));
      }
    }
  }
  CHECK_DEVICE(softmax(on(tensor({1e30f, 1e30f})), 0));
}

TEST_CASE("cross_entropy with weights, smoothing, ignored positions") {
  for (ScalarType dtype : kReal) {
    Tensor x = formula_tensor({5, 7, 2}, dtype), weight = formula_tensor({7}, dtype, kPositive);
    Tensor target = classes_of({0, 6, 3, -100, 2, 2, 5, 1, 0, 4}).reshape({5, 2});
    for (int64_t reduction : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
      for (double smoothing : {0.0, 0.1}) {
        for (bool weighted : {false, true}) {
          auto loss = [&](const Tensor& scores, auto on) {
            return cross_entropy_loss(scores, on(target), weighted ? on(weight) : Tensor(), reduction, -100,
                                      smoothing);
          };
          CHECK_DEVICE(loss(on(x), on));
          auto gradient = [&](auto on) {
            Tensor leaf = on(x).detach().requires_grad_();
            loss(leaf, on).sum().backward();
            return leaf.grad();
          };
          CHECK_DEVICE(gradient(on));
        }
      }
    }
  }
}

TEST_CASE("a target that is no class gives NaN on the device") {
  Tensor loss = cross_entropy_loss(ones({2, 3}).to(kGpu), classes_of({0, 3}).to(kGpu));
  CHECK(std::isnan(loss.item<float>()));
}

TEST_CASE("batch_norm trains, evaluates and updates its statistics") {
  for (ScalarType dtype : kReal) {
    for (bool channels_last : {false, true}) {
      Tensor x = formula_tensor({4, 3, 5, 6}, dtype), g = formula_tensor({4, 3, 5, 6}, dtype, kUnit);
      if (channels_last) x = x.contiguous(MemoryFormat::ChannelsLast);
      Tensor weight = formula_tensor({3}, dtype, kPositive), bias = formula_tensor({3}, dtype);
      auto results = [&](auto on, int which) {
        Tensor mean = on(zeros({3}, dtype)).clone(), var = on(ones({3}, dtype)).clone();
        Tensor leaf = on(x).detach().requires_grad_(), w = on(weight).detach().requires_grad_();
        Tensor b = on(bias).detach().requires_grad_();
        Tensor y = batch_norm(leaf, w, b, mean, var, true, 0.1, 1e-5);
        y.backward(on(g));
        Tensor eval = batch_norm(on(x), on(weight), on(bias), mean, var, false, 0.1, 1e-5);
        Tensor all[] = {y.detach(), leaf.grad(), w.grad(), b.grad(), mean, var, eval};
        return all[which];
      };
      Tolerance tolerance = dtype == kFloat ? Tolerance{1e-4, 2e-5} : Tolerance{1e-10, 1e-11};
      for (int i = 0; i < 7; ++i) CHECK_DEVICE(results(on, i), tolerance);
    }
  }
}

TEST_CASE("an SGD step over all parameters is one launch") {
  for (ScalarType dtype : kReal) {
    auto trained = [&](auto on, int which, int64_t* launches) {
      std::vector<Tensor> params;
      for (int64_t n : {1, 7, 1500, 64})
        params.push_back(on(formula_tensor({n}, dtype)).clone().requires_grad_());
      optim::SGD sgd(params, optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
      for (int step = 0; step < 3; ++step) {
        for (Tensor& p : params) p.mutable_grad() = p.detach() * 0.5;
        int64_t made = launches_of([&] { sgd.step(); }, "sgd");
        if (launches) *launches = made;
      }
      return params[size_t(which)].detach();
    };
    int64_t launches = 0;
    trained([](const Tensor& t) { return t.to(kGpu); }, 0, &launches);
    CHECK(launches == 1);
    for (int i = 0; i < 4; ++i) CHECK_DEVICE(trained(on, i, nullptr));
  }
}

TEST_CASE("matrix products of all layouts, with and without bias") {
  for (ScalarType dtype : kReal) {
    Tensor a = formula_tensor({5, 7}, dtype), b = formula_tensor({7, 3}, dtype),
           c = formula_tensor({5, 3}, dtype);
    Tensor weight = formula_tensor({3, 7}, dtype), bias = formula_tensor({3}, dtype);
    CHECK_DEVICE(on(a).mm(on(b)));
    CHECK_DEVICE(on(b).t().mm(on(a).t()));
    CHECK_DEVICE(on(a).t().mm(on(c)));
    CHECK_DEVICE(addmm(on(c), on(a), on(b), 0.5, 2));
    CHECK_DEVICE(addmm(on(bias), on(a), on(b)));
    CHECK_DEVICE(linear(on(a), on(weight), on(bias)));
    CHECK_DEVICE(linear(on(a), on(weight)));
    CHECK_DEVICE(linear(on(formula_tensor({2, 5, 7}, dtype)), on(weight), on(bias)));
    CHECK_DEVICE(bmm(on(formula_tensor({4, 5, 7}, dtype)), on(formula_tensor({4, 7, 3}, dtype))));
    CHECK_DEVICE(matmul(on(formula_tensor({4, 5, 7}, dtype)), on(b)));
    CHECK_DEVICE(on(a).mv(on(formula_tensor({7}, dtype))));
    CHECK_DEVICE(on(bias).dot(on(bias)));
    CHECK_DEVICE(on(formula_tensor({10, 14}, dtype)).slice(0, 0, 10, 2).slice(1, 0, 14, 2).mm(on(b)));
    auto gradient = [&](auto on, bool of_weight) {
      Tensor x = on(a).detach().requires_grad_(), w = on(weight).detach().requires_grad_();
      linear(x, w, on(bias)).backward(on(c));
      return of_weight ? w.grad() : x.grad();
    };
    CHECK_DEVICE(gradient(on, true));
    CHECK_DEVICE(gradient(on, false));
  }
  CHECK_DEVICE(linear(on(formula_tensor({8, 16}, kHalf, kUnit)), on(formula_tensor({8, 16}, kHalf, kUnit))),
               {1e-2, 1e-2});
}

TEST_CASE("convolutions and their gradients, strided, grouped, in both layouts") {
  struct Case {
    std::vector<int64_t> x, w;
    int64_t stride, padding, dilation, groups;
  };
  const Case cases[] = {{{2, 3, 8, 9}, {4, 3, 3, 3}, 1, 1, 1, 1},
                        {{2, 3, 8, 9}, {4, 3, 3, 3}, 2, 1, 1, 1},
                        {{2, 4, 7, 7}, {6, 2, 3, 3}, 1, 2, 2, 2},
                        {{2, 3, 6, 6}, {5, 3, 1, 1}, 2, 0, 1, 1}};
  for (ScalarType dtype : kReal) {
    for (const Case& c : cases) {
      for (bool channels_last : {false, true}) {
        MemoryFormat format = channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
        Tensor x = formula_tensor(c.x, dtype).contiguous(format), w = formula_tensor(c.w, dtype, kUnit);
        Tensor bias = formula_tensor({c.w[0]}, dtype);
        auto results = [&](auto on, int which) {
          Tensor leaf = on(x).detach().requires_grad_(), weight = on(w).detach().requires_grad_();
          Tensor b = on(bias).detach().requires_grad_();
          Tensor y = conv2d(leaf, weight, b, c.stride, c.padding, c.dilation, c.groups);
          y.backward(on(formula_tensor(y.sizes(), dtype, kUnit)));
          Tensor all[] = {y.detach(), leaf.grad(), weight.grad(), b.grad()};
          return all[which];
        };
        Tolerance tolerance = dtype == kFloat ? Tolerance{2e-4, 1e-4} : Tolerance{1e-10, 1e-11};
        for (int i = 0; i < 4; ++i) CHECK_DEVICE(results(on, i), tolerance);
      }
    }
  }
  CHECK_DEVICE(conv1d(on(formula_tensor({2, 3, 9})), on(formula_tensor({4, 3, 3}))), {1e-4, 1e-4});
  CHECK_DEVICE(conv3d(on(formula_tensor({1, 2, 4, 5, 6})), on(formula_tensor({3, 2, 2, 2, 2}))),
               {1e-4, 1e-4});
}

TEST_CASE("max and average pooling of overlapping, padded, dilated and adaptive windows") {
  for (ScalarType dtype : kReal) {
    for (bool channels_last : {false, true}) {
      Tensor x = formula_tensor({2, 3, 9, 10}, dtype);
      if (channels_last) x = x.contiguous(MemoryFormat::ChannelsLast);
      using Pool = std::function<Tensor(const Tensor&)>;
      const Pool pools[] = {
          [](const Tensor& t) { return max_pool2d(t, 2); },
          [](const Tensor& t) {
            return max_pool2d(t, {3, 2}, {2, 1}, {1, 0}, {1, 2}, true);
          },
          [](const Tensor& t) {
            return std::get<0>(adaptive_max_pool2d(t, {4, 3}));
          },
          [](const Tensor& t) { return avg_pool2d(t, 3, 2, 1); },
          [](const Tensor& t) {
            return avg_pool2d(t, {3, 2}, {2, 1}, {1, 1}, true, false);
          },
          [](const Tensor& t) { return avg_pool2d(t, 2, 2, 0, false, true, 3); },
          [](const Tensor& t) {
            return adaptive_avg_pool2d(t, {4, 3});
          },
          [](const Tensor& t) { return adaptive_avg_pool2d(t, 1); },
      };
      for (const Pool& pool : pools) {
        CHECK_DEVICE(pool(on(x)));
        auto gradient = [&](auto on) {
          Tensor leaf = on(x).detach().requires_grad_();
          Tensor y = pool(leaf);
          y.backward(on(formula_tensor(y.sizes(), dtype, kUnit)));
          return leaf.grad();
        };
        CHECK_DEVICE(gradient(on));
      }
    }
  }
  CHECK_DEVICE(std::get<1>(max_pool2d_with_indices(on(formula_tensor({2, 2, 6, 6})), 3, 1)));
}

TEST_CASE("layer_norm and its gradients") {
  for (ScalarType dtype : kReal) {
    for (bool affine : {false, true}) {
      Tensor x = formula_tensor({3, 4, 50}, dtype), weight = formula_tensor({50}, dtype, kPositive);
      auto results = [&](auto on, int which) {
        Tensor leaf = on(x).detach().requires_grad_(), w = on(weight).detach().requires_grad_();
        Tensor b = on(formula_tensor({50}, dtype)).detach().requires_grad_();
        Tensor y = layer_norm(leaf, {50}, affine ? w : Tensor(), affine ? b : Tensor());
        y.backward(on(formula_tensor({3, 4, 50}, dtype, kUnit)));
        Tensor all[] = {y.detach(), leaf.grad(), w.grad(), b.grad()};
        return all[which];
      };
      Tolerance tolerance = dtype == kFloat ? Tolerance{1e-4, 2e-5} : Tolerance{1e-10, 1e-11};
      for (int i = 0; i < (affine ? 4 : 2); ++i) CHECK_DEVICE(results(on, i), tolerance);
    }
  }
}

TEST_CASE("norm, var, std and logsumexp over dims") {
  for (ScalarType dtype : kReal) {
    Tensor x = formula_tensor({4, 30, 3}, dtype);
    for (double p : {0.0, 1.0, 2.0, 3.0, double(INFINITY), -double(INFINITY)})
      CHECK_DEVICE(on(x).norm(p, {1}));
    CHECK_DEVICE(on(x).norm());
    CHECK_DEVICE(on(x).var());
    CHECK_DEVICE(on(x).var({0, 1}, false, true));
    CHECK_DEVICE(on(x).std({2}));
    CHECK_DEVICE(on(x).logsumexp({1}));
    CHECK_DEVICE(on(x).logsumexp({0, 2}, true));
    auto gradient = [&](auto on) {
      Tensor leaf = on(x).detach().requires_grad_();
      (leaf.norm() + leaf.var({1}).sum() + leaf.logsumexp({1}).sum()).backward();
      return leaf.grad();
    };
    CHECK_DEVICE(gradient(on));
  }
  CHECK_DEVICE(on(full({3}, 1e30)).norm());
}

TEST_CASE("nll_loss with weights and ignored positions") {
  Tensor x = formula_tensor({5, 7, 2}),
         target = classes_of({0, 6, 3, -100, 2, 2, 5, 1, 0, 4}).reshape({5, 2});
  for (int64_t reduction : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
    CHECK_DEVICE(nll_loss(on(x), on(target), {}, reduction));
    CHECK_DEVICE(nll_loss(on(x), on(target), on(formula_tensor({7}, kFloat, kPositive)), reduction));
    auto gradient = [&](auto on) {
      Tensor leaf = on(x).detach().requires_grad_();
      nll_loss(leaf, on(target), {}, reduction).sum().backward();
      return leaf.grad();
    };
    CHECK_DEVICE(gradient(on));
  }
}
