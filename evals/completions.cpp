#include "evals/completions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "evals/evaluate.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

constexpr std::array<const char*, 2> kIdKeys = {"task_id", "id"};
constexpr std::array<const char*, 2> kPromptKeys = {"question", "prompt"};
constexpr std::array<const char*, 3> kTextKeys = {"completion", "solution", "text"};

template <std::size_t n>
Result<std::string> text_of(const Json& row, const std::array<const char*, n>& keys,
                            const std::string& where) {
  for (const char* key : keys) {
    const auto found = row.find(key);
    if (found == row.end()) continue;
    if (found->is_string()) return found->get<std::string>();
    return bad_input(
        fmt::format("{}: \"{}\" must be a string, got {}", where, key, found->type_name()));
  }
  return bad_input(fmt::format(
      "{}: \"{}\" is missing; a line has {{\"task_id\": …, \"completion\": …}}", where, keys[0]));
}

// What a line calls its item, and where that is looked up.
class Places {
 public:
  explicit Places(const GeneratingEvaluator& evaluator) {
    for (std::size_t i = 0; i < evaluator.size(); ++i) {
      by_id_.emplace(evaluator.public_id(i), i);
      by_id_.emplace(evaluator.item_id(i), i);
      names_.push_back(evaluator.public_id(i));
      by_prompt_.emplace(evaluator.prompts(i).front(), i);
    }
  }

  Result<std::size_t> of(const Json& row, const std::string& line) const {
    const bool has_id = row.contains(kIdKeys[0]) || row.contains(kIdKeys[1]);
    if (!has_id)
      for (const char* key : kPromptKeys)
        if (row.contains(key) && row[key].is_string()) {
          const auto place = by_prompt_.find(row[key].get<std::string>());
          if (place != by_prompt_.end()) return place->second;
          return bad_input(fmt::format("{}: no item has this {}", line, key));
        }
    NB_TRY(const std::string id, text_of(row, kIdKeys, line));
    const auto place = by_id_.find(id);
    if (place != by_id_.end()) return place->second;
    const std::string near = did_you_mean(id, names_);
    return bad_input(
        fmt::format("{}: there is no item \"{}\"{}", line, id,
                    near.empty() ? fmt::format("; the first is \"{}\"", names_.front()) : near));
  }

  const std::string& name(std::size_t i) const { return names_[i]; }

 private:
  std::unordered_map<std::string, std::size_t> by_id_, by_prompt_;
  std::vector<std::string> names_;
};

Result<GivenText> given_text(const Json& row, const std::string& member, const std::string& line) {
  if (!member.empty() && !row.contains(member))
    return bad_input(fmt::format("{}: \"{}\" is missing", line, member));
  const Json& holder = member.empty() ? row : row[member];
  if (holder.is_string()) return GivenText{0, holder.get<std::string>(), false};
  const std::string where = member.empty() ? line : line + ": " + member;
  if (!holder.is_object())
    return bad_input(
        fmt::format("{}: expected an object or a string, got {}", where, holder.type_name()));
  GivenText given;
  NB_TRY(given.text, text_of(holder, kTextKeys, where));
  given.is_solution = !holder.contains("completion") && holder.contains("solution");
  return given;
}

// The form of each text, and why.
Result<std::vector<TextForm>> forms_of(std::span<const GivenText> given,
                                       const GeneratingEvaluator& evaluator,
                                       const CompletionsChoice& choice, const std::string& where,
                                       std::string& why) {
  if (choice.form && !evaluator.has_form(*choice.form))
    return bad_input(fmt::format("{}: --completions-form {}: this task has no texts of that form",
                                 where, name(*choice.form)));
  if (choice.form) return std::vector<TextForm>(given.size(), *choice.form);
  std::vector<TextForm> forms;
  std::vector<std::pair<ChosenForm, std::size_t>> taken;  // in the order in which they were met
  for (const GivenText& one : given) {
    const ChosenForm chosen = evaluator.guess_form(one);
    forms.push_back(chosen.form);
    const auto same = std::ranges::find_if(taken, [&](const auto& other) {
      return other.first.form == chosen.form && other.first.why == chosen.why;
    });
    if (same == taken.end())
      taken.emplace_back(chosen, 1);
    else
      ++same->second;
  }
  for (const auto& [chosen, count] : taken)
    if (!chosen.why.empty())
      why +=
          fmt::format("{}{} of {} {}{}", why.empty() ? "" : "; ", count, given.size(), chosen.why,
                      taken.size() > 1 ? fmt::format(" ({})", name(chosen.form)) : "");
  return forms;
}

}  // namespace

std::string Completions::form_names() const {
  std::string names;
  for (const TextForm form : forms)
    names += fmt::format("{}{}", names.empty() ? "" : " and ", name(form));
  return names;
}

std::map<std::string, std::string> Completions::comparability(
    const GeneratingEvaluator& evaluator) const {
  std::map<std::string, std::string> facts;
  for (const TextForm form : forms)
    for (const auto& [key, value] : evaluator.form_comparability(form)) {
      std::string& fact = facts[key];
      if (fact.find(value) == fact.npos) fact += fact.empty() ? value : " and " + value;
    }
  return facts;
}

Result<Completions> parse_completions(std::string_view text, const GeneratingEvaluator& evaluator,
                                      const CompletionsChoice& choice, const std::string& where) {
  const Places places(evaluator);
  std::vector<std::int64_t> counts(evaluator.size());
  std::vector<GivenText> all;
  const TakeRow add = [&](const Json& row, const std::string& line) -> Result<void> {
    if (!row.is_object())
      return bad_input(fmt::format("{}: expected an object, got {}", line, row.type_name()));
    NB_TRY(const std::size_t i, places.of(row, line));
    NB_TRY(GivenText given, given_text(row, choice.member, line));
    if (++counts[i] > choice.samples)
      return bad_input(fmt::format(
          "{}: \"{}\" appears {} times; for several completions per item, give --samples", line,
          places.name(i), counts[i]));
    given.item = i;
    all.push_back(std::move(given));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, add, EmptyFile::kAllowed));
  const auto is_short = [&](std::int64_t count) { return count < choice.samples; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_short);
  Completions completions;
  completions.missing = std::count_if(counts.begin(), counts.end(), is_short);
  if (completions.missing > 0 && !choice.ignore_incomplete)
    return bad_input(
        fmt::format("{}: {} of {} items lack completions; for example, \"{}\" has {} of {}; every "
                    "item needs {}",
                    where, completions.missing, counts.size(),
                    places.name(static_cast<std::size_t>(first - counts.begin())), *first,
                    choice.samples, choice.samples == 1 ? "one" : "them"));
  std::erase_if(all, [&](const GivenText& given) { return is_short(counts[given.item]); });
  if (all.empty())
    return bad_input(
        fmt::format("{}: no item has its completions, so nothing can be scored", where));
  NB_TRY(const auto forms, forms_of(all, evaluator, choice, where, completions.why));
  completions.forms.insert(forms.begin(), forms.end());
  std::vector<StoredTexts> stored(evaluator.size());
  for (std::size_t k = 0; k < all.size(); ++k)
    stored[all[k].item].texts.push_back(
        evaluator.stored_text(all[k].item, forms[k], std::move(all[k].text)));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    stored[i].item = i;
    if (!stored[i].texts.empty()) completions.texts.push_back(std::move(stored[i]));
  }
  return completions;
}

Result<Completions> read_completions(const std::filesystem::path& path,
                                     const GeneratingEvaluator& evaluator,
                                     const CompletionsChoice& choice) {
  NB_TRY(const std::string text, read_file(path));
  return parse_completions(text, evaluator, choice, path.string());
}

}  // namespace nb
