// docs/architecture.md sends its reader to files and functions: they must be there.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <test_config.h>

#include <tarn/tests/catch.h>

namespace {

const std::string kRoot = TARN_TEST_DIR "/..";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  std::string cell;
  std::getline(rest, cell, '|');
  while (std::getline(rest, cell, '|')) {
    size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

// A definition or, in pointwise.def, a row: the name as a whole word before a bracket, or after one.
bool names_function(const std::string& text, const std::string& name) {
  auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    bool whole = (at == 0 || !is_part(text[at - 1])) && end < text.size() && !is_part(text[end]);
    if (whole && (text[end] == '(' || text[end] == ',')) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("docs/architecture.md names files and functions that exist, for each way of relu and conv2d") {
  std::istringstream lines(text_of(kRoot + "/docs/architecture.md"));
  std::string line;
  std::vector<std::string> followed;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 5 || (cells[1] != "relu" && cells[1] != "conv2d")) continue;
    followed.push_back(cells[0] + " " + cells[1]);
    INFO(line);
    CHECK(names_function(text_of(kRoot + "/" + cells[2]), cells[3]));
  }
  for (std::string way : {"eager", "compiled", "cuda", "ranks", "saved"})
    for (std::string op : {"relu", "conv2d"}) {
      INFO(way << " " << op);
      CHECK(std::find(followed.begin(), followed.end(), way + " " + op) != followed.end());
    }
}
