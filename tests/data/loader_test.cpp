#include <tarn/data/loader.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include <tarn/core/parallel.h>
#include <tarn/core/random.h>
#include <tarn/data/transforms.h>

#include <tarn/tests/support.h>

namespace tarn {
namespace {

using data::DataLoaderOptions;
using data::Example;
using data::make_data_loader;
using data::samplers::RandomSampler;
using data::samplers::SequentialSampler;
using testing::error_of;
using testing::values_of;

Tensor number(double value) {
  Tensor t = detail::make_tensor({1}, kFloat);
  *t.data_ptr<float>() = float(value);
  return t;
}

// Example i is (i, 10 i).
struct Numbers : data::Dataset<Numbers> {
  explicit Numbers(size_t count) : count(count) {}
  Example<> get(size_t index) override { return {number(double(index)), number(10.0 * double(index))}; }
  std::optional<size_t> size() const override { return count; }
  size_t count;
};

// Adds a random number of the sample's own to its data, once per transform.
data::transforms::TensorLambda<> jitter() {
  return data::transforms::TensorLambda<>([](Tensor x) {
    Tensor y = detail::make_tensor(x.sizes(), kFloat);
    *y.data_ptr<float>() = *x.data_ptr<float>() + data::detail::SampleRandom().uniform();
    return y;
  });
}

auto jittered(size_t count) {
  return Numbers(count).map(jitter()).map(jitter()).map(data::transforms::Stack<>());
}

template <class Loader>
std::vector<std::vector<double>> epoch_of(Loader& loader) {
  std::vector<std::vector<double>> batches;
  for (auto& batch : loader) batches.push_back(values_of(batch.data));
  return batches;
}

std::vector<double> joined(const std::vector<std::vector<double>>& batches) {
  std::vector<double> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

size_t running_threads() {
  size_t count = 0;
  for ([[maybe_unused]] auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST_CASE("a sequential loader gives every example once and in order") {
  auto loader = make_data_loader<SequentialSampler>(Numbers(7).map(data::transforms::Stack<>()), 3);
  CHECK(epoch_of(*loader) == std::vector<std::vector<double>>{{0, 1, 2}, {3, 4, 5}, {6}});
  for (auto& batch : *loader) {
    std::vector<double> x = values_of(batch.data), y = values_of(batch.target);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == 10 * x[i]);
  }
}

TEST_CASE("drop_last leaves out the short batch") {
  auto options = DataLoaderOptions(3).drop_last(true).workers(2);
  auto loader = make_data_loader<SequentialSampler>(Numbers(7).map(data::transforms::Stack<>()), options);
  CHECK(epoch_of(*loader) == std::vector<std::vector<double>>{{0, 1, 2}, {3, 4, 5}});
}

TEST_CASE("a dataset without collation gives batches of examples") {
  auto loader = make_data_loader<SequentialSampler>(Numbers(3), 2);
  auto first = loader->begin();
  REQUIRE(first->size() == 2);
  CHECK(values_of((*first)[1].target) == std::vector<double>{10});
}

TEST_CASE("an empty dataset gives no batch") {
  auto loader = make_data_loader(Numbers(0), DataLoaderOptions(4).workers(1));
  CHECK(loader->begin() == loader->end());
}

TEST_CASE("a random loader gives every example once, in another order each epoch") {
  auto loader = make_data_loader<RandomSampler>(Numbers(100).map(data::transforms::Stack<>()),
                                                DataLoaderOptions(7).seed(1).workers(2));
  std::vector<double> first = joined(epoch_of(*loader)), second = joined(epoch_of(*loader));
  CHECK(first != second);
  for (auto* order : {&first, &second}) {
    std::vector<double> sorted = *order, expected(100);
    CHECK(!std::is_sorted(sorted.begin(), sorted.end()));
    std::sort(sorted.begin(), sorted.end());
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(sorted == expected);
  }
}

TEST_CASE("batches do not depend on the number of workers, augmentation included") {
  auto with = [](size_t workers) {
    auto loader =
        make_data_loader<RandomSampler>(jittered(64), DataLoaderOptions(5).seed(3).workers(workers));
    auto batches = epoch_of(*loader);
    auto second = epoch_of(*loader);
    batches.insert(batches.end(), second.begin(), second.end());
    return batches;
  };
  auto expected = with(0);
  for (size_t workers : {1, 2, 5}) CHECK(with(workers) == expected);
}

TEST_CASE("unordered batches are the same batches") {
  auto batches = [](bool ordered) {
    auto options = DataLoaderOptions(4).seed(3).workers(3).enforce_ordering(ordered);
    auto loader = make_data_loader<RandomSampler>(jittered(40), options);
    auto all = epoch_of(*loader);
    return std::set<std::vector<double>>(all.begin(), all.end());
  };
  CHECK(batches(false) == batches(true));
}

TEST_CASE("an epoch can be had without the epochs before it") {
  auto make = [] { return make_data_loader<RandomSampler>(jittered(20), DataLoaderOptions(4).seed(9)); };
  auto loader = make(), other = make();
  epoch_of(*loader);
  epoch_of(*loader);
  other->set_epoch(2);
  CHECK(epoch_of(*other) == epoch_of(*loader));
}

TEST_CASE("another seed gives another order and other augmentations") {
  auto batches = [](uint64_t seed) {
    return epoch_of(*make_data_loader<RandomSampler>(jittered(20), DataLoaderOptions(4).seed(seed)));
  };
  auto augmented = [](uint64_t seed) {
    return epoch_of(*make_data_loader<SequentialSampler>(jittered(20), DataLoaderOptions(4).seed(seed)));
  };
  auto order = [](uint64_t seed) {
    auto numbers = Numbers(20).map(data::transforms::Stack<>());
    return epoch_of(*make_data_loader<RandomSampler>(numbers, DataLoaderOptions(4).seed(seed)));
  };
  CHECK(batches(1) == batches(1));
  CHECK(order(1) != order(2));
  CHECK(augmented(1) != augmented(2));
}

TEST_CASE("without a seed the order follows manual_seed") {
  auto batches = [] {
    manual_seed(5);
    return epoch_of(*make_data_loader<RandomSampler>(jittered(20), 4));
  };
  CHECK(batches() == batches());
}

TEST_CASE("a sample's random numbers do not depend on its neighbours in the batch") {
  auto with_batch = [](size_t size) {
    return joined(
        epoch_of(*make_data_loader<SequentialSampler>(jittered(12), DataLoaderOptions(size).seed(4))));
  };
  CHECK(with_batch(1) == with_batch(5));
}

TEST_CASE("two transforms of one pipeline draw different numbers") {
  auto loader = make_data_loader<SequentialSampler>(jittered(200), DataLoaderOptions(200).seed(4));
  std::vector<double> sums = joined(epoch_of(*loader));
  // Were the two numbers of a sample equal, its fraction's half would be one of them in every sample.
  size_t odd = 0;
  auto single = make_data_loader<SequentialSampler>(
      Numbers(200).map(jitter()).map(data::transforms::Stack<>()), DataLoaderOptions(200).seed(4));
  std::vector<double> first = joined(epoch_of(*single));
  for (size_t i = 0; i < 200; ++i) odd += std::abs((sums[i] - first[i]) - (first[i] - double(i))) > 1e-3;
  CHECK(odd > 150);
}

TEST_CASE("sample_generator is the sample's own, and the default generator's outside a loader") {
  auto draw = [](uint64_t seed, size_t index) {
    std::vector<size_t> indices = {index};
    data::detail::SampleScope scope(seed, 0, indices);
    data::detail::StageScope stage;
    stage.at(0);
    return data::sample_generator().current_seed();
  };
  CHECK(draw(1, 2) == draw(1, 2));
  CHECK(draw(1, 2) != draw(1, 3));
  CHECK(draw(1, 2) != draw(2, 2));
  manual_seed(7);
  uint64_t first = data::sample_generator().current_seed(), second = data::sample_generator().current_seed();
  CHECK(first != second);
  manual_seed(7);
  CHECK(data::sample_generator().current_seed() == first);
}

// Example 13 cannot be made.
struct Broken : data::Dataset<Broken> {
  Example<> get(size_t index) override {
    check(index != 13, "the picture is upside down");
    return {number(double(index)), number(0)};
  }
  std::optional<size_t> size() const override { return 20; }
};

TEST_CASE("an exception in a worker reaches the caller once, with the sample's index") {
  for (size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader<SequentialSampler>(Broken().map(data::transforms::Stack<>()),
                                                      DataLoaderOptions(5).workers(workers));
    std::vector<double> seen;
    std::vector<std::string> errors;
    auto it = loader->begin();
    while (it != loader->end()) {
      for (double x : values_of(it->data)) seen.push_back(x);
      try {
        ++it;
      } catch (const data::WorkerException& e) {
        errors.push_back(e.what());
        CHECK_THROWS_AS(std::rethrow_exception(e.original_exception), Error);
        ++it;
      }
    }
    CHECK(errors == std::vector<std::string>{"data loader: sample 13: the picture is upside down"});
    CHECK(seen == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 19});
  }
}

TEST_CASE("an exception of a transform names the sample too") {
  auto bad = data::transforms::Lambda<Example<>>([](Example<> e) -> Example<> {
    if (*e.data.data_ptr<float>() == 6) throw std::runtime_error("six");
    return e;
  });
  auto loader = make_data_loader<RandomSampler>(Numbers(8).map(bad), DataLoaderOptions(8).workers(2).seed(1));
  CHECK(error_of([&] { loader->begin(); }) == "data loader: sample 6: six");
}

TEST_CASE("an exception of a batch's transform names the batch") {
  auto bad = data::transforms::BatchLambda<std::vector<Example<>>>(
      [](std::vector<Example<>>) -> std::vector<Example<>> { throw 1; });
  auto loader = make_data_loader<SequentialSampler>(Numbers(8).map(bad), DataLoaderOptions(4).workers(1));
  CHECK(error_of([&] { loader->begin(); }) ==
        "data loader: batch of 4 samples, the first is 0: an exception that is not a std::exception");
}

TEST_CASE("examples of different shapes are named") {
  auto ragged = data::transforms::TensorLambda<>(
      [](Tensor x) { return *x.data_ptr<float>() == 2 ? detail::make_tensor({2}, kFloat) : x; });
  auto loader =
      make_data_loader<SequentialSampler>(Numbers(4).map(ragged).map(data::transforms::Stack<>()), 4);
  CHECK(error_of([&] { loader->begin(); }) ==
        "data loader: batch of 4 samples, the first is 0: Stack: example 2 is Float [2], the first one Float "
        "[1]");
}

TEST_CASE("destroying a loader in the middle of an epoch leaves no thread") {
  size_t before = running_threads();
  {
    auto loader = make_data_loader<SequentialSampler>(Numbers(1000), DataLoaderOptions(2).workers(3));
    CHECK(loader->begin() != loader->end());
    CHECK(running_threads() == before + 3);
  }
  CHECK(running_threads() == before);
}

TEST_CASE("a loop that ends early can be begun again") {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader<SequentialSampler>(Numbers(30).map(data::transforms::Stack<>()),
                                                      DataLoaderOptions(4).workers(workers));
    for (auto& batch : *loader)
      if (values_of(batch.data)[0] == 8) break;
    CHECK(joined(epoch_of(*loader)).size() == 30);
    loader->join();
    CHECK(joined(epoch_of(*loader)).size() == 30);
  }
}

// Counts how far ahead of the caller the workers are.
struct Counted : data::Dataset<Counted> {
  explicit Counted(std::atomic<int>* made) : made(made) {}
  Example<> get(size_t) override {
    ++*made;
    return {number(0), number(0)};
  }
  std::optional<size_t> size() const override { return 1000; }
  std::atomic<int>* made;
};

TEST_CASE("workers make at most max_jobs batches ahead") {
  std::atomic<int> made = 0;
  auto loader =
      make_data_loader<SequentialSampler>(Counted(&made), DataLoaderOptions(1).workers(2).max_jobs(3));
  auto it = loader->begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(made <= 1 + 3);
  ++it;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(made <= 2 + 3);
}

TEST_CASE("a worker's ops run serially") {
  auto serial = data::transforms::Lambda<Example<>, bool>([](Example<>) { return in_parallel_region(); });
  auto loader = make_data_loader<SequentialSampler>(Numbers(4).map(serial), DataLoaderOptions(1).workers(1));
  for (auto& batch : *loader) CHECK(batch == std::vector<bool>{true});
  CHECK(!in_parallel_region());
}

struct Sleeper : data::Dataset<Sleeper> {
  Example<> get(size_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return {number(0), number(0)};
  }
  std::optional<size_t> size() const override { return 2; }
};

TEST_CASE("a batch that does not come in time is an Error") {
  auto options = DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(20));
  auto loader = make_data_loader<SequentialSampler>(Sleeper(), options);
  CHECK(error_of([&] { loader->begin(); }) ==
        "data loader: no batch within the timeout of 20 ms; 1 workers are at 1 batches, 1 wait");
}

TEST_CASE("bad loader options are named") {
  auto make = [](DataLoaderOptions options) { return [=] { make_data_loader(Numbers(3), options); }; };
  CHECK(error_of(make(DataLoaderOptions(0))) == "data loader: batch_size must be at least 1, got 0");
  CHECK(error_of(make(DataLoaderOptions(1).workers(5000))) ==
        "data loader: workers must be 0 to 1024, got 5000");
  CHECK(error_of(make(DataLoaderOptions(1).workers(1).max_jobs(0))) ==
        "data loader: max_jobs must be at least 1, got 0");
  CHECK(error_of(make(DataLoaderOptions(1).timeout(std::chrono::milliseconds(-1)))) ==
        "data loader: timeout must not be negative, got -1 ms");
}

struct Endless : data::Dataset<Endless> {
  Example<> get(size_t index) override { return {number(double(index)), number(0)}; }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST_CASE("a dataset without a size needs a sampler") {
  CHECK(error_of([] { make_data_loader(Endless(), 2); }) ==
        "make_data_loader: the dataset does not know its size; pass a sampler");
  auto loader = make_data_loader(Endless().map(data::transforms::Stack<>()), SequentialSampler(5), 2);
  CHECK(joined(epoch_of(*loader)) == std::vector<double>{0, 1, 2, 3, 4});
}

TEST_CASE("a TensorDataset gives the rows of a tensor") {
  data::datasets::TensorDataset rows(testing::formula_tensor({3, 2}));
  CHECK(rows.size() == 3u);
  CHECK_SAME(rows.get(1).data, rows.tensor.select(0, 1));
  CHECK(error_of([&] { rows.get(3); }) == "TensorDataset: index 3 is outside of 3 rows");
  auto loader = make_data_loader<SequentialSampler>(rows.map(data::transforms::Stack<data::TensorExample>()),
                                                    DataLoaderOptions(3));
  CHECK_SAME(loader->begin()->data, rows.tensor);
}

TEST_CASE("loaders can share one dataset") {
  auto shared = data::datasets::make_shared_dataset<Numbers>(4);
  auto loader = make_data_loader<SequentialSampler>(shared, DataLoaderOptions(4));
  CHECK(loader->begin()->size() == 4);
  CHECK(shared->count == 4);
}

TEST_CASE("the random sampler shuffles uniformly") {
  // Where example 0 lands over 4000 epochs of 8: each place 500 times, give or take 5 standard deviations.
  std::vector<int> landed(8, 0);
  RandomSampler sampler(8);
  sampler.set_seed(1);
  for (int epoch = 0; epoch < 4000; ++epoch) {
    sampler.reset();
    std::vector<size_t> order = *sampler.next(8);
    ++landed[size_t(std::find(order.begin(), order.end(), 0u) - order.begin())];
  }
  for (int count : landed) CHECK(std::abs(count - 500) < 5 * 21);
}

}  // namespace
}  // namespace tarn
