#include "evals/core/items.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/cpython_random.hpp"
#include "harness/base/fs.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

std::string_view expected_keys(CoreTaskType type) {
  switch (type) {
    case CoreTaskType::kMultipleChoice:
      return "query, choices, gold";
    case CoreTaskType::kSchema:
      return "context_options, continuation, gold";
    case CoreTaskType::kLanguageModelling:
      return "context, continuation";
  }
  return "";
}

void check_choices(RowReader& reader, std::string_view key, const CoreItem& item,
                   std::int64_t gold) {
  const std::size_t count = item.choices.size();
  if (count < 2)
    reader.fail(fmt::format("\"{}\" has {} entries; a choice needs at least 2", key, count));
  if (gold < 0 || std::cmp_greater_equal(gold, count))
    reader.fail(fmt::format("\"gold\" is {}, but the choices are 0 to {}", gold, count - 1));
}

Result<CoreItem> parse_row(const Json& row, CoreTaskType type, const std::string& where) {
  const std::string kind = fmt::format("a {} row", name(type));
  RowReader reader(row, where, kind, expected_keys(type));
  CoreItem item;
  if (type == CoreTaskType::kLanguageModelling) {
    item.query = reader.text("context");
    item.continuation = reader.text("continuation");
  } else {
    const bool is_schema = type == CoreTaskType::kSchema;
    const char* choices = is_schema ? "context_options" : "choices";
    (is_schema ? item.continuation : item.query) =
        reader.text(is_schema ? "continuation" : "query");
    item.choices = reader.texts(choices);
    const std::int64_t gold = reader.integer("gold");
    check_choices(reader, choices, item, gold);
    item.gold = static_cast<int>(gold);
  }
  NB_TRY_VOID(reader.status());
  return item;
}

}  // namespace

std::string_view name(CoreTaskType type) {
  switch (type) {
    case CoreTaskType::kMultipleChoice:
      return "multiple_choice";
    case CoreTaskType::kSchema:
      return "schema";
    case CoreTaskType::kLanguageModelling:
      return "language_modeling";
  }
  return "";
}

Result<std::vector<CoreItem>> parse_core_items(std::string_view text, CoreTaskType type,
                                               const std::string& where) {
  std::vector<CoreItem> items;
  const TakeRow take = [&](const Json& row, const std::string& line) -> Result<void> {
    NB_TRY(CoreItem item, parse_row(row, type, line));
    items.push_back(std::move(item));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  name_items(items, type);
  return items;
}

Result<std::vector<CoreItem>> read_core_items(const std::filesystem::path& path,
                                              CoreTaskType type) {
  NB_TRY(const std::string text, read_file(path));
  return parse_core_items(text, type, path.string());
}

std::string item_bytes(const CoreItem& item, CoreTaskType type) {
  std::vector<std::string> fields = {std::string(name(type))};
  if (type != CoreTaskType::kSchema) fields.push_back(item.query);
  if (type != CoreTaskType::kLanguageModelling) {
    fields.push_back(std::to_string(item.choices.size()));
    fields.insert(fields.end(), item.choices.begin(), item.choices.end());
  }
  if (type != CoreTaskType::kMultipleChoice) fields.push_back(item.continuation);
  if (type != CoreTaskType::kLanguageModelling) fields.push_back(std::to_string(item.gold));
  return netstrings(fields);
}

void name_items(std::span<CoreItem> items, CoreTaskType type) {
  ItemIds ids;
  for (CoreItem& item : items) item.id = ids.of(item_bytes(item, type));
}

std::vector<std::size_t> shuffled_and_cropped(std::size_t rows, std::uint64_t shuffle_seed,
                                              std::int64_t max_per_task) {
  std::vector<std::size_t> kept = CPythonRandom(shuffle_seed).shuffled(rows);
  if (max_per_task > 0 && std::cmp_less(max_per_task, kept.size()))
    kept.resize(static_cast<std::size_t>(max_per_task));
  return kept;
}

std::vector<std::size_t> few_shot_positions(std::size_t kept, std::size_t index, int shots,
                                            std::uint64_t few_shot_seed) {
  if (shots == 0) return {};
  NB_CHECK(index < kept && std::cmp_less(shots, kept), "[few_shot] {} examples for item {} of {}",
           shots, index, kept);
  auto positions =
      CPythonRandom(few_shot_seed + index).sample(kept - 1, static_cast<std::size_t>(shots));
  for (std::size_t& position : positions)
    if (position >= index) ++position;  // the population leaves the item itself out
  return positions;
}

}  // namespace nb
