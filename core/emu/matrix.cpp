#include <tarn/core/emu/matrix.h>

#include <algorithm>

namespace tarn::inline v1::emu {

size_t size_of(Element type) { return type == Element::F64 ? 8 : type == Element::F32 ? 4 : 2; }

const char* name_of(Element type) {
  static const char* const names[] = {"float16", "bfloat16", "float32", "float64"};
  return names[int(type)];
}

// Four rows of c at a time, over a strip of b that stays in the cache. The vectors are the compiler's, for
// the best of three instruction sets.
#define TARN_EMU_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define TARN_EMU_MULTIPLY(T)                                                                              \
  TARN_EMU_ISA __attribute__((optimize("O3"))) static void multiply_strip(                                \
      int64_t m, int64_t n, int64_t ldb, int64_t k, int64_t lda, const T* __restrict__ a, const T* b,     \
      T* c) {                                                                                             \
    for (int64_t i = 0; i < m; i += 4) {                                                                  \
      int64_t rows = std::min<int64_t>(4, m - i);                                                         \
      T* __restrict__ c0 = c + i * ldb;                                                                   \
      T* __restrict__ c1 = c + (i + (rows > 1 ? 1 : 0)) * ldb;                                            \
      T* __restrict__ c2 = c + (i + (rows > 2 ? 2 : 0)) * ldb;                                            \
      T* __restrict__ c3 = c + (i + (rows > 3 ? 3 : 0)) * ldb;                                            \
      for (int64_t p = 0; p < k; ++p) {                                                                   \
        const T* __restrict__ row = b + p * ldb;                                                          \
        const T* column = a + i * lda + p;                                                                \
        if (rows == 4) {                                                                                  \
          T a0 = column[0], a1 = column[lda], a2 = column[2 * lda], a3 = column[3 * lda];                 \
          for (int64_t j = 0; j < n; ++j) {                                                               \
            T v = row[j];                                                                                 \
            c0[j] += a0 * v;                                                                              \
            c1[j] += a1 * v;                                                                              \
            c2[j] += a2 * v;                                                                              \
            c3[j] += a3 * v;                                                                              \
          }                                                                                               \
          continue;                                                                                       \
        }                                                                                                 \
        for (int64_t r = 0; r < rows; ++r) {                                                              \
          T factor = column[r * lda];                                                                     \
          T* __restrict__ out = c + (i + r) * ldb;                                                        \
          for (int64_t j = 0; j < n; ++j) out[j] += factor * row[j];                                      \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }                                                                                                       \
  void multiply(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {                          \
    constexpr int64_t kColumns = 256, kDepth = 64;                                                        \
    for (int64_t j = 0; j < n; j += kColumns)                                                             \
      for (int64_t p = 0; p < k; p += kDepth)                                                             \
        multiply_strip(m, std::min(kColumns, n - j), n, std::min(kDepth, k - p), k, a + p, b + p * n + j, \
                       c + j);                                                                            \
  }
TARN_EMU_MULTIPLY(float)
TARN_EMU_MULTIPLY(double)
#undef TARN_EMU_MULTIPLY

}  // namespace tarn::inline v1::emu
