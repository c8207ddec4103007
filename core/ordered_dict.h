// OrderedDict: keys in the order they were inserted, each once; libtorch's container of named parameters.
//   for (const auto& item : net->named_parameters()) use(item.key(), item.value());
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tarn/core/error.h>

namespace tarn::inline v1 {

template <class Key, class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    const Key& key() const { return pair_.first; }
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    const std::pair<Key, Value>& pair() const { return pair_; }
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  // `key_description` names a key in errors: "parameter 'weight' already defined".
  explicit OrderedDict(std::string key_description = "key") : description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const { return description_; }
  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  bool empty() const { return items_.empty(); }
  const std::vector<Item>& items() const { return items_; }
  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  Item& front() { return (*this)[size_t(0)]; }
  const Item& front() const { return (*this)[size_t(0)]; }
  Item& back() { return (*this)[size() - 1]; }
  const Item& back() const { return (*this)[size() - 1]; }
  Item& operator[](size_t i) {
    check_index(i);
    return items_[i];
  }
  const Item& operator[](size_t i) const {
    check_index(i);
    return items_[i];
  }
  // The value of an existing key; an Error if there is none.
  Value& operator[](const Key& key) { return items_[place_of(key)].value(); }
  const Value& operator[](const Key& key) const { return items_[place_of(key)].value(); }
  Value* find(const Key& key) {
    size_t slot = find_slot(key);
    return found(slot) ? &items_[slots_[slot]].value() : nullptr;
  }
  const Value* find(const Key& key) const { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const { return find(key) != nullptr; }

  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const Item& item : items_) out.push_back(item.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Item& item : items_) out.push_back(item.value());
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    for (const Item& item : items_) out.push_back(item.pair());
    return out;
  }

  void reserve(size_t n) { items_.reserve(n); }
  // An Error if the key is there already. The reference holds until the next insert or erase.
  Value& insert(Key key, Value value) {
    if (2 * (items_.size() + 1) > slots_.size()) rebuild(4 * (items_.size() + 1));
    size_t slot = find_slot(key);
    check(!found(slot), description_, " '", key, "' already defined");
    slots_[slot] = uint32_t(items_.size());
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void erase(const Key& key) {
    items_.erase(items_.begin() + place_of(key));
    rebuild(slots_.size());
  }
  void clear() {
    items_.clear();
    slots_.clear();
  }

 private:
  static constexpr uint32_t kEmpty = ~0u;

  void check_index(size_t i) const {
    check(i < items_.size(), "OrderedDict: index ", i, " is outside of ", items_.size(), " items");
  }
  size_t place_of(const Key& key) const {
    size_t slot = find_slot(key);
    check(found(slot), description_, " '", key, "' is not defined");
    return slots_[slot];
  }
  bool found(size_t slot) const { return slot < slots_.size() && slots_[slot] != kEmpty; }
  // The slot that holds the key, or the empty one where it would go. The table is at most half full.
  size_t find_slot(const Key& key) const {
    if (slots_.empty()) return 0;
    size_t slot = std::hash<Key>()(key) % slots_.size();
    while (slots_[slot] != kEmpty && !(items_[slots_[slot]].key() == key)) slot = (slot + 1) % slots_.size();
    return slot;
  }
  void rebuild(size_t size) {
    slots_.assign(size, kEmpty);
    for (size_t i = 0; i < items_.size(); ++i) slots_[find_slot(items_[i].key())] = uint32_t(i);
  }

  std::vector<Item> items_;
  std::vector<uint32_t> slots_;  // open addressing: indices into items_
  std::string description_;
};

}  // namespace tarn::inline v1
