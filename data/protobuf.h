// The few pieces of protobuf's wire format that event files need; protobuf.dev/programming-guides/encoding.
// Private.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::inline v1::data::detail {

// One message being written: fields by number, appended in the order of the calls.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    key(field, 0);
    varint(uint64_t(value));
    return *this;
  }
  Message& real(int field, double value) {
    key(field, 1);
    little_endian(std::bit_cast<uint64_t>(value), 8);
    return *this;
  }
  Message& real32(int field, float value) {
    key(field, 5);
    little_endian(std::bit_cast<uint32_t>(value), 4);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    out_.append(value);
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.out_); }
  // A packed repeated double.
  Message& reals(int field, const std::vector<double>& values) {
    key(field, 2);
    varint(values.size() * 8);
    for (double value : values) little_endian(std::bit_cast<uint64_t>(value), 8);
    return *this;
  }
  const std::string& str() const { return out_; }

 private:
  void key(int field, int wire_type) { varint(uint64_t(field) << 3 | uint64_t(wire_type)); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) out_.push_back(char(value | 128));
    out_.push_back(char(value));
  }
  void little_endian(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) out_.push_back(char(value >> 8 * i));
  }

  std::string out_;
};

}  // namespace tarn::inline v1::data::detail
