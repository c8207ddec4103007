// Device arrays and comparisons for the tests of the emulated device.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <test_config.h>

#include <tarn/core/emu/block.h>
#include <tarn/core/emu/config.h>
#include <tarn/tests/catch.h>

using Values = std::vector<float>;

// The text of a cuda call's error, "" for none; the error is cleared.
inline std::string text(cudaError_t code) {
  std::string message = code == cudaSuccess ? "" : cudaGetErrorString(code);
  cudaGetLastError();
  return message;
}

// The text contains every one of the words.
inline bool has(const std::string& message, std::initializer_list<std::string> words) {
  for (const std::string& word : words)
    if (message.find(word) == std::string::npos) return false;
  return true;
}

// "kernels.cu:50" of the only line there that holds this source text.
inline std::string line_of(const char* source) {
  std::ifstream file(std::string(TARN_TEST_DIR) + "/emu/kernels.cu");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (line.find(source) != std::string::npos) return "kernels.cu:" + std::to_string(number);
  return std::string("no line with ") + source;
}

#define CHECK_OK(call) CHECK(text(call) == "")
#define REQUIRE_OK(call) REQUIRE(text(call) == "")
// The error of the call names all of the words.
#define CHECK_CAUGHT(call, ...)         \
  do {                                  \
    std::string message = text(call);   \
    CAPTURE(message);                   \
    CHECK(has(message, {__VA_ARGS__})); \
  } while (0)

// A device array; freed on the legacy stream.
template <class T>
struct Array {
  T* p = nullptr;
  size_t n;
  explicit Array(size_t count) : n(count) {
    REQUIRE_OK(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)));
  }
  explicit Array(const std::vector<T>& v) : Array(v.size()) {
    REQUIRE_OK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  ~Array() {
    if (p) cudaFree(p);
    cudaGetLastError();
  }
  std::vector<T> get() const {
    std::vector<T> v(n);
    REQUIRE_OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

// Values between -2 and 2, all different for up to 1009.
inline Values numbers(size_t n, int seed = 1) {
  Values v(n);
  for (size_t i = 0; i < n; ++i) v[i] = float(int((i * 587 + seed * 101) % 1009) - 504) / 252;
  return v;
}

inline float difference(const Values& a, const Values& b) {
  float most = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    float d = std::fabs(a[i] - b[i]);
    if (!(d <= most)) most = std::isnan(d) ? INFINITY : d;
  }
  return most;
}

inline Values softmax_of(const Values& x, int rows, int cols) {
  Values y(x.size());
  for (int r = 0; r < rows; ++r) {
    float most = -INFINITY;
    double total = 0;
    for (int c = 0; c < cols; ++c) most = std::fmax(most, x[r * cols + c]);
    for (int c = 0; c < cols; ++c) total += std::exp(double(x[r * cols + c] - most));
    for (int c = 0; c < cols; ++c) y[r * cols + c] = float(std::exp(double(x[r * cols + c] - most)) / total);
  }
  return y;
}

// Another configuration for the life of this object.
struct With {
  tarn::emu::Config before = tarn::emu::config();
  tarn::emu::Config* operator->() { return &tarn::emu::config(); }
  ~With() { tarn::emu::config() = before; }
};

// AddressSanitizer and UndefinedBehaviorSanitizer watch the kernels and end the process at a fault.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// What a child of this process that runs f exits with; -1 if a signal ended it.
template <class F>
int exit_status(F f) {
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(0);
    f();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class F>
bool is_deadly(F f) {
  return exit_status(f) != 0;
}

// Kernels of this program report their accesses.
inline bool checked() { return tarn::emu::checking; }
