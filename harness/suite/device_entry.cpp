#include "harness/suite/device_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"

namespace nb {
namespace {

Result<Json> read_profile(const std::string& name, const std::optional<std::string>& stack,
                          const std::string& where) {
  const std::vector<std::string> names = profile_names();
  if (!name.ends_with(".json") && !std::ranges::binary_search(names, name))
    return bad_input(fmt::format("{}: no profile \"{}\"{} (npubench list devices)", where, name,
                                 did_you_mean(name, names)));
  return load_profile_json(name, stack);
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

using Values = std::map<std::string, std::string>;

// The suite's own values with those of the defects. No entry is set twice, and each defect sets one
// that was another before.
struct Overrides {
  Values stacks, numerics;
};
Result<Overrides> overrides_of(const DeviceEntry& entry, const PortDefects& defects,
                               const Json& machine, const Json& policy, const std::string& where) {
  Overrides overrides{entry.stacks, entry.numerics_overrides};
  const auto value_of = [](const Json& section, const std::string& key) {
    const bool has = section.contains(key) && section.at(key).is_object();
    return has ? section.at(key).value("value", Json()) : Json();
  };
  for (const PortDefect defect : defects.all()) {
    const PortDefectInfo& row = info(defect);
    bool changes = !row.changes_device();
    const auto put = [&](Values& values, const char* of, const auto& pair) -> Result<void> {
      if (!values.insert(pair).second)
        return bad_input(fmt::format("{}/defects: {}: sets {} too, which {} sets already", where,
                                     row.name, pair.first, of));
      return {};
    };
    for (const auto& pair : row.numerics) {
      NB_TRY_VOID(put(overrides.numerics, "numerics_overrides or another defect", pair));
      changes = changes || value_of(policy["numerics"], pair.first) != pair.second;
    }
    for (const auto& pair : row.stacks) {
      NB_TRY_VOID(put(overrides.stacks, "stacks or another defect", pair));
      changes = changes ||
                value_of(machine["software"], fmt::format("{}_mode", pair.first)) != pair.second;
    }
    if (!changes)
      return bad_input(fmt::format("{}/defects: {}: changes nothing: {} is like that without it",
                                   where, row.name, entry.profile));
  }
  return overrides;
}

}  // namespace

PortDefects defects_of(const DeviceEntry& entry) {
  auto defects = parse_port_defects(entry.defects, "defects");
  NB_CHECK(defects.has_value(), "[device_entry] {}", defects.error().message);
  return std::move(*defects);
}

DeviceEntry with_defects_in(DeviceEntry entry, DefectScope scope) {
  if (!entry.defects.empty()) entry.defects = defects_of(entry).in(scope).names();
  if ((scope & (defect_scope::kDevice | defect_scope::kEvaluation)) != 0) entry.mesh.reset();
  if (scope != scope_of(TrainingStage::kBase)) entry.planted = {};
  return entry;
}

Result<ResolvedDevice> resolve_device(const DeviceEntry& entry, const std::string& where) {
  NB_TRY(Json machine, read_profile(entry.profile, entry.stack, where + "/profile"));
  // What is wrong with a file is said of the file, and nothing is put into a broken one.
  NB_TRY(DeviceProfile profile, parse_profile(machine, entry.profile));
  Json policy = machine;
  if (!entry.numerics.empty()) {
    NB_TRY(policy, read_profile(entry.numerics, {}, where + "/numerics"));
    NB_TRY(const DeviceProfile other, parse_profile(policy, entry.numerics));
  }
  NB_TRY(const PortDefects defects, parse_port_defects(entry.defects, where + "/defects"));
  NB_TRY(const Overrides overrides, overrides_of(entry, defects, machine, policy, where));
  NB_TRY_VOID(override_stacks(machine, policy, overrides.stacks, where));
  NB_TRY_VOID(override_numerics(policy, overrides.numerics, where));
  NB_TRY(profile, parse_profile(machine, entry.profile));
  if (policy != machine) {
    NB_TRY(const DeviceProfile other, parse_profile(policy, where));
    NB_TRY(profile, with_numerics(std::move(profile), other), where);
    if (!overrides.numerics.empty() || !overrides.stacks.empty())
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
