// What the texts of host and device kernels have in common. Included by emit*.cpp only.
#pragma once

#include <tarn/compile/emit.h>
#include <tarn/core/ops/pointwise_form.h>

namespace tarn::inline v1::detail {

inline constexpr const char* kTypes[] = {"F32", "F64", "I64", "Flags"};
inline constexpr const char* kElements[] = {"float", "double", "int64_t", "uint8_t"};

inline const char* memory_type(ScalarType dtype) {
  switch (dtype) {
    case kByte:
      return "uint8_t";
    case kChar:
      return "int8_t";
    case kShort:
      return "int16_t";
    case kInt:
      return "int32_t";
    case kLong:
      return "int64_t";
    case kHalf:
      return "f16";
    case kDouble:
      return "double";
    case kBFloat16:
      return "bf16";
    case kBool:
      return "bool";
    default:
      return "float";
  }
}

inline std::string function_name(const Step& s) {
  return s.text == 0 ? str(kPointwiseRows[s.index].name, "_value")
                     : str(kPointwiseRows[s.index].name, "_gradient", s.text - 1);
}

inline const char* slot_name(const PointwiseRow& row, int slot) {
  return slot == generic::kSlotG   ? "g"
         : slot == generic::kSlotY ? "y"
                                   : row.operand_names[slot - generic::kSlotA];
}

inline bool same_function(const Step& a, const Step& b) {
  return a.kind == StepKind::Row && b.kind == StepKind::Row && a.index == b.index && a.text == b.text;
}

// One function per text that is used, as a template over the type it computes with.
inline std::string row_functions(const Expression& e, const char* qualifier) {
  std::string out;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    bool known = s.kind != StepKind::Row;
    for (size_t k = 0; k < i && !known; ++k) known = same_function(e.steps[k], s);
    if (known) continue;
    const PointwiseRow& row = kPointwiseRows[s.index];
    std::string parameters;
    for (int slot = 0; slot < generic::kSlots; ++slot)
      if (s.in[slot] >= 0)
        parameters += str(parameters.empty() ? "" : ", ",
                          slot == generic::condition_slot(row.kind) ? "C" : "X", " ", slot_name(row, slot));
    for (int p = 0; p < row.param_count; ++p)
      parameters += str(parameters.empty() ? "" : ", ", "X ", row.params[p]);
    const char* text = s.text == 0 ? row.value : row.gradient[s.text - 1];
    bool flags = row.kind == RowKind::COMPARE && s.text == 0;
    bool condition = s.in[generic::condition_slot(row.kind) % generic::kSlots] >= 0 &&
                     generic::condition_slot(row.kind) != generic::kSlots;
    out += str("template <class X", condition ? ", class C" : "", ">\n", qualifier, flags ? " auto " : " X ",
               function_name(s), "(", parameters, ") { return ", flags ? "" : "X(", text, flags ? "" : ")",
               "; }\n");
  }
  return out;
}

}  // namespace tarn::inline v1::detail
