#include <tarn/core/ivalue_content.h>

namespace tarn::inline v1 {

namespace {

const char* name_of(IValue::Kind kind) {
  static constexpr const char* kNames[] = {"None",     "a bool", "an integer", "a real number", "a text",
                                           "a tensor", "a list", "a tuple",    "a dictionary"};
  return kNames[size_t(kind)];
}

constexpr size_t kKeysShown = 10;

}  // namespace

IValue::IValue(std::string value) : kind_(Kind::String), content_(std::make_shared<Content>()) {
  content_->text = std::move(value);
}

IValue IValue::list(std::vector<IValue> values) {
  IValue out;
  out.kind_ = Kind::List;
  out.content_ = std::make_shared<Content>();
  out.content_->elements = std::move(values);
  return out;
}

IValue IValue::tuple(std::vector<IValue> values) {
  IValue out = list(std::move(values));
  out.kind_ = Kind::Tuple;
  return out;
}

IValue IValue::dict(Items items) {
  IValue out;
  out.kind_ = Kind::Dict;
  out.content_ = std::make_shared<Content>();
  out.content_->items = std::move(items);
  return out;
}

const char* IValue::kindName() const { return name_of(kind_); }

void IValue::require(Kind kind) const {
  check(kind_ == kind, "IValue: this is ", kindName(), ", not ", name_of(kind));
}

bool IValue::toBool() const { return require(Kind::Bool), integer_ != 0; }
int64_t IValue::toInt() const { return require(Kind::Int), integer_; }

double IValue::toDouble() const {
  if (kind_ == Kind::Int) return double(integer_);
  return require(Kind::Double), real_;
}

const std::string& IValue::toStringRef() const { return require(Kind::String), content_->text; }
const Tensor& IValue::toTensor() const { return require(Kind::Tensor), tensor_; }

const std::vector<IValue>& IValue::elements() const {
  if (kind_ != Kind::Tuple) require(Kind::List);
  return content_->elements;
}

const std::vector<IValue>& IValue::toListRef() const { return require(Kind::List), content_->elements; }
const IValue::Items& IValue::toGenericDict() const { return require(Kind::Dict), content_->items; }

bool IValue::contains(const std::string& key) const {
  for (const auto& [name, value] : toGenericDict())
    if (name.isString() && name.toStringRef() == key) return true;
  return false;
}

const IValue& IValue::at(const std::string& key) const {
  std::string there;
  size_t shown = 0;
  for (const auto& [name, value] : toGenericDict()) {
    if (!name.isString()) continue;
    if (name.toStringRef() == key) return value;
    if (shown++ < kKeysShown) there += (there.empty() ? "" : ", ") + name.toStringRef();
  }
  fail("IValue: there is no \"", key, "\" in this dictionary, which has: ", there,
       shown > kKeysShown ? ", ..." : "");
}

OrderedDict<std::string, Tensor> IValue::toStateDict() const {
  OrderedDict<std::string, Tensor> out;
  for (const auto& [name, value] : toGenericDict()) {
    check(name.isString(), "IValue: a state dict's keys are texts, this has ", name.kindName());
    check(value.isTensor(), "IValue: \"", name.toStringRef(), "\" is ", value.kindName(),
          ", a state dict has tensors; take the part of the file that is one with at()");
    out.insert(name.toStringRef(), value.toTensor());
  }
  return out;
}

}  // namespace tarn::inline v1
