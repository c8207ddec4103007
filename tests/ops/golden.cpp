#include <tarn/tests/ops/golden.h>

#include <fstream>
#include <sstream>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <tarn/tests/ops/print_rows.h>
#include "test_config.h"

namespace tarn::testing {

namespace {

struct DtypeName {
  const char* name;
  ScalarType dtype;
};
constexpr DtypeName kDtypeNames[] = {
    {"bool", kBool},  {"uint8", kByte},   {"int8", kChar},     {"int16", kShort},    {"int32", kInt},
    {"int64", kLong}, {"float16", kHalf}, {"float32", kFloat}, {"float64", kDouble}, {"bfloat16", kBFloat16}};

std::string name_of(ScalarType dtype) {
  for (const DtypeName& n : kDtypeNames)
    if (n.dtype == dtype) return n.name;
  fail("no name for ", dtype);
}

ScalarType dtype_named(const std::string& name) {
  for (const DtypeName& n : kDtypeNames)
    if (n.name == name) return n.dtype;
  fail("golden/values.txt: unknown dtype ", name);
}

std::string decode_base64(const std::string& text) {
  static const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    size_t digit = alphabet.find(c);
    if (digit == std::string::npos) break;
    bits = bits << 6 | uint32_t(digit);
    if ((held += 6) >= 8) bytes.push_back(char(bits >> (held -= 8)));
  }
  return bytes;
}

// The part of each line after its name.
const std::unordered_map<std::string, std::string>& lines() {
  static const auto* map = [] {
    auto* m = new std::unordered_map<std::string, std::string>;
    std::ifstream file(TARN_TEST_DIR "/ops/golden/values.txt");
    for (std::string line; std::getline(file, line);) {
      size_t space = line.find(' ');
      if (space != std::string::npos) m->emplace(line.substr(0, space), line.substr(space + 1));
    }
    return m;
  }();
  return *map;
}

std::vector<int64_t> parse_sizes(const std::string& text) {
  std::vector<int64_t> sizes;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string number; std::getline(in, number, ',');) sizes.push_back(std::stoll(number));
  return sizes;
}

nlohmann::json describe_input(const Input& input, int number, ScalarType swept) {
  if (!input.given) return nullptr;
  ScalarType dtype = input.dtype.value_or(swept);
  nlohmann::json j{{"sizes", input.sizes}, {"dtype", name_of(dtype)}, {"grad", input.grad}};
  if (input.list.empty()) {
    Formula f = formula_of(input, number, dtype);
    j["formula"] = {f.a, f.b, f.m, f.c, f.d};
  } else {
    for (double value : input.list) {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", value);
      j["values"].push_back(text);
    }
  }
  return j;
}

nlohmann::json describe_sample(const Row& row, const Sample& sample, ScalarType dtype) {
  nlohmann::json inputs = nlohmann::json::array();
  for (size_t i = 0; i < sample.inputs.size(); ++i)
    inputs.push_back(describe_input(sample.inputs[i], int(i), dtype));
  bool grad = row.grad && (dtype == kFloat || dtype == kDouble);
  return {{"text", sample.python.empty() ? sample.text : sample.python}, {"inputs", inputs}, {"grad", grad}};
}

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string golden_key(const Row& row, const Sample& sample, ScalarType dtype) {
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(fnv1a(describe_sample(row, sample, dtype).dump())));
  return row.name.substr(0, row.name.find(' ')) + "/" + hash;
}

GoldenValue golden(const std::string& key, const std::string& part) {
  auto it = lines().find(key + "/" + part);
  if (it == lines().end()) return {};
  std::istringstream in(it->second);
  std::string dtype, sizes, data;
  in >> dtype;
  if (dtype == "none") {
    std::string reason;
    std::getline(in >> std::ws, reason);
    return {true, reason, {}};
  }
  in >> sizes >> data;
  Tensor t = detail::make_tensor(parse_sizes(sizes), dtype_named(dtype));
  std::string bytes = decode_base64(data);
  ensure(bytes.size() == t.nbytes(), "golden/values.txt: ", key, "/", part, " has ", bytes.size(),
         " bytes, not ", t.nbytes());
  if (!bytes.empty()) std::memcpy(t.data_ptr(), bytes.data(), bytes.size());
  return {true, "", t};
}

std::string golden_text(const std::string& key) {
  auto it = lines().find(key);
  return it == lines().end() ? "not in golden/values.txt: run ./dev golden"
                             : decode_base64(it->second.substr(5));
}

bool has_golden(const std::string& name) { return lines().count(name) > 0; }

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& [name, rest] : lines()) names.push_back(name);
  return names;
}

std::vector<ScalarType> golden_dtypes(const Row& row, size_t sample) {
  if (sample == 0) return row.dtypes;
  std::vector<ScalarType> kept;
  for (ScalarType t : row.dtypes)
    if (t == kFloat || t == kDouble) kept.push_back(t);
  if (kept.empty()) kept.push_back(row.dtypes.front());
  return kept;
}

void write_requests(const std::string& path) {
  std::ofstream out(path);
  auto write = [&](const std::string& key, nlohmann::json j) {
    j["key"] = key;
    out << j.dump() << '\n';
  };
  for (const Row& row : all_rows())
    for (size_t i = 0; i < row.samples.size(); ++i)
      for (ScalarType dtype : golden_dtypes(row, i))
        write(golden_key(row, row.samples[i], dtype), describe_sample(row, row.samples[i], dtype));
  for (const PrintRow& row : print_rows())
    write(row.name,
          {{"print", true}, {"inputs", nlohmann::json::array({describe_input(row.input, 0, row.dtype)})}});
}

Tensor gradient_weight(const Tensor& output, int number) {
  return formula_tensor(output.sizes(), output.dtype(),
                        {.a = 58, .b = 20 + 6 * number, .m = 246, .c = 101, .d = 64});
}

}  // namespace tarn::testing
