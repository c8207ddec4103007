// The demo's step compiled where there is no C++ compiler: eager's numbers, by the interpreter, and one
// warning.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <tarn/compile/compile.h>
#include <tarn/compile/kernel.h>
#include <tarn/tests/rooms/step.h>
#include <tarn/tests/temp_dir.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("compiled training for the case below", "[.]") {
  Trained eager = DemoStep(kCPU, kFloat).run(5);
  DemoStep demo(kCPU, kFloat);
  auto step = tarn::compile([&] { return demo(); });
  Trained compiled = demo.run(5, [&] { return step(); });
  detail::wait_for_kernels();
  CHECK(difference(compiled, eager, 1e-4) == "");
  CHECK(compile_stats().tier0_groups > 0);
  CHECK(compile_stats().tier1_kernels == 0);
}

TEST_CASE("without a C++ compiler the demo's step runs in the interpreter after one warning") {
  TempDir cache;
  char path[4096] = "";
  REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  std::string command = "PATH= TARN_CXX= TARN_COMPILE= XDG_CACHE_HOME='" + cache.path() + "' '" + path +
                        "' 'compiled training for the case below' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  CHECK(pclose(pipe) == 0);
  INFO(text);
  CHECK(count(text, "tarn: ") == 1);
  CHECK(
      count(
          text,
          "tarn: fused groups run in the interpreter, which is right but slower: no C++ compiler is in PATH; "
          "install g++ or set TARN_CXX\n") == 1);
}
