// Asking the real Python packages about files that Tarn wrote. `./dev test` sets TARN_PYTHON to an
// interpreter that has what tests/python/test.txt lists; without it such tests say so and check nothing.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <tarn/tests/catch.h>
#include <tarn/tests/temp_dir.h>
#include <test_config.h>

namespace tarn::testing {

// What `tests/<script> <argument>` prints; nothing if there is no Python to ask. A script that fails fails
// the test.
inline std::optional<std::string> ask_python(const std::string& script, const std::string& argument) {
  const char* python = std::getenv("TARN_PYTHON");
  if (!python) {
    WARN("TARN_PYTHON is not set: " << script << " was not asked; run this through ./dev test");
    SUCCEED();
    return std::nullopt;
  }
  TempDir folder;
  std::string output = folder / "output";
  std::string command = std::string("'") + python + "' '" TARN_TEST_DIR "/" + script + "' '" + argument +
                        "' > '" + output + "' 2> '" + output + ".err'";
  int status = std::system(command.c_str());
  auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  INFO(command << "\n" << read(output + ".err"));
  REQUIRE(status == 0);
  return read(output);
}

}  // namespace tarn::testing
