// What the classes and functions named in a pickle build: tensors, parameters, dictionaries, sizes.
#include <algorithm>

#include <tarn/core/ivalue_content.h>
#include <tarn/serialize/unpickler.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kNameShown = 100;

struct DtypeName {
  const char* dtype;    // torch.float32
  const char* storage;  // torch.FloatStorage
  ScalarType type;
};
constexpr DtypeName kDtypes[] = {
    {"float32", "FloatStorage", kFloat}, {"float64", "DoubleStorage", kDouble},
    {"float16", "HalfStorage", kHalf},   {"bfloat16", "BFloat16Storage", kBFloat16},
    {"int64", "LongStorage", kLong},     {"int32", "IntStorage", kInt},
    {"int16", "ShortStorage", kShort},   {"int8", "CharStorage", kChar},
    {"uint8", "ByteStorage", kByte},     {"bool", "BoolStorage", kBool}};

// Functions and classes that may be called.
constexpr const char* kCallable[] = {"collections.OrderedDict",
                                     "torch._utils._rebuild_tensor",
                                     "torch._utils._rebuild_tensor_v2",
                                     "torch._utils._rebuild_tensor_v3",
                                     "torch._utils._rebuild_parameter",
                                     "torch.Size",
                                     "torch.device",
                                     "builtins.set",
                                     "__builtin__.set"};
constexpr const char* kUntyped[] = {"torch.storage.UntypedStorage", "torch.UntypedStorage"};

// The element type of a storage class; Undefined for a name that is none.
ScalarType storage_dtype(const std::string& name) {
  for (const char* untyped : kUntyped)
    if (name == untyped) return kByte;
  for (const DtypeName& d : kDtypes)
    if (name == str("torch.", d.storage)) return d.type;
  return ScalarType::Undefined;
}

// Of a text like "torch.float32", which is what a dtype in a file becomes.
ScalarType dtype_named(const std::string& name) {
  for (const DtypeName& d : kDtypes)
    if (name == str("torch.", d.dtype)) return d.type;
  return ScalarType::Undefined;
}

// Names come from the file: cut, and safe to print.
std::string shown(std::string name) {
  if (name.size() > kNameShown) name = name.substr(0, kNameShown) + "...";
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  return name;
}

}  // namespace

bool Unpickler::is_class(const IValue& value) const {
  return value.isNone() && value.content_ && !value.content_->storage.defined();
}

// A class is a None with content, which never leaves the reader; a dtype becomes its name.
void Unpickler::find_class(const std::string& module, const std::string& name) {
  std::string full = module + "." + name;
  if (dtype_named(full) != ScalarType::Undefined) return push(full);
  bool known = std::find(std::begin(kCallable), std::end(kCallable), full) != std::end(kCallable) ||
               storage_dtype(full) != ScalarType::Undefined;
  require(
      known, "holds an object of class or function ", shown(full),
      ", which is not built from a file; only tensors, numbers, texts, lists, tuples and dictionaries are. ",
      "Save a state_dict()");
  IValue value;
  value.content_ = std::make_shared<Content>();
  value.content_->text = full;
  push(std::move(value));
}

void Unpickler::reduce() {
  IValue args = pop(), callable = pop();
  require(is_class(callable), "the pickle calls ", callable.kindName(), " at byte ", at_);
  require(args.isTuple(), "the pickle calls ", callable.content_->text, " with ", args.kindName());
  push(call(callable.content_->text, args.elements()));
}

// The attributes that Module.state_dict() hangs on its dictionary are versions of layers.
void Unpickler::build() {
  pop();
  require(top().isGenericDict(), "the pickle sets attributes of ", top().kindName(), " at byte ", at_);
}

// ('storage', torch.FloatStorage, key, device, elements)
void Unpickler::persistent_load() {
  IValue id = pop();
  bool good = id.isTuple() && id.elements().size() >= 5;
  if (good) {
    const auto& e = id.elements();
    good = e[0].isString() && e[0].toStringRef() == "storage" && is_class(e[1]) && e[2].isString() &&
           e[4].isInt();
  }
  require(good && storages_, "the pickle has a reference that is not to a storage of this file, at byte ",
          at_);
  const auto& e = id.elements();
  std::string key = shown(e[2].toStringRef());
  require(key == e[2].toStringRef(), "a storage has the key ", key);
  require(e.size() == 5 || e[5].isNone(), "storage ", key,
          " is a view of another one, which is not supported");
  ScalarType dtype = storage_dtype(e[1].content_->text);
  require(dtype != ScalarType::Undefined, e[1].content_->text, " is not a class of storages");
  int64_t count = e[4].toInt(), bytes = 0;
  bool fits = count >= 0 && !__builtin_mul_overflow(count, int64_t(element_size(dtype)), &bytes);
  require(fits, "a storage of ", count, " elements is not possible");
  IValue value;
  value.content_ = std::make_shared<Content>();
  value.content_->storage = storages_->read(key, uint64_t(bytes));
  value.content_->dtype = dtype;
  push(std::move(value));
}

// --- what classes build ---

IValue Unpickler::call(const std::string& name, const std::vector<IValue>& args) {
  auto has = [&](size_t count) { require(args.size() >= count, name, " has ", args.size(), " arguments"); };
  if (name == "collections.OrderedDict") return ordered_dict(args);
  if (name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2") {
    has(4);
    return tensor(args, ScalarType::Undefined);
  }
  if (name == "torch._utils._rebuild_tensor_v3") {
    has(7);
    require(args[6].isString(), name, ": its dtype is ", args[6].kindName());
    ScalarType dtype = dtype_named(args[6].toStringRef());
    require(dtype != ScalarType::Undefined, shown(args[6].toStringRef()), " is not a dtype that Tarn has");
    return tensor(args, dtype);
  }
  has(1);
  if (name == "torch._utils._rebuild_parameter") {
    require(args[0].isTensor(), name, " is given ", args[0].kindName());
    Tensor data = args[0].toTensor();
    bool wants = args.size() > 1 && args[1].isBool() && args[1].toBool() && data.is_floating_point();
    return wants ? data.detach().requires_grad_() : data;
  }
  if (name == "torch.Size") {
    std::vector<IValue> sizes;
    for (int64_t size : integers(args[0])) sizes.push_back(size);
    return container(IValue::tuple(std::move(sizes)));
  }
  if (name == "torch.device") {
    bool good = args[0].isString() && args[0].toStringRef().size() <= kNameShown;
    require(good, "torch.device is given ", args[0].isString() ? "a long text" : args[0].kindName());
    bool index = args.size() > 1 && args[1].isInt();
    return index ? IValue(str(args[0].toStringRef(), ":", args[1].toInt())) : args[0];
  }
  require(name.ends_with(".set") && args[0].isList(), "the pickle calls ", name, " with ",
          args[0].kindName());
  return args[0];
}

IValue Unpickler::ordered_dict(const std::vector<IValue>& args) {
  IValue dict = container(IValue::dict());
  if (args.empty()) return dict;
  require(args[0].isList(), "collections.OrderedDict is given ", args[0].kindName());
  // A list that is kept can be copied by a few bytes, but each of a real file's pairs has some of its own.
  copied_ += args[0].elements().size();
  require(copied_ <= bytes_.size(), "collections.OrderedDict is given more pairs than the pickle has bytes");
  for (const IValue& pair : args[0].elements()) {
    bool good = (pair.isTuple() || pair.isList()) && pair.elements().size() == 2;
    require(good, "collections.OrderedDict is given something else than pairs");
    dict.content_->items.emplace_back(pair.elements()[0], pair.elements()[1]);
  }
  return dict;
}

std::vector<int64_t> Unpickler::integers(const IValue& value) const {
  require(value.isTuple() || value.isList(), "a tensor's sizes are ", value.kindName());
  require(value.elements().size() <= kMaxRank, "a tensor has ", value.elements().size(), " dims, at most ",
          kMaxRank, " are possible");
  std::vector<int64_t> out;
  for (const IValue& e : value.elements()) {
    require(e.isInt() && e.toInt() >= 0, "a tensor's sizes and strides must be integers of at least 0");
    out.push_back(e.toInt());
  }
  return out;
}

// Arguments: storage, offset in elements, sizes, strides, requires_grad.
IValue Unpickler::tensor(const std::vector<IValue>& args, ScalarType dtype) {
  require(args[0].content_ && args[0].content_->storage.defined() && args[1].isInt(),
          "a tensor is built from ", args[0].kindName(), " and ", args[1].kindName());
  const Tensor& bytes = args[0].content_->storage;
  if (dtype == ScalarType::Undefined) dtype = args[0].content_->dtype;
  int64_t offset = args[1].toInt(), have = bytes.numel() / int64_t(element_size(dtype));
  std::vector<int64_t> sizes = integers(args[2]), strides = integers(args[3]);
  require(sizes.size() == strides.size(), "a tensor has ", sizes.size(), " sizes and ", strides.size(),
          " strides");
  int64_t last = offset, numel = 1, total = 0;
  bool fits = offset >= 0;
  for (size_t d = 0; d < sizes.size() && fits; ++d) {
    int64_t reach = 0;
    fits = !__builtin_mul_overflow(numel, sizes[d], &numel) &&
           (sizes[d] == 0 || (!__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
                              !__builtin_add_overflow(last, reach, &last)));
  }
  fits = fits && !__builtin_mul_overflow(numel, int64_t(element_size(dtype)), &total);
  require(fits && (numel == 0 || last < have), "a tensor of sizes ", str(sizes), ", strides ", str(strides),
          " and offset ", offset, " is outside its storage of ", have, " elements");
  if (dtype == kBool && bools_.insert(bytes.data_ptr()).second) {
    const auto* values = static_cast<const unsigned char*>(bytes.data_ptr());
    require(std::all_of(values, values + bytes.numel(), [](unsigned char v) { return v <= 1; }),
            "a bool is neither 0 nor 1");
  }
  TensorImpl* impl = new_impl(bytes.get().storage, dtype);
  Tensor out(Ref<TensorImpl>::adopt(impl));
  impl->offset = numel == 0 ? 0 : offset;
  set_geometry(*impl, sizes, strides);
  bool wants = args.size() > 4 && args[4].isBool() && args[4].toBool() && is_floating(dtype);
  return wants ? out.requires_grad_() : out;
}

}  // namespace tarn::inline v1::detail
