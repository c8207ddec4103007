#include <cstdlib>
#include <string>

#include <tarn/core/cpu/features.h>
#include <tarn/core/error.h>

#include <tarn/tests/catch.h>

using namespace tarn;
using detail::choose_isa;
using detail::CpuIsa;

namespace {

std::string message_of(const char* asked, CpuIsa best) {
  try {
    choose_isa(asked, best);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("TARN_CPU names a lesser instruction set") {
  CHECK(choose_isa("generic", CpuIsa::V4) == CpuIsa::Generic);
  CHECK(choose_isa(nullptr, CpuIsa::Generic) == CpuIsa::Generic);
  CHECK(choose_isa("", CpuIsa::Generic) == CpuIsa::Generic);
  CHECK(choose_isa(nullptr, CpuIsa::V4) <= CpuIsa::V4);
}

TEST_CASE("TARN_CPU refuses what the CPU lacks and unknown words") {
  CHECK(message_of("v4", CpuIsa::V3) == "TARN_CPU: this CPU has no v4, its best is v3");
  CHECK(message_of("v3", CpuIsa::Generic) == "TARN_CPU: this CPU has no v3, its best is generic");
  CHECK(message_of("avx2", CpuIsa::V4) == "TARN_CPU: must be generic, v3 or v4, got avx2");
}

TEST_CASE("the chosen instruction set is one this CPU has") {
  CHECK(detail::cpu_isa() <= detail::cpu_best_isa());
  if (const char* asked = std::getenv("TARN_CPU"); asked && *asked) {
    CHECK(std::string(detail::cpu_isa_name(detail::cpu_isa())) == asked);
  }
}
