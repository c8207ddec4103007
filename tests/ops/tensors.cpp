// Test tensors: values by formula, memory laid out in several ways.
#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::Contiguous:
      return "contiguous";
    case Layout::Transposed:
      return "transposed";
    case Layout::Strided:
      return "strided";
    case Layout::Offset:
      return "offset";
    case Layout::ChannelsLast:
      return "channels_last";
    case Layout::Expanded:
      return "expanded";
  }
  return "";
}

Formula formula_of(const Input& input, int number, ScalarType dtype) {
  if (dtype == kBool) return {.a = 5, .b = 3 * (number + 1), .m = 7, .c = 0, .d = 4};
  Formula f = is_integral(dtype) ? input.range.whole : input.range.real;
  if (f.m == kFew.m) return f.a += number, f;
  f.b += 34 * number;  // even, since the odd numerators of the real ranges must stay odd
  if (dtype == kByte && f.c > 0) f.c = 0;
  return f;
}

namespace {

struct Geometry {
  Dims strides;
  int64_t offset = 0;
};

// Strides that are dense when the dims are walked in the given order, innermost first.
Dims strides_in_order(IntArrayRef sizes, const std::vector<int>& order, int64_t innermost) {
  Dims strides(int(sizes.size()));
  for (int d : order) {
    strides[d] = innermost;
    innermost *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

Geometry geometry_of(IntArrayRef sizes, Layout layout) {
  int rank = int(sizes.size());
  std::vector<int> row_major, column_major;
  for (int d = 0; d < rank; ++d) {
    row_major.push_back(rank - 1 - d);
    column_major.push_back(d);
  }
  switch (layout) {
    case Layout::Transposed:
      return {strides_in_order(sizes, column_major, 1)};
    case Layout::Strided:
      return {strides_in_order(sizes, row_major, 2)};
    case Layout::Offset:
      return {strides_in_order(sizes, row_major, 1), 3};
    case Layout::ChannelsLast:
      if (rank == 4) return {strides_in_order(sizes, {1, 3, 2, 0}, 1)};
      [[fallthrough]];
    default:
      return {strides_in_order(sizes, row_major, 1)};
    case Layout::Expanded: {
      Geometry g{strides_in_order(sizes, row_major, 1)};
      if (rank > 0) g.strides[0] = 0;
      return g;
    }
  }
}

// A tensor of this geometry in memory whose other bytes are 0xff, NaN for every floating dtype: a kernel that
// reads between the elements shows.
Tensor make_laid_out(IntArrayRef sizes, ScalarType dtype, Layout layout) {
  Geometry g = geometry_of(sizes, layout);
  int64_t span = g.offset + 4;
  for (size_t d = 0; d < sizes.size(); ++d) span += std::max<int64_t>(sizes[d] - 1, 0) * g.strides[int(d)];
  Tensor memory = detail::make_tensor({span}, dtype);
  if (memory.nbytes() > 0) std::memset(memory.data_ptr(), 0xff, memory.nbytes());
  return detail::make_alias(memory, sizes, g.strides, g.offset);
}

}  // namespace

Tensor make(const Input& input, int number, ScalarType dtype, Layout layout) {
  if (!input.given) return {};
  dtype = input.dtype.value_or(dtype);
  Tensor t = layout == Layout::Contiguous ? detail::make_tensor(input.sizes, dtype)
                                          : make_laid_out(input.sizes, dtype, layout);
  bool whole = is_integral(dtype, true);
  Formula f = formula_of(input, number, dtype);
  fill_with(t, [&](int64_t i) {
    return input.list.empty() ? evaluate(f, i, whole) : input.list[i % input.list.size()];
  });
  return t;
}

Tensors make_all(const std::vector<Input>& inputs, ScalarType dtype, Layout layout) {
  Tensors tensors;
  for (size_t i = 0; i < inputs.size(); ++i) tensors.push_back(make(inputs[i], int(i), dtype, layout));
  return tensors;
}

}  // namespace tarn::testing
