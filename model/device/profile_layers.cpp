#include "model/device/profile_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "harness/base/fields.hpp"
#include "model/device/embedded_profiles.hpp"
#include "model/device/quantity.hpp"

namespace nb {
namespace {

constexpr int kDeepestBase = 8;

std::vector<std::string> names_of(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

struct Layer {
  const char* what;    // "stack"
  const char* folder;  // "stacks"
  std::span<const EmbeddedFile> files;
};
Layer machines() { return {"machine", "profiles", embedded_profiles()}; }
Layer stacks() { return {"stack", "stacks", embedded_stacks()}; }
Layer families() { return {"family", "families", embedded_families()}; }

struct NamedJson {
  Json json;
  std::string where;
};

// The file of that name, or at that path.
Result<NamedJson> read_layer(const Layer& layer, const std::string& name,
                             const std::string& asker) {
  if (name.ends_with(".json")) {
    NB_TRY(Json json, read_json(name));
    return NamedJson{std::move(json), name};
  }
  for (const EmbeddedFile& file : layer.files) {
    if (file.name != name) continue;
    const std::string where = fmt::format("model/device/{}/{}.json", layer.folder, name);
    NB_TRY(Json json, parse_json(file.text, where));
    return NamedJson{std::move(json), where};
  }
  const std::vector<std::string> names = names_of(layer.files);
  return bad_input(fmt::format("{}: no {} \"{}\"{} (known: {})", asker, layer.what, name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

struct StackHead {
  std::string name, title, family;
  std::vector<std::string> kinds;
};
Result<StackHead> parse_stack_head(const NamedJson& stack) {
  StackHead head;
  Json rest = stack.json;
  if (rest.is_object())
    for (const char* section : {"launch", "software", "numerics"}) {
      if (!rest.contains(section) || !rest[section].is_object())
        return bad_input(fmt::format("{}: /{}: missing, or not an object", stack.where, section));
      rest.erase(section);
    }
  const FieldRules required{.required = true};
  NB_TRY_VOID(parse_fields({{"name", "what --stack calls it", &head.name, required},
                            {"title", "what it is", &head.title, required},
                            {"kinds", "of machines", &head.kinds, required},
                            {"family", "of fitted constants", &head.family, required}},
                           rest, stack.where));
  return head;
}

// A machine file with what it says of its base.
Result<Json> with_base(const Json& file, const std::string& where, int depth) {
  const auto base = file.find("base");
  if (base == file.end()) return file;
  if (!base->is_string()) return bad_input(where + ": /base: is not the name of a machine");
  if (depth == 0)
    return bad_input(
        fmt::format("{}: /base: \"{}\" goes round in a circle, or is more than {} "
                    "machines deep; name a machine that has no base",
                    where, base->get<std::string>(), kDeepestBase));
  NB_TRY(const NamedJson found,
         read_layer(machines(), base->get<std::string>(), where + ": /base"));
  NB_TRY(Json whole, with_base(found.json, found.where, depth - 1));
  Json own = file;
  own.erase("base");
  whole.merge_patch(own);  // null takes an entry away
  return whole;
}

Result<std::vector<FamilyConstant>> parse_constants(const NamedJson& family) {
  std::vector<FamilyConstant> constants;
  const auto listed = family.json.find("constants");
  if (listed == family.json.end() || !listed->is_object())
    return bad_input(family.where + ": /constants: missing, or not an object");
  for (const auto& [name, entry] : listed->items()) {
    const std::string where = fmt::format("{}: /constants/{}", family.where, name);
    FamilyConstant c;
    c.name = name;
    const FieldRules required{.required = true};
    NB_TRY_VOID(parse_fields({{"at", "the profile's entry", &c.pointer, required},
                              {"also", "a second entry with the same value", &c.also},
                              {"value", "the number", &c.value, required},
                              {"unit", "its unit", &c.unit, required},
                              {"min", "smallest that physics allows", &c.min, required},
                              {"max", "largest that physics allows", &c.max, required},
                              {"meaning", "what it is", &c.meaning, required},
                              {"source", "what it was fitted on", &c.source, required}},
                             entry, where));
    if (!(c.min <= c.value && c.value <= c.max))
      return bad_input(fmt::format(
          "{}/value: {} is outside of its range, {} to {}: there the model is wrong, not the "
          "constant; fit again (min and max stay)",
          where, c.value, c.min, c.max));
    if (const std::string problem = source_problem(c.source); !problem.empty())
      return bad_input(fmt::format("{}/source: {}", where, problem));
    constants.push_back(std::move(c));
  }
  return constants;
}

Result<void> put_constant(Json& profile, const FamilyConstant& c, const std::string& pointer,
                          const std::string& where) {
  try {
    const Json::json_pointer place(pointer);
    if (place.empty() || !profile.contains(place.parent_pointer()))
      return bad_input(fmt::format("{}: a profile has no \"{}\"", where, pointer));
    profile[place] = {{"value", c.value}, {"unit", c.unit}, {"source", c.source}};
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("{}: \"{}\" is no JSON pointer ({})", where, pointer, e.what()));
  }
  return {};
}

Result<void> put_constants(Json& profile, const NamedJson& family) {
  NB_TRY(const std::vector<FamilyConstant> constants, parse_constants(family));
  for (const FamilyConstant& c : constants) {
    const std::string where = fmt::format("{}: /constants/{}", family.where, c.name);
    NB_TRY_VOID(put_constant(profile, c, c.pointer, where + "/at"));
    if (!c.also.empty()) NB_TRY_VOID(put_constant(profile, c, c.also, where + "/also"));
  }
  if (!family.json.contains("calibration"))
    return bad_input(family.where + ": /calibration: missing");
  profile["calibration"] = family.json.at("calibration");
  return {};
}

Result<void> check_kind(const Json& machine, const StackHead& stack, const std::string& where) {
  const std::string kind = machine.value(Json::json_pointer("/identity/kind"), std::string());
  if (kind != "npu" && kind != "gpu") return {};  // tests and hosts take any
  if (std::ranges::count(stack.kinds, kind) > 0) return {};
  std::vector<std::string> fitting;
  for (const EmbeddedFile& file : embedded_stacks()) {
    NB_TRY(const Json json, parse_json(file.text, std::string(file.name)));
    const auto kinds = json.value("kinds", std::vector<std::string>());
    if (std::ranges::count(kinds, kind) > 0) fitting.emplace_back(file.name);
  }
  return bad_input(fmt::format("{}: stack \"{}\" is made for a {}, this is a {}; take {}", where,
                               stack.name, fmt::join(stack.kinds, " or a "), kind,
                               fmt::join(fitting, ", ")));
}

// The stack of a whole file gives way to another.
void drop_stack(Json& machine) {
  for (const char* section : {"software", "numerics", "calibration", "stack", "family"})
    machine.erase(section);
}

}  // namespace

std::vector<std::string> stack_names() { return names_of(embedded_stacks()); }
std::vector<std::string> family_names() { return names_of(embedded_families()); }

Result<std::vector<FamilyConstant>> family_constants(const std::string& family) {
  NB_TRY(const NamedJson found, read_layer(families(), family, "family"));
  return parse_constants(found);
}

Result<Family> load_family(const std::string& family) {
  NB_TRY(const NamedJson found, read_layer(families(), family, "family"));
  Family loaded;
  NB_TRY(loaded.constants, parse_constants(found));
  Json rest = found.json;
  rest.erase("constants");
  const FieldRules required{.required = true};
  const ObjectRef calibration{
      [&loaded]() -> FieldList {
        return {{"note", "what was fitted on what", &loaded.note, {.required = true}},
                {"fitted", "pointers of the fitted constants", &loaded.fitted, {.required = true}}};
      },
      {},
      {}};
  NB_TRY_VOID(parse_fields({{"name", "what stacks call it", &loaded.name, required},
                            {"title", "what it is", &loaded.title, required},
                            {"calibration", "what was fitted", calibration, required}},
                           rest, found.where));
  return loaded;
}

Result<Json> compose_profile(const Json& file, const std::string& where,
                             const std::optional<std::string>& stack) {
  if (!file.is_object()) return file;  // parse_profile says what is wrong
  NB_TRY(Json machine, with_base(file, where, kDeepestBase));
  const bool is_whole = machine.contains("software");
  if (is_whole && !stack) return machine;
  if (is_whole) drop_stack(machine);
  const Json instead = machine.contains("instead") ? machine["instead"] : Json::object();
  machine.erase("instead");
  std::string name = stack.value_or("");
  if (!stack) {
    const auto own = machine.find("stack");
    if (own == machine.end() || !own->is_string())
      return bad_input(
          fmt::format("{}: /stack: missing; name the software stack ({}), or describe "
                      "one under /software and /numerics",
                      where, fmt::join(stack_names(), ", ")));
    name = own->get<std::string>();
  }
  NB_TRY(const NamedJson chosen, read_layer(stacks(), name, where + ": /stack"));
  NB_TRY(const StackHead head, parse_stack_head(chosen));
  NB_TRY_VOID(check_kind(machine, head, where));
  Json profile = machine;
  for (const char* section : {"launch", "software", "numerics"})
    profile[section].merge_patch(chosen.json.at(section));
  if (!instead.is_object()) return bad_input(where + ": /instead: is not an object");
  for (const auto& [section, entries] : instead.items()) {
    if (section != "launch" && section != "software" && section != "numerics")
      return bad_input(fmt::format("{}: /instead/{}: a stack has launch, software and numerics",
                                   where, section));
    profile[section].merge_patch(entries);
  }
  NB_TRY(const NamedJson family, read_layer(families(), head.family, chosen.where + ": /family"));
  NB_TRY_VOID(put_constants(profile, family));
  profile["stack"] = head.name;
  profile["family"] = head.family;
  return profile;
}

}  // namespace nb
