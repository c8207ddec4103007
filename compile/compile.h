// compile(): speeds up a C++ function over tensors: a forward pass, a loss with its backward, or a whole
// training step with the optimizer.
//
//   auto step = tarn::compile([&](const Tensor& x, const Tensor& y) {
//     optimizer.zero_grad();
//     Tensor loss = nn::functional::cross_entropy(model->forward(x), y);
//     loss.backward();
//     optimizer.step();
//     return loss;
//   });
//   for (auto& batch : *loader) step(batch.data, batch.target);
//
// The function itself runs at every call, so that branches, loops, captured variables and module flags always
// mean what they say. While it runs, ops are noted instead of executed; what it did before is recognised, and
// runs as one plan: fused, in one block of memory. Where the function needs a value (item(), a data pointer,
// printing) the ops so far run first: a graph break.
//
// Limits: memory that the function reads or writes through a pointer taken before the call, and tensors
// handed to another thread inside of it, are not seen. Ops run at the break or the end, and that is where an
// op's late error (an index out of range, no memory) appears.
//
// Thread rule: any number of threads may call one compiled function; one at a time runs compiled, others
// eagerly.
#pragma once

#include <memory>
#include <utility>

#include <tarn/compile/options.h>
#include <tarn/compile/stats.h>
#include <tarn/core/macros.h>

namespace tarn::inline v1 {

// While it lives, a graph break on this thread is an Error (or is not, whatever CompileOptions::fullgraph
// says).
class TARN_API ErrorOnGraphBreak {
 public:
  explicit ErrorOnGraphBreak(bool on = true);
  ~ErrorOnGraphBreak();
  ErrorOnGraphBreak(const ErrorOnGraphBreak&) = delete;
  ErrorOnGraphBreak& operator=(const ErrorOnGraphBreak&) = delete;

 private:
  int before_;
};

namespace detail {

struct CompiledFunction;
TARN_API std::shared_ptr<CompiledFunction> make_compiled(const CompileOptions& options);

// One call. Inside another compiled function it is a part of that one's call.
class TARN_API CompiledCall {
 public:
  explicit CompiledCall(CompiledFunction& function);
  // Runs what is still to be run; throws what it throws.
  void finish();
  // After an exception: what the function did before it threw is done, as in eager.
  ~CompiledCall();
  CompiledCall(const CompiledCall&) = delete;
  CompiledCall& operator=(const CompiledCall&) = delete;

 private:
  CompiledFunction* function_;  // null: eager, or nested
};

}  // namespace detail

// Calls like the function it was made of; copies share what has been learnt.
template <class F>
class Compiled {
 public:
  Compiled(F function, const CompileOptions& options)
      : function_(std::move(function)), compiled_(detail::make_compiled(options)) {}

  template <class... A>
  decltype(auto) operator()(A&&... args) {
    detail::CompiledCall call(*compiled_);
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
      function_(std::forward<A>(args)...);
      call.finish();
    } else {
      std::invoke_result_t<F&, A...> result = function_(std::forward<A>(args)...);
      call.finish();
      return static_cast<std::invoke_result_t<F&, A...>>(
          std::forward<std::invoke_result_t<F&, A...>>(result));
    }
  }

 private:
  F function_;
  std::shared_ptr<detail::CompiledFunction> compiled_;
};

template <class F>
Compiled<std::decay_t<F>> compile(F&& function, const CompileOptions& options = {}) {
  return {std::forward<F>(function), options};
}

}  // namespace tarn::inline v1
