#include <tarn/core/autocast.h>

#include <vector>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>

namespace tarn::inline v1 {

namespace {

using detail::mode;

// A parameter's cast. It holds the parameter, so that the address cannot come to mean another one.
struct CachedCast {
  Tensor parameter;
  uint32_t version;
  Tensor cast;
};

struct State {
  ScalarType cpu = kBFloat16, cuda = kHalf;
  bool cache_enabled = true;
  int guards = 0;
  std::vector<CachedCast> cache;
};
thread_local State state;

uint16_t bit(DeviceType device) { return uint16_t(1u << int(device)); }

ScalarType& dtype_of_scope(DeviceType device) {
  check(device == kCPU || device == kCUDA, "autocast: device must be cpu or cuda, got ", Device(device));
  return device == kCPU ? state.cpu : state.cuda;
}

void check_dtype(ScalarType dtype) {
  check(dtype == kBFloat16 || dtype == kHalf, "autocast: dtype must be BFloat16 or Half, got ", dtype);
}

uint32_t version_of(const Tensor& t) { return t.get().storage->version.load(std::memory_order_relaxed); }

bool is_parameter(const Tensor& t) {
  return t.dtype() == kFloat && t.get().has(detail::kRequiresGrad) && !t.get().view && t.is_leaf();
}

// The cast of a parameter, kept until the outermost scope ends or the parameter is written. One that was made
// under NoGradGuard has no history and does not serve where one is needed.
Tensor cached_cast(const Tensor& parameter, ScalarType dtype) {
  for (CachedCast& entry : state.cache) {
    if (!entry.parameter.is_same(parameter) || entry.cast.dtype() != dtype) continue;
    bool serves = entry.version == version_of(parameter) && (!mode.grad || entry.cast.requires_grad());
    if (!serves) entry = {parameter, version_of(parameter), detail::cast(parameter, dtype)};
    return entry.cast;
  }
  return state.cache
      .emplace_back(CachedCast{parameter, version_of(parameter), detail::cast(parameter, dtype)})
      .cast;
}

// Whether autocast changes the dtype of such a tensor at all.
bool takes_part(const Tensor& t) {
  return t.defined() && is_floating(t.dtype()) && t.dtype() != kDouble &&
         (mode.autocast & bit(t.device().type()));
}

Tensor lowered(const Tensor& t) {
  ScalarType dtype = dtype_of_scope(t.device().type());
  if (t.dtype() == dtype) return t;
  return state.cache_enabled && is_parameter(t) ? cached_cast(t, dtype) : detail::cast(t, dtype);
}

ScalarType widest(detail::Inputs inputs) {
  ScalarType dtype = kBFloat16;
  bool any = false;
  for (const detail::In& in : inputs) {
    if (!in.tensor->defined() || !is_floating((*in).dtype())) continue;
    dtype = any ? promote_types(dtype, (*in).dtype()) : (*in).dtype();
    any = true;
  }
  return dtype;
}

}  // namespace

AutocastGuard::AutocastGuard(DeviceType device, std::optional<ScalarType> dtype, bool enabled,
                             bool cache_enabled)
    : device_(device),
      dtype_before_(dtype_of_scope(device)),
      mode_before_(mode.autocast),
      cache_before_(state.cache_enabled) {
  if (dtype) autocast::set_autocast_dtype(device, *dtype);
  autocast::set_autocast_enabled(device, enabled);
  state.cache_enabled = cache_enabled;
  ++state.guards;
}

AutocastGuard::AutocastGuard(const Device& device, std::optional<ScalarType> dtype, bool enabled,
                             bool cache_enabled)
    : AutocastGuard(device.type(), dtype, enabled, cache_enabled) {}

AutocastGuard::~AutocastGuard() {
  dtype_of_scope(device_) = dtype_before_;
  mode.autocast = mode_before_;
  state.cache_enabled = cache_before_;
  if (--state.guards == 0) autocast::clear_cache();
}

namespace autocast {

bool is_autocast_enabled(DeviceType device) { return mode.autocast & bit(device); }

void set_autocast_enabled(DeviceType device, bool enabled) {
  dtype_of_scope(device);
  mode.autocast = uint16_t(enabled ? mode.autocast | bit(device) : mode.autocast & ~bit(device));
}

ScalarType get_autocast_dtype(DeviceType device) { return dtype_of_scope(device); }

void set_autocast_dtype(DeviceType device, ScalarType dtype) {
  check_dtype(dtype);
  dtype_of_scope(device) = dtype;
}

bool is_autocast_cache_enabled() { return state.cache_enabled; }
void set_autocast_cache_enabled(bool enabled) { state.cache_enabled = enabled; }
void clear_cache() { state.cache.clear(); }

}  // namespace autocast

namespace detail {

// The kernel sees autocast switched off: what it calls is its own business.
void dispatch_autocast(const Op& op, Inputs inputs, Attrs attrs, Scalars scalars, Tensor* out) {
  std::vector<Tensor> tensors;
  std::vector<In> casts;
  tensors.reserve(inputs.size());
  casts.reserve(inputs.size());
  ScalarType common = op.autocast == Autocast::Widest ? widest(inputs) : kFloat;
  for (const In& in : inputs) {
    Tensor t = *in;
    if (takes_part(t)) t = op.autocast == Autocast::Lower ? lowered(t) : cast(t, common);
    casts.emplace_back(tensors.emplace_back(std::move(t)));
  }
  AutocastOff off;
  dispatch(op, Inputs(casts.data(), casts.size()), attrs, scalars, out);
}

Tensor autocast_to_float(const Tensor& x) { return takes_part(x) ? cast(x, kFloat) : x; }

}  // namespace detail

}  // namespace tarn::inline v1
