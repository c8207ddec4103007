// Runs a pointwise form on the CPU. Contiguous operands of the compute type go straight to the kernel;
// everything else goes through tiles that stay in L1: operands are gathered and converted at the tile's edge,
// and so is the result.
#include <algorithm>
#include <limits>

#include <tarn/core/cpu/features.h>
#include <tarn/core/cpu/pointwise_kernels.h>
#include <tarn/core/cpu/strided.h>
#include <tarn/core/fault.h>
#include <tarn/core/ops/pointwise_form.h>
#include <tarn/core/parallel.h>
#include <tarn_config.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int kTile = 1024;            // elements; 6 tiles of doubles fit L1
constexpr int64_t kGrain = 32 * 1024;  // elements worth a thread
constexpr int kMaxInputs = 5;

// What a row computes in: indexes kTables.
enum class Compute { F32, F64, I64 };

Compute compute_of(ScalarType dtype) {
  return dtype == kDouble ? Compute::F64 : is_floating(dtype) ? Compute::F32 : Compute::I64;
}
constexpr ScalarType kComputeDtype[] = {kFloat, kDouble, kLong};
constexpr int kComputeSize[] = {4, 8, 8};

const PointwiseTable& table_for(Compute compute) {
  static const PointwiseTable* const* tables = [] {
#if TARN_HAS_V4
    static const PointwiseTable* const v4_tables[] = {&v4::pointwise_f32, &v4::pointwise_f64,
                                                      &v4::pointwise_i64};
    if (cpu_isa() == CpuIsa::V4) return v4_tables;
#endif
#if TARN_HAS_V3
    static const PointwiseTable* const v3_tables[] = {&v3::pointwise_f32, &v3::pointwise_f64,
                                                      &v3::pointwise_i64};
    if (cpu_isa() == CpuIsa::V3) return v3_tables;
#endif
    static const PointwiseTable* const generic_tables[] = {&generic::pointwise_f32, &generic::pointwise_f64,
                                                           &generic::pointwise_i64};
    return generic_tables;
  }();
  return *tables[int(compute)];
}

// Rows whose numbers are bounds.
bool has_bounds(const PointwiseForm& form) {
  int row = form.row_index();
  return row == generic::kRow_clamp || row == generic::kRow_clamp_min || row == generic::kRow_clamp_max ||
         row == generic::kRow_hardtanh;
}

struct Run {
  const PointwiseForm& form;
  const PointwiseTable& table;
  PointwiseKernel kernel;
  Compute compute;
  ScalarType common;      // dtype the operands are brought to
  ScalarType native_out;  // dtype that the kernel writes
  int64_t numbers[3];     // operands given as numbers, in the compute type's bytes, 8 bytes apart
  int64_t params[3];      // the row's own, adjacent

  // What the kernel reads at input i without conversion.
  ScalarType native_in(int i) const { return i == form.condition ? kBool : kComputeDtype[int(compute)]; }
  int native_size(int i) const { return i == form.condition ? 1 : kComputeSize[int(compute)]; }
};

Run make_run(const Args& a) {
  const PointwiseForm& form = *static_cast<const PointwiseForm*>(a.op.text);
  ScalarType common = pointwise_dtype(form, a);
  Compute compute = compute_of(common);
  const PointwiseTable& table = table_for(compute);
  Run run{form,    table,  table.kernels[form.row_index()][form.text],
          compute, common, kComputeDtype[int(compute)],
          {},      {}};
  if (form.row->kind == RowKind::COMPARE) run.native_out = kBool;
  ensure(run.kernel, a.op.name, ": no kernel for ", common);
  for (int i = 0; i < form.numbers; ++i)
    put_pointwise_number(&run.numbers[i], form, kComputeDtype[int(compute)], common, a.scalar(i));
  for (int i = 0; i < form.row->param_count; ++i)
    put_pointwise_number(reinterpret_cast<char*>(run.params) + i * kComputeSize[int(compute)], form,
                         kComputeDtype[int(compute)], common, a.scalar(form.numbers + i));
  return run;
}

// Every tensor is contiguous, of the kernel's own type and as large as the result.
bool is_direct(const Run& run, const Args& a, const TensorImpl& out) {
  if (!out.has(kContiguousFlag) || out.dtype != run.native_out) return false;
  for (int i = 0; i < run.form.inputs; ++i) {
    const TensorImpl& t = a[i].get();
    if (!t.has(kContiguousFlag) || t.numel != out.numel || t.dtype != run.native_in(i)) return false;
  }
  return true;
}

// A tile's worth of one number.
struct Splat {
  alignas(64) char bytes[kTile * 8];
  void fill(Compute compute, const void* value, int64_t n) {
    ConvertRow row = table_for(compute).load[int(kComputeDtype[int(compute)])];
    row(bytes, value, 0, n < kTile ? n : kTile);
  }
};

void run_direct(const Run& run, const Args& a, const Tensor& out) {
  int64_t n = out.numel();
  const char* in[kMaxInputs];
  for (int i = 0; i < run.form.inputs; ++i) in[i] = static_cast<const char*>(a[i].data_ptr());
  char* to = static_cast<char*>(out.data_ptr());
  int64_t out_size = int64_t(out.element_size());
  parallel_for(0, n - fault(1), kGrain, [&](int64_t begin, int64_t end) {
    Splat splats[3];
    const void* slots[generic::kSlots] = {};
    for (int i = 0; i < run.form.numbers; ++i) {
      splats[i].fill(run.compute, &run.numbers[i], end - begin);
      slots[run.form.number_slots[i]] = splats[i].bytes;
    }
    int64_t step = run.form.numbers ? kTile : end - begin;
    for (int64_t at = begin; at < end; at += step) {
      for (int i = 0; i < run.form.inputs; ++i)
        slots[run.form.input_slots[i]] = in[i] + at * run.native_size(i);
      run.kernel(to + at * out_size, slots, run.params, end - at < step ? end - at : step);
    }
  });
}

// --- tiles ---

using Loop = StridedLoop<1 + kMaxInputs>;

// One operand of the tiled path.
struct Operand {
  char* data = nullptr;
  int64_t size = 0;              // bytes per element
  ConvertRow convert = nullptr;  // to or from the kernel's type
  bool native = false;           // the kernel could use the memory itself
  ConvertRow round[2] = {};  // to the common dtype and back, where that has fewer bits than the kernel's type
};

class Tiles {
 public:
  Tiles(const Run& run, const Args& a, const Tensor& out) : run_(run), loop_(make_loop(a, out)) {
    operands_[0] = {static_cast<char*>(out.data_ptr()),
                    int64_t(out.element_size()),
                    convert(run.native_out, out.dtype(), run.table.store),
                    out.dtype() == run.native_out,
                    {}};
    for (int i = 0; i < run.form.inputs; ++i) operands_[1 + i] = input(a[i], i);
    out_dtype_ = out.dtype();
    // Short rows are packed, several to a tile; long ones are cut.
    length_ = loop_.row_length();
    pack_ = length_ < 64;
    per_unit_ = pack_ ? kTile / (length_ > 0 ? length_ : 1) : 1;
    cuts_ = pack_ ? 1 : (length_ + kTile - 1) / kTile;
  }

  void run() const {
    int64_t units = pack_ ? (loop_.rows() + per_unit_ - 1) / per_unit_ : loop_.rows() * cuts_;
    int64_t unit_size = pack_ ? per_unit_ * length_ : length_ < kTile ? length_ : kTile;
    int64_t grain = kGrain / (unit_size > 0 ? unit_size : 1);
    parallel_for(0, units, grain < 1 ? 1 : grain, [&](int64_t begin, int64_t end) {
      Buffers buffers;
      const void* slots[generic::kSlots] = {};
      Splat splats[3];
      for (int i = 0; i < run_.form.numbers; ++i) {
        splats[i].fill(run_.compute, &run_.numbers[i], kTile);
        slots[run_.form.number_slots[i]] = splats[i].bytes;
      }
      pack_ ? run_packed(begin, end, buffers, slots) : run_cut(begin, end, buffers, slots);
    });
  }

 private:
  struct Buffers {
    alignas(64) char tile[1 + kMaxInputs][kTile * 8];
    alignas(64) char rounded[kTile * 8];
  };

  static Loop make_loop(const Args& a, const Tensor& out) {
    Dims strides[1 + kMaxInputs];
    std::array<IntArrayRef, 1 + kMaxInputs> refs;
    int rank = int(out.dim());
    for (int k = 0; k < 1 + kMaxInputs; ++k) {
      strides[k] = Dims(rank, 0);
      if (k <= a.count()) {
        const Tensor& t = k ? a[k - 1] : out;
        int shift = rank - int(t.dim());
        for (int d = 0; d < t.dim(); ++d)
          if (t.sizes()[d] != 1) strides[k][d + shift] = t.strides()[d];
      }
      refs[k] = strides[k];
    }
    return Loop(out.sizes(), refs);
  }

  // A bool that the kernel takes or gives as bytes is moved as bytes.
  static ConvertRow convert(ScalarType native, ScalarType dtype, const ConvertRow* table) {
    if (native != kBool) return table[int(dtype)];
    return nullptr;
  }

  Operand input(const Tensor& t, int i) const {
    Operand o{static_cast<char*>(t.data_ptr()),
              int64_t(t.element_size()),
              convert(run_.native_in(i), t.dtype(), run_.table.load),
              t.dtype() == run_.native_in(i),
              {}};
    bool narrow =
        run_.common == kHalf || run_.common == kBFloat16 || (run_.compute == Compute::I64 && t.dim() == 0);
    if (narrow && t.dtype() != run_.common && o.convert)
      o.round[0] = run_.table.store[int(run_.common)], o.round[1] = run_.table.load[int(run_.common)];
    return o;
  }

  void load(const Operand& o, char* to, const char* from, int64_t step, int64_t n, Buffers& buffers) const {
    if (!o.convert) {
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
      return;
    }
    o.convert(to, from, step, n);
    if (o.round[0]) {
      o.round[0](buffers.rounded, to, 1, n);
      o.round[1](to, buffers.rounded, 1, n);
    }
  }

  // The kernel's results go through a tile unless it can write them in place.
  void store(char* to, const char* from, int64_t step, int64_t n) const {
    const Operand& out = operands_[0];
    if (out.convert) return out.convert(to, from, step, n);
    if (out.native) {
      for (int64_t i = 0; i < n; ++i) to[i * step] = from[i];
      return;
    }
    // A comparison's bytes into another dtype: through the integer compute type.
    const PointwiseTable& integers = table_for(Compute::I64);
    alignas(64) int64_t wide[kTile];
    integers.load[int(kByte)](wide, from, 1, n);
    integers.store[int(out_dtype_)](to, wide, step, n);
  }

  void run_cut(int64_t begin, int64_t end, Buffers& buffers, const void** slots) const {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t row = unit / cuts_, start = unit % cuts_ * kTile;
      int64_t n = length_ - start < kTile ? length_ - start : kTile;
      loop_.for_rows(row, row + 1, [&](const Loop::Offsets& offset) {
        auto at = [&](int k) {
          return operands_[k].data + (offset[k] + start * loop_.stride(k, 0)) * operands_[k].size;
        };
        for (int i = 0; i < run_.form.inputs; ++i) {
          const Operand& o = operands_[1 + i];
          int64_t step = loop_.stride(1 + i, 0);
          bool in_place = o.native && step == 1;
          if (!in_place) load(o, buffers.tile[1 + i], at(1 + i), step, n, buffers);
          slots[run_.form.input_slots[i]] = in_place ? at(1 + i) : buffers.tile[1 + i];
        }
        bool in_place = operands_[0].native && loop_.stride(0, 0) == 1;
        run_.kernel(in_place ? at(0) : buffers.tile[0], slots, run_.params, n);
        if (!in_place) store(at(0), buffers.tile[0], loop_.stride(0, 0), n);
      });
    }
  }

  void run_packed(int64_t begin, int64_t end, Buffers& buffers, const void** slots) const {
    for (int i = 0; i < run_.form.inputs; ++i) slots[run_.form.input_slots[i]] = buffers.tile[1 + i];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t first = unit * per_unit_,
              last = first + per_unit_ < loop_.rows() ? first + per_unit_ : loop_.rows();
      int64_t n = 0;
      loop_.for_rows(first, last, [&](const Loop::Offsets& offset) {
        for (int i = 1; i <= run_.form.inputs; ++i) {
          const Operand& o = operands_[i];
          load(o, buffers.tile[i] + n * run_.native_size(i - 1), o.data + offset[i] * o.size,
               loop_.stride(i, 0), length_, buffers);
        }
        n += length_;
      });
      run_.kernel(buffers.tile[0], slots, run_.params, n);
      const char* from = buffers.tile[0];
      int64_t native_size = run_.native_out == kBool ? 1 : kComputeSize[int(run_.compute)];
      loop_.for_rows(first, last, [&](const Loop::Offsets& offset) {
        store(operands_[0].data + offset[0] * operands_[0].size, from, loop_.stride(0, 0), length_);
        from += length_ * native_size;
      });
    }
  }

  const Run& run_;
  Loop loop_;
  Operand operands_[1 + kMaxInputs];
  ScalarType out_dtype_;
  int64_t length_, per_unit_, cuts_;
  bool pack_;
};

}  // namespace

void put_pointwise_number(void* to, const PointwiseForm& form, ScalarType compute, ScalarType common,
                          const Scalar& value) {
  if (compute == kFloat) {
    *static_cast<float*>(to) = value.to<float>();
  } else if (compute == kDouble) {
    *static_cast<double*>(to) = value.to<double>();
  } else {
    visit(common, "pointwise", [&]<class T>(Type<T>) {
      int64_t& number = *static_cast<int64_t*>(to);
      number = int64_t(value.to<T>());
      if constexpr (std::is_integral_v<T>)
        if (has_bounds(form))
          number = std::clamp<int64_t>(value.to_int64(), std::numeric_limits<T>::min(),
                                       std::numeric_limits<T>::max());
    });
  }
}

void pointwise_cpu(const Args& a, Tensor* out) {
  if (out->numel() == 0) return;
  Run run = make_run(a);
  if (is_direct(run, a, out->get())) return run_direct(run, a, *out);
  Tiles(run, a, *out).run();
}

}  // namespace tarn::inline v1::detail
