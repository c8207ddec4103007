#include <tarn/compile/reference.h>

#include <cstring>

#include <tarn/core/cpu/pointwise_kernels.h>

namespace tarn::inline v1::detail {

namespace {

union Element {
  float f32;
  double f64;
  int64_t i64;
  uint8_t flag;
};

const PointwiseTable& table_of(Held held) {
  return held == Held::F32   ? generic::pointwise_f32
         : held == Held::F64 ? generic::pointwise_f64
                             : generic::pointwise_i64;
}

void load(const Step& s, const void* from, Element* to) {
  if (s.held == Held::Flag)
    std::memcpy(to, from, 1);
  else
    table_of(s.held).load[int(s.dtype)](to, from, 1, 1);
}

void store(Held held, ScalarType dtype, const Element* from, void* to) {
  if (held == Held::Flag)
    std::memcpy(to, from, 1);
  else
    table_of(held).store[int(dtype)](to, from, 1, 1);
}

void run_row(const Step& s, const std::vector<Element>& values, const int64_t* numbers, Element* to) {
  const void* slots[generic::kSlots] = {};
  for (int slot = 0; slot < generic::kSlots; ++slot)
    if (s.in[slot] >= 0) slots[slot] = &values[size_t(s.in[slot])];
  char params[3 * 8] = {};
  int size = held_size(s.computes);
  for (int i = 0; i < 3; ++i)
    if (s.params[i] >= 0) std::memcpy(params + i * size, numbers + s.params[i], size_t(size));
  table_of(s.computes).kernels[s.index][s.text](to, slots, params, 1);
}

}  // namespace

void run_element(const Expression& e, void* const* operands, const int64_t* numbers) {
  std::vector<Element> values(e.steps.size());
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    Element& to = values[i];
    Held from = s.in[0] >= 0 ? e.steps[size_t(s.in[0])].held : Held::F32;
    switch (s.kind) {
      case StepKind::Load:
        load(s, operands[s.index], &to);
        break;
      case StepKind::Number:
        std::memcpy(&to, numbers + s.index, size_t(held_size(s.held)));
        break;
      case StepKind::Row:
        run_row(s, values, numbers, &to);
        break;
      case StepKind::Round: {
        char memory[8];
        store(from, s.dtype, &values[size_t(s.in[0])], memory);
        load(s, memory, &to);
        break;
      }
      case StepKind::Convert:
        table_of(s.held).load[int(dtype_of_held(from))](&to, &values[size_t(s.in[0])], 1, 1);
        break;
      case StepKind::Store:
        store(from, s.dtype, &values[size_t(s.in[0])], operands[s.index]);
        break;
    }
  }
}

}  // namespace tarn::inline v1::detail
