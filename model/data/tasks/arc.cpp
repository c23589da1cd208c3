#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/fs.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

constexpr std::string_view kKind = "an ARC row";
constexpr std::string_view kArcKeys = "id, question, choices {text, label}, answerKey";

// What is wrong with the choices themselves; empty: nothing.
std::string choices_fault(const ChoiceItem& item) {
  if (item.choices.size() != item.letters.size())
    return fmt::format("{} texts of choices, but {} labels", item.choices.size(),
                       item.letters.size());
  if (item.choices.size() < 2)
    return fmt::format("{} choices; a question needs at least 2", item.choices.size());
  const std::set<std::string> different(item.letters.begin(), item.letters.end());
  if (different.size() < item.letters.size() || different.contains(""))
    return fmt::format("the labels {} must differ and not be empty", fmt::join(item.letters, ", "));
  return "";
}

Result<ChoiceItem> arc_item(const Json& row, const std::string& where) {
  RowReader reader(row, where, kKind, kArcKeys);
  ChoiceItem item;
  item.public_id = reader.text("id");
  item.question = reader.text("question");
  const std::string answer = reader.text("answerKey");
  const Json* choices = reader.object("choices");
  NB_TRY_VOID(reader.status());
  RowReader inner(*choices, where + ": choices", "the choices of an ARC row", "text, label");
  item.choices = inner.texts("text");
  item.letters = inner.texts("label");
  NB_TRY_VOID(inner.status());
  if (const std::string fault = choices_fault(item); !fault.empty())
    return bad_input(fmt::format("{}: {}: {}", where, item.public_id, fault));
  const auto gold = std::find(item.letters.begin(), item.letters.end(), answer);
  if (gold == item.letters.end())
    return bad_input(fmt::format("{}: {}: answerKey is \"{}\", but the labels are {}", where,
                                 item.public_id, answer, fmt::join(item.letters, ", ")));
  item.gold = static_cast<std::size_t>(gold - item.letters.begin());
  return item;
}

}  // namespace

Result<std::vector<ChoiceItem>> parse_arc(std::string_view text, const std::string& where) {
  std::vector<ChoiceItem> items;
  std::set<std::string> names;
  ItemIds ids;
  const TakeRow take = [&](const Json& row, const std::string& here) -> Result<void> {
    NB_TRY(ChoiceItem item, arc_item(row, here));
    if (!names.insert(item.public_id).second)
      return bad_input(fmt::format("{}: id {} appears twice", here, item.public_id));
    item.id = ids.of(item_bytes(item));
    items.push_back(std::move(item));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  return items;
}

Result<std::vector<ChoiceItem>> read_arc(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_arc(text, path.string());
}

}  // namespace nb
