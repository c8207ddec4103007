#include <tarn/compile/fused.h>

#include <algorithm>
#include <cmath>

#include <tarn/compile/counters.h>
#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements worth a thread

std::vector<int> widths_of(const Expression& e) {
  std::vector<int> widths;
  for (const ExpressionOperand& o : e.operands) widths.push_back(int(element_size(o.dtype)));
  return widths;
}

std::vector<Access> accesses_of(const Expression& e, const IterationSpace& space) {
  std::vector<Access> accesses;
  for (size_t k = 0; k < e.operands.size(); ++k) {
    const ExpressionOperand& o = e.operands[k];
    int64_t step = space.step(int(k));
    accesses.push_back(!o.read && !o.written                    ? Access::Unused
                       : step == int64_t(element_size(o.dtype)) ? Access::Near
                       : step == 0 && !o.written                ? Access::Same
                                                                : Access::Far);
  }
  return accesses;
}

int64_t reduced_elements(const GroupSpec& spec) {
  int64_t n = 1;
  for (int d = 0; d < spec.sizes.size(); ++d)
    if (spec.reduction->dims >> d & 1) n *= spec.sizes[d];
  return n;
}

}  // namespace

struct FusedGroup::Call {
  const FusedGroup& group;
  void* const* operands;
  const int64_t* numbers;
  KernelFunction kernel;
  bool shared;
};

FusedGroup::FusedGroup(GroupSpec spec)
    : spec_(std::move(spec)),
      space_(spec_.sizes, spec_.lead, spec_.strides, widths_of(spec_.expression)),
      tiles_(spec_.expression) {
  if (spec_.device.is_cpu())
    kernel_ = kernel_of(spec_.expression, accesses_of(spec_.expression, space_));
  else
    on_device_ = std::make_shared<const DeviceGroup>(spec_.expression, spec_.device);
  for (size_t k = 0; k < spec_.strides.size(); ++k) {
    int64_t first = 0, last = 0, width = int64_t(element_size(spec_.expression.operands[k].dtype));
    for (int d = 0; d < spec_.sizes.size(); ++d) {
      int64_t reach = (spec_.sizes[d] - 1) * spec_.strides[k][d] * width;
      (reach < 0 ? first : last) += reach;
    }
    first_byte_.push_back(first);
    last_byte_.push_back(last + width);
  }
}

// Whether something that is written lies in the memory of another operand.
bool FusedGroup::is_shared(void* const* operands) const {
  size_t count = spec_.expression.operands.size() - (spec_.reduction ? 1 : 0);
  auto begin = [&](size_t k) { return static_cast<char*>(operands[k]) + first_byte_[k]; };
  auto end = [&](size_t k) { return static_cast<char*>(operands[k]) + last_byte_[k]; };
  for (size_t w = 0; w < count; ++w) {
    const ExpressionOperand& written = spec_.expression.operands[w];
    if (!written.written) continue;
    if (written.read) return true;
    for (size_t k = 0; k < count; ++k)
      if (k != w && spec_.expression.operands[k].read && begin(w) < end(k) && begin(k) < end(w)) return true;
  }
  return false;
}

void FusedGroup::run(void* const* operands, const Scalar* scalars) const {
  if (space_.count() == 0 && !spec_.reduction) return;
  Scratch<int64_t> numbers(int64_t(spec_.expression.numbers.size()) + 1);
  put_numbers(spec_.expression, scalars, numbers.data());
  if (on_device_) {
    compile_counters().tier1_runs.fetch_add(1, std::memory_order_relaxed);
    return on_device_->run(spec_.name.c_str(), spec_.expression, space_, operands, numbers.data());
  }
  KernelFunction kernel = ready_kernel(kernel_);
  (kernel ? compile_counters().tier1_runs : compile_counters().tier0_runs)
      .fetch_add(1, std::memory_order_relaxed);
  Call call{*this, operands, numbers.data(), kernel, is_shared(operands)};
  if (spec_.reduction) return reduce(call);
  auto places = reinterpret_cast<char* const*>(operands);
  parallel_for(0, space_.count(), kGrain,
               [&](int64_t begin, int64_t end) { run_range(call, places, begin, end); });
}

void FusedGroup::run_range(const Call& call, char* const* operands, int64_t begin, int64_t end) const {
  if (call.kernel)
    run_kernel(call.kernel, call, operands, begin, end);
  else
    tiles_.run(space_, operands, call.numbers, begin, end, call.shared);
}

// Whole rows at a time where there are any.
void FusedGroup::run_kernel(KernelFunction kernel, const Call& call, char* const* operands, int64_t begin,
                            int64_t end) const {
  int64_t length = space_.row_length(), steps[kMaxOperands], jumps[kMaxOperands];
  int count = space_.operands();
  for (int k = 0; k < count; ++k) {
    steps[k] = space_.step(k);
    jumps[k] = space_.rank() > 1 ? space_.step(k, 1) : 0;
  }
  char* at[kMaxOperands];
  while (begin < end) {
    int64_t rest = begin, into = begin % length, rows = 1, n = std::min(length - into, end - begin);
    for (int k = 0; k < count; ++k) at[k] = operands[k];
    for (int d = 0; d < space_.rank(); ++d) {
      int64_t place = rest % space_.size(d);
      rest /= space_.size(d);
      for (int k = 0; k < count; ++k) at[k] += place * space_.step(k, d);
    }
    if (n == length && space_.rank() > 1)
      rows = std::min(space_.size(1) - begin / length % space_.size(1), (end - begin) / length);
    kernel(at, steps, jumps, call.numbers, rows, n);
    begin += rows * n;
  }
}

// --- reductions ---

namespace {

// As in means_into: what overflows in float is computed again in double.
template <class T>
bool divide(T* sums, int64_t outputs, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < outputs; ++i) {
    sums[i] /= T(count);
    finite = finite && std::isfinite(sums[i]);
  }
  return finite;
}

}  // namespace

// Elements [offset, offset + n) of the value, as type T: made as Made.
template <class T, class Made>
void FusedGroup::make_run(const void* context, int64_t offset, int64_t n, T* to) {
  const Call& call = *static_cast<const Call*>(context);
  const GroupSpec& spec = call.group.spec_;
  size_t last = spec.expression.operands.size() - 1;
  char* operands[kMaxOperands];
  for (size_t k = 0; k < last; ++k) operands[k] = static_cast<char*>(call.operands[k]);
  auto run = [&](Made* values) {
    operands[last] = reinterpret_cast<char*>(values - offset);
    call.group.run_range(call, operands, offset, offset + n);
  };
  if constexpr (std::is_same_v<T, Made>) {
    run(to);
  } else {
    alignas(64) Made values[1024];
    for (int64_t i = 0; i < n; i += 1024) {
      int64_t part = std::min<int64_t>(1024, n - i);
      operands[last] = reinterpret_cast<char*>(values - (offset + i));
      call.group.run_range(call, operands, offset + i, offset + i + part);
      for (int64_t k = 0; k < part; ++k) to[i + k] = T(values[k]);
    }
  }
}

template <class T>
void FusedGroup::reduce_as(const Call& call) const {
  const GroupReduction& r = *spec_.reduction;
  int64_t count = reduced_elements(spec_), outputs = 1;
  for (int d = 0; d < spec_.sizes.size(); ++d)
    if (!(r.dims >> d & 1)) outputs *= spec_.sizes[d];
  Scratch<T> results(outputs + 1);
  MadeElements<T> made{spec_.sizes, spec_.lead, make_run<T, T>, &call};
  reduce_elements<T>(made, r.dims, {r.kind}, results.data());
  if constexpr (std::is_same_v<T, float>) {
    if (r.mean && !divide(results.data(), outputs, count) && count > 0) {
      Scratch<double> wide(outputs);
      MadeElements<double> again{spec_.sizes, spec_.lead, make_run<double, float>, &call};
      reduce_elements<double>(again, r.dims, {r.kind}, wide.data());
      for (int64_t i = 0; i < outputs; ++i)
        if (!std::isfinite(results[i])) results[i] = T(wide[i] / double(count));
    }
  } else if constexpr (std::is_same_v<T, double>) {
    if (r.mean) divide(results.data(), outputs, count);
  }
  row_storer<T>(r.dtype)(call.operands[r.result], results.data(), 1, outputs);
}

void FusedGroup::reduce(const Call& call) const {
  visit_compute(spec_.expression.operands.back().dtype, [&]<class T>(Type<T>) { reduce_as<T>(call); });
}

}  // namespace tarn::inline v1::detail
