#include <tarn/compile/site.h>

#include <cstdio>

#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

void log_line(const char* what, const std::string& text) {
  std::string line = str("tarn compile: ", what, ": ", text, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tarn::inline v1::detail
