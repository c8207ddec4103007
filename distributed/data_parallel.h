// DistributedDataParallel: a module that every rank trains on its own part of the data, with equal weights
// everywhere. libtorch has no such class; name, options and behaviour are those of PyTorch's in Python.
//
//   distributed::init_process_group("gloo");
//   Net net;
//   nn::parallel::DistributedDataParallel ddp(net);   // rank 0's weights go to all
//   optim::SGD optimizer(net->parameters(), 0.1);
//   ...
//   optimizer.zero_grad();
//   loss_of(ddp->forward(batch.data), batch.target).backward();   // gradients are averaged on the way
//   optimizer.step();
//
// Run the same number of steps on every rank. For evaluation, and for files, use `net`: the wrapper's forward
// in training mode sends rank 0's buffers to all, so that all ranks must call it.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include <tarn/distributed/reducer.h>
#include <tarn/nn/holder.h>

namespace tarn::inline v1::nn::parallel {

// What does not depend on the module's class.
class TARN_API DistributedDataParallelBase : public Module {
 public:
  ~DistributedDataParallelBase() override;

  // While one lives, backward leaves the gradients where they are and adds to them; the first backward after
  // it averages the sums. Gradient accumulation, without communication in between.
  class TARN_API NoSync {
   public:
    explicit NoSync(DistributedDataParallelBase& module);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallelBase& module_;
    bool before_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  const std::shared_ptr<distributed::ProcessGroup>& process_group() const { return options_.process_group(); }
  // In how many pieces gradients travel.
  size_t bucket_count() const;

  void pretty_print(std::ostream& out) const override;

 protected:
  explicit DistributedDataParallelBase(const DistributedDataParallelOptions& options);
  // Checks that all ranks have the same module, and makes it equal to rank 0's.
  void start(const Module& module);
  void before_forward();
  void after_forward(const std::vector<Tensor>& outputs);
  bool looks_for_unused() const { return options_.find_unused_parameters(); }

 private:
  DistributedDataParallelOptions options_;
  std::vector<distributed::detail::NamedTensor> buffers_;
  std::unique_ptr<distributed::detail::Reducer> reducer_;
};

namespace detail {

// The tensors in what a forward returned: a tensor, or optionals, pairs, tuples, arrays and vectors of them.
inline void collect(std::vector<Tensor>& all, const Tensor& t) { all.push_back(t); }
template <class T>
void collect(std::vector<Tensor>& all, const std::optional<T>& value);
template <class T>
void collect(std::vector<Tensor>& all, const std::vector<T>& values);
template <class T, size_t N>
void collect(std::vector<Tensor>& all, const std::array<T, N>& values);
template <class A, class B>
void collect(std::vector<Tensor>& all, const std::pair<A, B>& values);
template <class... T>
void collect(std::vector<Tensor>& all, const std::tuple<T...>& values);
template <class T>
requires(std::is_arithmetic_v<T>) void collect(std::vector<Tensor>&, const T&) {}

template <class T>
void collect(std::vector<Tensor>& all, const std::optional<T>& value) {
  if (value) collect(all, *value);
}
template <class T>
void collect(std::vector<Tensor>& all, const std::vector<T>& values) {
  for (const T& value : values) collect(all, value);
}
template <class T, size_t N>
void collect(std::vector<Tensor>& all, const std::array<T, N>& values) {
  for (const T& value : values) collect(all, value);
}
template <class A, class B>
void collect(std::vector<Tensor>& all, const std::pair<A, B>& values) {
  collect(all, values.first);
  collect(all, values.second);
}
template <class... T>
void collect(std::vector<Tensor>& all, const std::tuple<T...>& values) {
  std::apply([&](const auto&... each) { (collect(all, each), ...); }, values);
}

}  // namespace detail

template <class Wrapped>
class DistributedDataParallelImpl : public DistributedDataParallelBase {
 public:
  explicit DistributedDataParallelImpl(std::shared_ptr<Wrapped> module,
                                       const DistributedDataParallelOptions& options = {})
      : DistributedDataParallelBase(options), module_(register_module("module", std::move(module))) {
    start(*module_);
  }

  // The module's own forward, with any arguments.
  template <class... Args>
  auto forward(Args&&... args) {
    before_forward();
    auto output = module_->forward(std::forward<Args>(args)...);
    constexpr bool can_collect = requires(std::vector<Tensor> & all) {
      detail::collect(all, std::as_const(output));
    };
    if constexpr (can_collect) {
      std::vector<Tensor> outputs;
      if (looks_for_unused()) detail::collect(outputs, output);
      after_forward(outputs);
    } else {
      check(!looks_for_unused(),
            "DistributedDataParallel: find_unused_parameters needs a forward that returns tensors, or "
            "optionals, "
            "pairs, tuples and vectors of them");
    }
    return output;
  }

  const std::shared_ptr<Wrapped>& module() const { return module_; }

 private:
  std::shared_ptr<Wrapped> module_;
};

// The holder: DistributedDataParallel ddp(net), where `net` is a module's holder or a shared_ptr to it.
template <class Wrapped>
class DistributedDataParallel : public ModuleHolder<DistributedDataParallelImpl<Wrapped>> {
  using Base = ModuleHolder<DistributedDataParallelImpl<Wrapped>>;

 public:
  explicit DistributedDataParallel(const ModuleHolder<Wrapped>& module,
                                   const DistributedDataParallelOptions& options = {})
      : DistributedDataParallel(module.ptr(), options) {}
  explicit DistributedDataParallel(std::shared_ptr<Wrapped> module,
                                   const DistributedDataParallelOptions& options = {})
      : Base(std::make_shared<DistributedDataParallelImpl<Wrapped>>(std::move(module), options)) {}
  DistributedDataParallel(std::nullptr_t) : Base(nullptr) {}
};
template <class Holder>
requires requires { typename Holder::ContainedType; }
DistributedDataParallel(const Holder&, const DistributedDataParallelOptions& = {})
    ->DistributedDataParallel<typename Holder::ContainedType>;
template <class Wrapped>
DistributedDataParallel(std::shared_ptr<Wrapped>, const DistributedDataParallelOptions& = {})
    -> DistributedDataParallel<Wrapped>;

}  // namespace tarn::inline v1::nn::parallel
