// Hooks on saved tensors: what becomes of a tensor that an op keeps for its gradient. Inside the scope each
// is handed to pack(), and what that returns is kept instead; backward asks unpack() for the tensor.
//
//   autograd::graph::saved_tensors_hooks to_disk([](const Tensor& t) { return write(t); },
//                                                [](const File& file) { return read(file); });
//
// The names are those of torch.autograd.graph. A scope belongs to its thread; of nested ones the innermost
// is asked. Both functions run without grad mode, unpack() on the thread that runs backward.
#pragma once

#include <memory>
#include <type_traits>

#include <tarn/core/function.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

namespace detail {

struct SavedTensorsHooks {
  Function<std::shared_ptr<void>(const Tensor&)> pack;
  Function<Tensor(const std::shared_ptr<void>&)> unpack;
  // The tensor that a packed object is, if pack() returns a Tensor. One that shares the saved tensor's memory
  // is watched for writes like a saved tensor.
  Function<Tensor(const std::shared_ptr<void>&)> alias;
};

// Makes hooks the innermost of this thread for a scope; null: none are asked.
class TARN_API SavedTensorsScope {
 public:
  explicit SavedTensorsScope(const SavedTensorsHooks* hooks);
  ~SavedTensorsScope();
  SavedTensorsScope(const SavedTensorsScope&) = delete;
  SavedTensorsScope& operator=(const SavedTensorsScope&) = delete;

 private:
  const SavedTensorsHooks* before_;
};

// The innermost of this thread, or null.
const SavedTensorsHooks* saved_tensors_hooks();

}  // namespace detail

namespace autograd::graph {

class TARN_API saved_tensors_hooks {
 public:
  // pack(const Tensor&) returns any type P; unpack(const P&) a tensor of the sizes and dtype of the packed
  // one, which is moved to its device.
  template <class Pack, class Unpack>
  saved_tensors_hooks(Pack pack, Unpack unpack)
      : hooks_(make(std::move(pack), std::move(unpack))), scope_(&hooks_) {}

 private:
  template <class Pack, class Unpack>
  static tarn::detail::SavedTensorsHooks make(Pack pack, Unpack unpack) {
    using P = std::decay_t<std::invoke_result_t<Pack&, const Tensor&>>;
    tarn::detail::SavedTensorsHooks hooks;
    hooks.pack = [pack = std::move(pack)](const Tensor& t) mutable -> std::shared_ptr<void> {
      return std::make_shared<P>(pack(t));
    };
    hooks.unpack = [unpack = std::move(unpack)](const std::shared_ptr<void>& packed) mutable -> Tensor {
      return unpack(*static_cast<P*>(packed.get()));
    };
    if constexpr (std::is_same_v<P, Tensor>)
      hooks.alias = [](const std::shared_ptr<void>& packed) { return *static_cast<Tensor*>(packed.get()); };
    return hooks;
  }

  tarn::detail::SavedTensorsHooks hooks_;
  tarn::detail::SavedTensorsScope scope_;
};

// Keeps saved tensors in the CPU's memory, to spare a device's; pinned, if asked for, so that they come back
// faster. Tensors of the CPU stay where they are.
class TARN_API save_on_cpu {
 public:
  explicit save_on_cpu(bool pin_memory = false);

 private:
  saved_tensors_hooks hooks_;
};

}  // namespace autograd::graph

}  // namespace tarn::inline v1
