#include <tarn/core/cpu/features.h>
#include <tarn_config.h>

#include <cstdlib>
#include <string_view>

#include <tarn/core/error.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tarn::inline v1::detail {

namespace {

constexpr const char* kNames[] = {"generic", "v3", "v4"};

bool is_built(CpuIsa isa) {
  return isa == CpuIsa::Generic || (isa == CpuIsa::V3 ? TARN_HAS_V3 : TARN_HAS_V4);
}

}  // namespace

const char* cpu_isa_name(CpuIsa isa) { return kNames[int(isa)]; }

CpuIsa cpu_best_isa() {
#if defined(__x86_64__)
  // __builtin_cpu_supports also asks the system whether it saves the wide registers. It has no names for
  // LZCNT and MOVBE, which v3 has too.
  unsigned a = 0, b = 0, c = 0, d = 0;
  bool movbe_f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 22)) && (c & (1u << 29));
  bool lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & (1u << 5));
  bool v3 = movbe_f16c && lzcnt && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? CpuIsa::V4 : v3 ? CpuIsa::V3 : CpuIsa::Generic;
#else
  return CpuIsa::Generic;
#endif
}

CpuIsa choose_isa(const char* asked, CpuIsa best) {
  if (!asked || !*asked) {
    while (!is_built(best)) best = CpuIsa(int(best) - 1);
    return best;
  }
  for (CpuIsa isa : {CpuIsa::Generic, CpuIsa::V3, CpuIsa::V4}) {
    if (std::string_view(asked) != cpu_isa_name(isa)) continue;
    check(isa <= best, "TARN_CPU: this CPU has no ", asked, ", its best is ", cpu_isa_name(best));
    check(is_built(isa), "TARN_CPU: this build carries no kernels for ", asked);
    return isa;
  }
  fail("TARN_CPU: must be generic, v3 or v4, got ", asked);
}

CpuIsa cpu_isa() {
  static const CpuIsa isa = choose_isa(std::getenv("TARN_CPU"), cpu_best_isa());
  return isa;
}

}  // namespace tarn::inline v1::detail
