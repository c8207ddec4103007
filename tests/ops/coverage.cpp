// The rows against the headers: every function declared in core/ops/*.h and every row of pointwise.def has a
// row of tests, and each row has what a row needs.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <tarn/tests/ops/rows.h>
#include "test_config.h"

namespace tarn::testing {

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
}

// The text without namespace detail.
std::string public_part(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t detail = text.find("detail {", at);
    out += text.substr(at, detail == std::string::npos ? detail : detail - at);
    if (detail == std::string::npos) break;
    at = text.find('{', detail) + 1;
    for (int depth = 1; depth > 0 && at < text.size(); ++at)
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
  }
  return out;
}

void collect_matches(const std::string& text, const char* pattern, std::set<std::string>& names) {
  std::regex r(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), r), end; it != end; ++it) names.insert((*it)[1]);
}

// Functions that take or return tensors: `TARN_API Tensor name(`, `inline std::tuple<...> name(`. A line that
// ends in a backslash belongs to a macro.
std::set<std::string> declared_ops() {
  std::set<std::string> names;
  std::filesystem::path ops = std::filesystem::path(TARN_TEST_DIR) / ".." / "core" / "ops";
  for (const auto& entry : std::filesystem::directory_iterator(ops)) {
    if (entry.path().extension() != ".h") continue;
    std::string text = public_part(read(entry.path()));
    text = std::regex_replace(text, std::regex("#define([^\n]*\\\\\n)*[^\n]*"), "");
    collect_matches(text, "(?:TARN_API|\ninline) +(?:[a-zA-Z_:]+(?:<[^()]*>)?)&? +([a-z][a-z0-9_]*)\\(",
                    names);
  }
  // Rows behind #ifndef TARN_DECLARING_ROWS have public functions of another name.
  std::string def = read(ops / "pointwise.def");
  def = def.substr(0, def.find("#if"));
  collect_matches(def, "(?:^|\n)(?:UNARY|BINARY|TERNARY)[0-9]?\\([A-Z]+, ([a-z0-9_]+),", names);
  return names;
}

// "max (of two)" is a row of max.
std::set<std::string> tested_ops() {
  std::set<std::string> names;
  for (const Row& row : all_rows()) names.insert(row.name.substr(0, row.name.find(' ')));
  return names;
}

bool has_shape(const Row& row, bool (*wanted)(const std::vector<int64_t>&)) {
  for (const Sample& s : row.samples)
    for (const Input& i : s.inputs)
      if (i.given && wanted(i.sizes)) return true;
  return false;
}

bool is_empty(const std::vector<int64_t>& sizes) { return std::count(sizes.begin(), sizes.end(), 0) > 0; }

bool takes_tensors(const Row& row) {
  for (const Sample& s : row.samples)
    if (!s.inputs.empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("every function of the op headers has a row") {
  std::set<std::string> declared = declared_ops(), tested = tested_ops();
  CHECK(declared.size() > 100);
  for (const std::string& name : declared) {
    // op_(x) is x.op_(), which the row of op tests.
    bool inplace = name.back() == '_' && tested.count(name.substr(0, name.size() - 1));
    INFO(name << " is declared in core/ops but has no row in tests/ops");
    CHECK((tested.count(name) || inplace));
  }
}

TEST_CASE("no two rows have one name") {
  std::set<std::string> names;
  for (const Row& row : all_rows()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("every row has samples with empty and 0-dim inputs, or says why not") {
  for (const Row& row : all_rows()) {
    if (!takes_tensors(row)) continue;
    INFO(row.name);
    CHECK((row.no_empty || has_shape(row, is_empty)));
    CHECK((row.no_scalar || has_shape(row, [](const std::vector<int64_t>& s) { return s.empty(); })));
  }
}

TEST_CASE("every row has three mistakes, or says why not") {
  for (const Row& row : all_rows()) {
    INFO(row.name << " has " << row.errors.size());
    CHECK((row.few_errors || row.errors.size() >= 3));
  }
}

}  // namespace tarn::testing
