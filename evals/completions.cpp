#include "evals/completions.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "evals/jsonl.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"

namespace nb {
namespace {

constexpr std::array<const char*, 2> kIdKeys = {"task_id", "id"};
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

}  // namespace

Result<std::vector<StoredTexts>> parse_completions(std::string_view text,
                                                   const GeneratingEvaluator& evaluator,
                                                   std::int64_t samples, const std::string& where) {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < evaluator.size(); ++i) {
    places.emplace(evaluator.public_id(i), i);
    places.emplace(evaluator.item_id(i), i);
    names.push_back(evaluator.public_id(i));
  }
  std::vector<StoredTexts> stored(evaluator.size());
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i].item = i;
  const auto add = [&](const Json& row, const std::string& line) -> Result<void> {
    NB_TRY(const std::string id, text_of(row, kIdKeys, line));
    NB_TRY(std::string completion, text_of(row, kTextKeys, line));
    const auto place = places.find(id);
    if (place == places.end())
      return bad_input(
          fmt::format("{}: no item is called \"{}\"{}", line, id, did_you_mean(id, names)));
    auto& texts = stored[place->second].texts;
    if (std::cmp_greater_equal(texts.size(), samples))
      return bad_input(
          fmt::format("{}: \"{}\" is there {} times; with several completions an item "
                      "give --samples",
                      line, id, texts.size() + 1));
    const bool is_solution = !row.contains("completion") && row.contains("solution");
    texts.push_back(is_solution ? evaluator.stored_solution(place->second, std::move(completion))
                                : evaluator.stored_text(place->second, std::move(completion)));
    return {};
  };
  NB_TRY_VOID(for_each_json_line(text, where, add));
  for (const StoredTexts& item : stored)
    if (std::cmp_less(item.texts.size(), samples))
      return bad_input(fmt::format("{}: \"{}\" has {} of {} completions; every item needs them",
                                   where, names[item.item], item.texts.size(), samples));
  return stored;
}

Result<std::vector<StoredTexts>> read_completions(const std::filesystem::path& path,
                                                  const GeneratingEvaluator& evaluator,
                                                  std::int64_t samples) {
  NB_TRY(const std::string text, read_file(path));
  return parse_completions(text, evaluator, samples, path.string());
}

}  // namespace nb
