// Convolution by oneDNN. A batch is cut into pieces that depend on the shape alone; each piece runs on one
// thread, with its reorders, while its data is in the thread's cache. Weight gradients of pieces are summed
// in order.
#include <tarn_config.h>

#if TARN_HAS_ONEDNN

#include <tarn/core/cpu/conv_onednn.h>

#include <algorithm>
#include <cstring>

#include <tarn/core/cpu/conv_plan_onednn.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail::onednn {

namespace {

// What a piece reads and writes should stay in a core's second-level cache between reorder and convolution.
constexpr int64_t kPieceBytes = 1 << 20;
constexpr int64_t kFewestPieces = 16;
// Multiply-adds below which a second thread does not pay.
constexpr int64_t kSmallWork = 1 << 18;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Samples per piece: a divisor of the batch near the limit if there is one, else the limit with a shorter
// last piece.
int64_t choose_batch(int64_t batch, int64_t limit) {
  limit = std::clamp<int64_t>(limit, 1, batch);
  for (int64_t n = std::min(batch, limit + limit / 2); 2 * n > limit; --n)
    if (batch % n == 0) return n;
  return limit;
}

// How a convolution is cut: runs of samples, and where they are few, runs of the channels that the pass
// makes.
struct Cut {
  int64_t batch, channels, pieces, parts;

  Cut(const ConvShape& s, Pass pass) {
    int64_t bytes = 4 * (s.in_channels * s.in_size() + s.out_channels * s.out_size());
    int64_t limit = std::min(std::max<int64_t>(1, kPieceBytes / bytes), ceil_div(s.batch, kFewestPieces));
    // Partial weight gradients take memory, one weight per piece.
    if (pass == Pass::BackwardWeight)
      limit = std::max(limit, ceil_div(s.batch, std::max<int64_t>(1, (int64_t(8) << 20) / s.weight_size())));
    batch = choose_batch(s.batch, limit);
    pieces = ceil_div(s.batch, batch);
    channels = pass == Pass::BackwardInput ? s.in_channels : s.out_channels;
    parts = 1;
    while (s.groups == 1 && pieces * parts < 4 && channels % 32 == 0 && channels > 32)
      parts *= 2, channels /= 2;
  }
};

Memory make_memory(const dnnl_memory_desc_t& md, const void* data) {
  Memory memory;
  ensure_ok(dnnl_memory_create(memory.out(), &md, engine(), const_cast<void*>(data)), "dnnl_memory_create");
  return memory;
}

void run_reorder(const Primitive& reorder, dnnl_memory_t from, dnnl_memory_t to) {
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  ensure_ok(dnnl_primitive_execute(reorder.get(), stream(), 2, args), "reorder");
}

// An input as oneDNN wants it: our memory, or a reordered copy.
class InnerInput {
 public:
  InnerInput(const Slot& slot, const float* data)
      : copy_(slot.reorder ? int64_t(slot.inner_bytes) : 0),
        memory_(make_memory(slot.inner, slot.reorder ? copy_.data() : static_cast<const void*>(data))) {
    if (slot.reorder) run_reorder(slot.reorder, make_memory(slot.user, data).get(), memory_.get());
  }
  dnnl_memory_t memory() const { return memory_.get(); }

 private:
  Scratch<char> copy_;
  Memory memory_;
};

// An output as oneDNN writes it; finish() brings it to our memory.
class InnerOutput {
 public:
  InnerOutput(const Slot& slot, float* data)
      : slot_(slot),
        data_(data),
        copy_(slot.reorder ? int64_t(slot.inner_bytes) : 0),
        memory_(make_memory(slot.inner, slot.reorder ? copy_.data() : static_cast<void*>(data))) {}
  dnnl_memory_t memory() const { return memory_.get(); }
  void finish() {
    if (slot_.reorder) run_reorder(slot_.reorder, memory_.get(), make_memory(slot_.user, data_).get());
  }

 private:
  const Slot& slot_;
  float* data_;
  Scratch<char> copy_;
  Memory memory_;
};

void run_conv(const Plan& plan, dnnl_exec_arg_t* args, int count) {
  Scratch<char> scratchpad(int64_t(dnnl_memory_desc_get_size(&plan.scratchpad)));
  Memory memory = make_memory(plan.scratchpad, scratchpad.data());
  args[count] = {DNNL_ARG_SCRATCHPAD, memory.get()};
  ensure_ok(dnnl_primitive_execute(plan.conv.get(), stream(), count + 1, args), "convolution");
}

void run_forward(const Plan& plan, const float* x, dnnl_memory_t weights, const float* bias, float* y) {
  InnerInput src(plan.src, x);
  InnerOutput dst(plan.dst, y);
  Memory bias_memory = make_memory(plan.bias, bias);
  dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, src.memory()},
                             {DNNL_ARG_WEIGHTS, weights},
                             {DNNL_ARG_DST, dst.memory()},
                             {DNNL_ARG_BIAS, bias_memory.get()}};
  run_conv(plan, args, bias ? 4 : 3);
  dst.finish();
}

void run_backward_input(const Plan& plan, const float* gy, dnnl_memory_t weights, float* gx) {
  InnerInput dst(plan.dst, gy);
  InnerOutput src(plan.src, gx);
  dnnl_exec_arg_t args[4] = {
      {DNNL_ARG_DIFF_DST, dst.memory()}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, src.memory()}};
  run_conv(plan, args, 3);
  src.finish();
}

void run_backward_weight(const Plan& plan, const float* x, const float* gy, float* gw) {
  InnerInput src(plan.src, x), dst(plan.dst, gy);
  InnerOutput weights(plan.weights, gw);
  dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, src.memory()},
                             {DNNL_ARG_DIFF_DST, dst.memory()},
                             {DNNL_ARG_DIFF_WEIGHTS, weights.memory()}};
  run_conv(plan, args, 3);
  weights.finish();
}

// The plans of a cut: of all pieces but the last, and of the last.
struct Plans {
  std::shared_ptr<const Plan> body, tail;

  Plans(const ConvShape& s, const Cut& cut, Pass pass, bool bias) {
    body = find_plan({s, pass, cut.batch, cut.channels, bias});
    int64_t rest = s.batch - (cut.pieces - 1) * cut.batch;
    tail = rest == cut.batch ? body : find_plan({s, pass, rest, cut.channels, bias});
  }
  bool found() const { return body && tail; }
  const Plan& of(const Cut& cut, int64_t piece) const { return piece == cut.pieces - 1 ? *tail : *body; }
};

// Elements from one sample, one channel and one channel of a weight to the next.
struct Steps {
  int64_t x_sample, y_sample, x_channel, y_channel, w_out, w_in;
  explicit Steps(const ConvShape& s) {
    x_sample = s.in_channels * s.in_size();
    y_sample = s.out_channels * s.out_size();
    x_channel = s.channels_last ? 1 : s.in_size();
    y_channel = s.channels_last ? 1 : s.out_size();
    w_out = s.in_channels / s.groups * s.kernel_size();
    w_in = s.channels_last ? 1 : s.kernel_size();
  }
};

// Calls body(piece, part) for all of them, on our threads, each holding oneDNN to itself.
template <class F>
void for_pieces(const ConvShape& s, const Cut& cut, const F& body) {
  int64_t work = s.weight_size() * s.out_size() * cut.batch / cut.parts;
  parallel_for(0, cut.pieces * cut.parts, std::max<int64_t>(1, kSmallWork / work),
               [&](int64_t begin, int64_t end) {
                 SerialScope serial;
                 for (int64_t i = begin; i < end; ++i) body(i / cut.parts, i % cut.parts);
               });
}

// The weights of each part in the layout of the plan, made once for all pieces.
class InnerWeights {
 public:
  InnerWeights(const Plan& plan, const float* w, int64_t parts, int64_t part_step) {
    SerialScope serial;
    for (int64_t i = 0; i < parts; ++i)
      parts_.push_back(std::make_unique<InnerInput>(plan.weights, w + i * part_step));
  }
  dnnl_memory_t part(int64_t i) const { return parts_[size_t(i)]->memory(); }

 private:
  std::vector<std::unique_ptr<InnerInput>> parts_;
};

}  // namespace

bool conv_forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
  Cut cut(s, Pass::Forward);
  Plans plans(s, cut, Pass::Forward, bias != nullptr);
  if (!plans.found()) return false;
  Steps step(s);
  InnerWeights body(*plans.body, w, cut.parts, cut.channels * step.w_out);
  InnerWeights tail(*plans.tail, w, plans.tail == plans.body ? 0 : cut.parts, cut.channels * step.w_out);
  for_pieces(s, cut, [&](int64_t piece, int64_t part) {
    const Plan& plan = plans.of(cut, piece);
    const InnerWeights& weights = &plan == plans.body.get() ? body : tail;
    int64_t n = piece * cut.batch, c = part * cut.channels;
    run_forward(plan, x + n * step.x_sample, weights.part(part), bias ? bias + c : nullptr,
                y + n * step.y_sample + c * step.y_channel);
  });
  return true;
}

bool conv_backward_input(const ConvShape& s, const float* gy, const float* w, float* gx) {
  Cut cut(s, Pass::BackwardInput);
  Plans plans(s, cut, Pass::BackwardInput, false);
  if (!plans.found()) return false;
  Steps step(s);
  InnerWeights body(*plans.body, w, cut.parts, cut.channels * step.w_in);
  InnerWeights tail(*plans.tail, w, plans.tail == plans.body ? 0 : cut.parts, cut.channels * step.w_in);
  for_pieces(s, cut, [&](int64_t piece, int64_t part) {
    const Plan& plan = plans.of(cut, piece);
    const InnerWeights& weights = &plan == plans.body.get() ? body : tail;
    int64_t n = piece * cut.batch, c = part * cut.channels;
    run_backward_input(plan, gy + n * step.y_sample, weights.part(part),
                       gx + n * step.x_sample + c * step.x_channel);
  });
  return true;
}

bool conv_backward_weight(const ConvShape& s, const float* x, const float* gy, float* gw) {
  Cut cut(s, Pass::BackwardWeight);
  Plans plans(s, cut, Pass::BackwardWeight, false);
  if (!plans.found()) return false;
  Steps step(s);
  int64_t size = s.weight_size();
  Scratch<float> partial((cut.pieces - 1) * size);
  for_pieces(s, cut, [&](int64_t piece, int64_t part) {
    int64_t n = piece * cut.batch, c = part * cut.channels;
    float* whole = piece == 0 ? gw : partial.data() + (piece - 1) * size;
    run_backward_weight(plans.of(cut, piece), x + n * step.x_sample,
                        gy + n * step.y_sample + c * step.y_channel, whole + c * step.w_out);
  });
  parallel_for(0, size, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t piece = 1; piece < cut.pieces; ++piece) {
      const float* from = partial.data() + (piece - 1) * size;
      for (int64_t i = begin; i < end; ++i) gw[i] += from[i];
    }
  });
  return true;
}

}  // namespace tarn::inline v1::detail::onednn

#endif
