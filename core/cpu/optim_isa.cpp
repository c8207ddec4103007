// The loops of optimizer updates. The formulas stand once, for V<T, N>; 16-bit floats pass through tiles of
// float.
#include <tarn/core/cpu/optim.h>
#include <tarn/core/cpu/vec.h>

namespace tarn::inline v1::TARN_ISA {

namespace {

using detail::AdamUpdate;
using detail::SgdUpdate;
using detail::UpdateRange;

constexpr int kSlots = 3;

// One vector of everything an update touches.
template <class X>
struct Elements {
  X param, grad, slots[kSlots];
};

template <class T>
struct Sgd {
  using Update = SgdUpdate;
  static constexpr int kUsedSlots = 1;
  T lr, momentum, keep, weight_decay;
  bool use_momentum, nesterov, maximize, first;

  explicit Sgd(const Update& u)
      : lr(T(u.lr)),
        momentum(T(u.momentum)),
        keep(T(1 - u.dampening)),
        weight_decay(T(u.weight_decay)),
        use_momentum(u.momentum != 0),
        nesterov(u.nesterov),
        maximize(u.maximize),
        first(u.first) {}
  bool uses(int) const { return use_momentum; }

  template <class X>
  TARN_INLINE void operator()(Elements<X>& e) const {
    X step = maximize ? -e.grad : e.grad;
    if (weight_decay != 0) step = step + e.param * X(weight_decay);
    if (use_momentum) {
      X& buffer = e.slots[0];
      buffer = first ? step : buffer * X(momentum) + step * X(keep);
      step = nesterov ? step + buffer * X(momentum) : buffer;
    }
    e.param = e.param - step * X(lr);
  }
};

template <class T>
struct Adam {
  using Update = AdamUpdate;
  static constexpr int kUsedSlots = 3;
  T step_size, keep1, beta2, keep2, eps, weight_decay, shrink, correction2;
  bool amsgrad, maximize, decoupled;

  explicit Adam(const Update& u)
      : step_size(T(u.lr / u.bias_correction1)),
        keep1(T(1 - u.beta1)),
        beta2(T(u.beta2)),
        keep2(T(1 - u.beta2)),
        eps(T(u.eps)),
        weight_decay(T(u.weight_decay)),
        shrink(T(1 - u.lr * u.weight_decay)),
        correction2(T(u.bias_correction2_sqrt)),
        amsgrad(u.amsgrad),
        maximize(u.maximize),
        decoupled(u.decoupled) {}
  bool uses(int slot) const { return slot < 2 || amsgrad; }

  template <class X>
  TARN_INLINE void operator()(Elements<X>& e) const {
    X grad = maximize ? -e.grad : e.grad;
    if (weight_decay != 0) {
      if (decoupled)
        e.param = e.param * X(shrink);
      else
        grad = grad + e.param * X(weight_decay);
    }
    X& mean = e.slots[0];
    X& square = e.slots[1];
    mean = mean + (grad - mean) * X(keep1);
    square = square * X(beta2) + grad * grad * X(keep2);
    if (amsgrad) e.slots[2] = max(e.slots[2], square);
    X root = sqrt(amsgrad ? e.slots[2] : square);
    e.param = e.param - mean / (root / X(correction2) + X(eps)) * X(step_size);
  }
};

// Updates n elements of compute type; pointers of slots that are not used may be null.
template <class T, template <class> class Rule>
TARN_INLINE void update_loop(const Rule<T>& rule, T* param, const T* grad, T* const* slots, int64_t n) {
  constexpr int N = kLanes<T>;
  using X = V<T, N>;
  constexpr int used = Rule<T>::kUsedSlots;
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    Elements<X> e;
    e.param = load<T, N>(param + i);
    e.grad = load<T, N>(grad + i);
    for (int s = 0; s < used; s++)
      if (rule.uses(s)) e.slots[s] = load<T, N>(slots[s] + i);
    rule(e);
    store(param + i, e.param);
    for (int s = 0; s < used; s++)
      if (rule.uses(s)) store(slots[s] + i, e.slots[s]);
  }
  for (; i < n; i++) {
    using One = V<T, 1>;
    Elements<One> e;
    e.param = One(param[i]);
    e.grad = One(grad[i]);
    for (int s = 0; s < used; s++)
      if (rule.uses(s)) e.slots[s] = One(slots[s][i]);
    rule(e);
    param[i] = e.param.v;
    for (int s = 0; s < used; s++)
      if (rule.uses(s)) slots[s][i] = e.slots[s].v;
  }
}

template <class S, template <class> class Rule>
void update(const UpdateRange& range, int64_t begin, int64_t end) {
  using T = typename Pick<is_float<S>, S, float>::type;
  const Rule<T> rule(*static_cast<const typename Rule<T>::Update*>(range.update));
  S* param = static_cast<S*>(range.param) + begin;
  const S* grad = static_cast<const S*>(range.grad) + begin;
  S* slots[kSlots] = {};
  for (int s = 0; s < Rule<T>::kUsedSlots; s++)
    if (rule.uses(s)) slots[s] = static_cast<S*>(range.slots[s]) + begin;
  if constexpr (same<S, T>) {
    update_loop<T, Rule>(rule, param, grad, slots, end - begin);
  } else {
    constexpr int kTile = 256;
    T tiles[2 + kSlots][kTile];
    T* slot_tiles[kSlots] = {tiles[2], tiles[3], tiles[4]};
    for (int64_t i = 0; i < end - begin; i += kTile) {
      int64_t n = end - begin - i < kTile ? end - begin - i : kTile;
      load_row(tiles[0], param + i, n);
      load_row(tiles[1], grad + i, n);
      for (int s = 0; s < kSlots; s++)
        if (slots[s]) load_row(tiles[2 + s], slots[s] + i, n);
      update_loop<T, Rule>(rule, tiles[0], tiles[1], slot_tiles, n);
      store_row(param + i, tiles[0], n);
      for (int s = 0; s < kSlots; s++)
        if (slots[s]) store_row(slots[s] + i, tiles[2 + s], n);
    }
  }
}

template <template <class> class Rule>
constexpr detail::UpdateKernels kernels_of() {
  return {update<float, Rule>, update<double, Rule>, update<f16, Rule>, update<bf16, Rule>};
}

}  // namespace

extern const detail::OptimTable optim_table = {kernels_of<Sgd>(), kernels_of<Adam>()};

}  // namespace tarn::inline v1::TARN_ISA
