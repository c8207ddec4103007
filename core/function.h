// Function<R(A...)>: any copyable callable behind one type. std::function's header costs 11,000 preprocessed
// lines in every file that includes a public header of ours; this costs none. Copies share the callable.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tarn::inline v1::detail {

template <class Signature>
class Function;

template <class R, class... A>
class Function<R(A...)> {
 public:
  Function() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Function> && std::is_invocable_r_v<R, std::decay_t<F>&, A...>)
      Function(F&& f)
      : object_(std::make_shared<std::decay_t<F>>(std::forward<F>(f))),
        call_([](void* object, A... args) -> R {
          return (*static_cast<std::decay_t<F>*>(object))(std::forward<A>(args)...);
        }) {}

  explicit operator bool() const { return call_ != nullptr; }
  R operator()(A... args) const { return call_(object_.get(), std::forward<A>(args)...); }

 private:
  std::shared_ptr<void> object_;
  R (*call_)(void*, A...) = nullptr;
};

}  // namespace tarn::inline v1::detail
