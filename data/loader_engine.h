// The threads behind DataLoader, free of templates: they make batches ahead of the caller, a bounded number
// of them, and hand them over in the sampler's order (or as they come). All public functions belong to one
// calling thread.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include <tarn/core/error.h>

namespace tarn::inline v1::data {

// What a dataset or transform threw, with the index of its sample in front of the text.
class TARN_API WorkerException : public Error {
 public:
  WorkerException(std::string message, std::exception_ptr original)
      : Error(std::move(message)), original_exception(std::move(original)) {}
  std::exception_ptr original_exception;
};

namespace detail {

struct LoaderConfig {
  size_t workers = 0;  // 0: batches are made on the calling thread
  size_t max_jobs = 0;
  int64_t timeout_ms = 0;  // 0: none
  bool ordered = true;
  uint64_t seed = 0;
};

// What the engine asks of its owner. Batches lie in slots 0 ... max_jobs - 1 of the owner.
class LoaderJobs {
 public:
  virtual ~LoaderJobs() = default;
  // The next batch's indices; nothing at the end of the epoch. On the calling thread.
  virtual std::optional<std::vector<size_t>> next_indices() = 0;
  // Puts the batch of these indices into the slot. On the worker's thread.
  virtual void make(size_t worker, size_t slot, const std::vector<size_t>& indices) = 0;
  // Takes the batch out of the slot. On the calling thread.
  virtual void take(size_t slot) = 0;
};

class TARN_API LoaderEngine {
 public:
  LoaderEngine(LoaderJobs& jobs, const LoaderConfig& config);
  ~LoaderEngine();
  // Begins an epoch; what is left of the one before is thrown away. Starts the threads the first time.
  void start(uint64_t epoch);
  // Has the owner take() the next batch; false at the end of the epoch. Throws WorkerException for a batch
  // that could not be made, once; the call after that goes on with the next batch.
  bool next();
  // Ends and joins the threads; start() would start them anew.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail
}  // namespace tarn::inline v1::data
