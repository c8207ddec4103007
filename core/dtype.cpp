#include <tarn/core/dtype.h>

#include <atomic>

#include <tarn/core/hooks.h>

namespace tarn::inline v1 {

size_t element_size(ScalarType dtype) {
  switch (dtype) {
    case kByte:
    case kChar:
    case kBool:
      return 1;
    case kShort:
    case kHalf:
    case kBFloat16:
      return 2;
    case kInt:
    case kFloat:
      return 4;
    case kLong:
    case kDouble:
    case ScalarType::ComplexFloat:
      return 8;
    case ScalarType::ComplexDouble:
      return 16;
    default:
      fail("element_size: no such dtype: ", to_string(dtype));
  }
}

const char* to_string(ScalarType dtype) {
  switch (dtype) {
    case kByte:
      return "Byte";
    case kChar:
      return "Char";
    case kShort:
      return "Short";
    case kInt:
      return "Int";
    case kLong:
      return "Long";
    case kHalf:
      return "Half";
    case kFloat:
      return "Float";
    case kDouble:
      return "Double";
    case ScalarType::ComplexHalf:
      return "ComplexHalf";
    case ScalarType::ComplexFloat:
      return "ComplexFloat";
    case ScalarType::ComplexDouble:
      return "ComplexDouble";
    case kBool:
      return "Bool";
    case kBFloat16:
      return "BFloat16";
    default:
      return "Undefined";
  }
}

void detail::append(std::string& out, ScalarType dtype) { out.append(to_string(dtype)); }

namespace {

int integer_bits(ScalarType t) { return t == kBool ? 0 : int(element_size(t)) * 8; }

std::atomic<ScalarType> default_dtype{kFloat};

}  // namespace

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (element_size(a) == element_size(b)) return kFloat;  // Half with BFloat16
    return element_size(a) > element_size(b) ? a : b;
  }
  if (integer_bits(a) != integer_bits(b)) {
    ScalarType wide = integer_bits(a) > integer_bits(b) ? a : b;
    ScalarType narrow = wide == a ? b : a;
    return wide == kByte && narrow != kBool ? kShort : wide;
  }
  return kShort;  // Byte with Char
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return to != kBool || from == kBool;
}

ScalarType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(ScalarType dtype) {
  check(is_floating(dtype), "set_default_dtype: only floating dtypes are supported, got ", dtype);
  if (detail::mode.capture) detail::capture_hooks.barrier(*detail::mode.capture, "set_default_dtype()");
  default_dtype.store(dtype, std::memory_order_relaxed);
}

}  // namespace tarn::inline v1
