// Kernels give the same bits on every instruction set: a child process computes with TARN_CPU set and its
// digest of all results is compared with ours.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <tarn/core/cpu/features.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;

namespace {

struct Result {
  const char* name;
  Tensor value;
};

std::vector<Result> results() {
  manual_seed(1);
  Tensor x = randn({3, 70, 5, 33}), d = randn({50, 301}, kDouble), h = randn({9, 1000}, kBFloat16);
  Tensor target = randint(0, 301, {50});
  return {{"rand", rand({1003})},
          {"randn", randn({1003})},
          {"randn double", randn({1003}, kDouble)},
          {"randint", randint(-5, 1000, {1003})},
          {"dropout", dropout(x, 0.3, true)},
          {"sum", sum(x)},
          {"sum of rows", sum(x, 3)},
          {"sum of columns", sum(x, 0)},
          {"sum of channels", sum(x, {0, 2, 3})},
          {"sum of bf16", sum(h, 1)},
          {"mean of doubles", mean(d, 1)},
          {"prod", prod(d, 1)},
          {"var", var(x, {1, 3})},
          {"norm", norm(d, 3, 1)},
          {"logsumexp", logsumexp(x, {0, 3})},
          {"softmax", softmax(x, 3)},
          {"softmax of doubles", softmax(d, 0)},
          {"log_softmax", log_softmax(x, 1)},
          {"cross_entropy", cross_entropy_loss(d, target)}};
}

// FNV-1a.
uint64_t digest(const Tensor& t) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char byte : testing::bytes_of(t)) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

constexpr const char* kFile = "TARN_TEST_DIGEST_FILE";

}  // namespace

TEST_CASE("write digests of all results", "[.digests]") {
  const char* path = std::getenv(kFile);
  if (!path) path = "/dev/null";  // run by hand
  std::FILE* file = std::fopen(path, "w");
  REQUIRE(file);
  for (const Result& r : results())
    std::fprintf(file, "%016llx\n", static_cast<unsigned long long>(digest(r.value)));
  CHECK(std::fclose(file) == 0);
}

TEST_CASE("all instruction sets give the same bits", "[isa]") {
  std::vector<Result> ours = results();
  detail::CpuIsa best = detail::choose_isa(nullptr, detail::cpu_best_isa());
  for (int isa = 0; isa <= int(best); ++isa) {
    std::string path = "/tmp/tarn_digests_" + std::to_string(getpid());
    pid_t child = fork();
    if (child == 0) {
      setenv("TARN_CPU", detail::cpu_isa_name(detail::CpuIsa(isa)), 1);
      setenv(kFile, path.c_str(), 1);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl("/proc/self/exe", "test", "[.digests]", static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    std::FILE* file = std::fopen(path.c_str(), "r");
    REQUIRE(file);
    for (const Result& r : ours) {
      unsigned long long theirs = 0;
      REQUIRE(std::fscanf(file, "%llx", &theirs) == 1);
      INFO(r.name << " on " << detail::cpu_isa_name(detail::CpuIsa(isa)));
      CHECK(theirs == digest(r.value));
    }
    std::fclose(file);
    std::remove(path.c_str());
  }
}
