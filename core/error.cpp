#include <tarn/core/error.h>

#include <charconv>

namespace tarn::inline v1::detail {

namespace {

template <class T>
void append_number(std::string& out, T value) {
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

}  // namespace

void append(std::string& out, double value) { append_number(out, value); }
void append(std::string& out, long long value) { append_number(out, value); }
void append(std::string& out, unsigned long long value) { append_number(out, value); }

void append_list(std::string& out, const int64_t* values, size_t count) {
  out.push_back('[');
  for (size_t i = 0; i < count; ++i) {
    if (i) out.append(", ");
    append(out, static_cast<long long>(values[i]));
  }
  out.push_back(']');
}

void throw_error(std::string message) { throw Error(std::move(message)); }

}  // namespace tarn::inline v1::detail
