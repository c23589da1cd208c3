#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/fs.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

constexpr std::string_view kMmluKeys = "question, subject, choices, answer";
constexpr std::size_t kChoices = 4;
const std::vector<std::string> kMmluLetters = {"A", "B", "C", "D"};

Result<ChoiceItem> mmlu_item(const Json& row, const std::string& where) {
  const bool is_wrapped = row.is_object() && row.contains("train") && !row.contains("question");
  RowReader reader(is_wrapped ? row["train"] : row, where, "an MMLU row", kMmluKeys);
  ChoiceItem item;
  item.question = reader.text("question");
  item.subject = reader.text("subject");
  item.choices = reader.texts("choices");
  item.letters = kMmluLetters;
  const std::int64_t answer = reader.integer("answer");
  if (item.choices.size() != kChoices)
    reader.fail(fmt::format("{} choices; MMLU has {}", item.choices.size(), kChoices));
  if (answer < 0 || !std::cmp_less(answer, kChoices))
    reader.fail(fmt::format("answer is {}, but the choices are 0 to {}", answer, kChoices - 1));
  NB_TRY_VOID(reader.status());
  item.gold = static_cast<std::size_t>(answer);
  return item;
}

// MMLU has no ids, and some of its questions twice.
void add(std::vector<ChoiceItem>& items, ItemIds& ids, ChoiceItem item) {
  item.public_id = fmt::format("row {}", items.size() + 1);
  item.id = ids.of(item_bytes(item));
  items.push_back(std::move(item));
}

}  // namespace

Result<std::vector<ChoiceItem>> parse_mmlu(std::string_view text, const std::string& where) {
  std::vector<ChoiceItem> items;
  ItemIds ids;
  const TakeRow take = [&](const Json& row, const std::string& here) -> Result<void> {
    NB_TRY(ChoiceItem item, mmlu_item(row, here));
    add(items, ids, std::move(item));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  return items;
}

Result<std::vector<ChoiceItem>> read_mmlu(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_mmlu(text, path.string());
}

}  // namespace nb
