// Reads golden files of rows "name: number number ...".
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <tarn/core/error.h>

#include "test_config.h"

namespace tarn::testing {

// The row called `name` of tests/<file>; an Error if there is none.
inline std::vector<double> golden_row(const std::string& file, const std::string& name) {
  std::ifstream in(std::string(TARN_TEST_DIR "/") + file);
  check(in.good(), "golden_row: cannot read ", file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    std::istringstream numbers(line.substr(name.size() + 1));
    std::vector<double> row;
    for (double value; numbers >> value;) row.push_back(value);
    return row;
  }
  fail("golden_row: no row '", name, "' in ", file);
}

}  // namespace tarn::testing
