#include "harness/suite/device_entry.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nb {
namespace {

Result<Json> read_profile(const std::string& name, const std::string& where) {
  if (name.ends_with(".json")) return read_json(name);
  const std::vector<std::string> names = profile_names();
  const std::string_view text = profile_text(name);
  if (text.empty())
    return bad_input(fmt::format("{}: no profile \"{}\"{} (npubench list devices)", where, name,
                                 did_you_mean(name, names)));
  return parse_json(text, name);
}

// Puts the suite's values into the policy of a profile's JSON.
Result<void> override_numerics(Json& profile, const std::map<std::string, std::string>& overrides,
                               const std::string& where) {
  Json& numerics = profile["numerics"];
  std::vector<std::string> names;
  for (const auto& [name, entry] : numerics.items()) names.push_back(name);
  for (const auto& [name, text] : overrides) {
    if (!numerics.contains(name) || !numerics[name].is_object())
      return bad_input(
          fmt::format("{}/numerics_overrides/{}: no such field of the numerics policy{}", where,
                      name, did_you_mean(name, names)));
    Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    numerics[name]["value"] = value.is_number() || value.is_boolean() ? value : Json(text);
    numerics[name]["source"] = "assumed: set by the suite";
  }
  return {};
}

}  // namespace

Result<ResolvedDevice> resolve_device(const DeviceEntry& entry, const std::string& where) {
  NB_TRY(const Json machine, read_profile(entry.profile, where + "/profile"));
  Json policy = machine;
  if (!entry.numerics.empty()) {
    NB_TRY(policy, read_profile(entry.numerics, where + "/numerics"));
  }
  NB_TRY_VOID(override_numerics(policy, entry.numerics_overrides, where));
  NB_TRY(DeviceProfile profile, parse_profile(machine, entry.profile));
  if (policy != machine) {
    NB_TRY(const DeviceProfile other, parse_profile(policy, where));
    NB_TRY(profile, with_numerics(std::move(profile), other), where);
    if (!entry.numerics_overrides.empty()) profile.numerics_of += " with overrides of the suite";
  }
  Json content = machine;
  content["numerics"] = policy["numerics"];
  NB_TRY(std::string text, dump_json(content, /*indent=*/-1));
  return ResolvedDevice{std::move(profile), std::move(text)};
}

}  // namespace nb
