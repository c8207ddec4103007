// Sorting elements of any dtype as unsigned integers. A key orders as PyTorch sorts: NaN after everything
// else, zeros of both signs alike. An entry is a key with the place it came from, so that entries are totally
// ordered and a sort of them is stable.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include <tarn/core/dtype.h>

namespace tarn::inline v1::detail {

template <class K>
struct Entry {
  K key;
  int64_t place;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};

template <class K>
inline constexpr K kLastKey = std::numeric_limits<K>::max();

// From the bits of a floating number; its infinity has the bits `infinity`.
template <class K>
K key_of_bits(K bits, K infinity) {
  constexpr K kSign = K(K(1) << (8 * sizeof(K) - 1));
  K magnitude = K(bits & K(~kSign));
  if (magnitude > infinity) return kLastKey<K>;
  if (magnitude == 0) return kSign;
  return bits & kSign ? K(~bits) : K(bits | kSign);
}

inline uint16_t order_key(Half v) { return key_of_bits<uint16_t>(v.bits, 0x7c00u); }
inline uint16_t order_key(BFloat16 v) { return key_of_bits<uint16_t>(v.bits, 0x7f80u); }
inline uint32_t order_key(float v) { return key_of_bits(std::bit_cast<uint32_t>(v), 0x7f800000u); }
inline uint64_t order_key(double v) {
  return key_of_bits<uint64_t>(std::bit_cast<uint64_t>(v), 0x7ff0000000000000u);
}
inline uint8_t order_key(bool v) { return v; }
inline uint8_t order_key(uint8_t v) { return v; }
template <class T>
requires std::is_integral_v<T>
auto order_key(T v) {
  using K = std::make_unsigned_t<T>;
  return K(K(v) ^ K(K(1) << (8 * sizeof(K) - 1)));
}

// out[i] = the entry of x[i * step]; `flip` (0 or all bits set) turns the order around.
template <class K>
using EntryLoader = void (*)(const void* x, int64_t step, int64_t n, K flip, Entry<K>* out);

// Calls f(Type<K>{}, loader) with the key type of `dtype`.
template <class F>
void visit_keys(ScalarType dtype, const char* op, F&& f) {
  auto call = [&]<class K>(Type<K> key) {
    EntryLoader<K> loader = nullptr;
    visit(dtype, op, [&]<class T>(Type<T>) {
      if constexpr (sizeof(T) == sizeof(K)) {
        loader = [](const void* x, int64_t step, int64_t n, K flip, Entry<K>* out) {
          const T* from = static_cast<const T*>(x);
          for (int64_t i = 0; i < n; ++i) out[i] = {K(order_key(from[i * step]) ^ flip), i};
        };
      }
    });
    f(key, loader);
  };
  switch (element_size(dtype)) {
    case 1:
      return call(Type<uint8_t>{});
    case 2:
      return call(Type<uint16_t>{});
    case 4:
      return call(Type<uint32_t>{});
    default:
      return call(Type<uint64_t>{});
  }
}

// Least significant byte first, one counting sort a byte; bytes that all keys share are skipped. `other` is
// n entries of scratch.
template <class K>
void radix_sort(Entry<K>* entries, Entry<K>* other, int64_t n) {
  std::array<std::array<int64_t, 256>, sizeof(K)> counts{};
  for (int64_t i = 0; i < n; ++i)
    for (size_t b = 0; b < sizeof(K); ++b) ++counts[b][entries[i].key >> (8 * b) & 0xff];
  Entry<K>*from = entries, *to = other;
  for (size_t b = 0; b < sizeof(K); ++b) {
    std::array<int64_t, 256>& starts = counts[b];
    if (starts[from[0].key >> (8 * b) & 0xff] == n) continue;
    int64_t start = 0;
    for (int64_t& s : starts) start += std::exchange(s, start);
    for (int64_t i = 0; i < n; ++i) to[starts[from[i].key >> (8 * b) & 0xff]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy(from, from + n, entries);
}

// Sorts entries whose places ascend; `scratch` is kept between calls.
template <class K>
void sort_entries(Entry<K>* entries, int64_t n, std::vector<Entry<K>>& scratch) {
  constexpr int64_t kRadixFrom = 512;
  if (n < kRadixFrom) return std::sort(entries, entries + n);
  scratch.resize(std::max(scratch.size(), size_t(n)));
  radix_sort(entries, scratch.data(), n);
}

}  // namespace tarn::inline v1::detail
