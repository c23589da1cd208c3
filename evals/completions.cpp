#include "evals/completions.hpp"

#include <fmt/core.h>

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

struct GivenText {
  std::string text;
  bool is_solution = false;
};

Result<GivenText> given_text(const Json& row, const std::string& member, const std::string& line) {
  if (!member.empty() && !row.contains(member))
    return bad_input(fmt::format("{}: \"{}\" is missing", line, member));
  const Json& holder = member.empty() ? row : row[member];
  if (holder.is_string()) return GivenText{holder.get<std::string>(), false};
  const std::string where = member.empty() ? line : line + ": " + member;
  if (!holder.is_object())
    return bad_input(
        fmt::format("{}: expected an object or a string, got {}", where, holder.type_name()));
  GivenText given;
  NB_TRY(given.text, text_of(holder, kTextKeys, where));
  given.is_solution = !holder.contains("completion") && holder.contains("solution");
  return given;
}

}  // namespace

Result<std::vector<StoredTexts>> parse_completions(std::string_view text,
                                                   const GeneratingEvaluator& evaluator,
                                                   std::int64_t samples, const std::string& where,
                                                   const std::string& member) {
  const Places places(evaluator);
  std::vector<StoredTexts> stored(evaluator.size());
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i].item = i;
  const TakeRow add = [&](const Json& row, const std::string& line) -> Result<void> {
    if (!row.is_object())
      return bad_input(fmt::format("{}: expected an object, got {}", line, row.type_name()));
    NB_TRY(const std::size_t i, places.of(row, line));
    NB_TRY(GivenText given, given_text(row, member, line));
    auto& texts = stored[i].texts;
    if (std::cmp_greater_equal(texts.size(), samples))
      return bad_input(fmt::format(
          "{}: \"{}\" appears {} times; for several completions per item, give --samples", line,
          places.name(i), texts.size() + 1));
    texts.push_back(given.is_solution ? evaluator.stored_solution(i, std::move(given.text))
                                      : evaluator.stored_text(i, std::move(given.text)));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, add, EmptyFile::kAllowed));
  const auto is_short = [samples](const StoredTexts& item) {
    return std::cmp_less(item.texts.size(), samples);
  };
  const auto first = std::find_if(stored.begin(), stored.end(), is_short);
  if (first == stored.end()) return stored;
  return bad_input(fmt::format(
      "{}: {} of {} items lack completions; for example, \"{}\" has {} of {}; every item needs {}",
      where, std::count_if(stored.begin(), stored.end(), is_short), stored.size(),
      places.name(first->item), first->texts.size(), samples, samples == 1 ? "one" : "them"));
}

Result<std::vector<StoredTexts>> read_completions(const std::filesystem::path& path,
                                                  const GeneratingEvaluator& evaluator,
                                                  std::int64_t samples, const std::string& member) {
  NB_TRY(const std::string text, read_file(path));
  return parse_completions(text, evaluator, samples, path.string(), member);
}

}  // namespace nb
