#include <tarn/optim/update.h>

#include <tarn/core/cpu/optim.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/cuda/library.h>
#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>

namespace tarn::inline v1::detail {

namespace {

InputRange updated(const Args& a) {
  const auto& p = a.attrs<UpdateAttrs>();
  return {0, int(p.params * (1 + p.slots))};
}

void update_infer(const Args& a, Spec*) {
  const auto& p = a.attrs<UpdateAttrs>();
  ensure(a.count() == p.params * (2 + p.slots), a.op.name, ": ", a.count(), " tensors");
  for (int64_t i = 0; i < p.params; ++i) {
    for (int64_t k = i + p.params; k < a.count(); k += p.params) {
      ensure(a[k].numel() == a[i].numel() && a[k].dtype() == a[i].dtype(), a.op.name, ": tensor ", k,
             " of sizes ", a[k].sizes(), " is not like parameter ", i, " of sizes ", a[i].sizes());
    }
  }
}

UpdateKernel kernel_for(const Args& a, const UpdateKernels& kernels, ScalarType dtype) {
  switch (dtype) {
    case kFloat:
      return kernels.f32;
    case kDouble:
      return kernels.f64;
    case kHalf:
      return kernels.f16;
    case kBFloat16:
      return kernels.bf16;
    default:
      fail(a.op.name, ": parameters must be of a floating dtype, got ", dtype);
  }
}

void run_kernels(const Args& a, const UpdateKernels& kernels, const void* update) {
  const auto& p = a.attrs<UpdateAttrs>();
  std::vector<UpdateRange> ranges(size_t(p.params));
  for (int64_t i = 0; i < p.params; ++i) {
    UpdateRange& range = ranges[size_t(i)];
    range = {kernel_for(a, kernels, a[i].dtype()),
             a[i].data_ptr(),
             a[(1 + p.slots) * p.params + i].data_ptr(),
             {},
             a[i].numel(),
             update};
    for (int64_t s = 0; s < p.slots; ++s) range.slots[s] = a[(1 + s) * p.params + i].data_ptr();
  }
  update_sweep(ranges.data(), p.params);
}

void sgd_cpu(const Args& a, Tensor*) {
  const auto& p = a.attrs<UpdateAttrs>();
  SgdUpdate update = {.lr = a.scalar(0).to_double(),
                      .momentum = a.scalar(1).to_double(),
                      .dampening = a.scalar(2).to_double(),
                      .weight_decay = a.scalar(3).to_double(),
                      .nesterov = (p.flags & kNesterov) != 0,
                      .maximize = (p.flags & kMaximizeSgd) != 0,
                      .first = (p.flags & kFirstStep) != 0};
  run_kernels(a, optim_kernels().sgd, &update);
}

void adam_cpu(const Args& a, Tensor*) {
  const auto& p = a.attrs<UpdateAttrs>();
  AdamUpdate update = {.lr = a.scalar(0).to_double(),
                       .beta1 = a.scalar(1).to_double(),
                       .beta2 = a.scalar(2).to_double(),
                       .eps = a.scalar(3).to_double(),
                       .weight_decay = a.scalar(4).to_double(),
                       .bias_correction1 = a.scalar(5).to_double(),
                       .bias_correction2_sqrt = a.scalar(6).to_double(),
                       .amsgrad = (p.flags & kAmsgrad) != 0,
                       .maximize = (p.flags & kMaximizeAdam) != 0,
                       .decoupled = (p.flags & kDecoupled) != 0};
  run_kernels(a, optim_kernels().adam, &update);
}

}  // namespace

// Starts `kernel` for kUpdateParams parameters at a time, all of one dtype.
template <class Call>
void launch_update(const Args& a, int (*CudaTable::*kernel)(const Call&, void*), Call call) {
  const auto& p = a.attrs<UpdateAttrs>();
  for (int64_t i = 0; i < p.params; ++i)
    check(a[i].dtype() == kFloat || a[i].dtype() == kDouble, a.op.name,
          ": parameters on cuda must be Float or Double, got ", a[i].dtype());
  for (ScalarType dtype : {kFloat, kDouble}) {
    call.compute = compute_of(dtype);
    for (int64_t i = 0; i < p.params;) {
      call.count = 0, call.blocks = 0;
      for (; i < p.params && call.count < kUpdateParams; ++i) {
        if (a[i].dtype() != dtype || a[i].numel() == 0) continue;
        UpdateParam& entry = call.params[call.count++];
        entry = {.param = a[i].data_ptr(),
                 .grad = a[(1 + p.slots) * p.params + i].data_ptr(),
                 .slots = {},
                 .n = a[i].numel(),
                 .first_block = call.blocks};
        for (int64_t s = 0; s < p.slots; ++s) entry.slots[s] = a[(1 + s) * p.params + i].data_ptr();
        call.blocks += (entry.n + kUpdateElements - 1) / kUpdateElements;
      }
      if (call.count > 0) launch_cuda(a.op.name, kernel, call);
    }
  }
}

void sgd_cuda(const Args& a, Tensor*) {
  int64_t flags = a.attrs<UpdateAttrs>().flags;
  SgdCall call{};
  call.lr = a.scalar(0).to_double();
  call.momentum = a.scalar(1).to_double();
  call.dampening = a.scalar(2).to_double();
  call.weight_decay = a.scalar(3).to_double();
  call.nesterov = (flags & kNesterov) != 0;
  call.maximize = (flags & kMaximizeSgd) != 0;
  call.first = (flags & kFirstStep) != 0;
  launch_update(a, &CudaTable::sgd, call);
}

void adam_cuda(const Args& a, Tensor*) {
  int64_t flags = a.attrs<UpdateAttrs>().flags;
  AdamCall call{};
  call.lr = a.scalar(0).to_double();
  call.beta1 = a.scalar(1).to_double();
  call.beta2 = a.scalar(2).to_double();
  call.eps = a.scalar(3).to_double();
  call.weight_decay = a.scalar(4).to_double();
  call.bias_correction1 = a.scalar(5).to_double();
  call.bias_correction2_sqrt = a.scalar(6).to_double();
  call.amsgrad = (flags & kAmsgrad) != 0;
  call.maximize = (flags & kMaximizeAdam) != 0;
  call.decoupled = (flags & kDecoupled) != 0;
  launch_update(a, &CudaTable::adam, call);
}

const Op sgd_op = {
    .name = "sgd", .infer = update_infer, .cpu = sgd_cpu, .cuda = sgd_cuda, .outputs = 0, .writes = updated};
const Op adam_op = {.name = "adam",
                    .infer = update_infer,
                    .cpu = adam_cpu,
                    .cuda = adam_cuda,
                    .outputs = 0,
                    .writes = updated};

}  // namespace tarn::inline v1::detail

namespace tarn::inline v1::optim {

namespace {

// The parameter's gradient in the parameter's dtype; errors name the optimizer.
Tensor usable_grad(const char* optimizer, const Tensor& param) {
  const Tensor& grad = param.grad();
  check(grad.sizes() == param.sizes(), optimizer, ": the gradient has sizes ", grad.sizes(),
        ", its parameter ", param.sizes());
  check(grad.device() == param.device(), optimizer, ": the gradient is on ", grad.device(),
        ", its parameter on ", param.device());
  return grad.to(param.dtype());
}

// A zero tensor of the same sizes, order in memory and dtype.
Tensor zeros_in_layout_of(const Tensor& x) {
  return detail::make_tensor(x.sizes(), x.strides(), x.dtype(), x.device()).zero_();
}

// x, or a copy, dense and with its elements in the order of `like`'s, or row-major where `like` has holes.
Tensor in_layout_of(const Tensor& x, const Tensor& like) {
  if (x.is_contiguous() && like.is_contiguous()) return x;
  if (detail::strides_like(like).empty()) return x.contiguous();
  if (x.strides() == like.strides()) return x;
  Tensor out = detail::make_tensor(like.sizes(), like.strides(), x.dtype(), x.device());
  return out.copy_(x);
}

}  // namespace

void Update::add(const Tensor& param, ParamState& state, const Options& options) {
  Entry entry{param, in_layout_of(param, param), usable_grad(optimizer_, param), {}, options};
  entry.grad = in_layout_of(entry.grad, entry.flat_param);
  for (int i = 0; i < options.slots; ++i) {
    Tensor& slot = state.slots[i];
    if (!slot.defined()) slot = zeros_in_layout_of(entry.flat_param);
    // A state loaded from elsewhere, or a parameter that has moved or changed its layout or dtype since.
    if (slot.dtype() != param.dtype()) slot = slot.to(param.dtype());
    slot = in_layout_of(slot, entry.flat_param);
    entry.slots[i] = slot;
  }
  entries_.push_back(std::move(entry));
}

void Update::run() {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!entries_[i].done) run_like(i);
  for (Entry& e : entries_)
    if (!e.flat_param.is_same(e.param)) e.param.copy_(e.flat_param);
}

void Update::run_like(size_t first) {
  const Options options = entries_[first].options;
  const Device device = entries_[first].param.device();
  std::vector<Entry*> chosen;
  for (size_t i = first; i < entries_.size(); ++i) {
    Entry& e = entries_[i];
    if (e.done || !(e.options == options) || e.param.device() != device) continue;
    e.done = true;
    chosen.push_back(&e);
  }
  std::vector<detail::In> inputs;
  inputs.reserve(chosen.size() * size_t(2 + options.slots));
  for (Entry* e : chosen) inputs.push_back(e->flat_param);
  for (int s = 0; s < options.slots; ++s)
    for (Entry* e : chosen) inputs.push_back(e->slots[s]);
  for (Entry* e : chosen) inputs.push_back(e->grad);
  Scalar scalars[kMaxNumbers];
  for (int i = 0; i < numbers_; ++i) scalars[i] = options.numbers[i];
  detail::UpdateAttrs attrs{int64_t(chosen.size()), options.slots, options.flags};
  detail::dispatch_mutate(op_, inputs, attrs, {scalars, size_t(numbers_)});
}

}  // namespace tarn::inline v1::optim
