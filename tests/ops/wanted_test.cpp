// The rows against tests/wanted_ops.txt: what a PyTorch user reaches for, is it there, and is it tested in
// every column? `./dev ops` runs this case with TARN_OPS_TABLE=1, which prints the table and fails at a gap.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/rows.h>
#include "test_config.h"

namespace tarn::testing {

namespace {

struct Wanted {
  std::string group, row;
  bool gradient;
};

std::vector<Wanted> wanted_ops() {
  std::ifstream file(TARN_TEST_DIR "/wanted_ops.txt");
  std::vector<Wanted> all;
  std::string group;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      group = line.substr(1, line.size() - 2);
      continue;
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      bool gradient = word.back() != '*';
      if (!gradient) word.pop_back();
      all.push_back({group, word.substr(word.find('=') + 1), gradient});
    }
  }
  return all;
}

// What the rows of one op hold.
struct Columns {
  int rows = 0, values = 0, dtypes = 0, gradients = 0, second = 0, errors = 0;
  bool property = false, few_errors = false;

  void add(const Row& row) {
    ++rows;
    for (size_t i = 0; i < row.samples.size(); ++i) values += int(golden_dtypes(row, i).size());
    dtypes = std::max(dtypes, int(row.dtypes.size()));
    gradients += row.grad ? int(row.samples.size()) : 0;
    second += row.grad && row.second ? int(row.samples.size()) : 0;
    errors += int(row.errors.size());
    property |= row.property != nullptr;
    few_errors |= row.few_errors != nullptr;
  }

  // What is missing, "" if nothing is.
  std::string gap(bool wants_gradient) const {
    if (!rows) return "is not there";
    if (!values && !property) return "has no values";
    if (wants_gradient && !gradients) return "has no gradients";
    if (errors < 3 && !few_errors) return "has fewer than three error rows";
    return "";
  }
};

std::map<std::string, Columns> columns_by_op() {
  std::map<std::string, Columns> all;
  for (const Row& row : all_rows()) {
    std::string name = row.name.substr(0, row.name.find(' '));
    all[name].add(row);
    if (!row.inplace.empty()) all[name + "_"].add(row);
  }
  return all;
}

struct Line {
  int wanted = 0, values = 0, gradients = 0, second = 0, dtypes = 0, errors = 0;
};

void print(const std::string& group, const Line& l) {
  std::printf("%-24s %5d %8d %10d %7d %7d %7d\n", group.c_str(), l.wanted, l.values, l.gradients, l.second,
              l.dtypes, l.errors);
}

}  // namespace

TEST_CASE("wanted_ops.txt: every op is there, in all columns") {
  std::map<std::string, Columns> ops = columns_by_op();
  std::map<std::string, Line> groups;
  std::vector<std::string> gaps;
  Line total;
  std::vector<std::string> order;
  for (const Wanted& w : wanted_ops()) {
    if (!groups.count(w.group)) order.push_back(w.group);
    const Columns c = ops.count(w.row) ? ops[w.row] : Columns{};
    for (Line* line : {&groups[w.group], &total}) {
      line->wanted++, line->values += c.values, line->gradients += c.gradients;
      line->second += c.second, line->dtypes += c.dtypes, line->errors += c.errors;
    }
    std::string gap = c.gap(w.gradient);
    if (!gap.empty()) gaps.push_back(w.group + ": " + w.row + " " + gap);
  }
  CHECK(total.wanted > 300);
  if (!std::getenv("TARN_OPS_TABLE")) return;
  std::printf("%-24s %5s %8s %10s %7s %7s %7s\n", "group", "ops", "values", "gradients", "second", "dtypes",
              "errors");
  for (const std::string& group : order) print(group, groups[group]);
  print("total", total);
  for (const std::string& gap : gaps) std::printf("gap: %s\n", gap.c_str());
  std::printf("%zu gaps\n", gaps.size());
  CHECK(gaps.empty());
}

}  // namespace tarn::testing
