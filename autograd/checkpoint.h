// checkpoint(f, args...): calls f(args...) and keeps none of the tensors that its ops save for backward; when
// backward needs them, f runs again. Memory for time: one more forward of that part.
//
//   Tensor h = autograd::checkpoint([&](const Tensor& x) { return block->forward(x); }, x);
//
// As torch.utils.checkpoint with use_reentrant=False: any arguments and results, gradients of parameters that
// f captures, grad() and create_graph work, and checkpoints nest. f must do the same each time: the default
// generator, autocast and its dtype are put back as they were; a different number, size or dtype of saved
// tensors, or a captured tensor that was changed in place since, is an Error in backward. Without grad mode f
// is just called.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <tarn/autograd/saved_tensors_hooks.h>

namespace tarn::inline v1 {

namespace autograd {

struct CheckpointOptions {
  bool preserve_rng_state = true;  // false: random numbers may differ in the second run; saves a lock
};

}  // namespace autograd

namespace detail {

struct CheckpointFrame;

// While it lives, tensors saved on this thread belong to the frame that runs `again` on demand.
class TARN_API CheckpointScope {
 public:
  using Again = Function<void(const std::vector<Tensor>&)>;
  CheckpointScope(const std::vector<Tensor>& inputs, autograd::CheckpointOptions options, Again again);
  ~CheckpointScope();

 private:
  std::shared_ptr<CheckpointFrame> frame_;
  SavedTensorsHooks hooks_;
  std::optional<SavedTensorsScope> scope_;
};

// Arguments that are tensors are saved, as an op's inputs are; the others are copied.
inline void take_tensors(Tensor& t, std::vector<Tensor>& out) { out.push_back(std::exchange(t, {})); }
inline void take_tensors(std::vector<Tensor>& list, std::vector<Tensor>& out) {
  for (Tensor& t : list) take_tensors(t, out);
}
inline void take_tensors(std::optional<Tensor>& t, std::vector<Tensor>& out) {
  if (t) take_tensors(*t, out);
}
template <class T>
void take_tensors(T&, std::vector<Tensor>&) {}

inline void put_tensors(Tensor& t, const Tensor*& from) { t = *from++; }
inline void put_tensors(std::vector<Tensor>& list, const Tensor*& from) {
  for (Tensor& t : list) put_tensors(t, from);
}
inline void put_tensors(std::optional<Tensor>& t, const Tensor*& from) {
  if (t) put_tensors(*t, from);
}
template <class T>
void put_tensors(T&, const Tensor*&) {}

template <class F, class... Args>
struct CheckpointedCall {
  F function;
  std::tuple<Args...> arguments;  // without their tensors

  auto operator()(const std::vector<Tensor>& tensors) {
    std::tuple<Args...> full = arguments;
    const Tensor* from = tensors.data();
    std::apply([&](auto&... each) { (put_tensors(each, from), ...); }, full);
    return std::apply(function, std::move(full));
  }
};

}  // namespace detail

namespace autograd {

template <class F, class... Args>
auto checkpoint(CheckpointOptions options, F function, Args... args) {
  using Call = tarn::detail::CheckpointedCall<F, Args...>;
  std::vector<Tensor> tensors;
  (tarn::detail::take_tensors(args, tensors), ...);
  auto call = std::make_shared<Call>(Call{std::move(function), {std::move(args)...}});
  if (!GradMode::is_enabled()) return (*call)(tensors);
  tarn::detail::CheckpointScope scope(tensors, options, [call](const std::vector<Tensor>& t) { (*call)(t); });
  return (*call)(tensors);
}

template <class F, class... Args>
requires(!std::is_same_v<std::decay_t<F>, CheckpointOptions>) auto checkpoint(F function, Args... args) {
  return checkpoint(CheckpointOptions(), std::move(function), std::move(args)...);
}

}  // namespace autograd

namespace utils {
using autograd::checkpoint;
using autograd::CheckpointOptions;
}  // namespace utils

}  // namespace tarn::inline v1
