// The text of generated kernels: golden files for people to read, updated by `./dev golden`, and NVRTC's
// opinion.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <tarn/compile/emit.h>
#include <tarn/tests/compile/lower_support.h>
#include <tarn/tests/nvrtc.h>
#include <test_config.h>

namespace {

using namespace tarn;
using namespace tarn::testing;
using namespace tarn::detail;

struct Case {
  const char* name;
  Expression expression;
  std::vector<Access> accesses;
};

ExpressionBuilder::Value apply(ExpressionBuilder& b, int row, std::vector<ExpressionBuilder::Value> in,
                               int first_scalar, ScalarType common, ScalarType result, int text = 0) {
  return b.apply(*static_cast<const PointwiseForm*>(kRowOps[row][text]->text), in, first_scalar, common,
                 result);
}

// relu(x * scale + shift) with a row of scales, as after a batch norm.
Case affine_relu() {
  ExpressionBuilder b;
  int x = b.add_operand(kFloat), scale = b.add_operand(kFloat), shift = b.add_operand(kFloat),
      y = b.add_operand(kFloat);
  auto v = apply(b, generic::kRow_mul, {b.load(x), b.load(scale)}, 0, kFloat, kFloat);
  v = apply(b, generic::kRow_add, {v, b.load(shift)}, 0, kFloat, kFloat);
  b.store(apply(b, generic::kRow_relu, {v}, 1, kFloat, kFloat), y);
  return {"affine_relu", b.take(), {Access::Near, Access::Same, Access::Far, Access::Near}};
}

// The gradient of relu added to a sum in place, and where it is above a bound.
Case backward() {
  ExpressionBuilder b;
  int sum = b.add_operand(kBFloat16), g = b.add_operand(kBFloat16), y = b.add_operand(kBFloat16),
      flag = b.add_operand(kBool);
  auto v = apply(b, generic::kRow_relu, {b.load(g), b.load(y)}, 0, kBFloat16, kBFloat16, 1);
  v = apply(b, generic::kRow_add, {b.load(sum), v}, 0, kBFloat16, kBFloat16);
  auto above = apply(b, generic::kRow_gt, {v, b.load(y)}, 1, kBFloat16, kBool);
  b.store(v, sum);
  b.store(above, flag);
  return {"relu_backward", b.take(), {Access::Near, Access::Near, Access::Near, Access::Near}};
}

// Integers, doubles and a choice by a flag.
Case mixed() {
  ExpressionBuilder b;
  int c = b.add_operand(kBool), i = b.add_operand(kInt), d = b.add_operand(kDouble),
      out = b.add_operand(kDouble);
  auto twice = apply(b, generic::kRow_mul, {b.load(i), b.load(i)}, 0, kInt, kInt);
  auto sum = apply(b, generic::kRow_add, {twice, b.load(d)}, 0, kDouble, kDouble);
  b.store(apply(b, generic::kRow_where, {b.load(c), sum, b.load(d)}, 1, kDouble, kDouble), out);
  return {"mixed", b.take(), {Access::Near, Access::Far, Access::Same, Access::Near}};
}

std::vector<Case> cases() { return {affine_relu(), backward(), mixed()}; }

std::string golden(const std::string& name, const std::string& text) {
  std::string path = str(TARN_TEST_DIR, "/compile/golden/", name);
  if (std::getenv("TARN_WRITE_GOLDEN")) std::ofstream(path) << text;
  std::ostringstream kept;
  kept << std::ifstream(path).rdbuf();
  return kept.str();
}

}  // namespace

TEST_CASE("generated kernels read as the golden files do", "[golden]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    std::string host = emit_cpp_kernel(c.expression, c.accesses), device = emit_cuda_kernel(c.expression);
    CHECK(golden(str(c.name, ".steps"), to_text(c.expression)) == to_text(c.expression));
    CHECK(golden(str(c.name, ".cpp.txt"), host) == host);
    CHECK(golden(str(c.name, ".cu.txt"), device) == device);
  }
}

TEST_CASE("a generated kernel includes nothing") {
  std::string text = with_prelude(emit_cpp_kernel(affine_relu().expression, affine_relu().accesses), 32);
  CHECK(text.find("#include") == std::string::npos);
  CHECK(text.find("immintrin") == std::string::npos);
}

TEST_CASE("NVRTC compiles generated device kernels", "[slow]") {
  auto nvrtc = Nvrtc::find();
  if (!nvrtc) return;
  for (const Case& c : cases()) {
    INFO(c.name);
    CHECK(nvrtc->complaints(with_device_prelude(emit_cuda_kernel(c.expression))) == "");
  }
}
