// unique, unique_dim, unique_consecutive: runs of equal elements or slices, after sorting or as they lie.
#include <numeric>

#include <tarn/core/cpu/order.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/order.h>
#include <tarn/core/ops/views.h>

namespace tarn::inline v1 {

using namespace detail;

namespace {

// n rows of m keys, as entries of the flattened rows. NaN differs from everything.
template <class K>
struct Rows {
  const Entry<K>* keys;
  int64_t m;
  bool has_nan;

  bool equal(int64_t a, int64_t b) const {
    for (int64_t j = 0; j < m; ++j) {
      K key = keys[a * m + j].key;
      if (key != keys[b * m + j].key || (has_nan && key == kLastKey<K>)) return false;
    }
    return true;
  }
  bool less(int64_t a, int64_t b) const {
    for (int64_t j = 0; j < m; ++j) {
      K x = keys[a * m + j].key, y = keys[b * m + j].key;
      if (x != y) return x < y;
    }
    return a < b;
  }
};

template <class K>
std::vector<int64_t> sorted_places(const Rows<K>& rows, int64_t n) {
  std::vector<int64_t> places(static_cast<size_t>(n));
  if (rows.m == 1) {
    std::vector<Entry<K>> entries(rows.keys, rows.keys + n), scratch;
    sort_entries(entries.data(), n, scratch);
    for (int64_t i = 0; i < n; ++i) places[size_t(i)] = entries[size_t(i)].place;
  } else {
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) { return rows.less(a, b); });
  }
  return places;
}

// The first place of each run, which run each row is in, and how long the runs are.
struct Runs {
  std::vector<int64_t> first, inverse, counts;
};

template <class K>
Runs find_runs(const Rows<K>& rows, int64_t n, bool sorted) {
  std::vector<int64_t> places;
  if (sorted) places = sorted_places(rows, n);
  Runs runs;
  runs.inverse.resize(static_cast<size_t>(n));
  for (int64_t i = 0, before = 0; i < n; ++i) {
    int64_t place = sorted ? places[size_t(i)] : i;
    if (i == 0 || !rows.equal(before, place)) {
      runs.first.push_back(place);
      runs.counts.push_back(0);
    }
    ++runs.counts.back();
    runs.inverse[size_t(place)] = int64_t(runs.first.size()) - 1;
    before = place;
  }
  return runs;
}

Tensor tensor_of(const std::vector<int64_t>& values, IntArrayRef sizes) {
  Tensor t = make_tensor(sizes, kLong);
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return t;
}

using Unique = std::tuple<Tensor, Tensor, Tensor>;

struct Wanted {
  bool sorted, inverse, counts;
};

// Of the slices of x along its first dim; the inverse gets the given sizes.
Unique distinct_slices(const char* op, const Tensor& x, IntArrayRef inverse_sizes, Wanted wanted) {
  Tensor rows = contiguous(detach(x)).cpu();
  int64_t n = rows.sizes()[0], m = n ? rows.numel() / n : 1;
  Runs runs;
  visit_keys(rows.dtype(), op, [&]<class K>(Type<K>, EntryLoader<K> load) {
    std::vector<Entry<K>> keys(static_cast<size_t>(n * m));
    load(rows.data_ptr(), 1, n * m, K(0), keys.data());
    runs = find_runs(Rows<K>{keys.data(), m, is_floating(rows.dtype())}, n, wanted.sorted);
  });
  Tensor first = tensor_of(runs.first, {int64_t(runs.first.size())});
  Tensor values = index_select(rows, 0, first);
  Tensor none = make_tensor({0}, kLong);
  Tensor inverse = wanted.inverse ? tensor_of(runs.inverse, inverse_sizes) : none;
  Tensor counts = wanted.counts ? tensor_of(runs.counts, first.sizes()) : none;
  return {values.to(x.device()), inverse.to(x.device()), counts.to(x.device())};
}

Unique distinct_elements(const char* op, const Tensor& x, Wanted wanted) {
  return distinct_slices(op, reshape(detach(x), {-1}), x.sizes(), wanted);
}

Unique distinct_along(const char* op, const Tensor& x, int64_t dim, Wanted wanted) {
  check(x.dim() > 0, op, ": a 0-dim tensor has no dim ", dim);
  int d = wrap_dim(dim, x.dim(), op);
  for (int i = 0; i < x.dim(); ++i)
    check(i == d || x.sizes()[i] > 0, op, ": slices along dim ", d, " of a tensor of shape ", x.sizes(),
          " are empty");
  int64_t n[] = {x.sizes()[d]};
  auto [values, inverse, counts] = distinct_slices(op, movedim(detach(x), d, 0), n, wanted);
  return {contiguous(movedim(values, 0, d)), inverse, counts};
}

}  // namespace

Unique unique(const Tensor& x, bool, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  Wanted wanted{true, return_inverse, return_counts};
  return dim ? distinct_along("unique", x, *dim, wanted) : distinct_elements("unique", x, wanted);
}

Unique unique_consecutive(const Tensor& x, bool return_inverse, bool return_counts,
                          std::optional<int64_t> dim) {
  Wanted wanted{false, return_inverse, return_counts};
  return dim ? distinct_along("unique_consecutive", x, *dim, wanted)
             : distinct_elements("unique_consecutive", x, wanted);
}

}  // namespace tarn::inline v1
