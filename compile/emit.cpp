#include <tarn/compile/emit_text.h>

namespace tarn::inline v1::detail {

namespace {

int widest(const Expression& e) {
  for (const Step& s : e.steps)
    if (held_size(s.held) == 8 || (s.kind == StepKind::Row && held_size(s.computes) == 8)) return 8;
  return 4;
}

// One step of the C++ kernel's body.
class CppStep {
 public:
  CppStep(const Expression& e, const std::vector<Access>& accesses) : e_(e), accesses_(accesses) {}

  std::string text(size_t at) const {
    const Step& s = e_.steps[at];
    if (s.kind == StepKind::Store) return store(s);
    std::string value;
    switch (s.kind) {
      case StepKind::Load:
        value = load(s);
        break;
      case StepKind::Number:
        value = str(kTypes[int(s.held)], "(n.n", s.index, ")");
        break;
      case StepKind::Row:
        value = row(s);
        break;
      case StepKind::Round:
        value = s.held == Held::Flag ? str("mask_as<kFlagBytes>(v", s.in[0], " != 0)")
                                     : str("round_as<", kElements[int(s.held)], ", ", memory_type(s.dtype),
                                           ">(v", s.in[0], ")");
        break;
      default:
        value = str(held(s.in[0]) == Held::Flag ? "from_flags<" : "convert_as<", kElements[int(s.held)],
                    ">(v", s.in[0], ")");
    }
    return str("  ", kTypes[int(s.held)], " v", at, " = ", value, ";\n");
  }

 private:
  Held held(int step) const { return e_.steps[size_t(step)].held; }

  std::string load(const Step& s) const {
    Access access = accesses_[size_t(s.index)];
    const char* element = kElements[int(s.held)];
    if (s.held == Held::Flag) {
      if (access == Access::Near) return str("flags_near<kFlagBytes, N>(p", s.index, " + i, count)");
      if (access == Access::Same) return str("flags_same<kFlagBytes, N>(p", s.index, ")");
      return str("flags_far<kFlagBytes, N>(p", s.index, " + i * steps[", s.index, "], steps[", s.index,
                 "], count)");
    }
    if (access == Access::Near)
      return str("load_near<", element, ", ", memory_type(s.dtype), ", N, kPart>(p", s.index, " + i * ",
                 element_size(s.dtype), ", count)");
    if (access == Access::Same)
      return str("load_same<", element, ", ", memory_type(s.dtype), ", N>(p", s.index, ")");
    return str("load_far<", element, ", ", memory_type(s.dtype), ", N>(p", s.index, " + i * steps[", s.index,
               "], steps[", s.index, "], count)");
  }

  std::string store(const Step& s) const {
    bool near = accesses_[size_t(s.index)] == Access::Near;
    std::string to = near ? str("p", s.index, " + i * ", element_size(s.dtype))
                          : str("p", s.index, " + i * steps[", s.index, "]");
    if (s.held == Held::Flag)
      return str("  store_flags(", to, ", ", near ? str(1) : str("steps[", s.index, "]"), ", v", s.in[0],
                 ", count);\n");
    if (near)
      return str("  store_near<", memory_type(s.dtype), ", ", kElements[int(s.held)], ", N, kPart>(", to,
                 ", v", s.in[0], ", count);\n");
    return str("  store_far<", memory_type(s.dtype), ">(", to, ", steps[", s.index, "], v", s.in[0],
               ", count);\n");
  }

  std::string row(const Step& s) const {
    const PointwiseRow& r = kPointwiseRows[s.index];
    std::string arguments;
    auto add = [&](const std::string& a) { arguments += (arguments.empty() ? "" : ", ") + a; };
    for (int slot = 0; slot < generic::kSlots; ++slot) {
      if (s.in[slot] < 0) continue;
      bool condition = slot == generic::condition_slot(r.kind);
      add(condition ? str("mask_as<", held_size(s.computes), ">(v", s.in[slot], ")") : str("v", s.in[slot]));
    }
    for (int p = 0; p < r.param_count; ++p) add(str(kTypes[int(s.computes)], "(n.n", s.params[p], ")"));
    std::string call = str(function_name(s), "(", arguments, ")");
    return s.held == Held::Flag ? str("mask_as<kFlagBytes>(", call, ")") : call;
  }

  const Expression& e_;
  const std::vector<Access>& accesses_;
};

}  // namespace

std::string emit_cpp_kernel(const Expression& e, const std::vector<Access>& accesses) {
  std::string out = str("constexpr int kFlagBytes = ", widest(e), ", N = kVectorBytes / kFlagBytes;\n",
                        "using F32 = V<float, N>;\nusing F64 = V<double, N>;\nusing I64 = V<int64_t, N>;\n",
                        "using Flags = Mask<kFlagBytes, N>;\n\n");
  out += row_functions(e, "TARN_INLINE");
  out += "\nstruct Numbers {\n";
  for (size_t i = 0; i < e.numbers.size(); ++i)
    out += str("  ", kElements[int(e.numbers[i].held)], " n", i, ";\n");
  out +=
      "};\n\ntemplate <bool kPart>\n"
      "TARN_INLINE void body(char* const* p, const int64_t* steps, const Numbers& n, int64_t i, int count) "
      "{\n";
  for (size_t k = 0; k < accesses.size(); ++k)
    if (accesses[k] != Access::Unused) out += str("  char* p", k, " = p[", k, "];\n");
  CppStep step(e, accesses);
  for (size_t i = 0; i < e.steps.size(); ++i) out += step.text(i);
  out +=
      str("}\n\nextern \"C\" __attribute__((visibility(\"default\"))) void tarn_kernel(\n",
          "    char* const* operands, const int64_t* steps, const int64_t* jumps, const int64_t* numbers,\n",
          "    int64_t rows, int64_t count) {\n  Numbers n;\n");
  for (size_t i = 0; i < e.numbers.size(); ++i)
    out += str("  __builtin_memcpy(&n.n", i, ", numbers + ", i, ", sizeof n.n", i, ");\n");
  out += str("  for (int64_t row = 0; row < rows; row++) {\n    char* p[", accesses.size(), "];\n",
             "    for (int k = 0; k < ", accesses.size(), "; k++) p[k] = operands[k] + row * jumps[k];\n",
             "    int64_t i = 0;\n    for (; i + N <= count; i += N) body<false>(p, steps, n, i, N);\n",
             "    if (i < count) body<true>(p, steps, n, i, int(count - i));\n  }\n}\n");
  return out;
}

std::string with_prelude(const std::string& kernel, int vector_bytes) {
  return str(kHostPrelude, "namespace tarn::inline v1::kernel {\nconstexpr int kVectorBytes = ", vector_bytes,
             ";\n", kernel, "}  // namespace tarn::inline v1::kernel\n");
}

}  // namespace tarn::inline v1::detail
