// Rows of the functions that make tensors.
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/from.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

namespace {

#define NEGATIVE(op) E(#op ": sizes must not be negative, got [2, -1]", op({2, -1}))
#define TOO_MANY(op)                                                                  \
  E(#op ": the number of elements of [4611686018427387904, 4] does not fit in int64", \
    op({int64_t(1) << 62, 4}))

// empty() has no values to compare, so its properties are checked.
void check_empty() {
  Tensor x = empty({2, 3}, kDouble);
  CHECK(x.sizes() == IntArrayRef{2, 3});
  CHECK(x.dtype() == kDouble);
  CHECK(x.is_contiguous());
  CHECK(empty({0, 3}).numel() == 0);
  CHECK(empty({}).numel() == 1);
  CHECK(empty({2, 3, 4, 5}, {}, MemoryFormat::ChannelsLast).is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(empty({2}, requires_grad()).requires_grad());
  CHECK(reinterpret_cast<uintptr_t>(empty({3}).data_ptr()) % 64 == 0);
}

void check_empty_strided() {
  Tensor x = empty_strided({2, 3}, {1, 2}, kInt);
  CHECK(x.strides() == IntArrayRef{1, 2});
  CHECK(x.dtype() == kInt);
  CHECK(empty_strided({0, 3}, {3, 1}).numel() == 0);
}

void check_empty_like() {
  Tensor x = formula_tensor({3, 4}, kInt);
  Tensor y = empty_like(x);
  CHECK(y.sizes() == x.sizes());
  CHECK(y.dtype() == kInt);
  CHECK_FALSE(y.is_alias_of(x));
  CHECK(empty_like(x.t()).strides() == IntArrayRef{1, 4});
  CHECK(empty_like(x, kHalf).dtype() == kHalf);
}

std::vector<Row> filled_rows() {
  return {
      {.name = "empty",
       .errors = {NEGATIVE(empty), TOO_MANY(empty),
                  E("empty: channels_last needs 4 dims, got sizes [2, 3]",
                    empty({2, 3}, {}, MemoryFormat::ChannelsLast))},
       .property = check_empty},
      {.name = "empty_strided",
       .errors = {E("empty_strided: sizes [2, 3] and strides [1] differ in number",
                    empty_strided({2, 3}, {1})),
                  E("empty_strided: sizes must not be negative, got [-1]", empty_strided({-1}, {1})),
                  E("empty_strided: strides must be 0 or more and fit in memory, got [-1]",
                    empty_strided({2}, {-1}))},
       .property = check_empty_strided},
      {.name = "empty_like",
       .errors = {E("tensor: this tensor is undefined; give it a value first", empty_like(x), undefined())},
       .property = check_empty_like,
       .few_errors = "takes any tensor"},
      {.name = "zeros",
       .samples = {S(zeros({2, 3})), S(zeros({})), S(zeros({0, 3})),
                   S_PY("zeros([3], dtype=kLong)", zeros({3}, kLong)),
                   S_PY("zeros([3], dtype=kBool)", zeros({3}, kBool)),
                   S_PY("zeros([3], dtype=kHalf)", zeros({3}, kHalf))},
       .errors = {NEGATIVE(zeros), TOO_MANY(zeros)},
       .few_errors = "takes sizes only"},
      {.name = "ones",
       .samples = {S(ones({2, 3})), S(ones({})), S(ones({0, 3})),
                   S_PY("ones([3], dtype=kLong)", ones({3}, kLong)),
                   S_PY("ones([3], dtype=kBool)", ones({3}, kBool)),
                   S_PY("ones([3], dtype=kBFloat16)", ones({3}, kBFloat16))},
       .errors = {NEGATIVE(ones), TOO_MANY(ones)},
       .few_errors = "takes sizes only"},
      {.name = "full",
       .samples = {S(full({2, 3}, 1.5)), S(full({}, 7)), S(full({0, 3}, 1)), S(full({3}, true)),
                   S_PY("full([3], 2.7, dtype=kInt)", full({3}, 2.7, kInt)),
                   S_PY("full([3], 1, dtype=kHalf)", full({3}, 1, kHalf)),
                   S_PY("full([2], -torch.inf)", full({2}, -INFINITY))},
       .errors = {E("full: sizes must not be negative, got [-1]", full({-1}, 1)),
                  E("full: the number of elements of [4611686018427387904, 4] does not fit in int64",
                    full({int64_t(1) << 62, 4}, 1))},
       .few_errors = "takes sizes only"},
      {.name = "scalar_tensor",
       .samples = {S(scalar_tensor(1.5)), S(scalar_tensor(3)),
                   S_PY("scalar_tensor(3, dtype=kLong)", scalar_tensor(3, kLong))},
       .few_errors = "takes any number"},
      {.name = "zeros_like",
       .dtypes = kEveryDtype,
       .channels_last = true,
       .samples = {S(zeros_like(x), {2, 3}), S(zeros_like(x), {}), S(zeros_like(x), {0, 3}),
                   S(zeros_like(x), {2, 3, 2, 2}),
                   S_PY("zeros_like(x, dtype=kInt)", zeros_like(x, kInt), {3})},
       .few_errors = "takes any tensor"},
      {.name = "ones_like",
       .dtypes = kEveryDtype,
       .channels_last = true,
       .samples = {S(ones_like(x), {2, 3}), S(ones_like(x), {}), S(ones_like(x), {0, 3}),
                   S(ones_like(x), {2, 3, 2, 2}), S_PY("ones_like(x, dtype=kInt)", ones_like(x, kInt), {3})},
       .few_errors = "takes any tensor"},
      {.name = "full_like",
       .dtypes = kEveryDtype,
       .channels_last = true,
       .samples = {S(full_like(x, 3), {2, 3}), S(full_like(x, 1.5), {}), S(full_like(x, 1), {0, 3}),
                   S(full_like(x, 2), {2, 3, 2, 2}),
                   S_PY("full_like(x, 2.5, dtype=kInt)", full_like(x, 2.5, kInt), {3})},
       .few_errors = "takes any tensor"},
  };
}

std::vector<Row> ramp_rows() {
  return {
      {.name = "arange",
       .samples = {S(arange(5)), S(arange(5.0)), S(arange(1, 6)), S(arange(1, 6, 2)), S(arange(0, 1, 0.1)),
                   S(arange(5, 0, -2)), S(arange(0)), S(arange(3, 3)), S(arange(-1.5, 2.5)), S(arange(0, 40)),
                   S_PY("arange(0, 5, dtype=kHalf)", arange(0, 5, kHalf)),
                   S_PY("arange(5, dtype=kDouble)", arange(5, kDouble)), S(arange(10, 1000, 7))},
       .errors = {E("arange: step must not be 0", arange(0, 5, 0)),
                  E("arange: a step of -1 does not lead from 0 to 5", arange(0, 5, -1)),
                  E("arange: start and end must be finite, got 0 and inf", arange(0, INFINITY, 1))}},
      {.name = "linspace",
       .samples = {S(linspace(0, 1, 5)), S(linspace(-2, 3, 11)), S(linspace(1, 0, 4)), S(linspace(0, 1, 1)),
                   S(linspace(0, 1, 0)), S_PY("linspace(0, 10, 5, dtype=kInt)", linspace(0, 10, 5, kInt)),
                   S_PY("linspace(0, 1, 33, dtype=kDouble)", linspace(0, 1, 33, kDouble))},
       .errors = {E("linspace: steps must be 0 or more, got -1", linspace(0, 1, -1))},
       .few_errors = "takes any numbers"},
      {.name = "eye",
       .samples = {S(eye(3)), S(eye(2, 4)), S(eye(4, 2)), S(eye(0)), S(eye(0, 3)),
                   S_PY("eye(3, dtype=kLong)", eye(3, kLong)), S_PY("eye(2, dtype=kBool)", eye(2, kBool))},
       .errors = {E("eye: sizes must be 0 or more, got -1 and -1", eye(-1)),
                  E("eye: sizes must be 0 or more, got 2 and -1", eye(2, -1))},
       .few_errors = "takes sizes only"},
  };
}

float number_in_memory = 1;

void check_from_blob() {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  Tensor t = from_blob(memory, {2, 3});
  CHECK_SAME(t, tensor_of({0, 1, 2, 3, 4, 5}, kFloat, {2, 3}));
  t.fill_(7);
  CHECK(memory[5] == 7);
  memory[0] = 9;
  CHECK(t.select(0, 0).select(0, 0).item<float>() == 9);
  int deleted = 0;
  {
    Tensor owner = from_blob(memory, {2, 3}, [&](void* data) { deleted += data == memory; });
    Tensor alias = owner.t();
    owner.reset();
    CHECK(deleted == 0);
  }
  CHECK(deleted == 1);
}

std::vector<Row> given_rows() {
  return {
      {.name = "tensor",
       .samples = {S(tensor({1, 2, 3})), S(tensor({1.5, 2.0})), S(tensor({{1, 2}, {3, 4}})),
                   S(tensor({true, false})), S(tensor(3.5)), S(tensor(7)),
                   S_PY("tensor([1, 2], dtype=kHalf)", tensor({1, 2}, kHalf)),
                   S_PY("tensor([[[1.0], [2.0]]])", tensor({{{1.0}, {2.0}}}))},
       .errors = {E("tensor: the rows of a nested list differ: sizes [2] and [1]", tensor({{1, 2}, {3}}))},
       .few_errors = "most mistakes do not compile"},
      {.name = "from_blob",
       .errors = {E("from_blob: the data is null, but sizes [2] have elements", from_blob(nullptr, {2})),
                  E("from_blob: sizes [2] and strides [1, 1] differ in number",
                    from_blob(&number_in_memory, {2}, {1, 1})),
                  E("from_blob: strides must be 0 or more, got [-1]",
                    from_blob(&number_in_memory, {2}, {-1}))},
       .property = check_from_blob},
  };
}

}  // namespace

std::vector<Row> creation_rows() { return join({filled_rows(), ramp_rows(), given_rows()}); }

}  // namespace tarn::testing
