#include <tarn/tests/ops/runner.h>

#include <tarn/tests/ops/golden.h>

namespace tarn::testing {

Tolerance tolerance_of(const Row& row, ScalarType dtype) {
  const Tolerance* own = dtype == kFloat      ? &row.f32
                         : dtype == kDouble   ? &row.f64
                         : dtype == kHalf     ? &row.f16
                         : dtype == kBFloat16 ? &row.bf16
                                              : nullptr;
  return own && own->relative >= 0 ? *own : default_tolerance(dtype);
}

Tolerance gradient_tolerance(const Row& row, ScalarType dtype) {
  Tolerance t = tolerance_of(row, dtype);
  return {10 * t.relative, 10 * t.absolute};
}

namespace {

bool lists(const std::vector<ScalarType>& dtypes, ScalarType t) {
  return std::find(dtypes.begin(), dtypes.end(), t) != dtypes.end();
}

// What does not change while an op reads its inputs.
struct Snapshot {
  std::vector<std::vector<unsigned char>> bytes;
  std::vector<uint32_t> versions;
};

Snapshot snapshot(const Tensors& tensors) {
  Snapshot s;
  for (const Tensor& t : tensors) {
    s.bytes.push_back(t.defined() ? bytes_of(t) : std::vector<unsigned char>{});
    s.versions.push_back(t.defined() ? t._version() : 0);
  }
  return s;
}

void check_untouched(const Tensors& inputs, const Snapshot& before) {
  Snapshot after = snapshot(inputs);
  CHECK(after.bytes == before.bytes);
  CHECK(after.versions == before.versions);
}

// The same values in another dtype.
Tensor cast(const Tensor& t, ScalarType dtype) {
  if (!t.defined() || t.dtype() == dtype) return t;
  return tensor_of(values_of(t), dtype, t.sizes().vec());
}

// For dtypes that PyTorch has no kernel for: Tarn's own result in double.
void check_like_double(const Row& row, const Sample& sample, const Tensors& got, ScalarType dtype) {
  REQUIRE(dtype != kFloat);
  REQUIRE(dtype != kDouble);
  Tensors inputs = make_all(sample.inputs, dtype);
  for (Tensor& t : inputs)
    if (t.defined() && t.dtype() == dtype) t = cast(t, kDouble);
  Tensors want = sample.call(inputs);
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k)
    CHECK_CLOSE(got[k], cast(want[k], got[k].dtype()), tolerance_of(row, got[k].dtype()));
}

void check_sample(const Row& row, const Sample& sample, ScalarType dtype) {
  Tensors inputs = make_all(sample.inputs, dtype);
  Snapshot before = snapshot(inputs);
  Tensors got = sample.call(inputs);
  check_untouched(inputs, before);

  std::string key = golden_key(row, sample, dtype);
  for (size_t k = 0; k < got.size(); ++k) {
    INFO("output " << k);
    GoldenValue want = golden(key, str("out", k));
    if (!want.found) FAIL("golden/values.txt has no value for " << key << ": run ./dev golden");
    if (!want.refused.empty()) return check_like_double(row, sample, got, dtype);
    CHECK_CLOSE(got[k], want.value, tolerance_of(row, want.value.dtype()));
    if (row.view) CHECK(got[k].is_alias_of(inputs[0]));
  }
  CHECK_FALSE(golden(key, str("out", got.size())).found);
}

bool takes_dtype(const Sample& sample) {
  for (const Input& i : sample.inputs)
    if (i.given && !i.dtype) return true;
  return false;
}

std::vector<Tensors> twins(const Sample& sample, ScalarType dtype, Layout layout) {
  std::vector<Tensors> sets{make_all(sample.inputs, dtype, layout)};
  // One input laid out otherwise than the rest takes other paths than all of them alike.
  if (sample.inputs.size() > 1) {
    Tensors mixed = make_all(sample.inputs, dtype);
    mixed[0] = make(sample.inputs[0], 0, dtype, layout);
    sets.push_back(mixed);
  }
  return sets;
}

void check_twins(const Row& row, const Sample& sample, ScalarType dtype, Layout layout) {
  INFO(sample.text << " of " << to_string(layout) << " inputs of " << to_string(dtype));
  Tensors want = sample.call(make_all(sample.inputs, dtype));
  for (const Tensors& inputs : twins(sample, dtype, layout)) {
    Snapshot before = snapshot(inputs);
    Tensors got = sample.call(inputs);
    check_untouched(inputs, before);
    REQUIRE(got.size() == want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      CHECK_CLOSE(got[k], want[k], tolerance_of(row, want[k].dtype()));
      if (row.channels_last && layout == Layout::ChannelsLast && inputs[0].dim() == 4 && got[k].dim() == 4 &&
          got[k].numel() > 0 && got[k].size(1) > 1 && inputs[0].size(1) > 1)
        CHECK(got[k].is_contiguous(MemoryFormat::ChannelsLast));
    }
  }
}

// Values along the first dim are equal here, so the contiguous twin is a copy.
void check_expanded(const Row& row, const Sample& sample, ScalarType dtype) {
  INFO(sample.text << " of expanded inputs");
  Tensors inputs = make_all(sample.inputs, dtype, Layout::Expanded), copies;
  for (const Tensor& t : inputs) {
    copies.push_back(t.defined() ? detail::make_tensor(t.sizes(), t.dtype()) : Tensor());
    if (!t.defined()) continue;
    std::vector<unsigned char> bytes = bytes_of(t);
    if (!bytes.empty()) std::memcpy(copies.back().data_ptr(), bytes.data(), bytes.size());
  }
  Tensors want = sample.call(copies), got = sample.call(inputs);
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) CHECK_CLOSE(got[k], want[k], tolerance_of(row, want[k].dtype()));
}

}  // namespace

void test_values(const Row& row) {
  for (size_t i = 0; i < row.samples.size(); ++i)
    for (ScalarType dtype : golden_dtypes(row, i)) {
      INFO(row.samples[i].text << " of " << to_string(dtype));
      check_sample(row, row.samples[i], dtype);
    }
  if (row.property) row.property();
}

void test_dtypes(const Row& row) {
  for (ScalarType dtype : kEveryDtype) {
    if (lists(row.dtypes, dtype) || lists(row.uncompared, dtype)) continue;
    INFO(row.samples[0].text << " of " << to_string(dtype) << ", which the row does not list");
    std::string error = error_of([&] { row.samples[0].call(make_all(row.samples[0].inputs, dtype)); });
    CHECK(error != "no error");
    CHECK(error.find("internal error") == std::string::npos);
  }
}

void test_layouts(const Row& row) {
  for (size_t i = 0; i < row.samples.size(); ++i) {
    const Sample& sample = row.samples[i];
    ScalarType dtype = row.dtypes.front();
    for (Layout layout : kTwins) check_twins(row, sample, dtype, layout);
    check_expanded(row, sample, dtype);
    if (i > 0 || !takes_dtype(sample)) continue;
    for (ScalarType other : row.dtypes) check_twins(row, sample, other, Layout::Strided);
  }
}

void test_errors(const Row& row) {
  for (const ErrorRow& e : row.errors) {
    INFO(e.text);
    CHECK_ERROR(e.call(make_all(e.inputs, kFloat)), e.message);
  }
}

namespace {

// Every byte of the tensor's memory that is not one of its elements.
std::vector<unsigned char> bytes_around(const Tensor& t) {
  size_t width = t.element_size();
  const detail::StorageImpl& storage = *t.get().storage;
  const auto* memory = static_cast<const unsigned char*>(storage.data);
  std::vector<bool> ours(storage.bytes, false);
  for_each_offset(t.sizes(), t.strides(), [&](int64_t offset, int64_t) {
    for (size_t b = 0; b < width; ++b) ours[(t.storage_offset() + offset) * width + b] = true;
  });
  std::vector<unsigned char> around;
  for (size_t i = 0; i < storage.bytes; ++i)
    if (!ours[i]) around.push_back(memory[i]);
  return around;
}

void check_write(const Row& row, const InPlace& form, ScalarType dtype, Layout layout) {
  INFO(form.text << " of " << to_string(layout) << " " << to_string(dtype));
  Tensors inputs = make_all(form.inputs, dtype, layout);
  Tensor want = form.value(inputs)[0];
  if (lists(row.uncompared, dtype)) return;
  if (!can_cast(want.dtype(), dtype) || want.sizes() != inputs[0].sizes()) {
    std::string error = error_of([&] { form.write(inputs); });
    CHECK(error != "no error");
    return;
  }
  std::vector<unsigned char> around = bytes_around(inputs[0]);
  uint32_t version = inputs[0]._version();
  Tensors result = form.write(inputs);
  CHECK(result[0].is_same(inputs[0]));
  CHECK_CLOSE(inputs[0], cast(want, dtype));
  if (want.dtype() == dtype) CHECK_SAME(inputs[0], want);
  CHECK(bytes_around(inputs[0]) == around);
  CHECK(inputs[0]._version() > version);
}

}  // namespace

void test_inplace(const Row& row) {
  for (const InPlace& form : row.inplace) {
    for (ScalarType dtype : row.dtypes) check_write(row, form, dtype, Layout::Contiguous);
    for (Layout layout : {Layout::Transposed, Layout::Strided, Layout::Offset})
      check_write(row, form, row.dtypes.front(), layout);
  }
}

}  // namespace tarn::testing
