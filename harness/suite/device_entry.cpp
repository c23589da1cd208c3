#include "harness/suite/device_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

constexpr const char* kSetBySuite = "assumed: set by the suite";

// "mode", "score_mode", "generate_mode"; "pointwise", …: training's has no prefix.
std::string entry_of(Use use, const char* what) {
  return use == Use::kTrain ? what : fmt::format("{}_{}", name(use), what);
}

// Puts the suite's stacks into a profile's JSON: what is launched, and with it what is rounded.
Result<void> override_stacks(Json& machine, Json& policy,
                             const std::map<std::string, std::string>& stacks,
                             const std::string& where) {
  for (const auto& [key, mode] : stacks) {
    const auto use = std::ranges::find(kUses, key, [](Use u) { return name(u); });
    if (use == std::end(kUses))
      return bad_input(fmt::format(
          "{}/stacks/{}: a model is run to train, score, generate or tune{}", where, key,
          did_you_mean(key, std::vector<std::string>{"train", "score", "generate", "tune"})));
    if (mode != "eager" && mode != "compiled")
      return bad_input(
          fmt::format("{}/stacks/{}: \"{}\" is neither eager nor compiled", where, key, mode));
    machine["software"][entry_of(*use, "mode")] = {{"value", mode}, {"source", kSetBySuite}};
    policy["numerics"][entry_of(*use, "pointwise")] = {
        {"value", mode == "eager" ? "eager" : "fused"}, {"source", kSetBySuite}};
  }
  return {};
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
    numerics[name]["source"] = kSetBySuite;
  }
  return {};
}

}  // namespace

Result<ResolvedDevice> resolve_device(const DeviceEntry& entry, const std::string& where) {
  NB_TRY(Json machine, read_profile(entry.profile, where + "/profile"));
  // What is wrong with a file is said of the file, and nothing is put into a broken one.
  NB_TRY(DeviceProfile profile, parse_profile(machine, entry.profile));
  Json policy = machine;
  if (!entry.numerics.empty()) {
    NB_TRY(policy, read_profile(entry.numerics, where + "/numerics"));
    NB_TRY(const DeviceProfile other, parse_profile(policy, entry.numerics));
  }
  NB_TRY_VOID(override_stacks(machine, policy, entry.stacks, where));
  NB_TRY_VOID(override_numerics(policy, entry.numerics_overrides, where));
  NB_TRY(profile, parse_profile(machine, entry.profile));
  if (policy != machine) {
    NB_TRY(const DeviceProfile other, parse_profile(policy, where));
    NB_TRY(profile, with_numerics(std::move(profile), other), where);
    if (!entry.numerics_overrides.empty() || !entry.stacks.empty())
      profile.numerics_of += " with overrides of the suite";
    for (const auto& [key, text] : entry.numerics_overrides)
      if (const std::string why = idle_reason(key, profile.numerics); !why.empty())
        return bad_input(
            fmt::format("{}/numerics_overrides/{}: decides nothing here: {}", where, key, why));
  }
  Json content = machine;
  content["numerics"] = policy["numerics"];
  NB_TRY(std::string text, dump_json(content, /*indent=*/-1));
  return ResolvedDevice{std::move(profile), std::move(text)};
}

}  // namespace nb
