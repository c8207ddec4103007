#include <tarn/data/distributed_samplers.h>

#include <algorithm>

#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace data::samplers;
using Indices = std::vector<size_t>;

template <class S>
Indices all_of(S& sampler, size_t batch = 3) {
  Indices all;
  while (auto indices = sampler.next(batch)) all.insert(all.end(), indices->begin(), indices->end());
  return all;
}

TEST_CASE("ranks' random batches are together the batch of one process") {
  for (size_t epoch : {0, 1, 5}) {
    RandomSampler whole(12);
    whole.set_seed(7);
    whole.set_epoch(epoch);
    DistributedRandomSampler zero(12, 2, 0), one(12, 2, 1);
    for (auto* sampler : {&zero, &one}) {
      sampler->set_seed(7);
      sampler->set_epoch(epoch);
    }
    for (int batch = 0; batch < 3; ++batch) {
      Indices want = whole.next(4).value(), a = zero.next(2).value(), b = one.next(2).value();
      CHECK(Indices{a[0], b[0], a[1], b[1]} == want);
    }
    CHECK(!zero.next(2));
  }
}

TEST_CASE("every rank gets equally many examples") {
  for (bool duplicates : {true, false}) {
    std::vector<int> seen(10);
    for (size_t rank = 0; rank < 4; ++rank) {
      DistributedRandomSampler sampler(10, 4, rank, duplicates);
      Indices own = all_of(sampler);
      CHECK(own.size() == (duplicates ? 3 : 2));
      CHECK(sampler.local_sample_count() == own.size());
      for (size_t i : own) ++seen[i];
    }
    // 12 places for 10 examples, or 8: two come twice, or two not at all.
    CHECK(std::count(seen.begin(), seen.end(), duplicates ? 2 : 0) == 2);
    CHECK(std::count(seen.begin(), seen.end(), 1) == 8);
  }
}

TEST_CASE("sequential ranks take contiguous parts and begin again at the end") {
  DistributedSequentialSampler first(10, 4, 0), last(10, 4, 3), short_last(10, 4, 3, false);
  CHECK(all_of(first) == Indices{0, 1, 2});
  CHECK(all_of(last) == Indices{9, 0, 1});
  CHECK(all_of(short_last) == Indices{6, 7});
  first.reset(4);
  CHECK(all_of(first) == Indices{0});
}

TEST_CASE("more replicas than examples and no examples") {
  DistributedRandomSampler sampler(2, 5, 4);
  CHECK(all_of(sampler).size() == 1);
  DistributedSequentialSampler none(0, 2, 1);
  CHECK(all_of(none).empty());
  DistributedRandomSampler none_random(0, 2, 1);
  CHECK(all_of(none_random).empty());
}

TEST_CASE("each reset of a distributed sampler begins the next epoch") {
  DistributedRandomSampler sampler(100, 2, 0), other(100, 2, 0);
  sampler.reset();
  Indices first = all_of(sampler);
  sampler.reset();
  CHECK(sampler.epoch() == 1);
  Indices second = all_of(sampler);
  CHECK(first != second);
  other.set_epoch(1);
  other.reset();
  CHECK(all_of(other) == second);
}

TEST_CASE("a rank outside of the replicas is an error") {
  CHECK_ERROR(DistributedRandomSampler(10, 2, 2),
              "DistributedSampler: rank must be from 0 to num_replicas - 1, got rank 2 of 2");
}

}  // namespace
}  // namespace tarn
