#include "harness/suite/load.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/base/own_files.hpp"
#include "harness/suite/check.hpp"
#include "harness/suite/suite_files.hpp"

namespace nb {
namespace {

// What a factor sets may be of any type; a struct keeps it as JSON text, as --set has it.
void open_factors(Json& json) {
  if (!json.is_object() || !json.contains("factorial")) return;
  Json& factorial = json.at("factorial");
  if (!factorial.is_object() || !factorial.contains("factors")) return;
  for (Json& factor : factorial.at("factors")) {
    if (!factor.is_object() || !factor.contains("high") || !factor.at("high").is_object()) continue;
    for (Json& value : factor.at("high"))
      if (!value.is_string()) value = value.dump();
  }
}

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
  open_factors(json);
}

Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

// Settings of what is trained and evaluated: the rest of a suite is the same in every
// configuration.
Result<void> check_factor_pointer(const std::string& pointer, const std::string& where) {
  for (const char* part : {"/devices/0/", "/corpus/", "/tokenizer/", "/stages/"})
    if (pointer.starts_with(part) && pointer != "/devices/0/name" &&
        !pointer.starts_with("/devices/0/defects") && !pointer.starts_with("/devices/0/factors"))
      return {};
  return bad_input(
      fmt::format("{}: a factor sets a place in /stages, /corpus, /tokenizer or the profile, "
                  "numerics or stacks "
                  "of /devices/0; \"defects\" stand beside \"high\"",
                  where));
}

// Objects may gain a member (an unknown one is found when the suite is parsed). Lists grow by "-"
// at their end alone, and one that is made begins with "-" or 0: the library would fill it up to
// any number.
Result<void> check_place(const Json& json, const Json::json_pointer& pointer,
                         const std::string& where) {
  std::vector<std::string> names;
  for (Json::json_pointer rest = pointer; !rest.empty(); rest.pop_back())
    names.push_back(rest.back());
  const Json* at = &json;  // null: not there yet
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name->data(), name->data() + name->size(), index);
    const bool is_index = end == name->data() + name->size() && !name->empty();
    if (at == nullptr || at->is_null()) {
      if (is_index && *name != "0")
        return bad_input(fmt::format("{}: there is no list that could have a {}", where, *name));
      at = nullptr;
    } else if (at->is_array()) {
      if (*name == "-" && name + 1 == names.rend()) return {};
      if (!is_index || error != std::errc() || index >= at->size())
        return bad_input(fmt::format("{}: the list has {} entries", where, at->size()));
      at = &(*at)[index];
    } else if (at->is_object()) {
      at = at->contains(*name) ? &at->at(*name) : nullptr;
    } else {
      return bad_input(fmt::format("{}: no such place in this suite", where));
    }
  }
  return {};
}

Result<void> apply(const Override& change, Json& json, const std::string& where) {
  try {
    const Json::json_pointer pointer(change.pointer);
    NB_TRY_VOID(check_place(json, pointer, where));
    json[pointer] = value_of(change.value);
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("{}: no such place in this suite ({})", where, e.what()));
  }
  return {};
}

}  // namespace

Result<Json> with_overrides(Json json, std::span<const Override> overrides,
                            const std::string& where) {
  for (const Override& change : overrides) {
    open_short_forms(json);
    NB_TRY_VOID(apply(change, json, fmt::format("{}: --set {}", where, change.pointer)));
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

namespace {

Result<Suite> parse_one(const Json& json, const std::string& where) {
  Suite suite;
  NB_TRY_VOID(parse_fields(suite.fields(), json, where));
  for (DeviceEntry& device : suite.devices)
    if (device.name.empty()) device.name = device.profile;
  NB_TRY_VOID(check_suite(suite, where));
  return suite;
}

// The suite as one configuration runs it. No two factors may set the same place: their effects
// would not be their own.
Result<Suite> configuration_of(const Suite& suite, Json json, const std::vector<bool>& levels,
                               const std::string& name, const std::string& where) {
  json.erase("factorial");
  json["devices"][0]["name"] = name;
  std::vector<std::string> defects = suite.devices[0].defects;
  std::map<std::string, std::string> set_by;
  const std::vector<Factor>& factors = suite.factorial->factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    json["devices"][0]["factors"].push_back(factors[i].name + (levels[i] ? "=high" : "=low"));
    if (!levels[i]) continue;
    defects.insert(defects.end(), factors[i].defects.begin(), factors[i].defects.end());
    for (const auto& [pointer, value] : factors[i].high) {
      const std::string here = fmt::format("{}: /factorial/factors/{}/high: {}", where, i, pointer);
      if (const auto [other, is_first] = set_by.emplace(pointer, factors[i].name); !is_first)
        return bad_input(fmt::format("{}: the factor {} sets it too", here, other->second));
      NB_TRY_VOID(check_factor_pointer(pointer, here));
      NB_TRY_VOID(apply({pointer, value}, json, here));
    }
  }
  json["devices"][0]["defects"] = defects;
  return parse_one(json, fmt::format("{} (configuration {})", where, name));
}

// Every factor on its own must change the suite.
Result<void> check_each_changes(const Suite& suite, const Json& json, const std::string& where) {
  const auto settings = [](Suite one) {
    one.factorial.reset();
    one.devices[0].name.clear();
    one.devices[0].factors.clear();
    return hashed_fields(one.fields());
  };
  const std::vector<Factor>& factors = suite.factorial->factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    std::vector<bool> levels(factors.size());
    levels[i] = true;
    NB_TRY(const Suite changed, configuration_of(suite, json, levels, factors[i].name, where));
    if (settings(changed) == settings(suite))
      return bad_input(
          fmt::format("{}: /factorial/factors/{}: changes nothing: the suite is like "
                      "that without {}",
                      where, i, factors[i].name));
  }
  return {};
}

Result<std::vector<Suite>> configurations_as_suites(const Suite& suite, const Json& json,
                                                    const std::string& where) {
  NB_TRY(const std::vector<Configuration> configurations,
         configurations_of(*suite.factorial, where + ": /factorial"));
  NB_TRY_VOID(check_each_changes(suite, json, where));
  std::vector<Suite> suites;
  for (const Configuration& configuration : configurations) {
    const std::string name = &configuration == &configurations.front() ? suite.factorial->low
                             : &configuration == &configurations.back()
                                 ? suite.factorial->high
                                 : suite.devices[0].name + "." + configuration.name;
    for (const Suite& other : suites)
      if (other.devices[0].name == name)
        return bad_input(fmt::format(
            "{}: /factorial/high: another configuration is called \"{}\"; give another name", where,
            name));
    NB_TRY(Suite one, configuration_of(suite, json, configuration.levels, name, where));
    suites.push_back(std::move(one));
  }
  return suites;
}

}  // namespace

Result<Suite> parse_suite(Json json, const std::string& where) {
  open_short_forms(json);
  NB_TRY(Suite suite, parse_one(json, where));
  for (std::size_t i = 0; i < suite.devices.size(); ++i)
    if (!suite.devices[i].factors.empty())
      return bad_input(
          fmt::format("{}: /devices/{}/factors: the configurations of /factorial have them; give "
                      "the factors there",
                      where, i));
  if (suite.factorial) {
    NB_TRY(suite.configurations, configurations_as_suites(suite, json, where));
  }
  return suite;
}

Result<Suite> load_suite(const std::filesystem::path& given, std::span<const Override> overrides) {
  const std::filesystem::path path = shipped(given);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return bad_input(fmt::format("{}: no such file{}", path.string(), meant_suite(path)));
  NB_TRY(Json json, read_json(path, JsonComments::kAllowed));
  NB_TRY(json, with_overrides(std::move(json), overrides, path.string()));
  return parse_suite(std::move(json), path.string());
}

std::string suite_help() { return help_fields(Suite{}.fields()); }

}  // namespace nb
