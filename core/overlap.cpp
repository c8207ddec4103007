#include <tarn/core/overlap.h>

#include <algorithm>
#include <numeric>

namespace tarn::inline v1::detail {

namespace {

// One summand stride * i, 0 <= i <= last.
struct Term {
  int64_t stride, last;
};

// Do the sums of `terms` (strides falling) reach `target`? Backtracks; ordinary strides leave one or two
// choices per dim.
class SumSearch {
 public:
  explicit SumSearch(std::vector<Term> terms) : terms_(std::move(terms)), rest_(terms_.size() + 1) {
    for (size_t k = terms_.size(); k-- > 0;) {
      rest_[k].reach = rest_[k + 1].reach + terms_[k].stride * terms_[k].last;
      rest_[k].gcd = std::gcd(rest_[k + 1].gcd, terms_[k].stride);
    }
  }
  bool reaches(int64_t target, size_t k = 0) {
    if (target == 0) return true;
    if (k == terms_.size() || target < 0 || target > rest_[k].reach || target % rest_[k].gcd != 0)
      return false;
    if (++steps_ > kMaxSteps) return true;
    auto [stride, last] = terms_[k];
    int64_t low = std::max<int64_t>(0, (target - rest_[k + 1].reach + stride - 1) / stride);
    for (int64_t i = std::min(last, target / stride); i >= low; --i)
      if (reaches(target - i * stride, k + 1)) return true;
    return false;
  }

 private:
  static constexpr int kMaxSteps = 10000;
  // What the terms from k on can add up to: at most `reach`, in steps of `gcd`.
  struct Rest {
    int64_t reach = 0, gcd = 0;
  };
  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  int steps_ = 0;
};

void add_terms(const Tensor& t, std::vector<Term>& terms) {
  for (int d = 0; d < t.dim(); ++d)
    if (t.sizes()[d] > 1 && t.strides()[d] != 0) terms.push_back({t.strides()[d], t.sizes()[d] - 1});
}

}  // namespace

// a's element i lies at offset_a + sum(stride * i). Counting b's indices from their ends gives them a plus
// sign too:
//   sum(stride_a * i) + sum(stride_b * (last_b - j)) == offset_b - offset_a + sum(stride_b * last_b)
bool share_elements(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  std::vector<Term> terms;
  add_terms(b, terms);
  int64_t target = b.storage_offset() - a.storage_offset();
  for (const Term& t : terms) target += t.stride * t.last;
  add_terms(a, terms);
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.stride > y.stride; });
  std::vector<Term> merged;
  for (const Term& t : terms) {
    if (!merged.empty() && merged.back().stride == t.stride)
      merged.back().last += t.last;
    else
      merged.push_back(t);
  }
  return SumSearch(std::move(merged)).reaches(target);
}

}  // namespace tarn::inline v1::detail
