// A reader of Python's pickles that can build tensors, numbers, texts and containers and nothing else: a
// class or function is looked up in a short table, an unknown one is an Error that names it. Private.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tarn/core/ivalue.h>

namespace tarn::inline v1::detail {

// Where the bytes of tensors come from.
struct StorageReader {
  virtual ~StorageReader() = default;
  // The bytes of storage `key`, a uint8 tensor; the same for the same key. An Error if the file does not have
  // as many.
  virtual Tensor read(const std::string& key, uint64_t bytes) = 0;
};

class Unpickler {
 public:
  // Errors begin with `where`. Without `storages` a tensor is an Error.
  Unpickler(std::string_view bytes, StorageReader* storages, std::string where);
  ~Unpickler();

  // Reads one pickle; nothing in it contains itself, or is nested deeper than 100 times.
  IValue run();
  // Where it ended.
  size_t position() const { return at_; }

 private:
  using Content = IValue::Content;
  struct OpcodeTable;
  struct Global;

  [[noreturn]] void refuse(const std::string& what) const;
  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    if (!ok) [[unlikely]]
      refuse(str(parts...));
  }

  // --- bytes ---
  std::string_view take(uint64_t count);
  template <class T>
  T number();
  std::string line();

  // --- stack ---
  void push(IValue value);
  IValue pop();
  IValue& top();
  std::vector<IValue> pop_to_mark();
  std::vector<IValue> pop_some(size_t count);
  IValue container(IValue value);

  // --- opcodes ---
  bool step();  // false at STOP
  bool step_number(uint8_t opcode);
  bool step_text(uint8_t opcode);
  bool step_container(uint8_t opcode);
  bool step_memo(uint8_t opcode);
  bool step_class(uint8_t opcode);
  void long_integer(uint64_t bytes);
  void set_items(std::vector<IValue> flat);
  void append(std::vector<IValue> values);
  void get(uint32_t index);
  void put(uint32_t index);
  void find_class(const std::string& module, const std::string& name);
  void reduce();
  void build();
  void persistent_load();

  // --- what classes build ---
  IValue call(const std::string& name, const std::vector<IValue>& args);
  IValue ordered_dict(const std::vector<IValue>& args);
  IValue tensor(const std::vector<IValue>& args, ScalarType dtype);
  std::vector<int64_t> integers(const IValue& value) const;
  bool is_class(const IValue& value) const;

  void check_result(const IValue& value);

  std::string_view bytes_;
  size_t at_ = 0;
  StorageReader* storages_;
  std::string where_;
  std::vector<IValue> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, IValue> memo_;
  size_t copied_ = 0;                      // entries of containers
  std::unordered_set<const void*> bools_;  // storages whose bytes are known to be 0 or 1
  // Every container made. Those that the result does not use are emptied one by one, so that neither cycles
  // nor deep nesting do harm.
  std::vector<std::shared_ptr<Content>> made_;
};

}  // namespace tarn::inline v1::detail
