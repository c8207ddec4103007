// Makes the test cases from the rows: "softmax: values", "softmax: layouts", ...
#include <cstdlib>

#include <tarn/tests/ops/golden.h>
#include <tarn/tests/ops/print_rows.h>
#include <tarn/tests/ops/runner.h>

namespace tarn::testing {

namespace {

bool has_inputs(const Row& row) {
  for (const Sample& s : row.samples)
    if (!s.inputs.empty()) return true;
  return false;
}

struct Aspect {
  const char* name;
  void (*test)(const Row&);
  bool (*applies)(const Row&);
};

constexpr Aspect kAspects[] = {
    {"values", test_values, [](const Row& r) { return !r.samples.empty() || r.property; }},
    {"dtypes", test_dtypes,
     [](const Row& r) {
       return has_inputs(r) && r.dtypes.size() + r.uncompared.size() < kEveryDtype.size() &&
              !r.samples[0].inputs[0].dtype;
     }},
    {"layouts", test_layouts, [](const Row& r) { return has_inputs(r) && !r.no_layouts; }},
    {"in place", test_inplace, [](const Row& r) { return !r.inplace.empty(); }},
    {"errors", test_errors, [](const Row& r) { return !r.errors.empty(); }},
    {"gradients", test_gradients, [](const Row& r) { return r.grad; }},
    {"second gradients", test_second_gradients, [](const Row& r) { return r.grad && r.second; }},
    {"third gradients", test_third_gradients, [](const Row& r) { return r.grad && r.second; }},
    {"saved tensors", test_saved_tensors, [](const Row& r) { return r.grad; }},
    {"gradients in place", test_inplace_gradients, [](const Row& r) { return r.grad && !r.inplace.empty(); }},
};

class Invoker : public Catch::ITestInvoker {
 public:
  Invoker(const Row& row, const Aspect& aspect) : row_(row), aspect_(aspect) {}
  void invoke() const override { aspect_.test(row_); }

 private:
  const Row& row_;
  const Aspect& aspect_;
};

// What TEST_CASE expands to, with a name known only at run time.
void add_case(const Row& row, const Aspect& aspect) {
  std::string name = row.name + ": " + aspect.name;
#if __has_include(<catch2/catch_test_macros.hpp>)
  Catch::AutoReg(Catch::Detail::make_unique<Invoker>(row, aspect), CATCH_INTERNAL_LINEINFO, "",
                 Catch::NameAndTags{name, "[ops]"});
#else
  Catch::AutoReg(new Invoker(row, aspect), CATCH_INTERNAL_LINEINFO, "", Catch::NameAndTags{name, "[ops]"});
#endif
}

const bool registered = [] {
  for (const Row& row : all_rows())
    for (const Aspect& aspect : kAspects)
      if (aspect.applies(row)) add_case(row, aspect);
  return true;
}();

}  // namespace

TEST_CASE("golden values: every row's are there and no others") {
  // TARN_GOLDEN_REQUESTS: where ./dev golden wants the questions that PyTorch is to answer.
  if (const char* path = std::getenv("TARN_GOLDEN_REQUESTS")) {
    write_requests(path);
    SUCCEED();
    return;
  }
  std::vector<std::string> keys;
  for (const Row& row : all_rows())
    for (size_t i = 0; i < row.samples.size(); ++i)
      for (ScalarType dtype : golden_dtypes(row, i)) {
        keys.push_back(golden_key(row, row.samples[i], dtype));
        INFO(keys.back() << " (" << row.samples[i].text << "): run ./dev golden");
        CHECK(has_golden(keys.back() + "/out0"));
      }
  for (const PrintRow& row : print_rows()) keys.push_back(row.name);
  std::sort(keys.begin(), keys.end());
  size_t stale = 0;
  for (const std::string& name : golden_names()) {
    std::string key = name.rfind("print/", 0) == 0 ? name : name.substr(0, name.rfind('/'));
    stale += !std::binary_search(keys.begin(), keys.end(), key);
  }
  CHECK(stale == 0);
}

}  // namespace tarn::testing
