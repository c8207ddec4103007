// Fused groups against the same ops run eagerly, and the tiers against the definition, bit for bit.
#include <cmath>

#include <tarn/compile/counters.h>
#include <tarn/tests/compile/lower_support.h>

namespace {

using namespace tarn;
using namespace tarn::testing;
using namespace tarn::detail;
using Random = std::mt19937_64;

int64_t below(Random& random, int64_t n) { return int64_t(random() % uint64_t(n)); }

constexpr ScalarType kDtypes[] = {kByte, kChar,  kShort,  kInt,  kLong,
                                  kHalf, kFloat, kDouble, kBool, kBFloat16};

// A tensor that broadcasts to `sizes`: dims of 1, missing dims, permuted, stepped, or expanded.
Tensor random_input(Random& random, IntArrayRef sizes, ScalarType dtype) {
  Dims own = sizes;
  for (int64_t& size : own)
    if (below(random, 4) == 0) size = 1;
  if (below(random, 12) == 0) own = Dims();
  Dims room = own;
  bool stepped = own.size() > 0 && below(random, 4) == 0;
  if (stepped) room[own.size() - 1] *= 2;
  bool permuted = own.size() >= 2 && below(random, 4) == 0;
  if (permuted) std::swap(room[0], room[1]);
  Tensor t = make_tensor(room, dtype);
  fill_with(t, [&](int64_t) {
    if (is_floating(dtype) && below(random, 40) == 0)
      return below(random, 2) ? double(INFINITY) : double(NAN);
    double value = double(below(random, 2001) - 1000) / 256;
    return is_integral(dtype, true) ? std::floor(dtype == kByte ? std::abs(value) : value) : value;
  });
  if (permuted) t = t.transpose(0, 1);
  if (stepped) t = t.slice(own.size() - 1, 0, t.sizes()[own.size() - 1], 2);
  return t;
}

// Rows whose mistakes (bools subtracted, floats as bits) eager refuses are tried again with another row.
bool try_row(GroupMaker& group, Random& random) {
  int row = int(below(random, generic::kRows)), text = below(random, 3) == 0 ? int(below(random, 4)) : 0;
  const Op* op = kRowOps[row][text];
  if (!op) return false;
  const auto& form = *static_cast<const PointwiseForm*>(op->text);
  std::vector<int> in;
  for (int i = 0; i < form.inputs; ++i) {
    int x = int(below(random, group.count()));
    if (i == form.condition)
      for (x = 0; x < group.count() && group.eager(x).dtype() != kBool; ++x) continue;
    if (x == group.count()) return false;
    if (text && i != form.condition && !is_floating(group.eager(x).dtype())) return false;
    in.push_back(x);
  }
  std::vector<Scalar> numbers;
  for (int i = 0; i < form.row->param_count; ++i)
    numbers.push_back(below(random, 2) ? Scalar(below(random, 5) - 1)
                                       : Scalar(double(below(random, 9) - 4) / 4));
  try {
    group.apply(*op, in, numbers);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<GroupMaker> random_groups(uint64_t seed, int count) {
  std::vector<GroupMaker> groups;
  Random random(seed);
  while (int(groups.size()) < count) {
    Dims sizes;
    for (int64_t rank = below(random, 4); rank > 0; --rank)
      sizes.push_back(1 + below(random, 3) * below(random, 30));
    GroupMaker group(sizes);
    int inputs = 1 + int(below(random, 4));
    bool mixed = below(random, 2) == 0;
    ScalarType dtype = kDtypes[size_t(below(random, 10))];
    for (int i = 0; i < inputs; ++i)
      group.input(random_input(random, sizes, mixed ? kDtypes[size_t(below(random, 10))] : dtype));
    int ops = 1 + int(below(random, 7));
    for (int tries = 0; tries < 60 && group.count() < inputs + ops; ++tries) {
      if (below(random, 10) == 0)
        group.cast(int(below(random, group.count())), kDtypes[size_t(below(random, 10))]);
      else
        try_row(group, random);
    }
    int stored = 0;
    for (int x = group.count() - 1; x >= inputs && stored < 3; --x)
      if (group.is_full(x) && (stored == 0 || below(random, 3) == 0)) group.output(x), ++stored;
    if (stored) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

TEST_CASE("a fused group is its ops run eagerly, to the bit, by definition and in the tile interpreter") {
  TierScope scope(TierChoice::Interpret);
  int64_t before = compile_counters().tier0_runs;
  std::vector<GroupMaker> groups = random_groups(1, 400);
  for (GroupMaker& g : groups) {
    GroupSpec spec = g.spec();
    INFO(to_text(spec.expression) << "sizes " << str(spec.sizes));
    g.spoil();
    g.run_reference(spec);
    REQUIRE(g.wrong() == "");
    g.spoil();
    FusedGroup(spec).run(g.places().data(), g.scalars().data());
    REQUIRE(g.wrong() == "");
  }
  CHECK(compile_counters().tier0_runs == before + 400);
}

TEST_CASE("a compiled group is its ops run eagerly, to the bit", "[slow]") {
  TierScope scope(TierChoice::Native);
  int64_t before = compile_counters().tier1_runs;
  std::vector<GroupMaker> groups = random_groups(2, 12);
  for (GroupMaker& g : groups) {
    GroupSpec spec = g.spec();
    INFO(to_text(spec.expression) << "sizes " << str(spec.sizes));
    g.spoil();
    FusedGroup(spec).run(g.places().data(), g.scalars().data());
    REQUIRE(g.wrong() == "");
  }
  CHECK(compile_counters().tier1_runs == before + 12);
}
