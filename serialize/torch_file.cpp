#include <tarn/serialize/torch_file.h>

#include <zip.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include <tarn/serialize/files.h>
#include <tarn/serialize/unpickler.h>

namespace tarn::inline v1 {

static_assert(std::endian::native == std::endian::little, "PyTorch files are read as they lie");

namespace {

using detail::InputFile;
using detail::Unpickler;

// The bytes of a file, on the disk or in memory.
struct Bytes {
  uint64_t size = 0;
  std::function<void(void* to, uint64_t bytes, uint64_t at)> read;

  std::string text(uint64_t at, uint64_t bytes) const {
    std::string out(bytes, '\0');
    read(out.data(), bytes, at);
    return out;
  }
};

// Storages by key, each read once. All of them together have no more bytes than the file.
class Storages : public detail::StorageReader {
 public:
  Storages(uint64_t file_bytes, const std::string& where) : where_(where), left_(file_bytes) {}

  Tensor read(const std::string& key, uint64_t bytes) override {
    auto found = tensors_.find(key);
    if (found == tensors_.end()) {
      check(bytes <= left_, where_, "its storages have more bytes than the file");
      left_ -= bytes;
      found = tensors_.emplace(key, fetch(key, bytes)).first;
    }
    check(uint64_t(found->second.numel()) == bytes, where_, "a storage has ", found->second.numel(),
          " bytes, a tensor says ", bytes);
    return found->second;
  }

 protected:
  virtual Tensor fetch(const std::string& key, uint64_t bytes) = 0;
  static Tensor memory(uint64_t bytes) { return detail::make_tensor({int64_t(bytes)}, kByte); }

  const std::string& where_;
  std::map<std::string, Tensor> tensors_;

 private:
  uint64_t left_;
};

// --- the zip format: archive/data.pkl, archive/data/KEY, archive/byteorder, all uncompressed ---

constexpr uint64_t kMaxSmallFile = 1000;

class ZipFile {
 public:
  ZipFile(zip_source_t* source, zip_error_t* error, std::string where) : where_(std::move(where)) {
    zip_ = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error) : nullptr;
    if (!zip_ && source) zip_source_free(source);
    std::string text = zip_ ? "" : zip_error_strerror(error);
    zip_error_fini(error);
    check(zip_ != nullptr, where_, "cannot be read as a zip file: ", text);
  }
  ~ZipFile() { zip_discard(zip_); }
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip_, 0); ++i)
      if (const char* name = zip_get_name(zip_, zip_uint64_t(i), ZIP_FL_ENC_RAW)) out.push_back(name);
    return out;
  }

  bool has(const std::string& name) const { return zip_name_locate(zip_, name.c_str(), ZIP_FL_ENC_RAW) >= 0; }

  uint64_t size(const std::string& name) const {
    zip_stat_t stat;
    bool found = zip_stat(zip_, name.c_str(), ZIP_FL_ENC_RAW, &stat) == 0;
    check(found && (stat.valid & ZIP_STAT_SIZE), where_, name, " is missing");
    bool stored = (stat.valid & ZIP_STAT_COMP_METHOD) && stat.comp_method == ZIP_CM_STORE &&
                  (stat.valid & ZIP_STAT_COMP_SIZE) && stat.comp_size == stat.size;
    check(stored, where_, name, " is compressed, which PyTorch never does");
    return stat.size;
  }

  // All of an entry; the checksum is verified at its end.
  void read(const std::string& name, void* to, uint64_t bytes) const {
    zip_file_t* file = zip_fopen(zip_, name.c_str(), ZIP_FL_ENC_RAW);
    check(file != nullptr, where_, name, " cannot be read: ", zip_strerror(zip_));
    char* next = static_cast<char*>(to);
    zip_int64_t got = 1;
    while (bytes > 0 && got > 0) {
      got = zip_fread(file, next, std::min<uint64_t>(bytes, 1 << 30));
      if (got > 0) next += got, bytes -= uint64_t(got);
    }
    char more;
    if (got >= 0 && bytes == 0) got = zip_fread(file, &more, 1);
    std::string error = got < 0 ? zip_file_strerror(file) : "";
    zip_fclose(file);
    check(error.empty(), where_, name, " is damaged: ", error);
    check(bytes == 0 && got == 0, where_, name, " has another length than the zip file says");
  }

  std::string text(const std::string& name) const {
    std::string out(size(name), '\0');
    read(name, out.data(), out.size());
    return out;
  }

 private:
  std::string where_;
  zip_t* zip_ = nullptr;
};

class ZipStorages : public Storages {
 public:
  ZipStorages(const ZipFile& zip, std::string prefix, uint64_t file_bytes, const std::string& where)
      : Storages(file_bytes, where), zip_(zip), prefix_(std::move(prefix)) {}

 private:
  Tensor fetch(const std::string& key, uint64_t bytes) override {
    std::string name = prefix_ + "data/" + key;
    uint64_t have = zip_.size(name);
    check(have == bytes, where_, name, " has ", have, " bytes, a tensor says ", bytes);
    Tensor tensor = memory(bytes);
    zip_.read(name, bytes > 0 ? tensor.data_ptr() : nullptr, bytes);
    return tensor;
  }

  const ZipFile& zip_;
  std::string prefix_;
};

// "archive/" of "archive/data.pkl".
std::string prefix_of(const ZipFile& zip, const std::string& where) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const std::string& name : zip.names()) {
    if (!name.ends_with(kPickle)) continue;
    std::string prefix = name.substr(0, name.size() - kPickle.size());
    check(!zip.has(prefix + "constants.pkl"), where,
          "is a TorchScript program; save the state_dict() of its module instead");
    if (prefix.empty() || prefix.find('/') == prefix.size() - 1) return prefix;
  }
  fail(where, "is a zip file, but not one of torch.save: data.pkl is missing");
}

IValue load_zip(const ZipFile& zip, uint64_t file_bytes, const std::string& where) {
  std::string prefix = prefix_of(zip, where), order = prefix + "byteorder";
  if (zip.has(order)) {
    check(zip.size(order) <= kMaxSmallFile, where, order, " is too long");
    std::string text = zip.text(order);
    check(text == "little", where, "its byte order is \"", text, "\"; only little-endian files are read");
  }
  ZipStorages storages(zip, prefix, file_bytes, where);
  check(zip.size(prefix + "data.pkl") <= file_bytes, where, "data.pkl is longer than the file");
  std::string pickle = zip.text(prefix + "data.pkl");
  return Unpickler(pickle, &storages, where).run();
}

// --- the format before PyTorch 1.6: pickles of a magic number, a version, facts about the machine, the
// object and the storages' keys, then the storages ---

constexpr int64_t kLegacyVersion = 1001;
constexpr std::string_view kLegacyMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);

// Storages get their bytes at the end.
class LegacyStorages : public Storages {
 public:
  using Storages::Storages;

  void fill(const Bytes& file, uint64_t at, const IValue& keys) {
    std::set<std::string> filled;
    for (const IValue& key : keys.elements()) {
      check(key.isString(), where_, "the key of a storage is ", key.kindName());
      auto found = tensors_.find(key.toStringRef());
      check(found != tensors_.end(), where_, "has a storage that belongs to no tensor");
      check(filled.insert(found->first).second, where_, "has a storage twice");
      Tensor& tensor = found->second;
      uint64_t bytes = uint64_t(tensor.numel()), count = 0;
      check(file.size - at >= 8 && file.size - at - 8 >= bytes, where_, "ends in the middle of a storage");
      file.read(&count, sizeof count, at);
      check(count <= bytes && bytes <= 8 * count, where_, "has a storage of ", count, " elements in ", bytes,
            " bytes");
      if (bytes > 0) file.read(tensor.data_ptr(), bytes, at + 8);
      at += 8 + bytes;
    }
    check(filled.size() == tensors_.size(), where_, "holds ", filled.size(), " of its tensors' ",
          tensors_.size(), " storages");
  }

 private:
  Tensor fetch(const std::string&, uint64_t bytes) override { return memory(bytes).zero_(); }
};

IValue load_legacy(const Bytes& file, const std::string& where) {
  // The pickles stand before the storages, whose beginning is not known yet.
  std::string text = file.text(0, file.size);
  std::string_view rest = text;
  LegacyStorages storages(file.size, where);
  auto next = [&](bool with_tensors) {
    Unpickler reader(rest, with_tensors ? &storages : nullptr, where);
    IValue value = reader.run();
    rest.remove_prefix(reader.position());
    return value;
  };
  rest.remove_prefix(kLegacyMagic.size());
  IValue version = next(false);
  check(version.isInt() && version.toInt() == kLegacyVersion, where, "is of an unknown version");
  IValue machine = next(false);
  check(machine.isGenericDict() && machine.contains("little_endian"), where, "does not say its byte order");
  const IValue& little = machine.at("little_endian");
  check(little.isBool() && little.toBool(), where, "is big-endian; only little-endian files are read");
  // The object is read twice: what its tensors hold is checked when they are made, but where the storages
  // begin is known after the keys only.
  std::string_view object = rest;
  next(true);
  IValue keys = next(false);
  check(keys.isList(), where, "has no list of its storages");
  storages.fill(file, text.size() - rest.size(), keys);
  rest = object;
  return next(true);
}

IValue load_bytes(const Bytes& file, zip_source_t* (*open)(const void*, zip_error_t*), const void* what,
                  const std::string& where) {
  std::string start = file.text(0, std::min<uint64_t>(file.size, kLegacyMagic.size()));
  if (start == kLegacyMagic) return load_legacy(file, where);
  check(start.rfind("PK", 0) == 0, where, "is not a file of torch.save");
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = open(what, &error);
  ZipFile zip(source, &error, where);
  return load_zip(zip, file.size, where);
}

}  // namespace

IValue load(const std::string& path) {
  InputFile input("load", path);
  Bytes file{input.size(), [&](void* to, uint64_t bytes, uint64_t at) { input.read(to, bytes, at); }};
  auto open = [](const void* name, zip_error_t* error) {
    return zip_source_file_create(static_cast<const char*>(name), 0, -1, error);
  };
  return load_bytes(file, open, path.c_str(), "load: " + path + ": ");
}

IValue pickle_load(const std::vector<char>& data) {
  Bytes file{data.size(), [&](void* to, uint64_t bytes, uint64_t at) {
               if (bytes > 0) std::memcpy(to, data.data() + at, bytes);
             }};
  auto open = [](const void* bytes, zip_error_t* error) {
    const auto& all = *static_cast<const std::vector<char>*>(bytes);
    return zip_source_buffer_create(all.data(), all.size(), 0, error);
  };
  return load_bytes(file, open, &data, "pickle_load: the data ");
}

namespace detail {

bool is_torch_file(const std::string& path) {
  InputFile file("load", path);
  char start[4] = {};
  file.read(start, std::min<uint64_t>(file.size(), sizeof start), 0);
  return std::memcmp(start, "PK\3\4", 4) == 0 || std::memcmp(start, kLegacyMagic.data(), 4) == 0;
}

namespace {

constexpr const char* kPeerOptions[] = {"foreach", "fused", "capturable", "differentiable",
                                        "decoupled_weight_decay"};

Tensor number(double value) { return make_tensor({}, kDouble).fill_(value); }

std::string key_text(const IValue& key) {
  check(key.isInt() || key.isString(), "optimizer state: a key is ", key.kindName());
  return key.isInt() ? str(key.toInt()) : key.toStringRef();
}

// One option or state of a parameter; a list of indices is a vector, a pair of numbers two entries.
void put(optim::Optimizer::State& out, const std::string& path, const IValue& value) {
  if (value.isNone()) return;
  if (value.isTensor()) {
    out.insert(path, value.toTensor());
  } else if (value.isBool()) {
    out.insert(path, number(value.toBool()));
  } else if (value.isInt() || value.isDouble()) {
    out.insert(path, number(value.toDouble()));
  } else if (value.isTuple()) {
    for (size_t i = 0; i < value.elements().size(); ++i) put(out, str(path, ".", i), value.elements()[i]);
  } else {
    check(value.isList(), "optimizer state: ", path, " is ", value.kindName());
    Tensor indices = make_tensor({int64_t(value.elements().size())}, kLong);
    for (size_t i = 0; i < value.elements().size(); ++i)
      indices.data_ptr<int64_t>()[i] = value.elements()[i].toInt();
    out.insert(path, indices);
  }
}

}  // namespace

optim::Optimizer::State optimizer_state(const IValue& state_dict) {
  NoGradGuard no_grad;
  optim::Optimizer::State out;
  for (const auto& [index, values] : state_dict.at("state").toGenericDict())
    for (const auto& [name, value] : values.toGenericDict())
      put(out, str("state.", key_text(index), ".", key_text(name)), value);
  size_t group = 0;
  for (const IValue& options : state_dict.at("param_groups").toListRef()) {
    for (const auto& [name, value] : options.toGenericDict()) {
      std::string key = key_text(name);
      bool peers = std::find(std::begin(kPeerOptions), std::end(kPeerOptions), key) != std::end(kPeerOptions);
      if (!peers) put(out, str("param_groups.", group, ".", key), value);
    }
    ++group;
  }
  return out;
}

}  // namespace detail

}  // namespace tarn::inline v1
