// What each collective computes, for every dtype and layout, with and without shared memory.
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/distributed/ranks.h>

namespace tarn {
namespace {

using namespace testing;
using distributed::ProcessGroup;
using distributed::ReduceOp;
using Group = std::shared_ptr<ProcessGroup>;

constexpr ScalarType kDtypes[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

// Small whole numbers that differ by rank and place, exact in every dtype.
Tensor values(int rank, IntArrayRef sizes, ScalarType dtype) {
  Tensor t = detail::make_tensor(sizes, dtype);
  fill_with(t, [&](int64_t i) { return double((i * 3 + rank * 5) % 7 + 1); });
  return t;
}

// The same elements with other strides: a transposed tensor, and every second element of a larger one.
std::vector<Tensor> layouts(const Tensor& t) {
  Tensor transposed = t.transpose(0, 1).contiguous().transpose(0, 1);
  Tensor wide = detail::make_tensor({t.size(0), 2 * t.size(1)}, t.dtype());
  Tensor spread = wide.slice(1, 0, std::nullopt, 2);
  spread.copy_(t);
  return {t.clone(), transposed, spread};
}

// f(dtype, layout) over all of them.
template <class F>
void for_each_layout(int rank, F f) {
  for (ScalarType dtype : kDtypes)
    for (const Tensor& t : layouts(values(rank, {3, 4}, dtype))) f(t);
}

Tensor sum_of_ranks(int size, IntArrayRef sizes, ScalarType dtype) {
  Tensor sum = values(0, sizes, dtype);
  for (int r = 1; r < size; ++r) sum = sum + values(r, sizes, dtype);
  return sum.to(dtype);
}

void check_collectives(int rank, const Group& group) {
  const int size = group->getSize();
  for_each_layout(rank, [&](const Tensor& t) {
    Tensor given = t.clone();
    group->allreduce(t)->wait();
    CHECK_SAME(t, sum_of_ranks(size, {3, 4}, t.dtype()));
    t.copy_(given);

    group->broadcast(t, size - 1)->wait();
    CHECK_SAME(t, values(size - 1, {3, 4}, t.dtype()));
    t.copy_(given);

    group->reduce(t, 1)->wait();
    CHECK_SAME(t, rank == 1 ? sum_of_ranks(size, {3, 4}, t.dtype()) : given);
    t.copy_(given);

    std::vector<Tensor> all;
    for (int r = 0; r < size; ++r) all.push_back(layouts(values(9, {3, 4}, t.dtype()))[size_t(r) % 3]);
    group->allgather(all, t)->wait();
    for (int r = 0; r < size; ++r) CHECK_SAME(all[size_t(r)], values(r, {3, 4}, t.dtype()));

    group->gather(rank == 0 ? all : std::vector<Tensor>(), t, 0)->wait();
    if (rank == 0) CHECK_SAME(all[1], values(1, {3, 4}, t.dtype()));

    // all[r] is now rank r's on every rank, or was already.
    group->scatter(t, rank == 1 ? all : std::vector<Tensor>(), 1)->wait();
    CHECK_SAME(t, given);

    group->reduce_scatter(t, all)->wait();
    Tensor times = given.to(kDouble) * size;
    CHECK_SAME(t, times.to(t.dtype()));
    t.copy_(given);

    std::vector<Tensor> to_each, from_each;
    for (int r = 0; r < size; ++r) {
      to_each.push_back(values(10 * rank + r, {3, 4}, t.dtype()));
      from_each.push_back(layouts(t)[size_t(r) % 3]);
    }
    group->alltoall(from_each, to_each)->wait();
    for (int r = 0; r < size; ++r) CHECK_SAME(from_each[size_t(r)], values(10 * r + rank, {3, 4}, t.dtype()));
  });
  group->barrier()->wait();
}

// A small sum goes by messages, a large one through shared memory if there is any.
void check_parts(int rank, const std::shared_ptr<distributed::ProcessGroup>& group) {
  const double sum = group->getSize() * (group->getSize() + 1) / 2.0;
  for (int64_t last : {int64_t(4), int64_t(300000)}) {
    std::vector<Tensor> parts;
    for (int64_t n : {int64_t(3), int64_t(0), int64_t(270000), last})
      parts.push_back(full({n}, rank + 1.0 + n));
    Tensor room = zeros({3 + 270000 + last});
    group->allreduce(room, ReduceOp::SUM, "parts", parts)->wait();
    for (const Tensor& part : parts)
      CHECK_SAME(part, full(part.sizes(), sum + double(part.numel()) * group->getSize()));
  }
  std::vector<Tensor> small = {full({2}, rank + 1.0), full({3}, rank + 2.0)};
  group->allreduce(zeros({5}), ReduceOp::SUM, "small parts", small)->wait();
  CHECK_SAME(small[0], full({2}, sum));
  CHECK_SAME(small[1], full({3}, sum + group->getSize()));
  CHECK_ERROR(group->allreduce(zeros({4}), ReduceOp::SUM, "", small),
              "all_reduce: parts have 5 elements, expected 4 in a row");
}

RANKS_TEST_CASE(2, "parts are summed where they are") { check_parts(rank, group); }

RANKS_TEST_CASE(3, "collectives move and reduce tensors of every dtype and layout") {
  check_collectives(rank, group);
}

TEST_CASE("collectives are the same without shared memory") {
  if (absent_gloo()) return;
  if (!is_rank()) return Ranks(2).expect_success();
  auto group = join(std::chrono::seconds(30), /*shared_memory=*/false);
  check_collectives(own_rank(), group);
  check_parts(own_rank(), group);
  Tensor large = ones({100000});
  group->allreduce(large)->wait();
  CHECK_SAME(large, full({100000}, 2.0));
  CHECK(group->counters().bytes_shared == 0);
}

RANKS_TEST_CASE(2, "reductions other than sums") {
  auto reduced = [&](ReduceOp op, std::vector<double> zero, std::vector<double> one, ScalarType dtype) {
    Tensor t = tensor_of(rank == 0 ? zero : one, dtype);
    group->allreduce(t, op)->wait();
    return t;
  };
  CHECK_SAME(reduced(ReduceOp::AVG, {1, 2}, {2, 5}, kFloat), tensor_of({1.5, 3.5}));
  CHECK_SAME(reduced(ReduceOp::AVG, {1, 2}, {2, 5}, kBFloat16), tensor_of({1.5, 3.5}, kBFloat16));
  CHECK_SAME(reduced(ReduceOp::PRODUCT, {3, -4}, {5, 6}, kInt), tensor_of({15, -24}, kInt));
  CHECK_SAME(reduced(ReduceOp::MIN, {3, -4}, {5, 6}, kHalf), tensor_of({3, -4}, kHalf));
  CHECK_SAME(reduced(ReduceOp::MAX, {3, -4}, {5, -6}, kLong), tensor_of({5, -4}, kLong));
  CHECK_SAME(reduced(ReduceOp::MAX, {3, NAN}, {NAN, 6}, kFloat), tensor_of({NAN, NAN}));
  CHECK_SAME(reduced(ReduceOp::BAND, {12}, {10}, kByte), tensor_of({8}, kByte));
  CHECK_SAME(reduced(ReduceOp::BOR, {12}, {10}, kShort), tensor_of({14}, kShort));
  CHECK_SAME(reduced(ReduceOp::BXOR, {12}, {10}, kLong), tensor_of({6}, kLong));
  CHECK_SAME(reduced(ReduceOp::SUM, {1, 0, 0}, {1, 1, 0}, kBool), tensor_of({1, 1, 0}, kBool));
  CHECK_SAME(reduced(ReduceOp::SUM, {200}, {100}, kByte), tensor_of({44}, kByte));
  CHECK_ERROR(group->allreduce(ones({2}, kInt), ReduceOp::AVG),
              "all_reduce: AVG takes floating types, got Int; use SUM");
  CHECK_ERROR(group->allreduce(ones({2}), ReduceOp::BAND), "all_reduce: BAND takes integers, got Float");
}

// Values whose sum depends on the order of the ranks.
Tensor uneven(int rank, int64_t n, ScalarType dtype) {
  Tensor t = detail::make_tensor({n}, dtype);
  fill_with(t, [&](int64_t i) { return std::sin(double(i) * 0.37 + rank) * std::pow(10.0, (i + rank) % 5); });
  return t;
}

RANKS_TEST_CASE(3, "a large all_reduce adds in the order of the ranks through shared memory") {
  // Not a multiple of a chunk, of a share or of a vector; several chunks.
  const int64_t n = 600'011;
  for (ScalarType dtype : {kFloat, kDouble, kBFloat16, kLong}) {
    Tensor t = uneven(rank, n, dtype);
    group->allreduce(t)->wait();
    ScalarType compute = dtype == kBFloat16 ? kFloat : dtype;
    Tensor want = uneven(0, n, dtype).to(compute) + uneven(1, n, dtype).to(compute);
    want = (want + uneven(2, n, dtype).to(compute)).to(dtype);
    CHECK_SAME(t, want);
  }
  CHECK(group->counters().all_reduces == 4);
  CHECK(group->counters().bytes_all_reduced == n * (4 + 8 + 2 + 8));
  CHECK(group->counters().bytes_shared == n * (4 + 8 + 2 + 8));

  Tensor average = uneven(rank, n, kFloat);
  group->allreduce(average, ReduceOp::AVG)->wait();
  Tensor sum = uneven(0, n, kFloat) + uneven(1, n, kFloat);
  CHECK_SAME(average, (sum + uneven(2, n, kFloat)) / 3);
}

RANKS_TEST_CASE(2, "tensors without elements and tensors of one element") {
  Tensor none = zeros({0, 3}), one = full({}, rank + 1.0);
  group->allreduce(none)->wait();
  group->broadcast(none, 1)->wait();
  group->allgather({zeros({0, 3}), zeros({0, 3})}, none)->wait();
  group->alltoall({zeros({0}), zeros({0})}, {zeros({0}), zeros({0})})->wait();
  group->allreduce(one)->wait();
  CHECK(one.item<double>() == 3);
}

RANKS_TEST_CASE(2, "many operations under way at once come out in order") {
  std::vector<Tensor> tensors;
  std::vector<distributed::WorkPtr> works;
  for (int i = 0; i < 50; ++i) {
    tensors.push_back(full({i % 2 ? 10 : 40000}, double(rank + i)));
    works.push_back(group->allreduce(tensors.back()));
  }
  for (auto& work : works) work->wait();
  for (int i = 0; i < 50; ++i) CHECK_SAME(tensors[size_t(i)], full({i % 2 ? 10 : 40000}, 2.0 * i + 1));
  CHECK(works[49]->isSuccess());
}

RANKS_TEST_CASE(2, "messages arrive by tag whatever the order of the calls") {
  const int other = 1 - rank;
  Tensor small = full({5}, rank + 1.0), large = full({300, 300}, rank + 10.0);
  // Both receive first: nobody may wait for the other.
  Tensor got_small = zeros({5}), got_large = zeros({300, 300}).t();
  auto second = group->recv(got_large, other, 7);
  auto first = group->recv(got_small, other, 3);
  auto sent_small = group->send(small, other, 3);
  auto sent_large = group->send(large, other, 7);
  for (auto& work : {first, second, sent_small, sent_large}) work->wait();
  CHECK_SAME(got_small, full({5}, other + 1.0));
  CHECK_SAME(got_large, full({300, 300}, other + 10.0));

  // Messages of one tag keep their order.
  for (int i = 0; i < 20; ++i) {
    if (rank == 0) {
      group->send(full({2}, double(i)), 1)->wait();
    } else {
      Tensor t = zeros({2});
      group->recv(t, 0)->wait();
      CHECK_SAME(t, full({2}, double(i)));
    }
  }
}

RANKS_TEST_CASE(2, "writes of collectives count as writes in place") {
  Tensor w = full({3}, 2.0).requires_grad_();
  Tensor y = w * 1;
  Tensor product = y * y;
  group->allreduce(y)->wait();
  std::string error = error_of([&] { product.sum().backward(); });
  CHECK(error.find("was changed in place") != std::string::npos);
}

RANKS_TEST_CASE(2, "wrong arguments are named") {
  CHECK_ERROR(group->broadcast(ones({2}), 2), "broadcast: root must be a rank from 0 to 1, got 2");
  CHECK_ERROR(group->allgather({zeros({2})}, ones({2})),
              "all_gather: 2 outputs are needed here, one for each rank, got 1");
  CHECK_ERROR(group->allgather({zeros({2}), zeros({3})}, ones({2})),
              "all_gather: tensors must have the same dtype and sizes, got Float [2] and Float [3]");
  CHECK_ERROR(group->allreduce(Tensor()), "all_reduce: a tensor is undefined");
  CHECK_ERROR(
      group->allreduce(ones({1}).expand({3})),
      "all_reduce: cannot write to a tensor of sizes [3] and strides [0], where several elements share one "
      "place; call clone() first");
  CHECK_ERROR(group->send(ones({1}), rank), str("send: rank ", rank, " cannot send to itself"));
  group->barrier()->wait();
}

TEST_CASE("a group of one rank computes without a network") {
  auto store = std::make_shared<distributed::TCPStore>(
      "127.0.0.1", distributed::TCPStoreOptions{.port = 0, .is_server = true});
  auto group = distributed::make_gloo_group(store, 0, 1);
  Tensor t = full({4}, 3.0), out = zeros({4});
  group->allreduce(t, ReduceOp::AVG)->wait();
  CHECK_SAME(t, full({4}, 3.0));
  group->allgather({out}, t)->wait();
  CHECK_SAME(out, t);
  group->alltoall({out}, {t * 2})->wait();
  CHECK_SAME(out, t * 2);
  group->barrier()->wait();
}

}  // namespace
}  // namespace tarn
