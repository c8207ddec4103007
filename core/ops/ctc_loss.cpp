// ctc_loss: forward variables alpha over the target with blanks between its labels (2 S + 1 states); the
// gradient adds backward variables beta.
#include <tarn/core/ops/ctc_loss.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tarn/core/dispatch.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/layout.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduce_losses.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct CtcAttrs {
  int64_t blank, longest;  // longest: target
};

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

// One sample: labels of the states, and log-probabilities by time and state.
template <class T>
struct Sample {
  const T* log_probs;  // of time 0; times are `stride` apart
  int64_t stride, times, blank, labels;
  const int64_t* target;

  int64_t states() const { return 2 * labels + 1; }
  int64_t label(int64_t s) const { return s % 2 ? target[s / 2] : blank; }
  // A label may follow the label before it without a blank if they differ.
  bool skips(int64_t s) const { return s % 2 && s >= 3 && target[s / 2] != target[s / 2 - 1]; }
  double log_prob(int64_t t, int64_t s) const { return double(log_probs[t * stride + label(s)]); }
};

// alpha (times, width): the log-probability of all ways to be in state s at time t. Returns minus that of the
// whole labelling.
template <class T>
double forward(const Sample<T>& x, double* alpha, int64_t width) {
  if (x.times == 0) return x.labels == 0 ? 0 : -kNever;
  std::fill_n(alpha, x.times * width, kNever);
  alpha[0] = x.log_prob(0, 0);
  if (x.labels > 0) alpha[1] = x.log_prob(0, 1);
  for (int64_t t = 1; t < x.times; ++t) {
    const double* before = alpha + (t - 1) * width;
    for (int64_t s = 0; s < x.states(); ++s) {
      double ways = before[s];
      if (s > 0) ways = log_sum(ways, before[s - 1]);
      if (x.skips(s)) ways = log_sum(ways, before[s - 2]);
      alpha[t * width + s] = ways + x.log_prob(t, s);
    }
  }
  const double* last = alpha + (x.times - 1) * width;
  int64_t end = x.states() - 1;
  return -(end > 0 ? log_sum(last[end], last[end - 1]) : last[end]);
}

// Adds to gradient (times, classes apart as log_probs are): -scale * the probability, given the labelling, of
// each class at each time.
template <class T>
void backward(const Sample<T>& x, const double* alpha, int64_t width, double loss, double scale,
              T* gradient) {
  std::vector<double> beta(size_t(x.states()), kNever), next(size_t(x.states()));
  int64_t end = x.states() - 1;
  std::vector<double> posterior;
  for (int64_t t = x.times - 1; t >= 0; --t) {
    if (t == x.times - 1) {
      beta[size_t(end)] = 0;
      if (end > 0) beta[size_t(end - 1)] = 0;
    } else {
      // next[s]: what follows state s, and the class at its own time t + 1.
      for (int64_t s = 0; s <= end; ++s) next[size_t(s)] = beta[size_t(s)] + x.log_prob(t + 1, s);
      for (int64_t s = 0; s <= end; ++s) {
        double ways = next[size_t(s)];
        if (s < end) ways = log_sum(ways, next[size_t(s + 1)]);
        if (s + 2 <= end && x.skips(s + 2)) ways = log_sum(ways, next[size_t(s + 2)]);
        beta[size_t(s)] = ways;
      }
    }
    for (int64_t s = 0; s <= end; ++s) {
      T& g = gradient[t * x.stride + x.label(s)];
      g = T(double(g) - scale * std::exp(alpha[t * width + s] + beta[size_t(s)] + loss));
    }
  }
}

// --- inputs log_probs (T, N, C), targets (N, S), input lengths, target lengths (N); outputs losses (N) in
// log_probs' dtype, alpha (N, T, 2 S + 1) in double ---

void infer(const Args& a, Spec* out) {
  int64_t times = a[0].sizes()[0], samples = a[0].sizes()[1];
  for (int i = 0; i < 2; ++i) {
    out[i].sizes = i ? Dims{samples, times, 2 * a.attrs<CtcAttrs>().longest + 1} : Dims{samples};
    out[i].dtype = i ? kDouble : a[0].dtype();
    out[i].device = a[0].device();
  }
}

template <class T>
Sample<T> sample_of(const Args& a, const T* log_probs, int64_t n, int64_t classes) {
  int64_t samples = a[0].sizes()[1], longest = a[1].sizes()[1];
  return {.log_probs = log_probs + n * classes,
          .stride = samples * classes,
          .times = static_cast<const int64_t*>(a[2].data_ptr())[n],
          .blank = a.attrs<CtcAttrs>().blank,
          .labels = static_cast<const int64_t*>(a[3].data_ptr())[n],
          .target = static_cast<const int64_t*>(a[1].data_ptr()) + n * longest};
}

void cpu(const Args& a, Tensor* out) {
  fill_elements(out[1], kNever);
  if (out->numel() == 0) return;
  Tensor x = dense(a[0]);
  int64_t times = x.sizes()[0], samples = x.sizes()[1], classes = x.sizes()[2], width = out[1].sizes()[2];
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    parallel_for(0, samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        Sample<T> sample = sample_of(a, static_cast<const T*>(x.data_ptr()), n, classes);
        double* alpha = out[1].data_ptr<double>() + n * times * width;
        static_cast<T*>(out[0].data_ptr())[n] = T(forward(sample, alpha, width));
      }
    });
  });
}

// --- its gradient: the same inputs, then alpha, losses (N) and their gradients (N) ---

void backward_infer(const Args& a, Spec* out) {
  infer_like_first(a, out);
  out->strides = {};
}

void backward_cpu(const Args& a, Tensor* out) {
  fill_elements(*out, 0);
  if (out->numel() == 0) return;
  Tensor x = dense(a[0]), alpha = dense(a[4]), losses = dense(a[5]), scales = dense(a[6]);
  int64_t times = x.sizes()[0], samples = x.sizes()[1], classes = x.sizes()[2], width = alpha.sizes()[2];
  visit_float(x.dtype(), a.op.name, [&]<class T>(Type<T>) {
    parallel_for(0, samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        double loss = double(static_cast<const T*>(losses.data_ptr())[n]);
        double scale = double(static_cast<const T*>(scales.data_ptr())[n]);
        if (!std::isfinite(loss) && scale == 0) continue;
        Sample<T> sample = sample_of(a, static_cast<const T*>(x.data_ptr()), n, classes);
        T* gradient = static_cast<T*>(out->data_ptr()) + n * classes;
        backward(sample, alpha.data_ptr<double>() + n * times * width, width, loss, scale, gradient);
      }
    });
  });
}

void refuse(GradArgs&) {
  fail("ctc_loss: its gradient has no derivative here; do not call it with create_graph");
}

const Op ctc_loss_backward_op = {
    .name = "ctc_loss_backward", .infer = backward_infer, .cpu = backward_cpu, .grad = refuse};

void grad(GradArgs& g) {
  g.set(0, dispatch(ctc_loss_backward_op,
                    {g.input(0), g.input(1), g.input(2), g.input(3), g.output(1), g.output(0), g.grad()},
                    g.attrs<CtcAttrs>()));
}

const Op ctc_loss_op = {
    .name = "ctc_loss",
    .infer = infer,
    .cpu = cpu,
    .grad = grad,
    .saves = save_input(0) | save_input(1) | save_input(2) | save_input(3) | save_output(0) | save_output(1),
    .outputs = 2,
    .differentiable = 1};

// --- arguments ---

constexpr const char* kName = "ctc_loss";

Tensor lengths_tensor(IntArrayRef lengths) {
  Tensor t = make_tensor({int64_t(lengths.size())}, kLong);
  std::copy(lengths.begin(), lengths.end(), t.data_ptr<int64_t>());
  return t;
}

std::vector<int64_t> lengths_list(const Tensor& t, const char* name) {
  check((t.dtype() == kLong || t.dtype() == kInt) && t.dim() <= 1, kName, ": ", name,
        " must be a vector of Int or Long, got ", t.dtype(), " ", t.sizes());
  Tensor list = contiguous(cast(t, kLong)).cpu();
  const int64_t* at = list.data_ptr<int64_t>();
  return {at, at + list.numel()};
}

void check_lengths(IntArrayRef lengths, const char* name, int64_t samples, int64_t most) {
  check(int64_t(lengths.size()) == samples, kName, ": needs ", samples, " ", name, ", got ", lengths.size());
  for (int64_t n : lengths)
    check(n >= 0 && n <= most, kName, ": ", name, " must be between 0 and ", most, ", got ", lengths);
}

// (N, S) of the targets that are given one after another.
Tensor padded_targets(const Tensor& targets, IntArrayRef lengths) {
  int64_t longest = 0, total = 0;
  for (int64_t n : lengths) {
    check(n >= 0 && n <= targets.numel(), kName, ": target_lengths must be between 0 and ", targets.numel(),
          ", got ", lengths);
    longest = std::max(longest, n);
    total += n;
  }
  check(total == targets.numel(), kName, ": target_lengths add up to ", total, ", targets have ",
        targets.numel(), " labels");
  Tensor table = zeros({int64_t(lengths.size()), longest}, kLong);
  const int64_t* from = targets.data_ptr<int64_t>();
  for (size_t n = 0; n < lengths.size(); from += lengths[n], ++n)
    std::copy_n(from, lengths[n], table.data_ptr<int64_t>() + int64_t(n) * longest);
  return table;
}

void check_labels(const Tensor& table, IntArrayRef lengths, int64_t classes) {
  const int64_t* at = table.data_ptr<int64_t>();
  for (size_t n = 0; n < lengths.size(); ++n)
    for (int64_t i = 0; i < lengths[n]; ++i) {
      int64_t label = at[int64_t(n) * table.size(1) + i];
      check(label >= 0 && label < classes, kName, ": label ", label, " is not one of ", classes, " classes");
    }
}

}  // namespace

}  // namespace detail

using namespace detail;

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  check(log_probs.dim() == 2 || log_probs.dim() == 3, kName, ": log_probs must be (T, N, C) or (T, C), got ",
        log_probs.sizes());
  Tensor given = autocast_to_float(log_probs);
  check(is_floating(given.dtype()), kName, ": not implemented for dtype ", given.dtype());
  check(given.is_cpu(), kName, ": not implemented for device ", given.device());
  Tensor x = widened(given.dim() == 3 ? given : given.unsqueeze(1));
  int64_t times = x.size(0), samples = x.size(1), classes = x.size(2);
  check(blank >= 0 && blank < classes, kName, ": blank ", blank, " is not one of ", classes, " classes");
  check(targets.dtype() == kLong || targets.dtype() == kInt, kName, ": targets must be Int or Long, got ",
        targets.dtype());
  check(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == samples), kName,
        ": targets must be (N, S) or all labels one after another, got ", targets.sizes(), " for log_probs ",
        log_probs.sizes());
  check_lengths(input_lengths, "input_lengths", samples, times);
  check(int64_t(target_lengths.size()) == samples, kName, ": needs ", samples, " target_lengths, got ",
        target_lengths.size());
  Tensor table = contiguous(cast(targets, kLong));
  if (table.dim() == 1)
    table = padded_targets(table, target_lengths);
  else
    check_lengths(target_lengths, "target_lengths", samples, table.size(1));
  check_labels(table, target_lengths, classes);

  Tensor sizes = lengths_tensor(target_lengths), out[kMaxOutputs];
  int64_t longest =
      target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
  dispatch(ctc_loss_op, {x, table, lengths_tensor(input_lengths), sizes}, CtcAttrs{blank, longest}, {}, out);
  Tensor losses = out[0];
  if (zero_infinity) losses = where(isinf(losses), 0, losses);
  if (reduction == Reduction::Mean) losses = losses / clamp_min(sizes, 1).to(losses.dtype());
  if (given.dim() == 2) losses = losses.squeeze(0);
  return cast(reduce_losses(kName, losses, reduction), given.dtype());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  std::vector<int64_t> inputs = lengths_list(input_lengths, "input_lengths");
  std::vector<int64_t> labels = lengths_list(target_lengths, "target_lengths");
  return ctc_loss(log_probs, targets, IntArrayRef(inputs), IntArrayRef(labels), blank, reduction,
                  zero_infinity);
}

}  // namespace tarn::inline v1
