#include <tarn_config.h>

#if TARN_HAS_ONEDNN

#include <tarn/core/cpu/conv_plan_onednn.h>

#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace tarn::inline v1::detail::onednn {

namespace {

// Plans of shapes that no longer come are not kept for ever; a hundred networks fit.
constexpr size_t kMostPlans = 4096;

dnnl_memory_desc_t strided(int rank, const int64_t* sizes, const int64_t* strides) {
  dnnl_memory_desc_t md;
  ensure_ok(dnnl_memory_desc_init_by_strides(&md, rank, sizes, dnnl_f32, strides),
            "dnnl_memory_desc_init_by_strides");
  return md;
}

dnnl_memory_desc_t any_layout(dnnl_memory_desc_t md) {
  dnnl_memory_desc_t any;
  ensure_ok(dnnl_memory_desc_init_by_tag(&any, md.ndims, md.dims, dnnl_f32, dnnl_format_tag_any),
            "dnnl_memory_desc_init_by_tag");
  return any;
}

// `channels` of the `all` channels of a dense tensor (batch, all, spatial...).
dnnl_memory_desc_t data_desc(const ConvShape& s, int64_t batch, int64_t channels, int64_t all,
                             const int64_t* spatial) {
  int64_t sizes[2 + kMaxSpatial] = {batch, channels}, strides[2 + kMaxSpatial];
  int64_t step = s.channels_last ? all : 1;
  for (int d = int(s.nd) - 1; d >= 0; --d) {
    sizes[2 + d] = spatial[d];
    strides[2 + d] = step;
    step *= spatial[d];
  }
  strides[1] = s.channels_last ? 1 : step;
  strides[0] = s.channels_last ? step : step * all;
  return strided(2 + int(s.nd), sizes, strides);
}

// (out, in, kernel...) of a dense weight, with a leading dim of groups where there are several.
dnnl_memory_desc_t weight_desc(const ConvShape& s, int64_t out, int64_t in) {
  int64_t sizes[3 + kMaxSpatial], strides[3 + kMaxSpatial];
  int64_t all_in = s.in_channels / s.groups;
  int lead = s.groups > 1 ? 1 : 0;
  int64_t step = s.channels_last ? all_in : 1;
  for (int d = int(s.nd) - 1; d >= 0; --d) {
    sizes[lead + 2 + d] = s.kernel[d];
    strides[lead + 2 + d] = step;
    step *= s.kernel[d];
  }
  strides[lead + 1] = s.channels_last ? 1 : step;
  strides[lead] = s.channels_last ? step : step * all_in;
  sizes[lead] = out / s.groups;
  sizes[lead + 1] = in / s.groups;
  if (lead) {
    sizes[0] = s.groups;
    strides[0] = strides[1] * (out / s.groups);
  }
  return strided(lead + 2 + int(s.nd), sizes, strides);
}

PrimitiveAttr user_scratchpad() {
  // The library's own scratchpad belongs to the thread that made the primitive.
  PrimitiveAttr attr;
  ensure_ok(dnnl_primitive_attr_create(attr.out()), "dnnl_primitive_attr_create");
  ensure_ok(dnnl_primitive_attr_set_scratchpad_mode(attr.get(), dnnl_scratchpad_mode_user),
            "scratchpad_mode");
  return attr;
}

PrimitiveDesc try_desc(const void* op_desc, dnnl_primitive_desc_t hint) {
  PrimitiveAttr attr = user_scratchpad();
  PrimitiveDesc desc;
  dnnl_status_t status = dnnl_primitive_desc_create(desc.out(), op_desc, attr.get(), engine(), hint);
  if (status == dnnl_unimplemented) return PrimitiveDesc();
  ensure_ok(status, "dnnl_primitive_desc_create");
  // oneDNN's reference kernels are there to be right, not fast: ours is both.
  const char* kernel = "";
  dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &kernel);
  if (std::strncmp(kernel, "ref", 3) == 0) return PrimitiveDesc();
  return desc;
}

// oneDNN counts the gaps: 0 is a dense window.
struct Gaps {
  int64_t dilation[kMaxSpatial];
  explicit Gaps(const ConvShape& s) {
    for (int d = 0; d < s.nd; ++d) dilation[d] = s.dilation[d] - 1;
  }
};

PrimitiveDesc forward_desc(const ConvShape& s, const Plan& plan, bool bias) {
  dnnl_memory_desc_t src = any_layout(plan.src.user), weights = any_layout(plan.weights.user),
                     dst = any_layout(plan.dst.user);
  // A channels_last tensor stays as it is: a reorder costs more than it gains there.
  if (s.channels_last) src = plan.src.user, dst = plan.dst.user;
  Gaps gaps(s);
  dnnl_convolution_desc_t desc;
  ensure_ok(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct,
                                                       &src, &weights, bias ? &plan.bias : nullptr, &dst,
                                                       s.stride, gaps.dilation, s.pad_low, s.pad_high),
            "dnnl_dilated_convolution_forward_desc_init");
  return try_desc(&desc, nullptr);
}

PrimitiveDesc backward_desc(const ConvShape& s, const Plan& plan, dnnl_primitive_desc_t hint) {
  dnnl_memory_desc_t src = any_layout(plan.src.user), weights = any_layout(plan.weights.user),
                     dst = any_layout(plan.dst.user);
  if (s.channels_last) src = plan.src.user, dst = plan.dst.user;
  Gaps gaps(s);
  dnnl_convolution_desc_t desc;
  if (plan.pass == Pass::BackwardInput)
    ensure_ok(
        dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &src, &weights, &dst,
                                                         s.stride, gaps.dilation, s.pad_low, s.pad_high),
        "dnnl_dilated_convolution_backward_data_desc_init");
  else
    ensure_ok(dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &src,
                                                                  &weights, nullptr, &dst, s.stride,
                                                                  gaps.dilation, s.pad_low, s.pad_high),
              "dnnl_dilated_convolution_backward_weights_desc_init");
  return try_desc(&desc, hint);
}

void set_inner(Slot& slot, dnnl_primitive_desc_t desc, dnnl_query_t what, bool is_output) {
  slot.inner = *dnnl_primitive_desc_query_md(desc, what, 0);
  slot.inner_bytes = dnnl_memory_desc_get_size(&slot.inner);
  if (dnnl_memory_desc_equal(&slot.inner, &slot.user)) return;
  const dnnl_memory_desc_t &from = is_output ? slot.inner : slot.user,
                           &to = is_output ? slot.user : slot.inner;
  PrimitiveAttr attr = user_scratchpad();
  PrimitiveDesc reorder;
  ensure_ok(dnnl_reorder_primitive_desc_create(reorder.out(), &from, engine(), &to, engine(), attr.get()),
            "dnnl_reorder_primitive_desc_create");
  ensure_ok(dnnl_primitive_create(slot.reorder.out(), reorder.get()), "dnnl_primitive_create");
}

std::shared_ptr<const Plan> make_plan(const Piece& p) {
  SerialScope serial;
  const ConvShape& s = p.shape;
  bool by_input = p.pass == Pass::BackwardInput;
  int64_t in = by_input ? p.channels : s.in_channels, out = by_input ? s.out_channels : p.channels;
  auto plan = std::make_shared<Plan>();
  plan->pass = p.pass;
  plan->src.user = data_desc(s, p.batch, in, s.in_channels, s.in);
  plan->dst.user = data_desc(s, p.batch, out, s.out_channels, s.out);
  plan->weights.user = weight_desc(s, out, in);
  int64_t one = 1;
  plan->bias = strided(1, &out, &one);

  PrimitiveDesc desc = forward_desc(s, *plan, p.bias);
  if (!desc) return nullptr;
  if (p.pass != Pass::Forward) desc = backward_desc(s, *plan, desc.get());
  if (!desc) return nullptr;
  bool weight = p.pass == Pass::BackwardWeight;
  set_inner(plan->src, desc.get(), by_input ? dnnl_query_diff_src_md : dnnl_query_src_md, by_input);
  set_inner(plan->weights, desc.get(), weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md, weight);
  set_inner(plan->dst, desc.get(), p.pass == Pass::Forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md,
            p.pass == Pass::Forward);
  plan->scratchpad = *dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
  ensure_ok(dnnl_primitive_create(plan->conv.out(), desc.get()), "dnnl_primitive_create");
  return plan;
}

class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const Piece& piece) {
    static_assert(std::has_unique_object_representations_v<Piece>);
    std::string key(reinterpret_cast<const char*>(&piece), sizeof piece);
    {
      std::shared_lock lock(mutex_);
      auto it = plans_.find(key);
      if (it != plans_.end()) return it->second;
    }
    // Two threads may make the same plan; one is kept.
    std::shared_ptr<const Plan> plan = make_plan(piece);
    std::unique_lock lock(mutex_);
    if (plans_.size() >= kMostPlans) plans_.clear();
    return plans_.emplace(std::move(key), std::move(plan)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
};

}  // namespace

std::shared_ptr<const Plan> find_plan(const Piece& piece) {
  static PlanCache* cache = new PlanCache;  // never destroyed: oneDNN may be gone before static destructors
  return cache->find(piece);
}

}  // namespace tarn::inline v1::detail::onednn

#endif
