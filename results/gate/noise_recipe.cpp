#include "results/gate/noise_recipe.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "results/compare/confounders.hpp"

namespace nb {
namespace {

constexpr int kLongestValue = 80;

// What a checkpoint tells of its own training (record.hpp) and decides what is learned. Its code
// and its device's numerics are not what was asked for; earlier stages are nodes of their own.
constexpr const char* kOfCheckpoint[] = {"settings", "model", "data", "tokenizer"};

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_leaves(const Json& json, const std::string& pointer,
                std::map<std::string, std::string>& leaves) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) add_leaves(value, pointer + "/" + key, leaves);
  } else if (!changes_no_result(pointer)) {
    leaves[pointer] = text_of(json);
  }
}

// Nothing: the recipe does not say.
std::optional<std::string> stated(const NoiseRecipe& recipe, const std::string& field) {
  const auto at = recipe.settings.find(field);
  return at == recipe.settings.end() ? value_before(field) : at->second;
}

std::string value_of(const NoiseRecipe& recipe, const std::string& field) {
  const std::optional<std::string> said = stated(recipe, field);
  if (!said) return "(absent)";
  const std::string& text = *said;
  return std::ssize(text) <= kLongestValue ? text : fmt::format("{:.{}}…", text, kLongestValue);
}

bool is_own_seed(const NoiseRecipe& recipe, const std::string& field) {
  const auto at = recipe.settings.find(field);
  return field.ends_with("/seed") && at != recipe.settings.end() &&
         at->second == std::to_string(recipe.seed);
}

}  // namespace

FieldList NoiseRecipe::fields() {
  return {{"node", "training or evaluation, device", &node, {.required = true}},
          {"seed", "of the record that it was read from", &seed},
          {"settings", "JSON pointer to value, as JSON", &settings}};
}

NoiseRecipe recipe_of(const Record& record) {
  Record node = record;
  node.seed.reset();
  NoiseRecipe recipe{describe(node), record.seed.value_or(0), {}};
  add_leaves(*record.settings, "/settings", recipe.settings);
  const Json& checkpoint = *record.checkpoint;
  for (const char* key : kOfCheckpoint)
    if (checkpoint.is_object() && checkpoint.contains(key))
      add_leaves(checkpoint.at(key), std::string("/checkpoint/") + key, recipe.settings);
  return recipe;
}

std::vector<RecipeDifference> recipe_differences(const NoiseRecipe& a, const NoiseRecipe& b) {
  std::map<std::string, std::string> fields = a.settings;
  fields.insert(b.settings.begin(), b.settings.end());
  std::vector<RecipeDifference> found;
  for (const auto& [field, unused] : fields) {
    if (stated(a, field) == stated(b, field)) continue;
    if (is_own_seed(a, field) && is_own_seed(b, field)) continue;
    found.push_back({field, value_of(a, field), value_of(b, field)});
  }
  return found;
}

}  // namespace nb
