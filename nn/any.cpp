#include <tarn/nn/any.h>

#include <cxxabi.h>

#include <cstdlib>

namespace tarn::inline v1 {

namespace detail {

std::string demangle(const std::type_info& type) {
  if (type == typeid(Tensor)) return "Tensor";
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = text ? text : type.name();
  std::free(text);
  // As the user wrote it: without our inline namespace.
  const std::string version = "tarn::v1::";
  for (size_t at; (at = name.find(version)) != std::string::npos;) name.replace(at, version.size(), "tarn::");
  return name;
}

static std::string place(const nn::Module& module) {
  return module.path().empty() ? module.name() : str(module.name(), " (", module.path(), ")");
}

void wrong_argument(const nn::Module& module, size_t index, const nn::AnyValue& given,
                    const std::type_info& expected) {
  fail("forward: argument ", index, " of ", place(module), " must be ", demangle(expected), ", got ",
       given.type_name());
}

void wrong_count(const nn::Module& module, size_t given, size_t expected) {
  fail("forward: ", place(module), " takes ", expected, " arguments, got ", given);
}

}  // namespace detail

std::string nn::AnyValue::type_name() const {
  return value_.has_value() ? detail::demangle(value_.type()) : std::string("nothing");
}

}  // namespace tarn::inline v1
