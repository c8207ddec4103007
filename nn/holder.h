// ModuleHolder<Impl>: a module as a value. TARN_MODULE(Net) makes `Net` the holder of a class `NetImpl`; `Net
// net(args...)` makes the module, `net->member` reaches it, `net(x)` calls its forward, and copies share it.
// `Net net{nullptr}` is empty.
#pragma once

#include <iosfwd>
#include <memory>
#include <utility>

#include <tarn/nn/module.h>

namespace tarn::inline v1::nn {

template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;

  ModuleHolder() : impl_(make_default()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail>
  requires(std::is_constructible_v<Contained, Head, Tail...> &&
           !(sizeof...(Tail) == 0 &&
             (std::is_base_of_v<ModuleHolder, std::remove_cvref_t<Head>> ||
              std::is_convertible_v<Head, std::shared_ptr<Contained>>))) explicit ModuleHolder(Head&& head,
                                                                                               Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  bool is_empty() const { return impl_ == nullptr; }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const {
    check(impl_ != nullptr, "ModuleHolder: the module is empty; construct it first");
    return impl_;
  }
  Contained* get() { return ptr().get(); }
  const Contained* get() const { return ptr().get(); }

  template <class... Args, class M = Contained>
  auto operator()(Args&&... args) const -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    return ptr()->forward(std::forward<Args>(args)...);
  }
  template <class Index>
  decltype(auto) operator[](Index&& index) const {
    return (*ptr())[std::forward<Index>(index)];
  }

  friend std::ostream& operator<<(std::ostream& out, const ModuleHolder& holder) {
    return out << static_cast<const Module&>(*holder.ptr());
  }

 protected:
  static std::shared_ptr<Contained> make_default() {
    static_assert(std::is_default_constructible_v<Contained>,
                  "this module needs arguments; use Name name{nullptr} for an empty holder");
    return std::make_shared<Contained>();
  }
  std::shared_ptr<Contained> impl_;
};

}  // namespace tarn::inline v1::nn

#define TARN_MODULE_IMPL(Name, Impl_)                    \
  class Name : public ::tarn::nn::ModuleHolder<Impl_> {  \
   public:                                               \
    using ::tarn::nn::ModuleHolder<Impl_>::ModuleHolder; \
    using Impl [[maybe_unused]] = Impl_;                 \
  }

// Makes `Name` the holder of the module class `NameImpl`.
#define TARN_MODULE(Name) TARN_MODULE_IMPL(Name, Name##Impl)
