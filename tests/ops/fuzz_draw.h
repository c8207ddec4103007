// Draws arguments for calls of ops: mostly plain ones, often enough the corners (limits of integers, 2^31 +-
// 1, NaN, sizes of 0, strides of 0, overlapping memory, wrong dtypes). A seed gives the same call everywhere.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include <tarn/core/print.h>
#include <tarn/core/random.h>
#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t below(uint64_t n);
  bool chance(int percent) { return below(100) < uint64_t(percent); }
  int64_t integer();
  double real();
  ScalarType dtype();
  Tensor tensor();
  Layout layout();
  // Puts corner values into some elements.
  void spoil(const Tensor& t);

  // An argument of a parameter's type. What a reference or a view points to lives as long as this.
  template <class T>
  T argument();

  // The arguments drawn so far, for people.
  const std::string& text() const { return text_; }

 private:
  template <class... T>
  void note(const T&... parts) {
    text_ += (text_.empty() ? "" : ", ") + str(parts...);
  }
  void note_tensor(const Tensor& t);
  std::vector<int64_t> sizes();
  std::vector<int64_t> integers();
  Tensor new_tensor();

  uint64_t state_;
  int64_t last_ = 0;
  std::string text_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<Tensors> lists_;
};

// Whether argument<T>() can be asked for.
template <class T>
inline constexpr bool kDrawable = false;
#define TARN_DRAWABLE(...) \
  template <>              \
  inline constexpr bool kDrawable<__VA_ARGS__> = true
TARN_DRAWABLE(Tensor);
TARN_DRAWABLE(TensorList);
TARN_DRAWABLE(IntArrayRef);
TARN_DRAWABLE(int64_t);
TARN_DRAWABLE(int);
TARN_DRAWABLE(bool);
TARN_DRAWABLE(double);
TARN_DRAWABLE(Scalar);
TARN_DRAWABLE(ScalarType);
TARN_DRAWABLE(TensorOptions);
TARN_DRAWABLE(MemoryFormat);
TARN_DRAWABLE(Generator);
TARN_DRAWABLE(std::string_view);
#undef TARN_DRAWABLE
template <class T>
inline constexpr bool kDrawable<std::optional<T>> = kDrawable<T>;

template <class T>
T Draw::argument() {
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor t = tensor();
    note_tensor(t);
    return t;
  } else if constexpr (std::is_same_v<T, TensorList>) {
    Tensors& list = lists_.emplace_back();
    for (uint64_t n = below(4); n > 0; --n) list.push_back(argument<Tensor>());
    return list;
  } else if constexpr (std::is_same_v<T, IntArrayRef>) {
    std::vector<int64_t>& list = integers_.emplace_back(integers());
    note(IntArrayRef(list));
    return list;
  } else if constexpr (std::is_same_v<T, bool>) {
    bool value = chance(50);
    note(value);
    return value;
  } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int>) {
    T value = T(integer());
    note(value);
    return value;
  } else if constexpr (std::is_same_v<T, double>) {
    double value = real();
    note(value);
    return value;
  } else if constexpr (std::is_same_v<T, Scalar>) {
    Scalar value = chance(50) ? Scalar(integer()) : Scalar(real());
    note(value);
    return value;
  } else if constexpr (std::is_same_v<T, ScalarType>) {
    ScalarType value = dtype();
    note(value);
    return value;
  } else if constexpr (std::is_same_v<T, TensorOptions>) {
    ScalarType value = dtype();
    note(value);
    return chance(70) ? TensorOptions() : TensorOptions(value);
  } else if constexpr (std::is_same_v<T, MemoryFormat>) {
    constexpr MemoryFormat formats[] = {MemoryFormat::Contiguous, MemoryFormat::Preserve,
                                        MemoryFormat::ChannelsLast};
    return formats[below(3)];
  } else if constexpr (std::is_same_v<T, Generator>) {
    return Generator{};
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    constexpr std::string_view words[] = {"",      "sum",   "mean",    "none", "linear",
                                          "floor", "trunc", "reflect", "ij"};
    std::string_view word = words[below(std::size(words))];
    note('"', word, '"');
    return word;
  } else if (chance(50)) {  // std::optional
    note("nullopt");
    return T{};
  } else {
    return argument<typename T::value_type>();
  }
}

}  // namespace tarn::testing
