// The choices that must not show in results: provider of contractions, instruction set, allocator.
#include <cstdlib>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <tarn/core/allocator.h>
#include <tarn/core/cpu/contractions.h>

#include <tarn_config.h>

#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/rows.h>
#include <tarn/tests/ops/runner.h>

namespace tarn::testing {

namespace {

const Row& row_named(const std::string& name) {
  for (const Row& row : all_rows())
    if (row.name == name) return row;
  fail("no row ", name);
}

constexpr const char* kContractions[] = {"mm",      "bmm",    "mv",     "dot",    "matmul", "addmm",
                                         "baddbmm", "linear", "conv1d", "conv2d", "conv3d"};

// Runs this program's cases that match `pattern` with one more environment variable.
int run_again(const char* variable, const char* value, const char* pattern) {
  pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    execl("/proc/self/exe", "test_ops", pattern, "--order", "decl", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("contractions have the same values and gradients with Eigen alone") {
  detail::use_contractions("eigen");
  for (const char* name : kContractions) {
    INFO(name);
    test_values(row_named(name));
    test_layouts(row_named(name));
    test_gradients(row_named(name));
  }
  if (TARN_HAS_ONEDNN) detail::use_contractions("onednn");
}

TEST_CASE("values are right with plain C++ kernels", "[isa]") {
  CHECK(run_again("TARN_CPU", "generic", "*: values") == 0);
  CHECK(run_again("TARN_CPU", "generic", "*: gradients") == 0);
}

TEST_CASE("values are right with AVX2 kernels", "[isa]") {
  if (!TARN_HAS_V3 || !__builtin_cpu_supports("avx2")) {
    SUCCEED("not on this machine");
    return;
  }
  CHECK(run_again("TARN_CPU", "v3", "*: values") == 0);
  CHECK(run_again("TARN_CPU", "v3", "*: gradients") == 0);
}

TEST_CASE("values are right when each tensor is a malloc of its own") {
  CHECK(run_again("TARN_ALLOC", "system", "*: values") == 0);
}

TEST_CASE("every op gives back all its memory") {
  auto run_all = [](const Row& row) {
    for (const Sample& s : row.samples) s.call(make_all(s.inputs, row.dtypes.front()));
  };
  for (const Row& row : all_rows()) {
    INFO(row.name);
    run_all(row);
    cpu::MemoryStats before = cpu::memory_stats();
    for (int i = 0; i < 20; ++i) run_all(row);
    cpu::MemoryStats after = cpu::memory_stats();
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(after.live_blocks == before.live_blocks);
  }
}

TEST_CASE("gradients give back all their memory, also when they are differentiated again") {
  for (const Row& row : all_rows()) {
    if (!row.grad) continue;
    INFO(row.name);
    run_gradients(row);
    cpu::MemoryStats before = cpu::memory_stats();
    for (int i = 0; i < 3; ++i) run_gradients(row);
    cpu::MemoryStats after = cpu::memory_stats();
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(after.live_blocks == before.live_blocks);
  }
}

}  // namespace tarn::testing
