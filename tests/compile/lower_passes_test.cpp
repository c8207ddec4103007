// Each pass by itself, and all of them over random programs with views and writes: what can be seen
// afterwards is what the ops left, bit for bit.
#include <tarn/core/ops/batch_norm.h>
#include <tarn/tests/compile/lower_graphs.h>

namespace {

using namespace tarn;
using namespace tarn::testing;
using namespace tarn::detail;

Tensor input_of(IntArrayRef sizes, int64_t seed = 0) {
  return formula_tensor(sizes, kFloat, {.b = 60 + 37 * seed});
}

const Op& add_op() { return row<generic::kRow_add>(); }
const Op& mul_op() { return row<generic::kRow_mul>(); }
const Op& relu_op() { return row<generic::kRow_relu>(); }
const Op& exp_op() { return row<generic::kRow_exp>(); }

}  // namespace

TEST_CASE("cse does the same product once") {
  GraphMaker m;
  int x = m.input(input_of({3, 4}));
  int a = m.apply(mul_op(), {x, x}), b = m.apply(mul_op(), {x, x});
  int c = m.apply(exp_op(), {a}), d = m.apply(exp_op(), {b});
  m.keep(m.apply(mul_op(), {c, d}));
  Graph g = remove_common(m.graph);
  verify_graph(g, "cse");
  CHECK(g.nodes.size() == 3);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("cse sees a write between two products") {
  GraphMaker m;
  int x = m.input(input_of({3, 4}));
  int a = m.apply(mul_op(), {x, x});
  m.inplace(relu_op(), {x});
  int b = m.apply(mul_op(), {x, x});
  m.keep(a), m.keep(b);
  Graph g = remove_common(m.graph);
  CHECK(g.nodes.size() == 3);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("cse leaves two results that are both held their own memory") {
  GraphMaker m;
  int x = m.input(input_of({3, 4}));
  m.keep(m.apply(mul_op(), {x, x})), m.keep(m.apply(mul_op(), {x, x}));
  CHECK(remove_common(m.graph).nodes.size() == 2);
}

TEST_CASE("dead_code drops what nobody can see and keeps writes to inputs") {
  GraphMaker m;
  int x = m.input(input_of({3, 4}));
  int dead = m.apply(exp_op(), {x});
  m.apply(relu_op(), {dead});
  int y = m.apply(mul_op(), {x, x});
  m.inplace(add_op(), {x, y}, {1});
  Graph g = remove_dead(m.graph);
  verify_graph(g, "dead_code");
  REQUIRE(g.nodes.size() == 2);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("dead_code keeps a write through a view of memory that is held") {
  GraphMaker m;
  int x = m.input(input_of({3, 4}));
  int y = m.apply(exp_op(), {x});
  int t = m.view(y, m.tensor(y).transpose(0, 1));
  m.inplace(relu_op(), {t});
  m.keep(y);
  Graph g = remove_dead(m.graph);
  CHECK(g.nodes.size() == 3);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("fuse makes one group of a chain, and stores only what is seen") {
  GraphMaker m;
  int x = m.input(input_of({5, 7})), b = m.input(input_of({7}, 1));
  int y = m.apply(add_op(), {m.apply(mul_op(), {x, b}), b}, {2.5});
  m.keep(m.apply(relu_op(), {y}));
  Graph g = run_passes(m.graph, {});
  REQUIRE(g.nodes.size() == 1);
  CHECK(g.nodes[0].fused->name() == "mul+add+relu");
  CHECK(g.nodes[0].inputs.size() == 2);
  CHECK(g.nodes[0].outputs.size() == 1);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("fuse writes a gradient's sum over its own input") {
  GraphMaker m;
  int sum = m.input(input_of({5, 7})), g1 = m.input(input_of({5, 7}, 1)), y = m.input(input_of({5, 7}, 2));
  m.inplace(add_op(), {sum, g1}, {1});
  m.keep(m.apply(mul_op(), {sum, y}));
  Graph g = run_passes(m.graph, {});
  REQUIRE(g.nodes.size() == 1);
  CHECK(g.nodes[0].write_end == 1);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("fuse does not join across a node that stands between") {
  GraphMaker m;
  int x = m.input(input_of({4, 4}));
  int y = m.apply(exp_op(), {x});
  int t = m.view(y, m.tensor(y).transpose(0, 1));
  int z = m.apply(kSum, {t}, {}, ReduceAttrs{3, 0, int64_t(kFloat)});
  m.keep(m.apply(mul_op(), {y, z}));
  Graph g = run_passes(m.graph, {});
  CHECK(m.wrong(g) == "");
}

TEST_CASE("fuse ends a group with a sum or a mean of eager's bits") {
  for (const Dims& sizes : {Dims{300, 70}, Dims{4, 5000}, Dims{20000}, Dims{2, 33, 9, 9}})
    for (DimSet dims : {DimSet(1), DimSet(2), DimSet(3), DimSet(13)}) {
      if (dims >> sizes.size()) continue;
      for (const Op* op : {&kSum, &kMean}) {
        GraphMaker m;
        int x = m.input(input_of(sizes)), y = m.apply(exp_op(), {x});
        m.keep(m.apply(*op, {m.apply(mul_op(), {x, y})}, {}, ReduceAttrs{int64_t(dims), 0, int64_t(kFloat)}));
        Graph g = run_passes(m.graph, {});
        INFO(to_text(g));
        CHECK(g.nodes.size() == 1);
        CHECK(m.wrong(g) == "");
      }
    }
}

TEST_CASE("a mean that overflows is right in a group too") {
  GraphMaker m;
  int x = m.input(full({1000}, 1e38, kFloat));
  m.keep(m.apply(kMean, {m.apply(mul_op(), {x, m.input(full({1000}, 2, kFloat))})}, {},
                 ReduceAttrs{1, 0, int64_t(kFloat)}));
  Graph g = run_passes(m.graph, {});
  CHECK(groups_in(g) == 1);
  CHECK(m.wrong(g) == "");
}

TEST_CASE("a batch norm joins the relu behind it, in planes and in rows, for each dtype") {
  for (ScalarType dtype : {kFloat, kDouble, kBFloat16})
    for (MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
      GraphMaker m;
      int x = m.input(formula_tensor({3, 5, 4, 6}, dtype).contiguous(format));
      int w = m.input(formula_tensor({5}, dtype, kPositive)), b = m.input(formula_tensor({5}, dtype));
      std::vector<int> y = m.apply_all(batch_norm_op, {x, w, b}, {1e-5});
      int shortcut = m.input(formula_tensor({3, 5, 4, 6}, dtype, kUnit).contiguous(format));
      m.keep(m.apply(relu_op(), {m.apply(add_op(), {y[0], shortcut}, {1})}));
      m.keep(y[1]), m.keep(y[3]);
      Graph g = run_passes(m.graph, {});
      INFO(to_text(g));
      CHECK(groups_in(g) == 1);
      CHECK(g.nodes.back().fused);
      CHECK(m.wrong(g) == "");
    }
}

TEST_CASE("a pass that is off changes nothing") {
  GraphMaker m;
  int x = m.input(input_of({5, 7}));
  m.apply(exp_op(), {x});
  m.keep(m.apply(relu_op(), {m.apply(mul_op(), {x, x})}));
  CHECK(run_passes(m.graph, {.disabled = {"fuse"}}).nodes.size() == 2);
  CHECK(run_passes(m.graph, {.disabled = {"fuse", "dead_code", "sweep"}}).nodes.size() == 3);
}

TEST_CASE("the dump of a graph can be read") {
  GraphMaker m;
  int x = m.input(input_of({2, 3}));
  m.keep(m.apply(relu_op(), {x}));
  m.inplace(mul_op(), {x, x});
  CHECK(to_text(m.graph) ==
        "input %0 Float[2, 3] in s0\n"
        "%1 Float[2, 3] in s1 alive = relu(%0)\n"
        "mul_(&%0, %0)\n");
}

TEST_CASE("verify_graph names the pass that left a broken graph") {
  GraphMaker m;
  int x = m.input(input_of({2, 3}));
  m.keep(m.apply(relu_op(), {x}));
  Graph g = m.graph;
  std::swap(g.nodes[0].inputs[0], g.nodes[0].outputs[0]);
  CHECK(error_of([&] {
          verify_graph(g, "fuse");
        }).find("compile: pass fuse: relu reads %1 before it is there") != std::string::npos);
}

// --- random programs ---

namespace {

using Random = std::mt19937_64;
int64_t below(Random& random, int64_t n) { return int64_t(random() % uint64_t(n)); }

void random_step(GraphMaker& m, Random& random) {
  auto pick = [&] { return int(below(random, m.count())); };
  const int unary[] = {generic::kRow_relu, generic::kRow_sigmoid, generic::kRow_abs, generic::kRow_neg};
  const int binary[] = {generic::kRow_mul, generic::kRow_maximum, generic::kRow_minimum, generic::kRow_eq,
                        generic::kRow_lt};
  int x = pick(), y = pick();
  switch (below(random, 8)) {
    case 0:
      m.apply(*kRowOps[unary[below(random, 4)]][0], {x});
      break;
    case 1:
    case 2:
      m.apply(*kRowOps[binary[below(random, 5)]][0], {x, y});
      break;
    case 3:
      m.apply(add_op(), {x, y}, {Scalar(double(below(random, 5)) / 2)});
      break;
    case 4:
      m.inplace(*kRowOps[below(random, 2) ? generic::kRow_mul : generic::kRow_maximum][0], {x, y});
      break;
    case 5:
      m.inplace(*kRowOps[unary[below(random, 4)]][0], {x});
      break;
    case 6: {
      const Tensor& t = m.tensor(x);
      if (t.dim() < 2) break;
      m.view(x, below(random, 2) ? t.transpose(0, 1) : t.slice(1, 0, std::max<int64_t>(1, t.sizes()[1] - 1)));
      break;
    }
    default: {
      const Tensor& t = m.tensor(x);
      if (t.dim() == 0 || !is_floating(t.dtype())) break;
      int64_t dims = 1 + below(random, (int64_t(1) << t.dim()) - 1);
      m.apply(below(random, 2) ? kSum : kMean, {x}, {},
              ReduceAttrs{dims, below(random, 2), int64_t(t.dtype())});
    }
  }
}

GraphMaker random_program(uint64_t seed) {
  Random random(seed);
  GraphMaker m;
  for (int i = 0; i < 3; ++i) {
    Dims sizes = below(random, 4) == 0 ? Dims{5} : Dims{5, 5};
    m.input(formula_tensor(sizes, below(random, 8) == 0 ? kDouble : kFloat, {.b = 60 + 31 * i}));
  }
  int steps = 5 + int(below(random, 11));
  for (int tries = 0; tries < 4 * steps && int(m.graph.nodes.size()) < steps; ++tries) {
    try {
      random_step(m, random);
    } catch (const Error&) {  // shapes that do not fit, writes that are refused
    }
  }
  for (int v = 0; v < m.count(); ++v)
    if (below(random, 3) == 0) m.keep(v);
  return m;
}

}  // namespace

TEST_CASE("random programs mean the same after the passes", "[fuzz]") {
  TierScope scope(TierChoice::Interpret);
  int groups = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    GraphMaker m = random_program(seed);
    INFO("seed " << seed << "\n" << to_text(m.graph));
    REQUIRE(m.wrong(m.graph) == "");
    Graph g = run_passes(m.graph, {});
    INFO("becomes\n" << to_text(g));
    REQUIRE(m.wrong(g) == "");
    groups += groups_in(g);
  }
  CHECK(groups > 1000);
}
