#include <tarn/serialize/manifest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include <tarn/core/crc32c.h>

namespace tarn::inline v1::checkpoint::detail {

namespace {

using Json = nlohmann::json;
using tarn::detail::crc32c;

constexpr const char* kFormat = "tarn checkpoint";
constexpr int64_t kVersion = 1;

std::string compact(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::strict); }

// JSON has no infinities and no NaN; 1.0 stays apart from 1.
Json json_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Integer:
      return value.integer;
    case Value::Kind::Real:
      if (std::isfinite(value.real)) return value.real;
      return {{"real", std::isnan(value.real) ? "nan" : value.real > 0 ? "inf" : "-inf"}};
    default:
      return value.text;
  }
}

Value value_of(const Json& json) {
  if (json.is_number_float()) return real_value(json.get<double>());
  if (json.is_number_integer()) return integer_value(json.get<int64_t>());
  if (json.is_string()) return text_value(json.get<std::string>());
  std::string real = json.at("real").get<std::string>();
  return real_value(real == "nan" ? NAN : real == "inf" ? INFINITY : -INFINITY);
}

Manifest manifest_of(const Json& body) {
  Manifest manifest;
  manifest.step = body.at("step").get<int64_t>();
  manifest.parts = body.at("parts").get<std::vector<std::string>>();
  for (const Json& shard : body.at("shards"))
    manifest.shards.push_back({shard.at("bytes").get<uint64_t>(),
                               uint32_t(std::stoul(shard.at("crc32c").get<std::string>(), nullptr, 16))});
  for (const auto& [name, value] : body.at("values").items()) manifest.values[name] = value_of(value);
  return manifest;
}

}  // namespace

std::string hex(uint32_t checksum) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", checksum);
  return text;
}

std::string shard_name(size_t index) {
  char text[40];
  std::snprintf(text, sizeof text, "shard-%05zu.safetensors", index);
  return text;
}

std::string write_manifest(const Manifest& manifest) {
  Json body = {{"step", manifest.step}, {"parts", manifest.parts}};
  body["shards"] = Json::array();
  for (size_t i = 0; i < manifest.shards.size(); ++i)
    body["shards"].push_back({{"file", shard_name(i)},
                              {"bytes", manifest.shards[i].bytes},
                              {"crc32c", hex(manifest.shards[i].checksum)}});
  body["values"] = Json::object();
  for (const auto& [name, value] : manifest.values) body["values"][name] = json_of(value);
  try {
    Json file = {{"format", kFormat}, {"version", kVersion}, {"crc32c", hex(crc32c(compact(body)))}};
    file["body"] = std::move(body);
    return file.dump(1, ' ', true) + "\n";
  } catch (const Json::type_error&) {
    fail("checkpoint: texts and names must be UTF-8");
  }
}

Manifest parse_manifest(const std::string& text, const std::string& where) {
  try {
    Json file = Json::parse(text);
    check(file.at("format") == kFormat, where, kManifestName, " is not one of a Tarn checkpoint");
    int64_t version = file.at("version").get<int64_t>();
    check(version == kVersion, where, "is of version ", version, ", this Tarn reads version ", kVersion);
    std::string want = file.at("crc32c").get<std::string>(), got = hex(crc32c(compact(file.at("body"))));
    check(want == got, where, kManifestName, " is damaged: its checksum is ", got, ", it says ", want);
    return manifest_of(file.at("body"));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail(where, kManifestName, " is damaged: ", e.what());
  }
}

}  // namespace tarn::inline v1::checkpoint::detail
