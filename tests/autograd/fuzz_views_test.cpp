// Runs the programs of fuzz_views.txt.gz, which fuzz_views.py describes and made with PyTorch, and compares
// values, refusals, gradients and second gradients.
#include <zlib.h>

#include <cstdlib>
#include <sstream>

#include <tarn/autograd/autograd.h>
#include <tarn/core/allocator.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

#include "test_config.h"

using namespace tarn;
using namespace tarn::testing;

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> read_lines(const char* path) {
  gzFile file = gzopen(path, "rb");
  REQUIRE(file != nullptr);
  std::string text;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  gzclose(file);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Tensor formula(IntArrayRef sizes, int64_t k) {
  Tensor t = detail::make_tensor(sizes, kDouble);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<double>()[i] = double((i * 37 + k * 101 + 11) % 83) / 41.5 - 1;
  return t;
}

double digest(const Tensor& t) {
  std::vector<double> values = values_of(t);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * (1 + double((i * 7919 + 13) % 101) / 101);
  return sum;
}

bool agrees(const Tensor& t, const std::string& expected) {
  if (!t.defined() || expected == "-") return !t.defined() && expected == "-";
  double want = std::strtod(expected.c_str(), nullptr);
  return std::abs(digest(t) - want) <= 1e-10 * std::max(1.0, std::abs(want));
}

std::string shown(const Tensor& t) {
  char text[40] = "-";
  if (t.defined()) std::snprintf(text, sizeof text, "%.13g", digest(t));
  return text;
}

class Machine {
 public:
  // Runs one instruction, or compares one finding. Returns what is wrong, or nothing.
  std::string run(const std::string& line) {
    Words w = words_of(line);
    if (w[0] == "=") return compare(w);
    if (w[0] == "g") return compare_grads(w);
    bool refused = w[0] == "E", either = w[0] == "e";
    if (refused || either) w.erase(w.begin());
    bool no_grad = w[0] == "n";
    if (no_grad) w.erase(w.begin());
    args_.clear();
    for (const std::string& word : w) args_.push_back(std::strtoll(word.c_str(), nullptr, 10));
    try {
      AutoGradMode mode(!no_grad);
      execute(w);
    } catch (const Error& error) {
      if (std::string(error.what()).find("internal error") != std::string::npos) return error.what();
      return refused || either ? "" : str("PyTorch does it, Tarn refuses: ", error.what());
    }
    return refused ? "PyTorch refuses it, Tarn does it" : "";
  }

 private:
  Tensor& reg(size_t word) { return regs_.at(size_t(args_.at(word))); }
  std::vector<int64_t> rest(size_t from) { return {args_.begin() + int64_t(from), args_.end()}; }

  void execute(const Words& w) {
    switch (w[0][0]) {
      case 'L':
        return make_leaf();
      case 'V':
        return regs_.push_back(view(w[1]));
      case 'S':
        for (Tensor& piece : reg(1).split(args_[2], args_[3])) regs_.push_back(piece);
        return;
      case 'U':
        return regs_.push_back(unary(w[1], reg(2)));
      case 'B':
        return regs_.push_back(binary(w[1], reg(2), reg(3)));
      case 'C':
        return regs_.push_back(reg(1).clone());
      case 'D':
        return regs_.push_back(reg(1).detach());
      case 'I':
        return unary_inplace(w[1], reg(2));
      case 'J':
        return binary_inplace(w[1], reg(2), reg(3));
      case 'K':
        return backward();
      case 'G':
        return double_backward(w);
      default:
        return other(w);
    }
  }

  void other(const Words& w) {
    Tensor& x = reg(1);
    switch (w[0][0]) {
      case 'F':
        x.fill_(std::strtod(w[2].c_str(), nullptr));
        return;
      case 'Z':
        x.zero_();
        return;
      case 'M':
        x.masked_fill_(formula(x.sizes(), args_[2]) > 0.2, 0.5);
        return;
      case 'X': {
        Tensor row = detail::make_tensor({1}, kLong);
        *row.data_ptr<int64_t>() = args_[2];
        x.index_put_({row}, reg(3).unsqueeze(0));
        return;
      }
      case 'T':
        x.detach_();
        return;
      case 'Q':
        x.requires_grad_();
        return;
      case 'R':
        x.retain_grad();
        return;
      case 'H': {
        double factor = std::strtod(w[2].c_str(), nullptr);
        x.register_hook([factor](const Tensor& grad) { return grad * factor; });
        return;
      }
      default:
        FAIL("unknown instruction " << w[0]);
    }
  }

  void make_leaf() {
    std::vector<int64_t> sizes = rest(3);
    regs_.push_back(formula(sizes, args_[1]).requires_grad_(args_[2] != 0));
  }

  Tensor view(const std::string& name) {
    Tensor x = reg(2);
    std::vector<int64_t> more = rest(3);
    if (name == "select") return x.select(more[0], more[1]);
    if (name == "narrow") return x.narrow(more[0], more[1], more[2]);
    if (name == "slice") return x.slice(more[0], more[1], more[2], more[3]);
    if (name == "transpose") return x.transpose(more[0], more[1]);
    if (name == "permute") return x.permute(more);
    if (name == "view") return x.view(more);
    if (name == "reshape") return x.reshape(more);
    if (name == "expand") return x.expand(more);
    if (name == "diagonal") return x.diagonal(more[0]);
    if (name == "unsqueeze") return x.unsqueeze(more[0]);
    REQUIRE(name == "squeeze");
    return x.squeeze(more[0]);
  }

  static Tensor unary(const std::string& name, const Tensor& x) {
    if (name == "sigmoid") return x.sigmoid();
    if (name == "tanh") return x.tanh();
    if (name == "sin") return x.sin();
    if (name == "neg") return x.neg();
    REQUIRE(name == "square");
    return x.square();
  }

  static Tensor binary(const std::string& name, const Tensor& a, const Tensor& b) {
    if (name == "add") return a + b;
    if (name == "sub") return a - b;
    REQUIRE(name == "mul");
    return a * b;
  }

  static void unary_inplace(const std::string& name, const Tensor& x) {
    if (name == "sigmoid")
      x.sigmoid_();
    else if (name == "tanh")
      x.tanh_();
    else if (name == "sin")
      x.sin_();
    else if (name == "neg")
      x.neg_();
    else if (name == "square")
      x.square_();
    else if (name == "exp")
      x.exp_();
    else
      FAIL("unknown function " << name);
  }

  static void binary_inplace(const std::string& name, const Tensor& x, const Tensor& y) {
    if (name == "add")
      x.add_(y);
    else if (name == "sub")
      x.sub_(y);
    else if (name == "mul")
      x.mul_(y);
    else if (name == "copy")
      x.copy_(y);
    else
      FAIL("unknown function " << name);
  }

  void take_outputs(size_t from, size_t to, std::vector<Tensor>& outs, std::vector<Tensor>& grads) {
    for (size_t i = from; i < to; ++i) {
      outs.push_back(reg(i));
      grads.push_back(formula(reg(i).sizes(), 7 + args_[i]));
    }
  }

  void backward() {
    std::vector<Tensor> outs, grads;
    take_outputs(2, args_.size(), outs, grads);
    autograd::backward(outs, grads, args_[1] != 0);
  }

  void double_backward(const Words& w) {
    size_t slash = 1;
    while (w[slash] != "/") ++slash;
    std::vector<Tensor> outs, grads, ins, used, weights;
    take_outputs(1, slash, outs, grads);
    for (size_t i = slash + 1; i < w.size(); ++i) ins.push_back(reg(i));
    first_ = autograd::grad(outs, ins, grads, {}, true, true);
    for (size_t i = 0; i < first_.size(); ++i) {
      if (!first_[i].defined() || !first_[i].requires_grad()) continue;
      used.push_back(first_[i]);
      weights.push_back(formula(first_[i].sizes(), 70 + int64_t(i)));
    }
    second_.assign(ins.size(), Tensor());
    if (!used.empty()) second_ = autograd::grad(used, ins, weights, {}, false, true);
  }

  std::string compare(const Words& w) {
    args_ = {0, std::strtoll(w[1].c_str(), nullptr, 10)};
    const Tensor& t = reg(1);
    if (!agrees(t, w[2])) return str("value of ", w[1], ": got ", shown(t), ", expected ", w[2]);
    if (t.requires_grad() != (w[3] == "1")) return str("requires_grad of ", w[1], " is ", t.requires_grad());
    if (w[4] != "?" && !agrees(t.grad(), w[4]))
      return str("gradient of ", w[1], ": got ", shown(t.grad()), ", expected ", w[4]);
    return "";
  }

  std::string compare_grads(const Words& w) {
    for (size_t i = 0; i < first_.size(); ++i)
      if (!agrees(first_[i], w[1 + i]))
        return str("first gradient ", i, ": got ", shown(first_[i]), ", expected ", w[1 + i]);
    // Where the second derivative is zero everywhere, the first may or may not have a history.
    auto is_zero = [](const Tensor& t) { return !t.defined() || digest(t) == 0; };
    for (size_t i = 0; i < second_.size(); ++i)
      if (const std::string& want = w[2 + first_.size() + i];
          !agrees(second_[i], want) && !(is_zero(second_[i]) && (want == "-" || want == "0")))
        return str("second gradient ", i, ": got ", shown(second_[i]), ", expected ", want);
    return "";
  }

  std::vector<Tensor> regs_;
  std::vector<int64_t> args_;
  std::vector<Tensor> first_, second_;
};

// The first thing that differs in one program, or nothing.
std::string run_program(const std::vector<std::string>& lines, size_t begin, size_t end) {
  Machine machine;
  for (size_t i = begin + 1; i < end; ++i) {
    std::string wrong = machine.run(lines[i]);
    if (!wrong.empty())
      return str("program ", lines[begin], ", line ", i - begin, " \"", lines[i], "\": ", wrong);
  }
  return "";
}

}  // namespace

TEST_CASE("2000 programs of views and writes do what they do in PyTorch, and leave no memory behind",
          "[fuzz]") {
  const char* other = std::getenv("TARN_FUZZ_FILE");
  std::vector<std::string> lines = read_lines(other ? other : TARN_TEST_DIR "/autograd/fuzz_views.txt.gz");
  int programs = 0;
  std::vector<std::string> wrong;
  for (size_t begin = 0, end; begin < lines.size(); begin = end) {
    end = begin + 1;
    while (end < lines.size() && lines[end][0] != 'P') ++end;
    ++programs;
    int64_t live = cpu::memory_stats().live_bytes;
    std::string difference = run_program(lines, begin, end);
    if (difference.empty() && cpu::memory_stats().live_bytes != live)
      difference =
          str("program ", lines[begin], ": ", cpu::memory_stats().live_bytes - live, " bytes are left");
    if (!difference.empty()) wrong.push_back(difference);
  }
  CHECK(programs >= 2000);
  std::string report;
  for (size_t i = 0; i < wrong.size() && i < 20; ++i) report += wrong[i] + "\n";
  INFO(report);
  CHECK(wrong.size() == 0);
}
