#include <tarn/tests/ops/fuzz_calls.h>

#include <tarn/tarn.h>

namespace tarn::testing {

namespace {

struct Table {
  std::map<std::string, FuzzedOp> ops;
  std::vector<std::string> undrawable;
};

Tensors collect_results(Tensor& t) { return {t}; }
template <class R>
Tensors collect_results(R&& result) {
  return rows::collect(std::forward<R>(result));
}

template <class R, class... A>
void add(Table& table, const char* name, R (*function)(A...)) {
  if constexpr ((kDrawable<std::remove_cvref_t<A>> && ...)) {
    table.ops[name].signatures.push_back([function](Draw& draw) {
      std::tuple<std::remove_cvref_t<A>...> arguments{
          draw.argument<std::remove_cvref_t<A>>()...};  // in order
      return collect_results(std::apply(function, arguments));
    });
  } else {
    table.undrawable.push_back(name);
  }
}

void add_rows(Table& table) {
  for (const Row& row : all_rows())
    if (!row.samples.empty()) table.ops[row.name.substr(0, row.name.find(' '))].rows.push_back(&row);
}

#define TARN_UNPACK(...) __VA_ARGS__
#define TARN_SIGNATURE(name, result, arguments) \
  add(table, #name, static_cast<TARN_UNPACK result(*) arguments>(&tarn::name));
void add_declared(Table& table) {
#include "op_signatures.h"
}

// The rows of pointwise.def.
// clang-format off
#define TARN_PUBLIC_ROWS
#define UNARY(kind, name, ...) TARN_SIGNATURE(name, (Tensor), (const Tensor&))
#define UNARY1(kind, name, ...) TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Scalar&))
#define UNARY2(kind, name, ...) TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Scalar&, const Scalar&))
#define UNARY3(kind, name, ...) \
  TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Scalar&, const Scalar&, const Scalar&))
#define BINARY(kind, name, ...) \
  TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Tensor&)) \
  TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Scalar&))
#define BINARY1(kind, name, ...) TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Tensor&, const Scalar&))
#define TERNARY(kind, name, ...) TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Tensor&, const Tensor&))
#define TERNARY1(kind, name, ...) \
  TARN_SIGNATURE(name, (Tensor), (const Tensor&, const Tensor&, const Tensor&, const Scalar&))
void add_pointwise(Table& table) {
#include <tarn/core/ops/pointwise.def>
}
#undef TARN_PUBLIC_ROWS
// clang-format on

const Table& table() {
  static const auto* table = [] {
    auto* t = new Table;
    add_rows(*t);
    add_declared(*t);
    add_pointwise(*t);
    return t;
  }();
  return *table;
}

}  // namespace

const std::map<std::string, FuzzedOp>& fuzzed_ops() { return table().ops; }
const std::vector<std::string>& undrawable_ops() { return table().undrawable; }

}  // namespace tarn::testing
