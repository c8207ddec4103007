// What libtarn hands to a device kernel: plain structs, one per launcher of the call table. Kernel files
// include this, so it knows nothing of Tensor. Pointers are device addresses, strides count elements. A
// struct that goes to a kernel says by uses(f) which pointers it reads and writes, for the emulated device's
// checks.
#pragma once

#include <cstdint>

namespace tarn::inline v1::detail {

// ScalarType's numbers.
enum class Elem : int {
  U8 = 0,
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  F16 = 5,
  F32 = 6,
  F64 = 7,
  Bool = 11,
  BF16 = 15,
};

constexpr int kWalkRank = 16;

// How N operands of one shape are stepped through. Dim 0 is the innermost; dims that all operands step
// through like one are merged.
template <int N>
struct Walk {
  int rank = 0;  // 0: one element
  int64_t count = 1;
  int64_t size[kWalkRank] = {};
  int64_t stride[N][kWalkRank] = {};
};

// --- pointwise: a text of pointwise.def. Slots are PointwiseSlot's ---

constexpr int kCallSlots = 5;

// What a row computes in.
enum class Compute : int { F32, F64, I64 };

struct PointwiseCall {
  int row, text;
  Compute compute;
  void* out;
  const void* in[kCallSlots];  // null: not read, or a number
  int64_t number[kCallSlots];  // in the compute type's bytes
  int64_t params[3];           // likewise
  Walk<1 + kCallSlots> walk;   // operand 0 is out
  template <class F>
  void uses(F f) const {
    f(out, true);
    for (const void* p : in)
      if (p) f(p, false);
  }
};

// --- copies with conversion, and fills ---

struct CopyCall {
  void* to;
  const void* from;
  Elem to_type, from_type;
  Walk<2> walk;  // to, from
  template <class F>
  void uses(F f) const {
    f(to, true);
    f(from, false);
  }
};

struct FillCall {
  void* to;
  Elem type;
  double real;      // floating types
  int64_t integer;  // the others
  Walk<1> walk;
  template <class F>
  void uses(F f) const {
    f(to, true);
  }
};

}  // namespace tarn::inline v1::detail
