#include "harness/suite/load.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/suite/check.hpp"

namespace nb {
namespace {

// "ascend_910b3" → {"profile": "ascend_910b3"}, so that the field list sees objects only. Same for
// microbenchmarks, whose name is often all there is to say.
void open_short_forms(Json& json) {
  const auto open = [&json](const char* list, const char* key) {
    if (!json.is_object() || !json.contains(list) || !json.at(list).is_array()) return;
    for (Json& entry : json.at(list))
      if (entry.is_string()) entry = Json{{key, entry}};
  };
  open("devices", "profile");
  open("microbenchmarks", "name");
}

Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

Result<void> apply(const Override& change, Json& json, const std::string& where) {
  try {
    const Json::json_pointer pointer(change.pointer);
    const Json::json_pointer parent = pointer.parent_pointer();
    // Objects may gain a member (an unknown one is found when the suite is parsed); lists do not
    // grow, except by "-" at their end.
    if (json.contains(parent) && json.at(parent).is_array() && pointer.back() != "-" &&
        !json.contains(pointer))
      return bad_input(fmt::format("{}: --set {}: the list has {} entries", where, change.pointer,
                                   json.at(parent).size()));
    json[pointer] = value_of(change.value);
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("{}: --set {}: no such place in this suite ({})", where,
                                 change.pointer, e.what()));
  }
  return {};
}

}  // namespace

Result<Json> with_overrides(Json json, std::span<const Override> overrides,
                            const std::string& where) {
  for (const Override& change : overrides) {
    open_short_forms(json);
    NB_TRY_VOID(apply(change, json, where));
  }
  return json;
}

Result<Override> parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.empty() || text[0] != '/' || equals == std::string::npos || equals < 2)
    return bad_input(fmt::format(
        "--set {}: expected /pointer=value, for example /stages/base/iterations=20", text));
  return Override{text.substr(0, equals), text.substr(equals + 1)};
}

Result<Suite> parse_suite(Json json, const std::string& where) {
  open_short_forms(json);
  Suite suite;
  NB_TRY_VOID(parse_fields(suite.fields(), json, where));
  for (DeviceEntry& device : suite.devices)
    if (device.name.empty()) device.name = device.profile;
  NB_TRY_VOID(check_suite(suite, where));
  return suite;
}

Result<Suite> load_suite(const std::filesystem::path& path, std::span<const Override> overrides) {
  NB_TRY(Json json, read_json(path, JsonComments::kAllowed));
  NB_TRY(json, with_overrides(std::move(json), overrides, path.string()));
  return parse_suite(std::move(json), path.string());
}

std::string suite_help() { return help_fields(Suite{}.fields()); }

}  // namespace nb
