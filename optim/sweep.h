// Sweep: collects the parameters of one optimizer step as flat ranges of memory and updates them all at once.
// Private.
#pragma once

#include <vector>

#include <tarn/core/cpu/optim.h>
#include <tarn/core/tensor.h>
#include <tarn/optim/optimizer.h>

namespace tarn::inline v1::optim {

template <class Update>
class Sweep {
 public:
  Sweep(const char* optimizer, const detail::UpdateKernels& kernels)
      : optimizer_(optimizer), kernels_(kernels) {}

  // Takes a parameter that has a gradient, with the first `count` slots of its state; missing ones start as
  // zero.
  void add(const Tensor& param, ParamState& state, int count, const Update& update);
  // Runs the updates and marks the parameters as written.
  void run();

 private:
  struct Entry {
    Tensor param, flat_param, grad;
    Tensor slots[3];
    Update update;
  };
  const char* optimizer_;
  const detail::UpdateKernels& kernels_;
  std::vector<Entry> entries_;
};

// The parameter's gradient in the parameter's dtype; errors name the optimizer.
Tensor usable_grad(const char* optimizer, const Tensor& param);
// A zero tensor of the same sizes, order in memory and dtype.
Tensor zeros_in_layout_of(const Tensor& x);
// x, or a copy, dense and with its elements in the order of `like`'s, or row-major where `like` has holes.
Tensor in_layout_of(const Tensor& x, const Tensor& like);
detail::UpdateKernel kernel_for(const char* optimizer, const detail::UpdateKernels& kernels,
                                ScalarType dtype);

template <class Update>
void Sweep<Update>::add(const Tensor& param, ParamState& state, int count, const Update& update) {
  Entry entry{param, in_layout_of(param, param), usable_grad(optimizer_, param), {}, update};
  entry.grad = in_layout_of(entry.grad, entry.flat_param);
  for (int i = 0; i < count; ++i) {
    Tensor& slot = state.slots[i];
    if (!slot.defined()) slot = zeros_in_layout_of(entry.flat_param);
    // A state loaded from elsewhere, or a parameter that has moved or changed its layout or dtype since.
    if (slot.dtype() != param.dtype()) slot = slot.to(param.dtype());
    slot = in_layout_of(slot, entry.flat_param);
    entry.slots[i] = slot;
  }
  entries_.push_back(std::move(entry));
}

template <class Update>
void Sweep<Update>::run() {
  std::vector<detail::UpdateRange> ranges;
  ranges.reserve(entries_.size());
  for (Entry& e : entries_) {
    auto address = [](const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; };
    ranges.push_back({kernel_for(optimizer_, kernels_, e.param.dtype()),
                      e.flat_param.data_ptr(),
                      e.grad.data_ptr(),
                      {address(e.slots[0]), address(e.slots[1]), address(e.slots[2])},
                      e.param.numel(),
                      &e.update});
  }
  detail::update_sweep(ranges.data(), int64_t(ranges.size()));
  for (Entry& e : entries_) {
    if (e.flat_param.data_ptr() != e.param.data_ptr()) e.param.data().copy_(e.flat_param);
    e.param.get().storage->version.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tarn::inline v1::optim
