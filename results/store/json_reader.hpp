// Reads one JSON object field by field; the first mistake is kept with its pointer, unknown keys
// are found at the end. For results/*.cpp only: files that this program wrote, so no defaults and
// no suggestions.
#pragma once

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

class JsonReader {
 public:
  // where: "…/record.json: " plus the pointer of this object, e.g. "…/record.json: /metrics/3".
  JsonReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("", "is not an object");
  }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) return fail(key, "is not a string"), std::string();
    return value->get<std::string>();
  }
  std::int64_t integer(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) return fail(key, "is not an integer"), 0;
    return value->get<std::int64_t>();
  }
  std::optional<std::int64_t> optional_integer(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return integer(key);
  }
  std::optional<double> optional_number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_number()) return fail(key, "is not a number"), std::nullopt;
    return value->get<double>();
  }
  std::map<std::string, std::string> text_map(const char* key) {
    std::map<std::string, std::string> result;
    const Json& map = object(key);
    for (const auto& [name, value] : map.items()) {
      if (!value.is_string()) return fail(key, "contains something that is not a string"), result;
      result.emplace(name, value.get<std::string>());
    }
    return result;
  }
  const Json& object(const char* key) {
    static const Json kNone = Json::object();
    const Json* value = find(key);
    if (value == nullptr) return kNone;
    if (!value->is_object()) return fail(key, "is not an object"), kNone;
    return *value;
  }
  Json object_or_null(const char* key) {
    const Json* value = find(key);
    return value == nullptr || value->is_null() ? Json() : object(key);
  }
  const Json& array(const char* key) {
    static const Json kNone = Json::array();
    const Json* value = find(key);
    if (value == nullptr) return kNone;
    if (!value->is_array()) return fail(key, "is not a list"), kNone;
    return *value;
  }

  void fail(const std::string& key, const std::string& what) {
    if (error_) return;
    const bool names_place = !key.empty() || !where_.ends_with(": ");
    error_ = where_ + (key.empty() ? "" : "/" + key) + (names_place ? ": " : "") + what;
  }
  const std::string& where() const { return where_; }
  // The first mistake, or an unknown key.
  Result<void> finish() {
    if (json_.is_object())
      for (const auto& [key, value] : json_.items())
        if (!seen_.contains(key)) fail(key, "is not a known key");
    if (error_) return bad_input(*error_);
    return {};
  }

 private:
  const Json* find(const char* key) {
    seen_.insert(key);
    if (!json_.is_object()) return nullptr;
    const auto at = json_.find(key);
    if (at == json_.end()) return fail(key, "is missing"), nullptr;
    return &*at;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string> seen_;
  std::optional<std::string> error_;
};

}  // namespace nb
