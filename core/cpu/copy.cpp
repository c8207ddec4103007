#include <tarn/core/cpu/copy.h>

#include <tarn/core/cpu/strided.h>
#include <tarn/core/cuda/elements.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that one thread takes without asking another

template <class To, class From>
To convert(From value) {
  constexpr bool small_from = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool small_to = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  if constexpr (small_from && !std::is_same_v<To, From>)
    return convert<To, float>(float(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From(0);
  else if constexpr (small_to && !small_from)
    return To(float(value));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 8)
    return To(int64_t(value));  // by way of int64, as PyTorch on the CPU
  else
    return To(value);
}

template <class To, class From>
void convert_row(To* dst, int64_t dst_step, const From* src, int64_t src_step, int64_t n) {
  if (dst_step == 1 && src_step == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = convert<To>(src[i]);
  } else if (dst_step == 1 && src_step == 0) {
    To value = convert<To>(*src);
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = convert<To>(src[i * src_step]);
  }
}

template <class T>
void copy_row(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t n) {
  if (dst_step == 1 && src_step == 1)
    std::memcpy(dst, src, n * sizeof(T));
  else
    convert_row<T, T>(dst, dst_step, src, src_step, n);
}

// A transpose inside: dst runs along dim 0, src along dim 1. Square blocks keep both in cache.
template <class T>
void copy_transposed(T* dst, const T* src, const StridedLoop<2>& loop, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 32;
  int64_t n = loop.size(0), src_step = loop.stride(1, 0);
  int64_t dst_row = loop.stride(0, 1), src_row = loop.stride(1, 1);
  for (int64_t r0 = begin; r0 < end; r0 += kBlock) {
    int64_t r1 = std::min(r0 + kBlock, end);
    for (int64_t c0 = 0; c0 < n; c0 += kBlock) {
      int64_t c1 = std::min(c0 + kBlock, n);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) dst[r * dst_row + c] = src[r * src_row + c * src_step];
    }
  }
}

int64_t rows_per_thread(const StridedLoop<2>& loop) {
  return std::max<int64_t>(1, kGrain / loop.row_length());
}

template <class T>
void copy_same_type(T* dst, const T* src, const StridedLoop<2>& loop) {
  if (loop.rank() == 1) {
    int64_t ds = loop.stride(0, 0), ss = loop.stride(1, 0);
    parallel_for(0, loop.row_length(), kGrain,
                 [&](int64_t b, int64_t e) { copy_row(dst + b * ds, ds, src + b * ss, ss, e - b); });
    return;
  }
  bool transposed = loop.rank() == 2 && loop.stride(0, 0) == 1 && loop.stride(1, 1) == 1;
  parallel_for(0, loop.rows(), rows_per_thread(loop), [&](int64_t b, int64_t e) {
    if (transposed) return copy_transposed(dst, src, loop, b, e);
    loop.for_rows(b, e, [&](const auto& at) {
      copy_row(dst + at[0], loop.stride(0, 0), src + at[1], loop.stride(1, 0), loop.row_length());
    });
  });
}

template <class To, class From>
void copy_converted(To* dst, const From* src, const StridedLoop<2>& loop) {
  if (loop.rank() == 1) {
    int64_t ds = loop.stride(0, 0), ss = loop.stride(1, 0);
    parallel_for(0, loop.row_length(), kGrain,
                 [&](int64_t b, int64_t e) { convert_row(dst + b * ds, ds, src + b * ss, ss, e - b); });
    return;
  }
  parallel_for(0, loop.rows(), rows_per_thread(loop), [&](int64_t b, int64_t e) {
    loop.for_rows(b, e, [&](const auto& at) {
      convert_row(dst + at[0], loop.stride(0, 0), src + at[1], loop.stride(1, 0), loop.row_length());
    });
  });
}

// src's strides as seen through broadcasting to `sizes`.
Dims broadcast_strides(const Tensor& src, IntArrayRef sizes) {
  Dims strides(int(sizes.size()), 0);
  int lead = int(sizes.size() - src.dim());
  for (int d = 0; d < src.dim(); ++d) strides[lead + d] = src.sizes()[d] == 1 ? 0 : src.strides()[d];
  return strides;
}

}  // namespace

void copy_elements(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  if (!dst.is_cpu()) return copy_elements_cuda(dst, src);
  Dims src_strides = broadcast_strides(src, dst.sizes());
  StridedLoop<2> loop(dst.sizes(), {dst.strides(), IntArrayRef(src_strides)});
  if (dst.dtype() == src.dtype()) {
    visit_bytes(dst.dtype(), [&]<class T>(Type<T>) {
      copy_same_type(static_cast<T*>(dst.data_ptr()), static_cast<const T*>(src.data_ptr()), loop);
    });
    return;
  }
  visit(dst.dtype(), "copy_", [&]<class To>(Type<To>) {
    visit(src.dtype(), "copy_", [&]<class From>(Type<From>) {
      copy_converted(static_cast<To*>(dst.data_ptr()), static_cast<const From*>(src.data_ptr()), loop);
    });
  });
}

void add_elements(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  check(dst.is_cpu(),
        "backward: windows that overlap are not implemented on cuda; move the tensors with cpu()");
  StridedLoop<2> loop(dst.sizes(), {dst.strides(), src.strides()});
  visit(dst.dtype(), "add", [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(dst.data_ptr());
    const T* from = static_cast<const T*>(src.data_ptr());
    loop.for_rows(0, loop.rows(), [&](const auto& at) {
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        T& place = to[at[0] + i * loop.stride(0, 0)];
        place = T(place + from[at[1] + i * loop.stride(1, 0)]);
      }
    });
  });
}

void fill_elements(const Tensor& dst, const Scalar& value) {
  if (!dst.is_cpu()) return fill_elements_cuda(dst, value);
  Tensor one = make_tensor({}, dst.dtype(), Device());
  visit(dst.dtype(), "fill_", [&]<class T>(Type<T>) { *static_cast<T*>(one.data_ptr()) = value.to<T>(); });
  copy_elements(dst, one);
}

}  // namespace tarn::inline v1::detail
