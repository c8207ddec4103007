#include <tarn/compile/emit_text.h>

namespace tarn::inline v1::detail {

namespace {

std::string call(const Expression& e, const Step& s) {
  const PointwiseRow& row = kPointwiseRows[s.index];
  std::string arguments;
  auto add = [&](const std::string& a) { arguments += (arguments.empty() ? "" : ", ") + a; };
  for (int slot = 0; slot < generic::kSlots; ++slot)
    if (s.in[slot] >= 0) add(str("v", s.in[slot]));
  for (int p = 0; p < row.param_count; ++p)
    add(str("number_as<", kElements[int(e.numbers[size_t(s.params[p])].held)], ">(c.numbers[", s.params[p],
            "])"));
  return str(function_name(s), "(", arguments, ")");
}

std::string value_of(const Expression& e, const Step& s) {
  const char* element = kElements[int(s.held)];
  switch (s.kind) {
    case StepKind::Load:
      if (s.held == Held::Flag) return str("load_flag(p", s.index, ")");
      return str("load_as<", element, ", ", memory_type(s.dtype), ">(p", s.index, ")");
    case StepKind::Number:
      return str("number_as<", element, ">(c.numbers[", s.index, "])");
    case StepKind::Row:
      return call(e, s);
    case StepKind::Round:
      if (s.held == Held::Flag) return str("v", s.in[0], " != 0");
      return str("round_as<", element, ", ", memory_type(s.dtype), ">(v", s.in[0], ")");
    default:
      return str(e.steps[size_t(s.in[0])].held == Held::Flag ? "from_flag<" : "convert_as<", element, ">(v",
                 s.in[0], ")");
  }
}

}  // namespace

std::string emit_cuda_kernel(const Expression& e) {
  size_t operands = e.operands.size(), numbers = std::max<size_t>(1, e.numbers.size());
  std::string out = row_functions(e, "__device__ inline");
  out += str("\nstruct Call {\n  char* operands[", operands, "];\n  int64_t steps[", operands, "], jumps[",
             operands, "], numbers[", numbers,
             "], rows, count;\n};\n\nextern \"C\" __global__ void tarn_kernel(Call c) {\n",
             "  int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;\n",
             "  for (int64_t at = first; at < c.rows * c.count; at += int64_t(gridDim.x) * blockDim.x) {\n",
             "    int64_t row = at / c.count, i = at % c.count;\n");
  for (size_t k = 0; k < operands; ++k)
    if (e.operands[k].read || e.operands[k].written)
      out +=
          str("    char* p", k, " = c.operands[", k, "] + row * c.jumps[", k, "] + i * c.steps[", k, "];\n");
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    if (s.kind != StepKind::Store)
      out += str("    ", kTypes[int(s.held)], " v", i, " = ", value_of(e, s), ";\n");
    else if (s.held == Held::Flag)
      out += str("    store_flag(p", s.index, ", v", s.in[0], ");\n");
    else
      out += str("    store_as<", memory_type(s.dtype), ">(p", s.index, ", v", s.in[0], ");\n");
  }
  return out + "  }\n}\n";
}

std::string with_device_prelude(const std::string& kernel) {
  return str(kDevicePrelude, "namespace tarn::inline v1::gpu {\n", kernel,
             "}  // namespace tarn::inline v1::gpu\n");
}

}  // namespace tarn::inline v1::detail
