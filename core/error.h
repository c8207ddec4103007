// Errors. The user's mistakes throw tarn::Error with the op, what is wrong, the values, and where there is
// one obvious repair, the repair: `conv2d: input has 3 channels, weight [8, 4, 3, 3] expects 4`.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

enum class ScalarType : int8_t;

class TARN_API Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

namespace detail {

// One overload of append() per printable kind of value; classes of Tarn bring theirs as a friend.
TARN_API void append(std::string& out, double value);
TARN_API void append(std::string& out, long long value);
TARN_API void append(std::string& out, unsigned long long value);
inline void append(std::string& out, std::string_view text) { out.append(text); }
inline void append(std::string& out, const char* text) { out.append(text); }
inline void append(std::string& out, const std::string& text) { out.append(text); }
inline void append(std::string& out, char c) { out.push_back(c); }
inline void append(std::string& out, bool value) { out.append(value ? "true" : "false"); }
inline void append(std::string& out, float value) { append(out, double(value)); }
inline void append(std::string& out, int value) { append(out, static_cast<long long>(value)); }
inline void append(std::string& out, long value) { append(out, static_cast<long long>(value)); }
inline void append(std::string& out, unsigned value) { append(out, static_cast<unsigned long long>(value)); }
inline void append(std::string& out, unsigned long value) {
  append(out, static_cast<unsigned long long>(value));
}
TARN_API void append(std::string& out, ScalarType dtype);
// [2, 3], the way shapes stand in every message.
TARN_API void append_list(std::string& out, const int64_t* values, size_t count);
inline void append(std::string& out, const std::vector<int64_t>& v) { append_list(out, v.data(), v.size()); }

[[noreturn]] TARN_API void throw_error(std::string message);

}  // namespace detail

// The concatenation of the parts' texts.
template <class... Parts>
std::string str(const Parts&... parts) {
  using detail::append;
  std::string out;
  (append(out, parts), ...);
  return out;
}

// Throws tarn::Error with the concatenated parts.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  detail::throw_error(str(parts...));
}

// Throws tarn::Error with the concatenated parts unless `ok`. The user's side of the contract.
template <class... Parts>
inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

// Our side of the contract: a failure is a bug in Tarn.
template <class... Parts>
inline void ensure(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail("internal error, please report: ", parts...);
}

}  // namespace tarn::inline v1
