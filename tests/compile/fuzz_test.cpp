// Random programs run eagerly and compiled, several times with changing branches, numbers and inputs: views,
// writes through them, aliasing inputs, kept and dropped handles, backward, breaks, exceptions, nested calls.
// Results, kept tensors, parameters, gradients, versions and error texts must agree to the bit.
#include <random>

#include <tarn/tests/compile/support.h>

namespace tarn {
namespace {

using namespace testing;

class Choices {
 public:
  explicit Choices(uint64_t seed) : engine_(seed) {}
  int below(int n) { return int(engine_() % uint64_t(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Instruction {
  int kind, a, b, number;
  int only_if = -1;  // of the call's variants; -1: always
};

struct Program {
  std::vector<Instruction> instructions;
  bool alias_inputs = false;
};

constexpr int kKinds = 30;

Program random_program(uint64_t seed) {
  Choices c(seed);
  Program p;
  p.alias_inputs = c.one_in(3);
  int length = 5 + c.below(14);
  for (int i = 0; i < length; ++i) {
    p.instructions.push_back({c.below(kKinds), c.below(100), c.below(100), c.below(7)});
    if (c.one_in(6)) p.instructions.back().only_if = c.below(3);
  }
  return p;
}

// All that outlives a call.
struct World {
  std::vector<Tensor> parameters;
  std::vector<Tensor> kept;
  World() {
    for (int i = 0; i < 2; ++i)
      parameters.push_back(formula_tensor({3, 4}, kFloat, {.b = 60 + 31 * i, .d = 256}).requires_grad_());
  }
};

class Runner {
 public:
  Runner(World& world, const Program& program, std::vector<Tensor> inputs, int variant, double number)
      : world_(world), program_(program), pool_(std::move(inputs)), variant_(variant), number_(number) {
    for (const Tensor& p : world.parameters) pool_.push_back(p);
  }

  std::vector<Tensor> run() {
    for (const Instruction& i : program_.instructions)
      if (i.only_if < 0 || i.only_if == variant_) step(i);
    std::vector<Tensor> out;
    for (size_t i = pool_.size() > 3 ? pool_.size() - 2 : 1; i < pool_.size(); ++i)
      out.push_back(pool_[i].detach());
    return out;
  }

 private:
  Tensor& at(int i) { return pool_[size_t(i) % pool_.size()]; }
  void push(Tensor t) { pool_.push_back(std::move(t)); }

  void combine(int which, const Tensor& a, const Tensor& b) {
    Tensor other = a.sizes() == b.sizes() ? b : b.sum();
    push(which == 0   ? a + other
         : which == 1 ? a * other
         : which == 2 ? maximum(a, other)
                      : a - other * number_);
  }

  void write(int which, const Tensor& a, const Tensor& b) {
    Tensor other = a.sizes() == b.sizes() ? b : b.sum();
    if (which == 0)
      a.add_(other, number_);
    else if (which == 1)
      a.mul_(0.75);
    else
      a.copy_(other);
  }

  void view(int which, const Tensor& a) {
    if (a.dim() != 2) return push(a.view({-1}));
    switch (which) {
      case 0:
        return push(a.t());
      case 1:
        return push(a.select(0, 1));
      case 2:
        return push(a.narrow(1, 1, 2));
      default:
        return push(a.reshape({-1}));
    }
  }

  void backward(const Tensor& a) {
    Tensor loss = a.tanh().sum();
    if (loss.requires_grad()) loss.backward();
  }

  void step(const Instruction& i) {
    switch (i.kind) {
      case 0:
        return push(at(i.a).tanh());
      case 1:
        return push(at(i.a).relu() + i.number);
      case 2:
        return push(at(i.a).sigmoid() * number_);
      case 3:
      case 4:
      case 5:
      case 6:
        return combine(i.kind - 3, at(i.a), at(i.b));
      case 7:
      case 8:
      case 9: {
        NoGradGuard no_grad;
        return write(i.kind - 7, at(i.a), at(i.b));
      }
      case 10:
      case 11:
        return write(i.kind - 10, at(i.a), at(i.b));
      case 12:
      case 13:
      case 14:
      case 15:
        return view(i.kind - 12, at(i.a));
      case 16:
        return push(softmax(at(i.a), -1));
      case 17:
        return push(dropout(at(i.a), 0.3, true));
      case 18:
        return push(at(i.a).sum());
      case 19:
        return world_.kept.push_back(at(i.a));
      case 20:
        if (pool_.size() > 4) pool_.erase(pool_.begin() + 2 + i.a % int(pool_.size() - 2));
        return;
      case 21:
        if (at(i.a).detach().sum().item<double>() > 0.3) push(at(i.b) * 2);
        return;
      case 22:
        return backward(at(i.a));
      case 23:
        for (const Tensor& p : world_.parameters) p.mutable_grad().reset();
        return;
      case 24:
        if (variant_ == 2 && i.number == 0) throw std::runtime_error("stop");
        return;
      case 25:
        return push(at(i.a).clone());
      case 26:
        return push(at(i.a).detach());
      case 27: {
        NoGradGuard no_grad;
        for (const Tensor& p : world_.parameters)
          if (p.grad().defined()) p.sub_(p.grad(), 0.01);
        return;
      }
      case 28:
        return push(at(i.a).matmul(world_.parameters[0].sum(0).view({4, 1})));  // an error for most shapes
      default: {
        static auto nested = compile([](const Tensor& x) { return (x * 0.5).tanh(); });
        return push(nested(at(i.a)));
      }
    }
  }

  World& world_;
  const Program& program_;
  std::vector<Tensor> pool_;
  int variant_;
  double number_;
};

std::vector<Tensor> inputs_of(const Program& p, int call) {
  Tensor x = formula_tensor({3, 4}, kFloat, {.b = 60 + 17 * call, .d = 256});
  if (p.alias_inputs && call % 3 == 1) return {x, x};
  Tensor wide = formula_tensor({5, 4}, kFloat, {.b = 99 + 23 * call, .d = 256});
  if (p.alias_inputs && call % 3 == 2) return {wide.narrow(0, 0, 3), wide.narrow(0, 1 + call % 2, 3)};
  return {x, wide.narrow(0, call % 2, 3)};
}

struct Outcome {
  std::vector<Tensor> results, inputs;
  std::string error;
};

template <class F>
Outcome outcome_of(const Program& p, int call, F f) {
  Outcome out;
  out.inputs = inputs_of(p, call);
  manual_seed(uint64_t(call));
  try {
    out.results = f(out.inputs);
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  return out;
}

std::vector<Tensor> gradients(const World& w) {
  std::vector<Tensor> all;
  for (const Tensor& p : w.parameters) all.push_back(p.grad());
  return all;
}

// Empty, or the first thing that differs.
std::string compare(uint64_t seed, int calls) {
  const Program program = random_program(seed);
  World eager, world;
  int variant = 0;
  double number = 1;
  auto compiled = compile([&](const std::vector<Tensor>& inputs) {
    return Runner(world, program, inputs, variant, number).run();
  });
  Choices c(seed + 1000);
  for (int call = 0; call < calls; ++call) {
    variant = c.below(3);
    number = 0.25 * (1 + c.below(3)) + 0.01;
    if (c.one_in(4)) eager.kept.clear(), world.kept.clear();
    Outcome want = outcome_of(program, call, [&](const std::vector<Tensor>& inputs) {
      return Runner(eager, program, inputs, variant, number).run();
    });
    Outcome got =
        outcome_of(program, call, [&](const std::vector<Tensor>& inputs) { return compiled(inputs); });
    std::string where = str("seed ", int64_t(seed), ", call ", call, ": ");
    if (got.error != want.error) return where + "error \"" + got.error + "\" for \"" + want.error + "\"";
    auto check = [&](const char* what, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
      std::string text = bit_difference_of(a, b);
      if (!text.empty()) return where + what + ", " + text;
      for (size_t i = 0; i < a.size(); ++i)
        if (a[i].defined() && a[i]._version() != b[i]._version()) return where + what + ": versions differ";
      return std::string();
    };
    for (const std::string& text :
         {check("results", got.results, want.results), check("inputs", got.inputs, want.inputs),
          check("kept", world.kept, eager.kept), check("parameters", world.parameters, eager.parameters),
          check("gradients", gradients(world), gradients(eager))})
      if (!text.empty()) return text;
  }
  return "";
}

TEST_CASE("random programs give eager's bits", "[fuzz]") {
  const char* more = std::getenv("TARN_FUZZ");  // how many programs
  const int programs = more ? std::atoi(more) : 400;
  CompileStats before = compile_stats();
  for (int seed = 0; seed < programs; ++seed) {
    std::string text = compare(uint64_t(seed), 10);
    INFO(text);
    REQUIRE(text.empty());
  }
  CompileStats after = compile_stats();
  CHECK(after.followed - before.followed > 20 * programs);
}

}  // namespace
}  // namespace tarn
