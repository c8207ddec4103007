// Files of torch.save: what PyTorch wrote (golden/make.py) is read, everything else is refused by name.
#include <tarn/serialize/torch_file.h>

#include <cstring>
#include <random>

#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/nn/nn.h>
#include <tarn/optim/optim.h>
#include <tarn/serialize/serialize.h>
#include <tarn/serialize/unpickler.h>
#include <tarn/tests/data/files.h>
#include <tarn/tests/support.h>
#include <test_config.h>

namespace tarn {
namespace {

using namespace testing;

std::string golden(const std::string& name) { return TARN_TEST_DIR "/serialize/golden/" + name; }

// 0, 1, 2, ...
Tensor counted(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(dtype == kBool ? i != 0 : double(i));
  return tensor_of(values, dtype, sizes);
}

void check_plain(const IValue& file) {
  for (const auto& [name, value] : file.at("dtypes").toGenericDict()) {
    INFO(name.toStringRef());
    CHECK_SAME(value.toTensor(), counted({3}, value.toTensor().dtype()));
  }
  CHECK(file.at("dtypes").at("bfloat16").toTensor().dtype() == kBFloat16);
  CHECK(file.at("dtypes").toGenericDict().size() == 10);
  Tensor base = file.at("base").toTensor(), transposed = file.at("transposed").toTensor();
  CHECK_SAME(base, counted({4, 6}));
  CHECK(transposed.sizes() == IntArrayRef({6, 4}));
  CHECK(transposed.strides() == IntArrayRef({1, 6}));
  CHECK(transposed.is_alias_of(base));
  CHECK_SAME(file.at("row").toTensor(), tensor_of({6, 7, 8, 9, 10, 11}));
  CHECK(file.at("row").toTensor().is_alias_of(base));
  CHECK(file.at("scalar").toTensor().item<float>() == 2.5f);
  CHECK(file.at("empty").toTensor().sizes() == IntArrayRef({0, 3}));
  CHECK_SAME(file.at("expanded").toTensor(), tensor_of({7, 7, 7, 7, 7, 7}, kFloat, {2, 3}));
  CHECK(file.at("parameter").toTensor().requires_grad());
  CHECK(!base.requires_grad());

  const auto& ordered = file.at("ordered").toGenericDict();
  CHECK(ordered[0].first.toStringRef() == "z");
  CHECK(ordered[1].second.toInt() == 2);
  const auto& list = file.at("list").toListRef();
  REQUIRE(list.size() == 12);
  int64_t integers[] = {1, -5, 300, 70000, int64_t(1) << 40};
  for (int i = 0; i < 5; ++i) CHECK(list[i].toInt() == integers[i]);
  CHECK(list[5].toDouble() == 2.5);
  CHECK(list[6].toBool());
  CHECK(!list[7].toBool());
  CHECK(list[8].isNone());
  CHECK(list[9].toStringRef() == "text \xc3\xa9");
  CHECK(list[10].elements()[1].elements()[0].toInt() == 2);
  CHECK(list[11].elements().empty());
  CHECK(file.at("size").elements()[1].toInt() == 3);
  CHECK(file.at("dtype").toStringRef() == "torch.float16");
  CHECK(file.at("device").toStringRef() == "cuda:1");
}

TEST_CASE("what torch.save wrote is read, in the zip format, the old one and with a newer pickle") {
  for (const char* name : {"plain.pth", "legacy.pt", "protocol4.pth"}) {
    INFO(name);
    check_plain(load(golden(name)));
    std::string bytes = read_file(golden(name));
    check_plain(pickle_load(std::vector<char>(bytes.begin(), bytes.end())));
  }
}

struct Trained {
  nn::Linear linear{3, 2};
  nn::BatchNorm1d norm{2};
  nn::Sequential net{linear, norm};
  optim::SGD sgd{linear->parameters(), optim::SGDOptions(1).momentum(0.1)};
  optim::AdamW adam{norm->parameters(), optim::AdamWOptions(1)};
};

TEST_CASE("a module and its optimizers go on from PyTorch's files as they do in PyTorch") {
  Trained run;
  load(run.net, golden("module.pth"));
  load(run.sgd, golden("sgd.pth"));
  load(run.adam, golden("adamw.pth"));
  IValue steps = load(golden("steps.pth"));
  auto compare = [&](const char* when) {
    auto want = steps.at(when).toStateDict();
    auto got = run.net->state_dict();
    for (const auto& item : want) {
      INFO(when << " " << item.key());
      CHECK_CLOSE(got[item.key()], item.value());
    }
  };
  compare("before");
  run.net->forward(counted({4, 3}).sin()).square().sum().backward();
  run.sgd.step();
  run.adam.step();
  compare("after");
}

TEST_CASE("a convolutional net reads its state dict and computes what PyTorch does") {
  nn::Conv2d conv(nn::Conv2dOptions(2, 3, 3).padding(1).bias(false));
  nn::Sequential net(conv, nn::BatchNorm2d(3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                     nn::Linear(12, 4));
  IValue file = load(golden("conv.pth"));
  auto want = file.at("model").toStateDict();
  net->load_state_dict(want);
  auto got = net->state_dict();
  REQUIRE(got.size() == want.size());
  for (const auto& item : want) {
    INFO(item.key());
    CHECK_SAME(got[item.key()], item.value());
  }
  CHECK(file.at("run").at("epoch").toInt() == 3);
  net->eval();
  NoGradGuard no_grad;
  CHECK_CLOSE(net->forward(counted({1, 2, 4, 4}).cos()), file.at("run").at("output").toTensor());
}

TEST_CASE("what is no plain data is refused by the name of its class") {
  CHECK_ERROR(
      load(golden("unknown.pth")),
      "load: " + golden("unknown.pth") +
          ": holds an object of class or function __main__.Custom, which is not built from a file; only " +
          "tensors, numbers, texts, lists, tuples and dictionaries are. Save a state_dict()");
  auto names = [](const char* file, const char* name) {
    std::string error = error_of([&] { load(golden(file)); });
    INFO(error);
    return error.rfind(str("load: ", golden(file), ": holds an object of class or function ", name, ", "),
                       0) == 0;
  };
  CHECK(names("fraction.pth", "fractions.Fraction"));
  CHECK(names("whole.pth", "torch.nn.modules.container.Sequential"));
  CHECK_ERROR(load(golden("script.pt")),
              "load: " + golden("script.pt") +
                  ": is a TorchScript program; save the state_dict() of its module instead");
  CHECK_ERROR(load(golden("make.py")), "load: " + golden("make.py") + ": is not a file of torch.save");
  CHECK_ERROR(load("/nowhere/x.pth"), "load: cannot open /nowhere/x.pth: No such file or directory");
}

TEST_CASE("an IValue says what it is when it is asked for something else") {
  IValue file = load(golden("plain.pth"));
  CHECK_ERROR(file.toInt(), "IValue: this is a dictionary, not an integer");
  CHECK_ERROR(file.at("list").toStateDict(), "IValue: this is a list, not a dictionary");
  CHECK_ERROR(
      file.at("ordered").toStateDict(),
      "IValue: \"z\" is an integer, a state dict has tensors; take the part of the file that is one with "
      "at()");
  CHECK_ERROR(file.at("ordered").at("b"), "IValue: there is no \"b\" in this dictionary, which has: z, a");
}

// --- pickles written by hand ---

std::string error_of_pickle(const std::string& pickle) {
  return error_of([&] { detail::Unpickler(pickle, nullptr, "").run(); });
}

TEST_CASE("hostile pickles are refused, without deep recursion or leaks") {
  using namespace std::string_literals;
  CHECK(error_of_pickle("") == "the pickle ends in the middle, at byte 0");
  CHECK(error_of_pickle("]") == "the pickle ends in the middle, at byte 1");
  CHECK(error_of_pickle(".") == "the pickle takes a value from an empty stack at byte 1");
  CHECK(error_of_pickle("t.") == "the pickle goes back to a mark that it has not set at byte 1");
  CHECK(error_of_pickle("(].") == "no error");
  CHECK(error_of_pickle("cos\nsystem\n.").rfind("holds an object of class or function os.system, ", 0) == 0);
  CHECK(error_of_pickle("cposix\n\x1b[31m\n.").find("posix.?[31m") != std::string::npos);
  CHECK(error_of_pickle("ctorch\nFloatStorage\n.") ==
        "the pickle has a class or storage where a value should be");
  CHECK(error_of_pickle("\x80\x09.") == "pickle protocol 9 is not known");
  CHECK(error_of_pickle("I1\n.") == "pickle opcode 73 at byte 0 is not one that plain data needs");
  CHECK(error_of_pickle("NNR.") == "the pickle calls None at byte 3");
  CHECK(error_of_pickle("N]a.") == "the pickle appends to None at byte 3");
  CHECK(error_of_pickle("}(Nu.") == "the pickle sets a key without a value at byte 4");
  CHECK(error_of_pickle("h\1.") == "the pickle asks for value 1, which it has not kept, at byte 2");
  CHECK(error_of_pickle("\x8a\x09" + std::string(9, '\1') + ".") ==
        "an integer of 9 bytes does not fit in 64 bits");
  CHECK(error_of_pickle("X\xff\xff\xff\xff.") == "the pickle ends in the middle, at byte 6");
  CHECK(error_of_pickle("]q\1h\1a.") == "the pickle has a list that contains itself");
  CHECK(error_of_pickle("]q\1(h\1ta.") == "the pickle has a list that contains itself");
  CHECK(error_of_pickle(std::string(1000, ']') + std::string(999, 'a') + ".") ==
        "the pickle is nested deeper than 100 times");
  CHECK(error_of_pickle(std::string(1000000, ']') + std::string(999999, 'a') + ".") ==
        "the pickle is nested deeper than 100 times");
  CHECK(error_of_pickle("]q\1h\1a0N.") == "no error");
  // Each list of the outer one holds the one before, 50 levels down: none is deep where it is first met.
  std::string deep = "](]q\1";
  for (int i = 0; i < 4000; ++i) deep += std::string(50, ']') + "h\1" + std::string(50, 'a') + "q\1";
  CHECK(error_of_pickle(deep + "e.") == "the pickle is nested deeper than 100 times");
  auto twice = [](int first, int second) {
    std::string inner = std::string(first, ']') + std::string(first - 1, 'a') + "q\1";
    return "](" + inner + std::string(second, ']') + "h\1" + std::string(second, 'a') + "e.";
  };
  CHECK(error_of_pickle(twice(50, 49)) == "no error");
  CHECK(error_of_pickle(twice(50, 50)) == "the pickle is nested deeper than 100 times");
  // Ten lists, each with ten of the one before: shared, not copied.
  std::string laughs = "]q" + "\0"s;
  for (char level = 0; level < 10; ++level) {
    laughs += "0](";
    for (int i = 0; i < 10; ++i) laughs += std::string("h") + level;
    laughs += std::string("eq") + char(level + 1);
  }
  CHECK(error_of_pickle(laughs + ".") == "no error");
}

TEST_CASE("a few bytes of a pickle do not copy many") {
  // A list of 1000 pairs is kept as 1, a text of 1000 bytes as 2; each is then given to a class 1000 times.
  std::string pairs = "](";
  for (int i = 0; i < 1000; ++i) pairs += "NN\x86";
  pairs += "eq\1";
  auto calls = [&](const std::string& name, int count) {
    std::string pickle =
        pairs + "0" + "X" + std::string("\xe8\3\0\0", 4) + std::string(1000, 'x') + "q\2" + "0](";
    for (int i = 0; i < count; ++i) pickle += "c" + name + "R";
    return error_of_pickle(pickle + "e.");
  };
  std::string ordered = "collections\nOrderedDict\nh\1\x85";
  CHECK(calls(ordered, 3) == "no error");
  CHECK(calls(ordered, 1000) == "collections.OrderedDict is given more pairs than the pickle has bytes");
  CHECK(calls("torch\ndevice\nh\2\x85", 1) == "torch.device is given a long text");
  // A set takes the list itself.
  IValue two = detail::Unpickler("](" + pairs + "cbuiltins\nset\nh\1\x85Re.", nullptr, "").run();
  CHECK(two.elements()[0].elements().data() == two.elements()[1].elements().data());
}

TEST_CASE("integers keep their sign") {
  auto integer_of = [](const std::string& pickle) {
    return detail::Unpickler(pickle, nullptr, "").run().toInt();
  };
  CHECK(integer_of("\x8a\1\xff.") == -1);
  CHECK(integer_of("\x8a\2\xff\x7f.") == 32767);
  CHECK(integer_of(std::string("\x8a\0.", 3)) == 0);
  CHECK(integer_of("J\xfe\xff\xff\xff.") == -2);
}

struct Eight : detail::StorageReader {
  Tensor memory = detail::make_tensor({32}, kByte).zero_();
  Tensor read(const std::string&, uint64_t bytes) override {
    check(bytes == 32, "a storage of ", bytes, " bytes");
    return memory;
  }
};

std::string integer(int64_t value) {
  return "\x8a\x08" + std::string(reinterpret_cast<const char*>(&value), 8);
}
std::string text(const std::string& value) { return "\x8c" + std::string(1, char(value.size())) + value; }
std::string numbers(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (int64_t value : values) out += integer(value);
  return out + "t";
}

std::string error_of_tensor(int64_t offset, const std::vector<int64_t>& sizes,
                            const std::vector<int64_t>& strides, int64_t count = 8) {
  std::string pickle = "ctorch._utils\n_rebuild_tensor_v2\n(";
  pickle +=
      "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + integer(count) + "tQ";
  pickle += integer(offset) + numbers(sizes) + numbers(strides) + "\x89NtR.";
  Eight storages;
  return error_of([&] { detail::Unpickler(pickle, &storages, "").run(); });
}

TEST_CASE("a tensor outside its storage is refused, whatever its numbers do") {
  constexpr int64_t kHuge = int64_t(1) << 62;
  CHECK(error_of_tensor(0, {2, 4}, {4, 1}) == "no error");
  CHECK(error_of_tensor(7, {1}, {1}) == "no error");
  CHECK(error_of_tensor(100, {0}, {1}) == "no error");
  CHECK(error_of_tensor(1, {2, 4}, {4, 1}) ==
        "a tensor of sizes [2, 4], strides [4, 1] and offset 1 is outside its storage of 8 elements");
  for (auto& error : {error_of_tensor(8, {1}, {1}), error_of_tensor(-1, {1}, {1}),
                      error_of_tensor(0, {2}, {8}), error_of_tensor(kHuge, {2}, {kHuge}),
                      error_of_tensor(0, {kHuge}, {kHuge}), error_of_tensor(0, {kHuge, 8}, {0, 0}),
                      error_of_tensor(0, {kHuge}, {0}), error_of_tensor(0, {9}, {1})})
    CHECK(error.find("is outside its storage of 8 elements") != std::string::npos);
  CHECK(error_of_tensor(0, {-1}, {1}) == "a tensor's sizes and strides must be integers of at least 0");
  CHECK(error_of_tensor(0, {1}, {-1}) == "a tensor's sizes and strides must be integers of at least 0");
  CHECK(error_of_tensor(0, {1, 1}, {1}) == "a tensor has 2 sizes and 1 strides");
  CHECK(error_of_tensor(0, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1)) ==
        "a tensor has 17 dims, at most 16 are possible");
  CHECK(error_of_tensor(0, {1}, {1}, kHuge) == "a storage of 4611686018427387904 elements is not possible");
  CHECK(error_of_tensor(0, {1}, {1}, -1) == "a storage of -1 elements is not possible");
}

// --- damaged files ---

TEST_CASE("a changed byte of a tensor is found by the zip file's checksum") {
  std::string bytes = read_file(golden("plain.pth"));
  float five[] = {4, 5, 6};
  size_t at = bytes.find(std::string(reinterpret_cast<char*>(five), sizeof five));
  REQUIRE(at != std::string::npos);
  bytes[at + 2] = char(bytes[at + 2] ^ 1);
  TempDir folder;
  write_file(folder / "x", bytes);
  std::string error = error_of([&] { load(folder / "x"); });
  CHECK(error.find("/data/") != std::string::npos);
  CHECK(error.find("is damaged: CRC error") != std::string::npos);
}

TEST_CASE("the old format's storages are checked") {
  const std::string good = read_file(golden("legacy.pt"));
  auto error_with = [&](size_t at, const std::string& bytes) {
    std::string bad = good;
    bad.replace(at, bytes.size(), bytes);
    return error_of([&] { pickle_load(std::vector<char>(bad.begin(), bad.end())); });
  };
  // A storage is its count of elements in 8 bytes, then the elements.
  size_t bools = good.find(std::string("\3\0\0\0\0\0\0\0\0\1\1", 11));
  REQUIRE(bools != std::string::npos);
  CHECK(error_with(bools, "\3") == "no error");
  CHECK(error_with(bools + 9, "\2") == "pickle_load: the data a bool is neither 0 nor 1");
  CHECK(error_with(bools, "\4") == "pickle_load: the data has a storage of 4 elements in 3 bytes");
  // The list of keys stands before the first storage: make its second key the first.
  size_t keys = good.rfind("]q");
  REQUIRE(keys != std::string::npos);
  size_t first = good.find("X", keys), second = good.find("X", first + 1);
  uint32_t length = 0;
  std::memcpy(&length, &good[first + 1], sizeof length);
  REQUIRE(good.compare(second + 1, 4, good, first + 1, 4) == 0);
  CHECK(error_with(second + 5, good.substr(first + 5, length)) ==
        "pickle_load: the data has a storage twice");
}

TEST_CASE("compressed entries are refused") {
  std::string error = error_of([&] { load(golden("deflated.pth")); });
  CHECK(error.find("is compressed, which PyTorch never does") != std::string::npos);
}

TEST_CASE("a big-endian file is refused") {
  std::string zip_error = error_of([&] { load(golden("big_endian.pth")); });
  CHECK(zip_error.find("its byte order is \"big\"; only little-endian files are read") != std::string::npos);
  std::string bytes = read_file(golden("legacy.pt"));
  size_t at = bytes.find("little_endian");
  at = bytes.find('\x88', at);
  bytes[at] = '\x89';
  TempDir folder;
  write_file(folder / "x", bytes);
  CHECK_ERROR(load(folder / "x"),
              "load: " + (folder / "x") + ": is big-endian; only little-endian files are read");
}

TEST_CASE("every truncation of a file of torch.save is refused", "[fuzz]") {
  for (const char* name : {"plain.pth", "legacy.pt"}) {
    std::string bytes = read_file(golden(name));
    size_t refused = 0;
    for (size_t length = 0; length < bytes.size(); ++length) {
      std::vector<char> part(bytes.begin(), bytes.begin() + ptrdiff_t(length));
      refused += error_of([&] { pickle_load(part); }).rfind("pickle_load: the data ", 0) == 0;
    }
    CHECK(refused == bytes.size());
  }
}

TEST_CASE("mutants of files of torch.save are refused or give tensors within the file", "[fuzz]") {
  std::mt19937 random(1);
  for (const char* name : {"plain.pth", "legacy.pt", "protocol4.pth"}) {
    std::string bytes = read_file(golden(name));
    size_t refused = 0;
    constexpr size_t kMutants = 2000;
    for (size_t i = 0; i < kMutants; ++i) {
      std::vector<char> mutant(bytes.begin(), bytes.end());
      for (int edits = 1 + int(random() % 3); edits > 0; --edits)
        mutant[random() % mutant.size()] = char(random());
      std::string error = error_of([&] {
        const IValue file = pickle_load(mutant);
        if (!file.isGenericDict()) return;
        for (const auto& [key, value] : file.toGenericDict())
          if (value.isTensor())
            bytes_of(value.toTensor().numel() < 10000 ? value.toTensor() : Tensor(counted({1})));
      });
      if (error == "no error") continue;
      if (error.rfind("pickle_load: the data ", 0) != 0) FAIL("another error: " << error);
      ++refused;
    }
    INFO(name);
    CHECK(refused > kMutants / 4);
  }
}

// The checksums keep the mutants above from the pickle of a zip file: here it is read by itself.
TEST_CASE("mutants of a pickle of protocol 4 are refused or give values", "[fuzz]") {
  struct Zeros : detail::StorageReader {
    Tensor read(const std::string&, uint64_t bytes) override {
      check(bytes <= 1000, "too many bytes");
      return detail::make_tensor({int64_t(bytes)}, kByte).zero_();
    }
  } zeros;
  const std::string file = read_file(golden("protocol4.pth"));
  std::string pickle = file.substr(file.find("\x80\x04"));
  detail::Unpickler whole(pickle, &zeros, "");
  REQUIRE(whole.run().isGenericDict());
  pickle.resize(whole.position());
  std::mt19937 random(2);
  size_t refused = 0;
  constexpr size_t kMutants = 2000;
  for (size_t i = 0; i < kMutants; ++i) {
    std::string mutant = pickle;
    for (int edits = 1 + int(random() % 3); edits > 0; --edits)
      mutant[random() % mutant.size()] = char(random());
    refused += error_of([&] { detail::Unpickler(mutant, &zeros, "x").run(); }) != "no error";
  }
  CHECK(refused > kMutants / 4);
  CHECK(refused < kMutants);
}

}  // namespace
}  // namespace tarn
