// What the oneDNN files share: its C interface (the C++ one would leave weak symbols of namespace dnnl in our
// static library, to clash with a host's other version), owning handles, one engine, and its thread count.
// Private to the onednn files; only where TARN_HAS_ONEDNN.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <utility>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail::onednn {

[[noreturn]] void fail_status(const char* call, dnnl_status_t status);

inline void ensure_ok(dnnl_status_t status, const char* call) {
  if (status != dnnl_success) [[unlikely]]
    fail_status(call, status);
}

template <class T, dnnl_status_t (*Destroy)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (handle_) Destroy(handle_);
  }
  T get() const { return handle_; }
  // For functions that make one.
  T* out() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T handle_ = nullptr;
};

using Primitive = Handle<dnnl_primitive_t, dnnl_primitive_destroy>;
using PrimitiveDesc = Handle<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using PrimitiveAttr = Handle<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using Memory = Handle<dnnl_memory_t, dnnl_memory_destroy>;

// The CPU engine and a stream on it, made at first use and never destroyed. oneDNN's CPU streams hold no
// state, so one serves all threads.
dnnl_engine_t engine();
dnnl_stream_t stream();

// While one lives, oneDNN called on this thread uses this thread alone, both for making primitives and for
// running them. OpenMP's setting of the thread is put back: it is the host program's.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  int before_;
};

}  // namespace tarn::inline v1::detail::onednn
