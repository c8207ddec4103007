#include <tarn/compile/stats.h>

#include <cstdlib>
#include <string_view>

#include <tarn/compile/counters.h>
#include <tarn/compile/options.h>
#include <tarn/core/error.h>

namespace tarn::inline v1 {

namespace detail {

namespace {

struct Row {
  int64_t CompileStats::*shown;
  std::atomic<int64_t> CaptureCounters::*counter;
};
constexpr Row kRows[] = {
    {&CompileStats::calls, &CaptureCounters::calls},
    {&CompileStats::nodes, &CaptureCounters::nodes},
    {&CompileStats::followed, &CaptureCounters::followed},
    {&CompileStats::mismatches, &CaptureCounters::mismatches},
    {&CompileStats::segments, &CaptureCounters::segments},
    {&CompileStats::plans, &CaptureCounters::plans},
    {&CompileStats::breaks, &CaptureCounters::breaks},
    {&CompileStats::eager_calls, &CaptureCounters::eager_calls},
    {&CompileStats::dropped, &CaptureCounters::dropped},
    {&CompileStats::kernels, &CaptureCounters::kernels},
    {&CompileStats::fused_groups, &CaptureCounters::fused_groups},
};

struct Word {
  std::string_view text;
  bool CompileEnvironment::*value;  // null: read elsewhere
};
constexpr Word kWords[] = {
    {"off", &CompileEnvironment::off},
    {"plain", &CompileEnvironment::plain},
    {"log", &CompileEnvironment::log},
    {"interpret", nullptr},
    {"native", nullptr},
    {"passes", nullptr},
};

CompileEnvironment read_environment() {
  CompileEnvironment out;
  const char* text = std::getenv("TARN_COMPILE");
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    bool known = word.empty() || word[0] == '-';
    for (const Word& w : kWords) {
      if (w.text != word) continue;
      if (w.value) out.*w.value = true;
      known = true;
    }
    check(known, "compile: TARN_COMPILE has the unknown word \"", word,
          "\"; use off, plain, interpret, native, log, passes, or -NAME for a pass");
  }
  return out;
}

}  // namespace

CaptureCounters& capture_counters() {
  static auto* counters = new CaptureCounters;
  return *counters;
}

const CompileEnvironment& compile_environment() {
  static const CompileEnvironment environment = read_environment();
  return environment;
}

}  // namespace detail

CompileStats compile_stats() {
  CompileStats out;
  for (const detail::Row& row : detail::kRows)
    out.*row.shown = (detail::capture_counters().*row.counter).load(std::memory_order_relaxed);
  const detail::CompileCounters& kernels = detail::compile_counters();
  out.tier0_groups = kernels.tier0_runs;
  out.tier1_groups = kernels.tier1_runs;
  out.tier1_kernels = kernels.kernels_built + kernels.kernels_from_cache;
  return out;
}

void reset_compile_stats() {
  for (const detail::Row& row : detail::kRows) (detail::capture_counters().*row.counter).store(0);
  detail::CompileCounters& kernels = detail::compile_counters();
  for (auto* counter : {&kernels.tier0_runs, &kernels.tier1_runs, &kernels.kernels_built,
                        &kernels.kernels_from_cache, &kernels.kernels_failed, &kernels.groups_made})
    counter->store(0);
}

}  // namespace tarn::inline v1
