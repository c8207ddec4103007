// What a program is told where there is no device. Each case starts this program again, since a process
// chooses its device library once.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <tarn/tests/cuda/device.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

// What the hidden case below prints with TARN_CUDA set to `mode`, which further variables may follow.
std::string report_of(const std::string& mode) {
  char path[4096] = "";
  REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  std::string command = "TARN_CUDA=" + mode + " '" + path + "' 'report for another case'";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  pclose(pipe);
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("report for another case", "[.]") {
  std::printf("available %d, devices %d, %s\n", cuda::is_available(), int(cuda::device_count()),
              error_of([] { ones({2}).to(kGpu); }).c_str());
  std::fflush(stdout);
  CHECK(ones({2}).sum().item<float>() == 2);
}

TEST_CASE("TARN_CUDA=off leaves the CPU and says why there is no device") {
  std::string text = report_of("off");
  INFO(text);
  CHECK(contains(
      text, "available 0, devices 0, to: device cuda:0 cannot be used: cuda: switched off by TARN_CUDA=off"));
}

TEST_CASE("a wrong TARN_CUDA is named") {
  std::string text = report_of("fast");
  INFO(text);
  CHECK(contains(text, "cuda: TARN_CUDA must be real, emulated, checked or off, got fast"));
}

TEST_CASE("without a GPU the reason is the library's or the driver's") {
  std::string text = report_of("real");
  INFO(text);
  bool named = contains(text, "cuda: the device library cannot be loaded: ") ||
               contains(text, "cuda: no driver: ") || contains(text, "available 1");
  CHECK(named);
}

TEST_CASE("without NVIDIA's driver the runtime's reason is given, and the CPU works") {
  std::string text = report_of("emulated TARN_EMU_DRIVER=0");
  INFO(text);
  CHECK(contains(text,
                 "available 0, devices 0, to: device cuda:0 cannot be used: cuda: no driver: CUDA driver "
                 "version is insufficient for CUDA runtime version"));
  CHECK(contains(text, "All tests passed"));
}
