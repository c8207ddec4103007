// IValue: what a file of torch.save holds: tensors, numbers, texts, and lists, tuples and dictionaries of
// them. The accessors are named as libtorch's c10::IValue's.
//
//   IValue checkpoint = load("run.pth");
//   net->load_state_dict(checkpoint.at("model").toStateDict());
//   int64_t epoch = checkpoint.at("epoch").toInt();
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tarn/core/ordered_dict.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

namespace detail {
class Unpickler;
}

class TARN_API IValue {
 public:
  enum class Kind : uint8_t { None, Bool, Int, Double, String, Tensor, List, Tuple, Dict };
  using Items = std::vector<std::pair<IValue, IValue>>;

  IValue() = default;
  IValue(bool value) : kind_(Kind::Bool), integer_(value) {}
  IValue(int value) : IValue(int64_t(value)) {}
  IValue(int64_t value) : kind_(Kind::Int), integer_(value) {}
  IValue(double value) : kind_(Kind::Double), real_(value) {}
  IValue(std::string value);
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(Tensor value) : kind_(Kind::Tensor), tensor_(std::move(value)) {}
  static IValue list(std::vector<IValue> values = {});
  static IValue tuple(std::vector<IValue> values = {});
  static IValue dict(Items items = {});

  Kind kind() const { return kind_; }
  bool isNone() const { return kind_ == Kind::None; }
  bool isBool() const { return kind_ == Kind::Bool; }
  bool isInt() const { return kind_ == Kind::Int; }
  bool isDouble() const { return kind_ == Kind::Double; }
  bool isString() const { return kind_ == Kind::String; }
  bool isTensor() const { return kind_ == Kind::Tensor; }
  bool isList() const { return kind_ == Kind::List; }
  bool isTuple() const { return kind_ == Kind::Tuple; }
  bool isGenericDict() const { return kind_ == Kind::Dict; }

  // The value, or an Error that says what it is instead. toDouble() takes integers, too.
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;
  const std::string& toStringRef() const;
  const Tensor& toTensor() const;
  // Of a list or tuple.
  const std::vector<IValue>& elements() const;
  const std::vector<IValue>& toListRef() const;
  // A dictionary's entries in their order.
  const Items& toGenericDict() const;
  // A dictionary's value for a text; an Error names the keys there are.
  const IValue& at(const std::string& key) const;
  bool contains(const std::string& key) const;
  // A dictionary of tensors, such as Module::load_state_dict takes.
  OrderedDict<std::string, Tensor> toStateDict() const;

  // "a list", for messages.
  const char* kindName() const;

 private:
  friend class detail::Unpickler;
  struct Content;
  void require(Kind kind) const;

  Kind kind_ = Kind::None;
  union {
    int64_t integer_ = 0;
    double real_;
  };
  Tensor tensor_;
  std::shared_ptr<Content> content_;  // text or elements; copies of a value share them
};

}  // namespace tarn::inline v1
