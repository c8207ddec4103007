#include <tarn/serialize/header.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <tarn/core/fault.h>

namespace tarn::inline v1::safetensors {

namespace {

using Json = nlohmann::json;

struct TypeName {
  ScalarType dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {{kBool, "BOOL"}, {kByte, "U8"},   {kChar, "I8"},  {kShort, "I16"},
                               {kInt, "I32"},   {kLong, "I64"},  {kHalf, "F16"}, {kBFloat16, "BF16"},
                               {kFloat, "F32"}, {kDouble, "F64"}};

const char* name_of(ScalarType dtype) {
  for (const TypeName& type : kTypes)
    if (type.dtype == dtype) return type.name;
  fail("safetensors: cannot store dtype ", dtype);
}

// Names come from the file: cut, and safe to print.
std::string shown(const std::string& name) {
  std::string text = Json(name.substr(0, 80)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return name.size() > 80 ? text + "..." : text;
}

// Builds a Header from the parser's events. Anything but {name: {dtype, shape, data_offsets}, __metadata__:
// {text: text}} stops it at once; so does a name that comes twice, which a tree of values would hide.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Header header;

  bool null() override { return refuse_value("null"); }
  bool boolean(bool) override { return refuse_value("a boolean"); }
  bool number_float(number_float_t, const string_t&) override {
    return refuse_value("a number with a fraction");
  }
  bool number_integer(number_integer_t) override { return refuse_value("a negative number"); }
  bool binary(binary_t&) override { return refuse_value("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) return refuse_value("a number");
    constexpr uint64_t kMax = uint64_t(1) << 62;
    if (value > kMax) refuse_tensor(field_, " has a number over 2^62");
    numbers_.push_back(int64_t(value));
    // A limit on memory: a shape of a hundred million ones is refused while it is read.
    if (numbers_.size() > kMaxRank) refuse_tensor(field_, " has more than ", kMaxRank, " numbers");
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      header.metadata[field_] = std::move(value);
    } else if (depth_ == 2 && !in_array_ && field_ == "dtype") {
      set_dtype(value);
    } else {
      return refuse_value("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 2 || in_array_) return refuse_value("an object");
    ++depth_;
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      begin_member(name);
    } else {
      field_ = name;
      if (in_metadata_) {
        if (header.metadata.count(name)) refuse_tensor("field ", shown(name), " comes twice");
      } else {
        begin_field(name);
      }
    }
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_) end_tensor();
    if (depth_ == 1) in_metadata_ = false;
    return true;
  }

  bool start_array(std::size_t) override {
    bool allowed = depth_ == 2 && !in_array_ && !in_metadata_ && field_ != "dtype";
    if (!allowed) return refuse_value("an array");
    in_array_ = true;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    if (field_ == "shape") {
      entry_.sizes = Dims(IntArrayRef(numbers_));
    } else {
      if (numbers_.size() != 2) refuse_tensor("data_offsets must be two numbers, got ", numbers_.size());
      entry_.begin = uint64_t(numbers_[0]);
      entry_.end = uint64_t(numbers_[1]);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(where_, "header is not JSON at byte ", position);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse_tensor(const Parts&... parts) const {
    fail(where_, in_metadata_ ? "__metadata__: " : str("tensor ", shown(name_), ": "), parts...);
  }

  bool refuse_value(const char* what) const {
    if (depth_ == 0) fail(where_, "header must be an object, got ", what);
    if (depth_ == 1) fail(where_, "header member ", shown(name_), " must be an object, got ", what);
    refuse_tensor("field ", shown(field_), " may not hold ", what);
  }

  void begin_member(const std::string& name) {
    if (header.entries.count(name) || (name == "__metadata__" && metadata_seen_))
      fail(where_, "header member ", shown(name), " comes twice");
    name_ = name;
    in_metadata_ = name == "__metadata__";
    metadata_seen_ |= in_metadata_;
    entry_ = {};
    seen_.clear();
  }

  void begin_field(const std::string& name) {
    bool known = name == "dtype" || name == "shape" || name == "data_offsets";
    if (!known) refuse_tensor("unknown field ", shown(name));
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end())
      refuse_tensor("field ", shown(name), " comes twice");
    seen_.push_back(name);
  }

  void set_dtype(const std::string& text) {
    for (const TypeName& type : kTypes) {
      if (text != type.name) continue;
      entry_.dtype = type.dtype;
      return;
    }
    refuse_tensor("dtype ", shown(text), " is not one that Tarn has");
  }

  void end_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (std::find(seen_.begin(), seen_.end(), field) == seen_.end()) refuse_tensor(field, " is missing");
    header.entries.emplace(name_, entry_);
  }

  const std::string& where_;
  int depth_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
  bool metadata_seen_ = false;
  std::string name_, field_;
  std::vector<std::string> seen_;
  std::vector<int64_t> numbers_;
  Entry entry_;
};

// shape times element size, or nothing if it does not fit.
bool bytes_of(const Entry& entry, uint64_t& bytes) {
  bool empty = std::find(entry.sizes.begin(), entry.sizes.end(), 0) != entry.sizes.end();
  unsigned __int128 product = empty ? 0 : element_size(entry.dtype);
  for (int64_t size : entry.sizes) {
    product *= uint64_t(size);
    if (product >> 62) return false;
  }
  bytes = uint64_t(product);
  return true;
}

void check_entry(const std::string& name, const Entry& entry, const std::string& where) {
  std::string what = str(where, "tensor ", shown(name), ": ");
  std::string offsets = str("data_offsets [", entry.begin, ", ", entry.end, "]");
  check(entry.begin <= entry.end, what, offsets, " are not in order");
  uint64_t bytes = 0;
  check(bytes_of(entry, bytes), what, "shape ", entry.sizes, " is too large");
  check(bytes == entry.end - entry.begin, what, offsets, " are ", entry.end - entry.begin, " bytes, ",
        name_of(entry.dtype), " of shape ", entry.sizes, " is ", bytes);
}

// The format leaves no byte of the data to nobody and none to two.
void check_cover(const Header& header, uint64_t data_bytes, const std::string& where) {
  std::vector<std::pair<const Entry*, const std::string*>> order;
  for (const auto& [name, entry] : header.entries) order.push_back({&entry, &name});
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  uint64_t expected = 0;
  if (tarn::detail::fault(43)) return;
  for (const auto& [entry, name] : order) {
    check(entry->begin == expected, where, "tensor ", shown(*name), ": its data begins at ", entry->begin,
          entry->begin < expected ? ", which overlaps the one before, ending at "
                                  : ", which leaves a gap after ",
          expected);
    expected = entry->end;
  }
  check(expected == data_bytes, where, "the tensors take ", expected, " bytes, the file has ", data_bytes,
        " after the header");
}

}  // namespace

Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& where) {
  check(!text.empty() && text[0] == '{', where, "header must begin with '{'");
  Reader reader(where);
  Json::sax_parse(text.begin(), text.end(), &reader);
  for (const auto& [name, entry] : reader.header.entries) check_entry(name, entry, where);
  check_cover(reader.header, data_bytes, where);
  return std::move(reader.header);
}

std::string write_header(const Header& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  for (const auto& [name, entry] : header.entries) {
    check(name != "__metadata__", "safetensors: a tensor may not be named __metadata__");
    json[name] = {{"dtype", name_of(entry.dtype)},
                  {"shape", std::vector<int64_t>(entry.sizes.begin(), entry.sizes.end())},
                  {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::type_error&) {
    fail("safetensors: names and metadata must be UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  check(text.size() <= kMaxHeaderBytes, "safetensors: the header takes ", text.size(),
        " bytes, readers accept ", kMaxHeaderBytes);
  return text;
}

}  // namespace tarn::inline v1::safetensors
