#include "results/compare/confounders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "results/compare/recipe.hpp"
#include "results/compare/served_causes.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/captured.hpp"

namespace nb {
namespace {

constexpr const char* kAbsent = "(absent)";
constexpr std::size_t kLongestValue = 80;

// Ends of pointers. Every field that no node key hashes is here and nothing else: a test compares
// this with the fields themselves.
constexpr std::string_view kWithoutEffect[] = {
    "/checkpoint_every",       "/evaluation/batch_size",     "/evaluation/crosses_devices",
    "/evaluation/of_baseline", "/evaluation/stages",         "/evaluation/steps",
    "/evaluation/task_files",  // what they say is hashed
    "/evaluation/texts",       "/settings/task_files",       "/settings/texts",
    "/finished/folder",        "/finished/tokenizer_folder",
};

// Settings that came later, as records print them.
constexpr std::pair<std::string_view, std::string_view> kBeforeItWasPrinted[] = {
    {"/settings/effective/adamw_denominator", "\"scaled_step\""},  // the only one until 2026-11-27
};

bool is_as_before(const Json* a, const Json* b, std::string_view path) {
  const Json* there = a == nullptr ? b : a;
  if ((a != nullptr && b != nullptr) || there == nullptr) return false;
  const auto before = value_before(path);
  return before && there->dump(-1, ' ', false, Json::error_handler_t::replace) == *before;
}

std::string short_text(const Json* value) {
  if (value == nullptr) return kAbsent;
  std::string text = value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "…";
  return text;
}

// "news.txt has other content": of settings that hold digests of files under their names (work.cpp
// of harness/plan); empty: another setting.
Sentence changed_file(const std::string& path) {
  for (const std::string_view files : {"/file_digests/", "/own_files/"})
    if (const std::size_t at = path.find(files); at != std::string::npos)
      return message("cause.other_content", path.substr(at + files.size()));
  return {};
}

// Leaves that differ; objects are walked, lists compared whole (an inserted element would shift the
// rest).
void walk(const Json* a, const Json* b, const std::string& path, std::vector<Confounder>& found,
          const std::string& category = "settings") {
  if (a != nullptr && b != nullptr && *a == *b) return;
  // A checkpoint of another run that was evaluated again: its history is compared like any other.
  if (path == "/settings/finished" && (a == nullptr || b == nullptr)) return;
  const bool objects = (a == nullptr || a->is_object()) && (b == nullptr || b->is_object());
  if (!objects) {
    if (changes_no_result(path) || is_as_before(a, b, path)) return;
    Sentence file = changed_file(path);
    const std::string kind = file.empty() ? category : "data";
    found.push_back({kind, path, short_text(a), short_text(b), {}, std::move(file)});
    return;
  }
  std::vector<std::string> keys;
  for (const Json* side : {a, b})
    if (side != nullptr)
      for (const auto& [key, value] : side->items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto child = [](const Json* side, const std::string& key) {
    return side != nullptr && side->contains(key) ? &side->at(key) : nullptr;
  };
  for (const std::string& key : keys)
    walk(child(a, key), child(b, key), path + "/" + key, found, category);
}

void add_text(std::vector<Confounder>& found, const std::string& category, const std::string& field,
              const std::string& a, const std::string& b) {
  if (a != b)
    found.push_back({category, field, a.empty() ? kAbsent : a, b.empty() ? kAbsent : b, {}});
}

std::string value_of(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::string() : at->second.substr(0, 16);
}

// The folders whose code differs, as both environments tell of theirs.
Sentence changed_folders(const Record& a, const Record& b) {
  constexpr std::size_t kNamedFolders = 3;
  const auto components = [](const Record& record) -> const Json* {
    static const Json::json_pointer at("/code/components");
    const Json& environment = *record.environment;
    return environment.is_object() && environment.contains(at) ? &environment.at(at) : nullptr;
  };
  const Json *left = components(a), *right = components(b);
  if (left == nullptr || right == nullptr) return {};
  std::set<std::string> folders;
  for (const auto& [from, to] : {std::pair(left, right), std::pair(right, left)})
    for (const auto& [folder, digest] : from->items())
      if (!to->contains(folder) || to->at(folder) != digest) folders.insert(folder);
  return listed({folders.begin(), folders.end()}, kNamedFolders);
}

void add_code(std::vector<Confounder>& found, const Record& a, const Record& b) {
  const std::size_t before = found.size();
  add_text(found, "code", "/subject/code", value_of(a.subject, "code"),
           value_of(b.subject, "code"));
  if (found.size() > before) found.back().named = changed_folders(a, b);
}

const NumericsEntry* entry_of(const Record& record, const std::string& item) {
  for (const NumericsEntry& entry : record.numerics)
    if (entry.item == item) return &entry;
  return nullptr;
}

void add_numerics(std::vector<Confounder>& found, const Record& a, const Record& b) {
  std::vector<std::string> items;
  for (const Record* record : {&a, &b})
    for (const NumericsEntry& entry : record->numerics)
      if (std::find(items.begin(), items.end(), entry.item) == items.end())
        items.push_back(entry.item);
  for (const std::string& item : items) {
    const NumericsEntry* left = entry_of(a, item);
    const NumericsEntry* right = entry_of(b, item);
    add_text(found, "numerics", item, left == nullptr ? "" : left->value,
             right == nullptr ? "" : right->value);
  }
}

// What an evaluated checkpoint says of its training, and what its difference means. "parents"
// follows from the rest.
struct HistoryField {
  const char* key;
  const char* category;
};
constexpr HistoryField kHistory[] = {
    {"settings", "settings"},  {"model", "settings"},    {"steps", "settings"},
    {"seed", "settings"},      {"data", "data"},         {"tokenizer", "data"},
    {"code", "code"},          {"numerics", "numerics"}, {"device", "device"},
    {"numerics_of", "device"}, {"stage", "settings"},
};

const Json* member(const Json& history, const char* key) {
  if (!history.is_object() || !history.contains(key) || history.at(key).is_null()) return nullptr;
  return &history.at(key);
}

const Json* member(const Record& record, const char* key) {
  return member(*record.checkpoint, key);
}

// And of the stages before it, as far back as both sides go.
void add_history(std::vector<Confounder>& found, const Json& a, const Json& b,
                 const std::string& pointer) {
  for (const HistoryField& field : kHistory) {
    const Json *left = member(a, field.key), *right = member(b, field.key);
    if (left != nullptr && right != nullptr)
      walk(left, right, pointer + "/" + field.key, found, field.category);
    if (!found.empty() && found.back().field == pointer + "/data")
      found.back().named = message("cause.other_tokens");
  }
  const Json *left = member(a, "before"), *right = member(b, "before");
  if (left != nullptr && right != nullptr) {
    add_history(found, *left, *right, pointer + "/before");
  } else if (left != nullptr || right != nullptr) {
    add_text(found, "settings", pointer + "/before", left == nullptr ? "" : "a stage",
             right == nullptr ? "" : "a stage");
  }
}

// A training's is that of the weights that it began with; BASE has none.
void add_history(std::vector<Confounder>& found, const Record& a, const Record& b) {
  if (a.kind != "eval" && a.kind != "train") return;
  if (a.kind == "eval" && has_same_weights(a, b)) return;
  if (a.checkpoint->is_null() || b.checkpoint->is_null()) return;  // nothing is known of one
  add_history(found, *a.checkpoint, *b.checkpoint, "/checkpoint");
}

// What the sources of imported results say of how they were made, and what its difference means.
struct ProvenanceField {
  const char* key;
  const char* category;  // nullptr: no confounder
};
constexpr ProvenanceField kProvenance[] = {
    {"device", "device"}, {"date", nullptr},   {"primary", nullptr}, {"series", nullptr},
    {"model", "model"},   {"version", "code"}, {"harness", "code"},
};

const char* category_of(const std::string& key) {
  for (const ProvenanceField& field : kProvenance)
    if (key == field.key) return field.category;
  return "settings";
}

// A setting of how it was made, not what was made with it.
bool is_how(const std::string& key) {
  const char* category = category_of(key);
  return category != nullptr && std::string_view(category) != "model" && key != "harness";
}

const Json& imported_of(const Record& record) {
  static const Json kNone = Json::object();
  return is_imported(record) ? record.settings->at("imported") : kNone;
}

// Only what both sides say can differ.
void add_imported(std::vector<Confounder>& found, const Record& a, const Record& b) {
  const Json &left = imported_of(a), &right = imported_of(b);
  for (const auto& [key, value] : left.items()) {
    const char* category = category_of(key);
    if (category == nullptr || !right.contains(key)) continue;
    walk(&value, &right.at(key), "/" + key, found, category);
  }
}

std::vector<Sentence> unknown_of_imported(const Record& a, const Record& b) {
  const Json &left = imported_of(a), &right = imported_of(b);
  std::vector<Sentence> unknown;
  const auto add = [&](const Json& here, const Json& there, const char* side) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : there.items())
      if (category_of(key) != nullptr && key != "model" && !here.contains(key)) keys.push_back(key);
    if (!keys.empty())
      unknown.push_back(
          message("unknown.not_said", side, fmt::format("{}", fmt::join(keys, ", "))));
  };
  if (is_imported(a)) add(left, right, "A");
  if (is_imported(b)) add(right, left, "B");
  const bool any_in_common =
      std::any_of(left.items().begin(), left.items().end(),
                  [&](const auto& at) { return is_how(at.key()) && right.contains(at.key()); });
  if (!any_in_common) unknown.push_back(message("unknown.how"));
  const std::string model_a = left.value("model", ""), model_b = right.value("model", "");
  if (model_a.empty() || model_b.empty())
    unknown.push_back(model_a.empty() && model_b.empty()
                          ? message("unknown.model")
                          : message("unknown.model_of", model_a.empty() ? "A" : "B"));
  else if (model_a == model_b)
    unknown.push_back(message("unknown.weights"));
  return unknown;
}

// What computed: our component's digest, or the commit of the captured folder.
std::string code_of(const Record& record) {
  if (!is_captured(record)) return value_of(record.subject, "code");
  const Json commit = record.environment->value("commit", Json());
  return commit.is_string() ? "commit " + commit.get<std::string>().substr(0, 12) : "";
}

bool any_captured(const Record& a, const Record& b) { return is_captured(a) || is_captured(b); }

// Of a side that does not say it, it is unknown, not different.
void add_captured_code(std::vector<Confounder>& found, const Record& a, const Record& b) {
  const std::string left = code_of(a), right = code_of(b);
  if (!left.empty() && !right.empty()) add_text(found, "code", "/subject/code", left, right);
}

// Of two evaluations what matters is in comparability; what only the emulator can plant is said.
void add_captured(std::vector<Confounder>& found, const Record& a, const Record& b) {
  if (a.kind == "train") {
    for (Confounder& confounder : compare_recipes(a, b).differing)
      found.push_back(std::move(confounder));
  } else if (is_captured(a) && is_captured(b)) {
    walk(&*a.settings, &*b.settings, "/settings", found);
  } else {
    const Json none = Json::array();
    const Json left = a.settings->value("faults", none), right = b.settings->value("faults", none);
    walk(&left, &right, "/settings/faults", found);
  }
}

// One side's card of numerics is PyTorch's, the other's the emulator's: lines of both are compared.
void keep_numerics_of_both(std::vector<Confounder>& found) {
  std::erase_if(found, [](const Confounder& c) {
    return c.category == "numerics" && (c.a == kAbsent || c.b == kAbsent);
  });
}

std::vector<Sentence> unknown_of_captured(const Record& a, const Record& b) {
  std::vector<Sentence> unknown;
  if (a.kind == "train") unknown = compare_recipes(a, b).unknown;
  for (const auto& [record, side] : {std::pair{&a, "A"}, std::pair{&b, "B"}})
    if (code_of(*record).empty()) unknown.push_back(message("unknown.code_of", side));
  return unknown;
}

}  // namespace

std::optional<std::string> value_before(std::string_view field) {
  for (const auto& [setting, value] : kBeforeItWasPrinted)
    if (setting == field) return std::string(value);
  return std::nullopt;
}

bool changes_no_result(std::string_view field) {
  return std::any_of(std::begin(kWithoutEffect), std::end(kWithoutEffect),
                     [&](std::string_view end) { return field.ends_with(end); });
}

std::vector<Sentence> unknown_of(const Record& a, const Record& b) {
  if (is_imported(a) || is_imported(b)) return unknown_of_imported(a, b);
  std::vector<Sentence> unknown;
  if (any_captured(a, b)) unknown = unknown_of_captured(a, b);
  std::ranges::move(unknown_of_served(a, b), std::back_inserter(unknown));
  if (a.kind != "eval" || has_same_weights(a, b)) return unknown;
  const auto missing = [&](const char* key) {
    std::vector<std::string> sides;
    for (Record side : {a, b}) {  // once per node, not once per seed
      side.seed.reset();
      if (member(side, key) == nullptr) sides.push_back(describe(side));
    }
    if (sides.size() == 2 && sides[0] == sides[1]) sides.pop_back();
    std::vector<Sentence> names;
    for (std::string& side : sides) names.push_back(verbatim(std::move(side)));
    return joined("join.and", std::move(names));
  };
  if (const Sentence sides = missing("settings"); !sides.empty())
    unknown.push_back(message("unknown.training_settings", sides));
  else if (const Sentence coded = missing("code"); !coded.empty())
    unknown.push_back(message("unknown.training_code", coded));
  return unknown;
}

std::vector<std::string> stated_equal_of(const Record& a, const Record& b) {
  if (any_captured(a, b) && a.kind == "train") return compare_recipes(a, b).equal;
  const Json &left = imported_of(a), &right = imported_of(b);
  std::vector<std::string> equal;
  for (const auto& [key, value] : left.items())
    if (is_how(key) && right.contains(key) && right.at(key) == value) equal.push_back(key);
  return equal;
}

std::vector<Confounder> confounders_of(const Record& a, const Record& b) {
  std::vector<Confounder> found;
  if (is_imported(a) || is_imported(b)) {
    add_imported(found, a, b);
    for (Confounder& confounder : found) confounder.where = {describe(a)};
    return found;
  }
  if (any_captured(a, b))
    add_captured(found, a, b);
  else
    walk(&*a.settings, &*b.settings, "/settings", found);
  add_history(found, a, b);
  const std::string device_a = Json(a.device).dump(), device_b = Json(b.device).dump();
  std::erase_if(found, [&](const Confounder& c) { return c.a == device_a && c.b == device_b; });
  if (any_captured(a, b))
    add_captured_code(found, a, b);
  else
    add_code(found, a, b);
  add_numerics(found, a, b);
  if (is_captured(a) != is_captured(b)) keep_numerics_of_both(found);
  add_text(found, "device", "/device", a.device, b.device);
  const bool untold = any_captured(a, b) && (a.trained_on.empty() || b.trained_on.empty());
  if (!untold && (a.trained_on != a.device || b.trained_on != b.device))
    add_text(found, "device", "/trained_on", a.trained_on, b.trained_on);
  add_served(found, a, b);
  for (Confounder& confounder : found) confounder.where = {describe(a)};
  return found;
}

void add_confounders(std::vector<Confounder>& all, const std::vector<Confounder>& more) {
  for (const Confounder& confounder : more) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Confounder& other) {
      return other.category == confounder.category && other.field == confounder.field &&
             other.a == confounder.a && other.b == confounder.b;
    });
    if (same == all.end())
      all.push_back(confounder);
    else
      same->where.insert(same->where.end(), confounder.where.begin(), confounder.where.end());
  }
}

}  // namespace nb
