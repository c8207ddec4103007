#include <tarn/serialize/unpickler.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <tarn/core/ivalue_content.h>

namespace tarn::inline v1::detail {

namespace {

constexpr size_t kMaxDepth = 100;

// The opcodes of Lib/pickle.py that are understood.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyTuple = ')',
  kEmptyList = ']',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

}  // namespace

Unpickler::Unpickler(std::string_view bytes, StorageReader* storages, std::string where)
    : bytes_(bytes), storages_(storages), where_(std::move(where)) {}

Unpickler::~Unpickler() {
  stack_.clear();
  memo_.clear();
  for (auto& content : made_) {
    content->elements.clear();
    content->items.clear();
  }
}

void Unpickler::refuse(const std::string& what) const { fail(where_, what); }

IValue Unpickler::run() {
  while (step()) {
  }
  IValue result = pop();
  check_result(result);
  return result;
}

// --- bytes ---

std::string_view Unpickler::take(uint64_t count) {
  require(count <= bytes_.size() - at_, "the pickle ends in the middle, at byte ", bytes_.size());
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

template <class T>
T Unpickler::number() {
  T value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string Unpickler::line() {
  size_t end = bytes_.find('\n', at_);
  require(end != bytes_.npos, "the pickle ends in the middle, at byte ", bytes_.size());
  std::string text(take(end - at_));
  ++at_;
  return text;
}

// --- stack ---

void Unpickler::push(IValue value) { stack_.push_back(std::move(value)); }

IValue& Unpickler::top() {
  size_t bottom = marks_.empty() ? 0 : marks_.back();
  require(stack_.size() > bottom, "the pickle takes a value from an empty stack at byte ", at_);
  return stack_.back();
}

IValue Unpickler::pop() {
  IValue value = std::move(top());
  stack_.pop_back();
  return value;
}

std::vector<IValue> Unpickler::pop_some(size_t count) {
  size_t bottom = marks_.empty() ? 0 : marks_.back();
  require(stack_.size() - bottom >= count, "the pickle takes a value from an empty stack at byte ", at_);
  std::vector<IValue> values(std::make_move_iterator(stack_.end() - ptrdiff_t(count)),
                             std::make_move_iterator(stack_.end()));
  stack_.resize(stack_.size() - count);
  return values;
}

std::vector<IValue> Unpickler::pop_to_mark() {
  require(!marks_.empty(), "the pickle goes back to a mark that it has not set at byte ", at_);
  std::vector<IValue> values = pop_some(stack_.size() - marks_.back());
  marks_.pop_back();
  return values;
}

IValue Unpickler::container(IValue value) {
  made_.push_back(value.content_);
  return value;
}

// --- opcodes ---

bool Unpickler::step() {
  uint8_t opcode = number<uint8_t>();
  switch (opcode) {
    case kStop:
      return false;
    case kProto: {
      int version = number<uint8_t>();
      require(version <= 5, "pickle protocol ", version, " is not known");
      return true;
    }
    case kFrame:
      take(8);
      return true;
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      pop();
      return true;
    case kPopMark:
      pop_to_mark();
      return true;
    case kDup:
      push(top());
      return true;
  }
  bool known = step_number(opcode) || step_text(opcode) || step_container(opcode) || step_memo(opcode) ||
               step_class(opcode);
  require(known, "pickle opcode ", int(opcode), " at byte ", at_ - 1, " is not one that plain data needs");
  return true;
}

bool Unpickler::step_number(uint8_t opcode) {
  switch (opcode) {
    case kNone:
      push({});
      return true;
    case kNewTrue:
      push(true);
      return true;
    case kNewFalse:
      push(false);
      return true;
    case kBinInt:
      push(int64_t(number<int32_t>()));
      return true;
    case kBinInt1:
      push(int64_t(number<uint8_t>()));
      return true;
    case kBinInt2:
      push(int64_t(number<uint16_t>()));
      return true;
    case kLong1:
      long_integer(number<uint8_t>());
      return true;
    case kLong4:
      long_integer(number<uint32_t>());
      return true;
    case kBinFloat:
      push(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));
      return true;
    default:
      return false;
  }
}

// Two's complement, lowest byte first.
void Unpickler::long_integer(uint64_t bytes) {
  std::string_view digits = take(bytes);
  require(digits.size() <= 8, "an integer of ", digits.size(), " bytes does not fit in 64 bits");
  uint64_t value = digits.empty() || int8_t(digits.back()) >= 0 ? 0 : ~uint64_t(0);
  for (size_t i = digits.size(); i-- > 0;) value = value << 8 | uint8_t(digits[i]);
  push(int64_t(value));
}

bool Unpickler::step_text(uint8_t opcode) {
  uint64_t length = 0;
  switch (opcode) {
    case kShortBinString:
    case kShortBinUnicode:
      length = number<uint8_t>();
      break;
    case kBinString:
    case kBinUnicode:
      length = number<uint32_t>();
      break;
    case kBinUnicode8:
      length = number<uint64_t>();
      break;
    default:
      return false;
  }
  push(std::string(take(length)));
  return true;
}

bool Unpickler::step_container(uint8_t opcode) {
  switch (opcode) {
    case kEmptyList:
    case kEmptySet:
      push(container(IValue::list()));
      return true;
    case kEmptyDict:
      push(container(IValue::dict()));
      return true;
    case kEmptyTuple:
      push(container(IValue::tuple()));
      return true;
    case kList:
      push(container(IValue::list(pop_to_mark())));
      return true;
    case kTuple:
      push(container(IValue::tuple(pop_to_mark())));
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3:
      push(container(IValue::tuple(pop_some(size_t(opcode - kTuple1 + 1)))));
      return true;
    case kDict: {
      std::vector<IValue> flat = pop_to_mark();
      push(container(IValue::dict()));
      set_items(std::move(flat));
      return true;
    }
    case kSetItem:
      set_items(pop_some(2));
      return true;
    case kSetItems:
      set_items(pop_to_mark());
      return true;
    case kAppend:
      append(pop_some(1));
      return true;
    case kAppends:
    case kAddItems:
      append(pop_to_mark());
      return true;
    default:
      return false;
  }
}

void Unpickler::set_items(std::vector<IValue> flat) {
  require(top().isGenericDict(), "the pickle sets an item of ", top().kindName(), " at byte ", at_);
  require(flat.size() % 2 == 0, "the pickle sets a key without a value at byte ", at_);
  auto& items = top().content_->items;
  for (size_t i = 0; i < flat.size(); i += 2) items.emplace_back(std::move(flat[i]), std::move(flat[i + 1]));
}

void Unpickler::append(std::vector<IValue> values) {
  require(top().isList(), "the pickle appends to ", top().kindName(), " at byte ", at_);
  auto& elements = top().content_->elements;
  elements.insert(elements.end(), std::make_move_iterator(values.begin()),
                  std::make_move_iterator(values.end()));
}

bool Unpickler::step_memo(uint8_t opcode) {
  switch (opcode) {
    case kBinGet:
      get(number<uint8_t>());
      return true;
    case kLongBinGet:
      get(number<uint32_t>());
      return true;
    case kBinPut:
      put(number<uint8_t>());
      return true;
    case kLongBinPut:
      put(number<uint32_t>());
      return true;
    case kMemoize:
      put(uint32_t(memo_.size()));
      return true;
    default:
      return false;
  }
}

void Unpickler::get(uint32_t index) {
  auto found = memo_.find(index);
  require(found != memo_.end(), "the pickle asks for value ", index, ", which it has not kept, at byte ",
          at_);
  push(found->second);
}

void Unpickler::put(uint32_t index) { memo_[index] = top(); }

bool Unpickler::step_class(uint8_t opcode) {
  switch (opcode) {
    case kGlobal: {
      std::string module = line(), name = line();
      find_class(module, name);
      return true;
    }
    case kStackGlobal: {
      std::vector<IValue> names = pop_some(2);
      require(names[0].isString() && names[1].isString(), "the pickle names a class by ", names[0].kindName(),
              " and ", names[1].kindName(), " at byte ", at_);
      find_class(names[0].toStringRef(), names[1].toStringRef());
      return true;
    }
    case kReduce:
      reduce();
      return true;
    case kBuild:
      build();
      return true;
    case kBinPersId:
      persistent_load();
      return true;
    default:
      return false;
  }
}

// --- the result ---

// Walks the containers with a stack of its own, as they may be nested deeper than ours allows.
void Unpickler::check_result(const IValue& value) {
  struct Frame {
    Content* content;
    size_t next = 0;
    size_t height = 1;  // of what it holds, itself included
  };
  std::unordered_set<Content*> open;
  std::unordered_map<Content*, size_t> good;  // to their heights: a shared one adds its own where it is used
  std::vector<Frame> path;
  auto add_height = [&](size_t height) {
    require(path.size() + height <= kMaxDepth, "the pickle is nested deeper than ", kMaxDepth, " times");
    if (!path.empty()) path.back().height = std::max(path.back().height, height + 1);
  };
  auto enter = [&](const IValue& v) {
    require(!v.isNone() || !v.content_, "the pickle has a class or storage where a value should be");
    bool is_container = v.isList() || v.isTuple() || v.isGenericDict();
    if (!is_container) return;
    auto found = good.find(v.content_.get());
    if (found != good.end()) return add_height(found->second);
    require(open.insert(v.content_.get()).second, "the pickle has ", v.kindName(), " that contains itself");
    add_height(1);
    path.push_back({v.content_.get()});
  };
  enter(value);
  while (!path.empty()) {
    Frame& frame = path.back();
    Content& c = *frame.content;
    size_t i = frame.next++;
    if (i < c.elements.size()) {
      enter(c.elements[i]);
    } else if (i - c.elements.size() < 2 * c.items.size()) {
      auto& item = c.items[(i - c.elements.size()) / 2];
      enter((i - c.elements.size()) % 2 ? item.second : item.first);
    } else {
      size_t height = frame.height;
      open.erase(&c);
      good.emplace(&c, height);
      path.pop_back();
      add_height(height);
    }
  }
  std::erase_if(made_, [&](const auto& content) { return good.count(content.get()) > 0; });
}

}  // namespace tarn::inline v1::detail
