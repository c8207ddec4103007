// DataLoader: batches of a dataset in the sampler's order, made ahead by worker threads.
//
//   auto loader = data::make_data_loader<data::samplers::RandomSampler>(
//       std::move(dataset), data::DataLoaderOptions().batch_size(64).workers(2).seed(1));
//   for (auto& batch : *loader) train(batch.data, batch.target);
//
// The batches, augmentation included, are the same for any number of workers.
#pragma once

#include <iterator>
#include <memory>

#include <tarn/data/dataset.h>
#include <tarn/data/loader_engine.h>
#include <tarn/data/samplers.h>

namespace tarn::inline v1::data {

class TARN_API DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  DataLoaderOptions& batch_size(size_t n) { return set(batch_size_, n); }
  // Threads that make batches; 0: the calling thread does.
  DataLoaderOptions& workers(size_t n) { return set(workers_, n); }
  // How many batches are under way at most; twice the workers unless set.
  DataLoaderOptions& max_jobs(size_t n) { return set(max_jobs_, n); }
  // How long to wait for a batch before an Error.
  // A std::chrono duration, taken as whole milliseconds.
  template <class Duration>
  DataLoaderOptions& timeout(Duration t) {
    using Period = typename Duration::period;
    return set(timeout_ms_, int64_t(t.count()) * 1000 * Period::num / Period::den);
  }
  // false: batches are handed over as they are done.
  DataLoaderOptions& enforce_ordering(bool on) { return set(enforce_ordering_, on); }
  // Leaves out a last batch that is smaller than the others.
  DataLoaderOptions& drop_last(bool on) { return set(drop_last_, on); }
  // Fixes the order of a RandomSampler and the numbers of random transforms; else they follow manual_seed().
  DataLoaderOptions& seed(uint64_t s) { return set(seed_, s); }

  size_t batch_size() const { return batch_size_; }
  size_t workers() const { return workers_; }
  size_t max_jobs() const { return max_jobs_.value_or(2 * workers_); }
  std::optional<int64_t> timeout_ms() const { return timeout_ms_; }
  bool enforce_ordering() const { return enforce_ordering_; }
  bool drop_last() const { return drop_last_; }
  std::optional<uint64_t> seed() const { return seed_; }

 private:
  template <class Field, class Value>
  DataLoaderOptions& set(Field& field, Value value) {
    field = value;
    return *this;
  }

  size_t batch_size_ = 1;
  size_t workers_ = 0;
  std::optional<size_t> max_jobs_;
  std::optional<int64_t> timeout_ms_;
  bool enforce_ordering_ = true;
  bool drop_last_ = false;
  std::optional<uint64_t> seed_;
};

// A place in a loader's run: `batch` batches of epoch `epoch` were handed over. The order of the examples
// follows from the seed.
struct LoaderPosition {
  size_t epoch = 0;
  size_t batch = 0;
  uint64_t seed = 0;
};

namespace detail {
// Checks the options. A seed that is not given is drawn from default_generator().
TARN_API LoaderConfig loader_config(const DataLoaderOptions& options);
}  // namespace detail

// Each worker has a copy of the dataset. A loader belongs to one thread at a time; destroying it ends the
// workers.
template <class Dataset, class Sampler>
class StatelessDataLoader : private detail::LoaderJobs {
 public:
  using BatchType = typename Dataset::BatchType;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = BatchType;
    using difference_type = std::ptrdiff_t;
    using pointer = BatchType*;
    using reference = BatchType&;

    Iterator() = default;
    explicit Iterator(StatelessDataLoader* loader) : loader_(loader) { ++*this; }
    BatchType& operator*() const { return *loader_->batch_; }
    BatchType* operator->() const { return &*loader_->batch_; }
    Iterator& operator++() {
      if (!loader_->advance()) loader_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.loader_ == b.loader_; }

   private:
    StatelessDataLoader* loader_ = nullptr;
  };

  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : options_(options),
        config_(detail::loader_config(options)),
        sampler_(std::move(sampler)),
        datasets_(config_.workers > 0 ? config_.workers : 1, dataset),
        slots_(config_.max_jobs),
        engine_(*this, config_) {
    if constexpr (requires { sampler_.set_seed(uint64_t()); })
      if (options.seed()) sampler_.set_seed(*options.seed());
  }
  // The engine's threads use the members before it; they end first.
  ~StatelessDataLoader() override { engine_.stop(); }
  StatelessDataLoader(const StatelessDataLoader&) = delete;
  StatelessDataLoader& operator=(const StatelessDataLoader&) = delete;

  // Starts the next epoch; an iterator of the one before ends here.
  Iterator begin() {
    batch_.reset();
    engine_.start(epoch_);
    if constexpr (requires { sampler_.set_epoch(size_t()); }) sampler_.set_epoch(epoch_);
    sampler_.reset({});
    ++epoch_;
    handed_over_ = 0;
    for (; first_batch_ > 0; --first_batch_, ++handed_over_)
      check(next_indices().has_value(), "data loader: cannot go on at batch ", handed_over_ + first_batch_,
            " of an epoch that has ", handed_over_);
    in_epoch_ = true;
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

  // The next begin() starts this epoch: how a run that goes on gets the batches that it would have had.
  void set_epoch(size_t epoch) { set_position({epoch, 0, config_.seed}); }
  // Where the loader is, for a checkpoint; within an epoch only if enforce_ordering is on.
  LoaderPosition position() const {
    if (!in_epoch_) return {epoch_, first_batch_, config_.seed};
    check(config_.ordered, "data loader: without enforce_ordering there is no position within an epoch");
    return {epoch_ - 1, handed_over_, config_.seed};
  }
  // The next begin() goes on from there with the batches that an uninterrupted run would have had. The loader
  // must have the seed of the one that the position was taken from.
  void set_position(const LoaderPosition& position) {
    check(position.seed == config_.seed, "data loader: a position of a loader with seed ", position.seed,
          " does not fit one with seed ", config_.seed);
    epoch_ = position.epoch;
    first_batch_ = position.batch;
    in_epoch_ = false;
  }
  // Ends the workers; the next begin() starts them anew.
  void join() { engine_.stop(); }
  const DataLoaderOptions& options() const noexcept { return options_; }

 private:
  // Has the engine take() the next batch; false at the epoch's end.
  bool advance() {
    batch_.reset();
    ++handed_over_;
    bool more = engine_.next();
    if (!more) in_epoch_ = false;
    return more;
  }
  std::optional<std::vector<size_t>> next_indices() override {
    auto indices = sampler_.next(options_.batch_size());
    if (indices && options_.drop_last() && indices->size() < options_.batch_size()) return std::nullopt;
    return indices;
  }
  void make(size_t worker, size_t slot, const std::vector<size_t>& indices) override {
    slots_[slot] = datasets_[worker].get_batch(indices);
  }
  void take(size_t slot) override {
    batch_ = std::move(slots_[slot]);
    slots_[slot].reset();
  }

  const DataLoaderOptions options_;
  const detail::LoaderConfig config_;
  Sampler sampler_;
  std::vector<Dataset> datasets_;
  std::vector<std::optional<BatchType>> slots_;
  std::optional<BatchType> batch_;
  size_t epoch_ = 0;        // that the next begin() starts
  size_t first_batch_ = 0;  // at this batch
  size_t handed_over_ = 0;  // batches of the epoch under way
  bool in_epoch_ = false;
  detail::LoaderEngine engine_;
};

template <class Dataset, class Sampler>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                        DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                                 options);
}

template <class Sampler = samplers::RandomSampler, class Dataset>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                                        DataLoaderOptions options = {}) {
  std::optional<size_t> size = dataset.size();
  check(size.has_value(), "make_data_loader: the dataset does not know its size; pass a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}

}  // namespace tarn::inline v1::data
