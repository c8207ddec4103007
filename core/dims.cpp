#include <tarn/core/dims.h>

namespace tarn::inline v1 {

void Dims::resize(int rank) {
  check(rank <= kMaxRank, "tensor: rank ", rank, " is above the limit of ", kMaxRank);
  int64_t kept[kMaxRank] = {};
  std::memcpy(kept, data(), std::min(rank, size_) * sizeof(int64_t));
  assign({kept, size_t(rank)});
}

void Dims::insert(int at, int64_t value) {
  int old = size_;
  resize(old + 1);
  int64_t* p = data();
  for (int i = old; i > at; --i) p[i] = p[i - 1];
  p[at] = value;
}

void Dims::erase(int at) {
  int64_t* p = data();
  for (int i = at; i + 1 < size_; ++i) p[i] = p[i + 1];
  resize(size_ - 1);
}

void Dims::assign_large(IntArrayRef values) {
  check(values.size() <= kMaxRank, "tensor: rank ", values.size(), " is above the limit of ", kMaxRank);
  int64_t* fresh = new int64_t[kMaxRank];
  std::memcpy(fresh, values.data(), values.size() * sizeof(int64_t));
  release();
  heap_ = fresh;
  size_ = int(values.size());
}

int64_t numel_of(IntArrayRef sizes, const char* op) {
  int64_t n = 1;
  bool overflow = false, empty = false;
  for (int64_t s : sizes) {
    check(s >= 0, op, ": sizes must not be negative, got ", sizes);
    empty |= s == 0;
    overflow |= __builtin_mul_overflow(n, s == 0 ? 1 : s, &n);
  }
  check(!overflow, op, ": the number of elements of ", sizes, " does not fit in int64");
  return empty ? 0 : n;
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(int(sizes.size()));
  int64_t step = 1;
  for (int i = int(sizes.size()) - 1; i >= 0; --i) {
    strides[i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
  return strides;
}

int wrap_dim(int64_t dim, int64_t rank, const char* op) {
  int64_t span = rank == 0 ? 1 : rank;
  check(dim >= -span && dim < span, op, ": dim ", dim, " is outside of a tensor of rank ", rank, "; use ",
        -span, " to ", span - 1);
  return int(dim < 0 ? dim + span : dim);
}

Dims broadcast_sizes(IntArrayRef a, IntArrayRef b, const char* op) {
  int rank = int(std::max(a.size(), b.size()));
  Dims out(rank);
  for (int i = 1; i <= rank; ++i) {
    int64_t x = i <= int(a.size()) ? a[a.size() - i] : 1;
    int64_t y = i <= int(b.size()) ? b[b.size() - i] : 1;
    check(x == y || x == 1 || y == 1, op, ": shapes ", a, " and ", b, " do not broadcast: dim ", rank - i,
          " is ", x, " and ", y);
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace tarn::inline v1
