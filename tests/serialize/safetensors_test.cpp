#include <tarn/serialize/safetensors.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

#include <tarn/tests/data/files.h>
#include <tarn/tests/python.h>
#include <tarn/tests/support.h>

namespace tarn {
namespace {

using namespace testing;

constexpr ScalarType kAllTypes[] = {kBool, kByte, kChar,     kShort, kInt,
                                    kLong, kHalf, kBFloat16, kFloat, kDouble};

safetensors::File one_of_each() {
  safetensors::File file;
  for (ScalarType dtype : kAllTypes) file.tensors[to_string(dtype)] = formula_tensor({3, 5}, dtype);
  file.tensors["scalar"] = formula_tensor({}, kDouble);
  file.tensors["empty"] = formula_tensor({0, 4}, kFloat);
  file.metadata = {{"format", "pt"}, {"note", "\"quoted\" \xc3\xa9"}};
  return file;
}

void check_same(const safetensors::File& got, const safetensors::File& want) {
  CHECK(got.metadata == want.metadata);
  REQUIRE(got.tensors.size() == want.tensors.size());
  for (const auto& [name, tensor] : want.tensors) {
    INFO(name);
    REQUIRE(got.tensors.count(name));
    CHECK_SAME(got.tensors.at(name), tensor);
  }
}

TEST_CASE("what is saved is loaded, every dtype, bit for bit") {
  TempDir folder;
  safetensors::File file = one_of_each();
  safetensors::save(file, folder / "x");
  check_same(safetensors::load(folder / "x"), file);
  safetensors::save({}, folder / "nothing");
  check_same(safetensors::load(folder / "nothing"), {});
}

TEST_CASE("a strided tensor is saved by its values") {
  TempDir folder;
  Tensor x = formula_tensor({4, 6}).t().narrow(0, 1, 3);
  safetensors::save({{{"x", x}}, {}}, folder / "x");
  CHECK_SAME(safetensors::load(folder / "x").tensors.at("x"), x);
}

TEST_CASE("every tensor's data is aligned to its element size") {
  TempDir folder;
  safetensors::save(one_of_each(), folder / "x");
  std::string bytes = read_file(folder / "x");
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  CHECK(header % 8 == 0);
  // Wide types come first.
  CHECK(bytes.find("\"Double\":{\"data_offsets\":[0,120]") != std::string::npos);
}

TEST_CASE("the safetensors package reads what Tarn writes") {
  TempDir folder;
  safetensors::File file;
  file.tensors["conv.weight"] = tensor_of({1.5, -2, 0.25, 8}, kFloat, {2, 2});
  file.tensors["count"] = tensor_of({3}, kLong, {});
  file.tensors["mask"] = tensor_of({1, 0, 1}, kBool);
  file.tensors["small"] = tensor_of({0.5}, kHalf);
  file.tensors["empty"] = detail::make_tensor({0, 3}, kDouble);
  file.metadata = {{"epoch", "7"}};
  safetensors::save(file, folder / "x");
  if (auto read = ask_python("serialize/read_safetensors.py", folder / "x"))
    CHECK(*read ==
          "metadata epoch 7\nconv.weight float32 [2, 2] [1.5, -2.0, 0.25]\ncount int64 [] [3]\n"
          "empty float64 [0, 3] []\nmask bool [3] [True, False, True]\nsmall float16 [1] [0.5]\n");
}

TEST_CASE("Tarn reads what the safetensors package writes") {
  TempDir folder;
  if (!ask_python("serialize/write_safetensors.py", folder / "x")) return;
  safetensors::File file = safetensors::load(folder / "x");
  CHECK(file.metadata == std::map<std::string, std::string>{{"made by", "python"}});
  CHECK(file.tensors.size() == 10);
  CHECK_SAME(file.tensors.at("float"), tensor_of({0, 1, 2, 3, 4, 5}, kFloat, {2, 3}));
  CHECK_SAME(file.tensors.at("half"), tensor_of({1.5, -2}, kHalf));
  CHECK_SAME(file.tensors.at("double"), tensor_of({0.1}, kDouble));
  CHECK_SAME(file.tensors.at("long"), tensor_of({-7}, kLong, {}));
  CHECK_SAME(file.tensors.at("int"), tensor_of({1 << 30}, kInt));
  CHECK_SAME(file.tensors.at("short"), tensor_of({-300}, kShort));
  CHECK_SAME(file.tensors.at("char"), tensor_of({-3}, kChar));
  CHECK_SAME(file.tensors.at("byte"), tensor_of({200}, kByte));
  CHECK_SAME(file.tensors.at("bool"), tensor_of({1, 0}, kBool));
  CHECK(file.tensors.at("empty").sizes() == IntArrayRef({0, 3}));
}

// A file with this header and so many bytes of data.
std::string with_header(std::string header, size_t data_bytes) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char*>(&length), 8) + header + std::string(data_bytes, '\1');
}

std::string error_for(const std::string& bytes) {
  TempDir folder;
  write_file(folder / "x", bytes);
  std::string text = error_of([&] { safetensors::load(folder / "x"); });
  std::string prefix = "safetensors: " + (folder / "x") + ": ";
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

TEST_CASE("a header that breaks a rule is refused by name") {
  auto refuses = [](const std::string& header, size_t data, const std::string& text) {
    CHECK(error_for(with_header(header, data)) == text);
  };
  auto tensor = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  std::string ok = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  refuses(tensor(ok), 8, "no error");
  refuses(tensor(ok), 7, "the tensors take 8 bytes, the file has 7 after the header");
  refuses(tensor(ok), 9, "the tensors take 8 bytes, the file has 9 after the header");
  refuses(tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8,
          "tensor \"a\": data_offsets [0, 8] are 8 bytes, F32 of shape [3] is 12");
  refuses(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8,
          "tensor \"a\": data_offsets [8, 0] are not in order");
  refuses(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12,
          "tensor \"a\": its data begins at 4, which leaves a gap after 0");
  refuses(
      R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
      12, "tensor \"b\": its data begins at 4, which overlaps the one before, ending at 8");
  refuses(tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), 8,
          "tensor \"a\": dtype \"F31\" is not one that Tarn has");
  refuses(tensor(R"("dtype":"F32","shape":[2])"), 8, "tensor \"a\": data_offsets is missing");
  refuses(tensor(R"("dtype":"F32","data_offsets":[0,8])"), 8, "tensor \"a\": shape is missing");
  refuses(tensor(R"("shape":[2],"data_offsets":[0,8])"), 8, "tensor \"a\": dtype is missing");
  refuses(tensor(ok + R"(,"x":"y")"), 8, "tensor \"a\": unknown field \"x\"");
  refuses(tensor(ok + R"(,"shape":[2])"), 8, "tensor \"a\": field \"shape\" comes twice");
  refuses(tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8,
          "tensor \"a\": field \"shape\" may not hold a negative number");
  refuses(tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), 8,
          "tensor \"a\": field \"shape\" may not hold a number with a fraction");
  refuses(tensor(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), 8,
          "tensor \"a\": field \"shape\" may not hold an array");
  refuses(tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8,
          "tensor \"a\": field \"shape\" may not hold a number");
  refuses(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4,8])"), 8,
          "tensor \"a\": data_offsets must be two numbers, got 3");
  refuses(tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"), 4,
          "tensor \"a\": shape has more than 16 numbers");
  refuses(tensor(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8])"), 8,
          "tensor \"a\": shape [4611686018427387904, 4] is too large");
  refuses(tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), 8,
          "tensor \"a\": shape has a number over 2^62");
  refuses(R"({"a":{},"a":{}})", 0, "tensor \"a\": dtype is missing");
  refuses("{\"a\":{" + ok + "},\"a\":{" + ok + "}}", 8, "header member \"a\" comes twice");
  refuses(R"({"a":3})", 0, "header member \"a\" must be an object, got a number");
  refuses("[]", 0, "header must begin with '{'");
  refuses("{}{}", 0, "header is not JSON at byte 3");
  refuses(R"({"__metadata__":{"a":1}})", 0, "__metadata__: field \"a\" may not hold a number");
  refuses(R"({"__metadata__":{"a":"b","a":"c"}})", 0, "__metadata__: field \"a\" comes twice");
  refuses(tensor(R"("dtype":"BOOL","shape":[2],"data_offsets":[0,2])"), 2, "no error");
}

TEST_CASE("a header's length is checked before memory is taken for it") {
  CHECK(error_for("") == "is too short to be one: 0 bytes");
  CHECK(error_for("\1\2\3") == "is too short to be one: 3 bytes");
  CHECK(error_for(std::string(8, '\xff')) ==
        "header of 18446744073709551615 bytes, at most 100000000 are accepted");
  uint64_t length = 1000;
  CHECK(error_for(std::string(reinterpret_cast<char*>(&length), 8) + "{}") ==
        "header of 1000 bytes in a file of 10");
}

TEST_CASE("a bool that is neither 0 nor 1 is refused") {
  std::string file = with_header(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  file.back() = 2;
  CHECK(error_for(file) == "tensor \"a\": element 1 of BOOL is 2");
}

TEST_CASE("what is no file is named") {
  CHECK_ERROR(safetensors::load("/nowhere/x"),
              "safetensors: cannot open /nowhere/x: No such file or directory");
  TempDir folder;
  CHECK_ERROR(safetensors::load(folder.path()), "safetensors: " + folder.path() + " is not a regular file");
}

TEST_CASE("every truncation of a safetensors file is refused", "[fuzz]") {
  TempDir folder;
  safetensors::save(one_of_each(), folder / "x");
  std::string bytes = read_file(folder / "x");
  size_t refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    write_file(folder / "y", bytes.substr(0, length));
    refused += error_of([&] { safetensors::load(folder / "y"); }).rfind("safetensors: ", 0) == 0;
  }
  CHECK(refused == bytes.size());
}

TEST_CASE("a hundred thousand damages of a header are refused or give tensors within the file", "[fuzz]") {
  TempDir folder;
  safetensors::save(one_of_each(), folder / "x");
  std::string bytes = read_file(folder / "x");
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  std::mt19937 random(1);
  size_t refused = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string mutant = bytes;
    for (int edits = 1 + int(random() % 3); edits > 0; --edits)
      mutant[random() % (8 + header)] = char(random());
    write_file(folder / "y", mutant);
    try {
      size_t total = 0;
      for (auto& [name, tensor] : safetensors::load(folder / "y").tensors) total += tensor.nbytes();
      if (total > mutant.size()) FAIL("more bytes than the file has");
    } catch (const Error& e) {
      if (std::string(e.what()).rfind("safetensors: ", 0) != 0) FAIL("another error: " << e.what());
      ++refused;
    }
  }
  CHECK(refused > 80000);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("a save that fails leaves the old file and nothing else") {
  TempDir folder;
  safetensors::File first;
  first.tensors["x"] = tensor_of({1, 2});
  safetensors::save(first, folder / "x");
  std::string before = read_file(folder / "x");

  safetensors::File undefined;
  undefined.tensors["y"] = Tensor();
  CHECK_ERROR(safetensors::save(undefined, folder / "x"), "safetensors: tensor \"y\" is undefined");
  safetensors::File bad;
  bad.tensors["\xff"] = tensor_of({1});
  CHECK_ERROR(safetensors::save(bad, folder / "x"), "safetensors: names and metadata must be UTF-8");
  CHECK(read_file(folder / "x") == before);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"x"});

  CHECK(error_of([&] {
          safetensors::save(first, "/nowhere/x");
        }).find("save: cannot create /nowhere/x.tmp.") == 0);
  // A folder of that name cannot be replaced by the file.
  std::filesystem::create_directory(folder / "d");
  write_file(folder / "d/inside", "");
  CHECK(error_of([&] { safetensors::save(first, folder / "d"); }).find("cannot rename") != std::string::npos);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"d", "x"});
}

TEST_CASE("a file that cannot be written whole leaves the old one") {
  TempDir folder;
  safetensors::File file;
  file.tensors["x"] = formula_tensor({1000, 1000});
  safetensors::save({}, folder / "x");
  std::string before = read_file(folder / "x");
  // A limit on the size of files stands for a full disk.
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small{100000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string text = error_of([&] { safetensors::save(file, folder / "x"); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  CHECK(text.find("cannot write") != std::string::npos);
  CHECK(text.find("File too large") != std::string::npos);
  CHECK(read_file(folder / "x") == before);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace tarn
