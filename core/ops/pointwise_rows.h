// The rows of pointwise.def as C++: a number and a record for each, and its texts as templates over the type
// they compute with. Kernel files include this, so it knows nothing of Tensor and includes no std container.
#pragma once
#include <stdint.h>

#ifndef TARN_ISA
#define TARN_ISA generic
#endif
#ifndef TARN_ROW_TEXT  // what functions of kernels are marked with
#define TARN_ROW_TEXT [[gnu::always_inline]]
#endif

namespace tarn::inline v1::TARN_ISA {

enum class RowKind : uint8_t { FLOAT, ARITH, INT, COMPARE, SELECT, FILL };

// Where a kernel finds its operands; UNARY has x at kSlotA.
enum PointwiseSlot : uint8_t { kSlotG, kSlotA, kSlotB, kSlotC, kSlotY, kSlots };

// The slot of a row's bool operand, or kSlots.
constexpr PointwiseSlot condition_slot(RowKind kind) {
  return kind == RowKind::SELECT ? kSlotA : kind == RowKind::FILL ? kSlotB : kSlots;
}

enum RowId : int {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) kRow_##name,
#include <tarn/core/ops/pointwise.def>
  kRows
};

struct PointwiseRow {
  const char* name;
  const char* backward_name;
  RowKind kind;
  int operands;
  const char* operand_names[3];
  const char* params[3];
  const char* value;
  const char* gradient[3];  // "": none
  // What autograd or a kernel has to provide for text i (0: value, 1 + i: gradient of operand i): bit = slot.
  uint8_t reads[4];
  int param_count;
};

// Whether `text` contains the identifier `name`.
constexpr bool text_names(const char* text, const char* name) {
  auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  bool inside = false;
  for (const char* s = text; *s; s++) {
    if (!inside && part(*s)) {
      const char *t = s, *n = name;
      while (*n && *t == *n) t++, n++;
      if (!*n && !part(*t)) return true;
    }
    inside = part(*s);
  }
  return false;
}
static_assert(text_names("g * exp(x)", "x") && !text_names("g * exp(1.5)", "x") &&
              !text_names("max(a, xy)", "x"));

constexpr PointwiseRow with_reads(PointwiseRow row) {
  for (int text = 0; text < 4; text++) {
    const char* s = text ? row.gradient[text - 1] : row.value;
    uint8_t bits = text_names(s, "g") ? 1 << kSlotG : 0;
    if (text_names(s, "y")) bits |= 1 << kSlotY;
    for (int i = 0; i < row.operands; i++)
      if (text_names(s, row.operand_names[i])) bits |= 1 << (kSlotA + i);
    row.reads[text] = bits;
  }
  for (const char* p : row.params)
    if (!(p[0] == 'n' && p[1] == 'o' && p[2] == '_')) row.param_count++;
  return row;
}

inline constexpr PointwiseRow kPointwiseRows[] = {
#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) \
  with_reads({#name,                                            \
              #name "_backward",                                \
              RowKind::kind,                                    \
              n,                                                \
              {#a, #b, #c},                                     \
              {#p, #q, #r},                                     \
              #value,                                           \
              {#d0, #d1, #d2},                                  \
              {},                                               \
              0}),
#include <tarn/core/ops/pointwise.def>
};

// The texts over operands of type X and numbers of type P; A and B are X, or what a bool is
// among X where that operand is one.
// Members carry the names that the texts use.
template <int Row, class X, class A, class B, class P>
struct RowText;

#define ROW(kind, name, n, a, b, c, p, q, r, value, d0, d1, d2) \
  template <class X, class A, class B, class P>                 \
  struct RowText<kRow_##name, X, A, B, P> {                     \
    X g;                                                        \
    A a;                                                        \
    B b;                                                        \
    X c, y;                                                     \
    P p, q, r;                                                  \
    TARN_ROW_TEXT auto value_text() const { return value; }     \
    TARN_ROW_TEXT X gradient_text0() const { return X(d0); }    \
    TARN_ROW_TEXT X gradient_text1() const { return X(d1); }    \
    TARN_ROW_TEXT X gradient_text2() const { return X(d2); }    \
  };
#include <tarn/core/ops/pointwise.def>

}  // namespace tarn::inline v1::TARN_ISA
