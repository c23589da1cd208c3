#include "results/compare/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "results/compare/recipe_names.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/captured.hpp"

namespace nb {
namespace {

// What a record says of its recipe, in the common words.
using Recipe = std::map<std::string, Json>;

constexpr std::size_t kLongestValue = 80;
constexpr double kRounding = 1e-12;  // of a rate that was multiplied
constexpr std::size_t kNamedSettings =
    12;  // settings that only one side says; the others are counted

// Members that are no settings of a recipe: of a captured run the command, what it was asked for
// (taken apart below) and what is looked at on its own; of an emulated one what it ran on.
constexpr std::string_view kNoSettings[] = {
    "module",    "arguments",     "user_config",   "model_config_kwargs",
    "effective", "first_batches", "first_weights", "device",
    "stage"};
constexpr std::string_view kStages[] = {"train", "mid", "sft", "dpo", "rl"};

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

// What says nothing.
bool is_empty(const Json& value) {
  return value.is_null() || ((value.is_object() || value.is_array() || value.is_string()) &&
                             (value.empty() || value == ""));
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class Reader {
 public:
  Reader(std::vector<Vocabulary> words, double batch_scale)
      : words_(std::move(words)), batch_scale_(batch_scale) {}

  void read(const Json& value, const std::string& path) {
    const RecipeName* row = path.empty() ? nullptr : row_of(path);
    if (row != nullptr && row->common.empty()) return;
    if (row == nullptr && value.is_object()) {
      for (const auto& [key, child] : value.items())
        read(child, path.empty() ? key : path + "/" + key);
      return;
    }
    if (!is_empty(value)) say(row, path, value);
  }

  Recipe take() { return std::move(recipe_); }

 private:
  const RecipeName* row_of(const std::string& path) const {
    for (const Vocabulary words : words_)
      for (const std::string_view name : {std::string_view(path), last_part(path)})
        if (const RecipeName* row = find_recipe_name(words, name)) return row;
    return nullptr;
  }

  void say(const RecipeName* row, const std::string& path, Json value) {
    if (row == nullptr) {
      recipe_[path] = std::move(value);
      return;
    }
    const bool is_number = value.is_number() && !value.is_boolean();
    const double number = is_number ? value.get<double>() : 0;
    switch (row->reading) {
      case Reading::kNoneBelowZero:
        if (is_number && number < 0) return;
        break;
      case Reading::kOffIfFalse:
        if (value == false || (is_number && number == 0)) return;
        break;
      case Reading::kTimesBatchScale:
        if (is_number && batch_scale_ != 1) value = number * batch_scale_;
        break;
      case Reading::kAsIs:
      case Reading::kElsewhere:
      case Reading::kOneSided:
        break;
    }
    for (const RecipeValue& one : recipe_values())
      if (one.common == row->common && value == one.theirs) value = one.ours;
    recipe_[std::string(row->common)] = std::move(value);
  }

  std::vector<Vocabulary> words_;
  double batch_scale_;
  Recipe recipe_;
};

void add_effective(const Json& settings, Recipe& recipe) {
  const Json* effective = member(settings, "effective");
  if (effective == nullptr) return;
  if (const Json* steps = member(*effective, "iterations")) recipe["iterations"] = *steps;
  const Json* config = member(*effective, "config");
  if (config == nullptr) return;
  for (const auto& [key, value] : config->items())
    if (!value.is_object()) recipe["model/" + key] = value;
  // Absent, it is nanochat's of 2025-10 (model/decoder/config.cpp), and so said on both sides.
  const Json* architecture = member(*config, "architecture");
  if (architecture == nullptr) {
    recipe["model/architecture"] = "nanochat of 2025-10";
    return;
  }
  for (const auto& [key, value] : architecture->items()) recipe["model/" + key] = value;
}

Recipe captured_recipe(const Record& record) {
  const Json& settings = *record.settings;
  const Json* asked = member(settings, "user_config");
  const Json* scale = member(settings, "batch_lr_scale");
  // A script of nanochat, or a loop of one's own in whatever words.
  const auto words = asked != nullptr ? std::vector{Vocabulary::kNanochat}
                                      : std::vector{Vocabulary::kNanochat, Vocabulary::kTwinkle,
                                                    Vocabulary::kOurs};
  Reader reader(words, scale != nullptr && scale->is_number() ? scale->get<double>() : 1);
  const bool is_muons = member(settings, "weight_decay_scaled") != nullptr;
  const auto read_members = [&](const Json& object) {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(kNoSettings, key) != std::end(kNoSettings)) continue;
      if (is_muons && key == "weight_decay") continue;  // of Muon since 2c4473d, and scaled
      reader.read(value, key);
    }
  };
  if (asked != nullptr && asked->is_object()) read_members(*asked);
  read_members(settings);  // what the script made of it wins
  Recipe recipe = reader.take();
  const auto rename = [&](const char* from, const char* to) {
    if (auto node = recipe.extract(from); !node.empty()) recipe[to] = std::move(node.mapped());
  };
  // Twinkle's beta weighs the divergence in grpo.py, the log ratios in dpo.py.
  if (asked == nullptr)
    for (const char* beta : {"loss/beta", "beta"})
      rename(beta, stage_of(record) == "rl" ? "kl_weight" : "beta");
  // Twinkle's grpo.py takes epsilon where there is no epsilon_high.
  if (recipe.contains("clip_low") && !recipe.contains("clip_high"))
    recipe["clip_high"] = recipe["clip_low"];
  if (const Json* cards = member(*record.environment, "world_size")) recipe["cards"] = *cards;
  return recipe;
}

Recipe emulated_recipe(const Record& record) {
  const Json& settings = *record.settings;
  Reader reader({Vocabulary::kOurs}, 1);
  for (const auto& [key, value] : settings.items()) {
    if (std::ranges::find(kStages, key) != std::end(kStages)) {
      if (value.is_object())
        for (const auto& [name, child] : value.items()) reader.read(child, name);
    } else if (std::ranges::find(kNoSettings, key) == std::end(kNoSettings)) {
      reader.read(value, key);
    }
  }
  Recipe recipe = reader.take();
  // Packed SFT goes by its own settings (model/train/chat_settings.cpp), these are not read.
  const Json* sft = member(settings, "sft");
  if (sft != nullptr && member(*sft, "packed") != nullptr)
    for (const char* unread : {"examples_per_step", "num_epochs", "eval_batches"})
      recipe.erase(unread);
  recipe["cards"] = 1;  // a training is emulated on one (harness/run/train_stage.cpp)
  // The stage whose weights it began with; BASE's history names none.
  if (record.checkpoint->is_object()) {
    const Json* before = member(*record.checkpoint, "stage");
    recipe["source"] = before != nullptr ? *before : Json("base");
  }
  return recipe;
}

Recipe recipe_of(const Record& record) {
  Recipe recipe = is_captured(record) ? captured_recipe(record) : emulated_recipe(record);
  add_effective(*record.settings, recipe);
  const auto length = recipe.find("sequence_len"), model = recipe.find("model/sequence_len");
  if (length != recipe.end() && model != recipe.end() && length->second == model->second)
    recipe.erase(length);  // the model's says it
  return recipe;
}

// nanochat asks for a share of the steps, since 6ed7d1d for a number of them.
void use_steps_of_warmup(Recipe& recipe, const Recipe& other) {
  const auto ratio = recipe.find("warmup_ratio"), steps = recipe.find("iterations");
  if (!other.contains("warmup_steps") || ratio == recipe.end() || steps == recipe.end()) return;
  recipe["warmup_steps"] = std::lround(ratio->second.get<double>() * steps->second.get<double>());
  recipe.erase("warmup_ratio");
}

bool is_equal(const Json& a, const Json& b) {
  if (a == b) return true;
  if (!a.is_number_float() && !b.is_number_float()) return false;
  if (!a.is_number() || !b.is_number()) return false;
  const double x = a.get<double>(), y = b.get<double>();
  return std::fabs(x - y) <= kRounding * std::max(std::fabs(x), std::fabs(y));
}

std::string short_text(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "…";
  return text;
}

std::string named(const std::vector<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamedSettings)));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kNamedSettings)
    text += fmt::format(" and {} more", names.size() - kNamedSettings);
  return text;
}

// What a suite plants or sets on the emulated device alone is never taken for a recipe's.
void add_planted(const Record& record, bool is_a, RecipeComparison& found) {
  const Json* device = member(*record.settings, "device");
  if (is_captured(record) || device == nullptr || !device->is_object()) return;
  for (const auto& [key, value] : device->items()) {
    if (key == "name" || key == "profile" || is_empty(value)) continue;
    const std::string text = short_text(value), none = "(absent)";
    found.differing.push_back(
        {"settings", "/settings/device/" + key, is_a ? text : none, is_a ? none : text, {}});
  }
}

// What a capture keeps a digest of: the batches of its first steps, the weights before them.
void compare_digests(const Record& a, const Record& b, RecipeComparison& found) {
  struct Digest {
    const char* key;
    Sentence what;
  };
  const Digest kDigests[] = {{"first_batches", message("unknown.texts")},
                             {"first_weights", message("unknown.first_weights")}};
  std::vector<Sentence> open;
  for (const Digest& digest : kDigests) {
    const Json *left = member(*a.settings, digest.key), *right = member(*b.settings, digest.key);
    if (left == nullptr || right == nullptr)
      open.push_back(digest.what);
    else if (*left == *right)
      found.equal.emplace_back(digest.key);
    else
      found.differing.push_back({"data",
                                 std::string("/recipe/") + digest.key,
                                 short_text(*left),
                                 short_text(*right),
                                 {}});
  }
  if (is_captured(a) != is_captured(b)) open.push_back(message("unknown.formats"));
  if (!open.empty())
    found.unknown.push_back(message("unknown.not_compared", joined("join.comma", std::move(open))));
}

}  // namespace

RecipeComparison compare_recipes(const Record& a, const Record& b) {
  Recipe left = recipe_of(a), right = recipe_of(b);
  use_steps_of_warmup(left, right);
  use_steps_of_warmup(right, left);
  RecipeComparison found;
  std::vector<std::string> only_a, only_b;
  for (const auto& [key, value] : left) {
    const auto other = right.find(key);
    if (other == right.end())
      only_a.push_back(key);
    else if (is_equal(value, other->second))
      found.equal.push_back(key);
    else
      found.differing.push_back(
          {"settings", "/recipe/" + key, short_text(value), short_text(other->second), {}});
  }
  for (const auto& [key, value] : right)
    if (!left.contains(key)) only_b.push_back(key);
  if (!only_b.empty()) found.unknown.push_back(message("unknown.not_said", "A", named(only_b)));
  if (!only_a.empty()) found.unknown.push_back(message("unknown.not_said", "B", named(only_a)));
  add_planted(a, true, found);
  add_planted(b, false, found);
  compare_digests(a, b, found);
  return found;
}

}  // namespace nb
