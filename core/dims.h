// Dims: sizes or strides of a tensor. Up to 6 inline, up to kMaxRank on the heap.
#pragma once

#include <cstring>

#include <tarn/core/array_ref.h>

namespace tarn::inline v1 {

inline constexpr int kMaxRank = 16;

class Dims {
 public:
  Dims() = default;
  explicit Dims(int rank) {
    if (rank > kInline) {
      resize(rank);
    } else {
      size_ = rank;
      for (int i = 0; i < rank; ++i) inline_[i] = 0;
    }
  }
  Dims(int rank, int64_t value) : Dims(rank) {
    for (int64_t& v : *this) v = value;
  }
  Dims(IntArrayRef values) { assign(values); }
  Dims(std::initializer_list<int64_t> values) : Dims(IntArrayRef(values)) {}
  Dims(const Dims& other) { assign(other); }
  Dims(Dims&& other) noexcept { take(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~Dims() { release(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return on_heap() ? heap_ : inline_; }
  const int64_t* data() const { return on_heap() ? heap_ : inline_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t& operator[](int i) { return data()[i]; }
  int64_t operator[](int i) const { return data()[i]; }
  int64_t back() const { return data()[size_ - 1]; }
  operator IntArrayRef() const { return {data(), size_t(size_)}; }
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ && std::memcmp(a.data(), b.data(), a.size_ * sizeof(int64_t)) == 0;
  }

  friend void append(std::string& out, const Dims& dims) {
    detail::append_list(out, dims.data(), dims.size_);
  }

  // Keeps the first values, zero-fills new ones.
  TARN_API void resize(int rank);
  TARN_API void insert(int at, int64_t value);
  TARN_API void erase(int at);
  void push_back(int64_t value) { insert(size_, value); }

 private:
  static constexpr int kInline = 6;
  bool on_heap() const { return size_ > kInline; }
  void assign(IntArrayRef values) {
    if (values.size() <= kInline) {
      release();
      size_ = int(values.size());
      for (int i = 0; i < size_; ++i) inline_[i] = values[i];
    } else {
      assign_large(values);
    }
  }
  TARN_API void assign_large(IntArrayRef values);
  void release() {
    if (on_heap()) delete[] heap_;
    size_ = 0;
  }
  void take(Dims& other) noexcept {
    size_ = other.size_;
    if (on_heap()) {
      heap_ = other.heap_;
    } else {
      for (int i = 0; i < size_; ++i) inline_[i] = other.inline_[i];
    }
    other.size_ = 0;
  }

  int size_ = 0;
  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
};

// The number of elements of a tensor of these sizes; an Error naming `op` if it overflows or a size is
// negative.
TARN_API int64_t numel_of(IntArrayRef sizes, const char* op);

// Row-major strides; sizes of 0 count as 1, as in PyTorch.
TARN_API Dims contiguous_strides(IntArrayRef sizes);

// Resolves a possibly negative dim; an Error naming `op` if it lies outside. A 0-dim tensor accepts 0 and -1.
TARN_API int wrap_dim(int64_t dim, int64_t rank, const char* op);

// The shape that both broadcast to; an Error naming `op` if they do not.
TARN_API Dims broadcast_sizes(IntArrayRef a, IntArrayRef b, const char* op);

}  // namespace tarn::inline v1
