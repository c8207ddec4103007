#include <tarn/distributed/data_parallel.h>

#include <ostream>

#include <tarn/core/mode.h>
#include <tarn/distributed/distributed.h>

namespace tarn::inline v1::nn::parallel {

using distributed::detail::NamedTensor;

namespace {

DistributedDataParallelOptions with_group(DistributedDataParallelOptions options) {
  if (!options.process_group()) options.process_group(distributed::default_group());
  check(options.bucket_cap_mb() > 0, "DistributedDataParallel: bucket_cap_mb must be positive, got ",
        options.bucket_cap_mb());
  return options;
}

}  // namespace

DistributedDataParallelBase::DistributedDataParallelBase(const DistributedDataParallelOptions& options)
    : Module("DistributedDataParallel"), options_(with_group(options)) {}

DistributedDataParallelBase::~DistributedDataParallelBase() = default;

void DistributedDataParallelBase::start(const Module& module) {
  std::vector<NamedTensor> all, trained;
  for (const auto& item : module.named_parameters()) {
    check(item.value().device().type() == process_group()->device_type(),
          "DistributedDataParallel: parameter ", item.key(), " is on ", item.value().device(), ", but ",
          process_group()->getBackendName(), " takes tensors on ", Device(process_group()->device_type()),
          "; move the module with to() first");
    all.push_back({item.key(), item.value()});
    if (item.value().requires_grad()) trained.push_back(all.back());
  }
  check(!trained.empty(), "DistributedDataParallel: the module has no parameter that requires grad");
  for (const auto& item : module.named_buffers()) buffers_.push_back({item.key(), item.value()});
  broadcast_all(*process_group(), all, "parameters", /*check_names=*/true);
  broadcast_all(*process_group(), buffers_, "buffers", /*check_names=*/true);
  reducer_ = std::make_unique<distributed::detail::Reducer>(std::move(trained), options_);
}

void DistributedDataParallelBase::before_forward() {
  if (options_.broadcast_buffers() && is_training() && reducer_->enabled())
    broadcast_all(*process_group(), buffers_, "buffers", /*check_names=*/false);
}

void DistributedDataParallelBase::after_forward(const std::vector<Tensor>& outputs) {
  if (GradMode::is_enabled()) reducer_->look_for_unused(outputs);
}

size_t DistributedDataParallelBase::bucket_count() const { return reducer_->bucket_count(); }

void DistributedDataParallelBase::pretty_print(std::ostream& out) const { out << name(); }

DistributedDataParallelBase::NoSync::NoSync(DistributedDataParallelBase& module)
    : module_(module), before_(module.reducer_->enabled()) {
  module_.reducer_->set_enabled(false);
}
DistributedDataParallelBase::NoSync::~NoSync() { module_.reducer_->set_enabled(before_); }

}  // namespace tarn::inline v1::nn::parallel
