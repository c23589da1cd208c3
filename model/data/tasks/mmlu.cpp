#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/rows.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr std::string_view kMmluKeys = "question, subject, choices, answer";
constexpr std::size_t kChoices = 4;
const std::vector<std::string> kLetters = {"A", "B", "C", "D"};

Result<ChoiceItem> mmlu_item(const Json& row, const std::string& where) {
  const bool is_wrapped = row.is_object() && row.contains("train") && !row.contains("question");
  RowReader reader(is_wrapped ? row["train"] : row, where, "an MMLU row", kMmluKeys);
  ChoiceItem item;
  item.question = reader.text("question");
  item.subject = reader.text("subject");
  item.choices = reader.texts("choices");
  item.letters = kLetters;
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

Result<ChoiceItem> csv_item(const std::vector<std::string>& cells, const std::string& where) {
  if (cells.size() != kChoices + 2)
    return bad_input(fmt::format("{}: {} cells; an MMLU row has {} (question, 4 choices, letter)",
                                 where, cells.size(), kChoices + 2));
  for (const std::string& cell : cells)
    if (const std::size_t valid = utf8_valid_prefix(cell); valid < cell.size())
      return bad_input(fmt::format("{}: 0x{:02x} in \"{}…\" is not valid UTF-8; save it as UTF-8",
                                   where, static_cast<unsigned char>(cell[valid]),
                                   cell.substr(0, std::min<std::size_t>(valid, 40))));
  const auto letter = std::find(kLetters.begin(), kLetters.end(), cells.back());
  if (letter == kLetters.end())
    return bad_input(
        fmt::format("{}: the answer is \"{}\", but must be A, B, C or D", where, cells.back()));
  ChoiceItem item;
  item.question = cells.front();
  item.choices.assign(cells.begin() + 1, cells.end() - 1);
  item.letters = kLetters;
  item.gold = static_cast<std::size_t>(letter - kLetters.begin());
  return item;
}

Result<void> add_csv(std::string_view text, const std::string& subject, const std::string& where,
                     std::vector<ChoiceItem>& items, ItemIds& ids) {
  // One of the published rows has a lone quote at its end.
  NB_TRY(const CsvTable table, parse_csv(text, where, CsvHeader::kNone, StrayQuotes::kKept));
  if (table.rows.empty()) return bad_input(where + ": no rows");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    NB_TRY(ChoiceItem item, csv_item(table.rows[i], fmt::format("{}:{}", where, table.lines[i])));
    item.subject = subject;
    add(items, ids, std::move(item));
  }
  return {};
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

Result<std::vector<ChoiceItem>> parse_mmlu_csv(std::string_view text, const std::string& subject,
                                               const std::string& where) {
  std::vector<ChoiceItem> items;
  ItemIds ids;
  NB_TRY_VOID(add_csv(text, subject, where, items, ids));
  return items;
}

Result<std::vector<ChoiceItem>> read_mmlu_csv_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  if (error) return bad_input(fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty())
    return bad_input(folder.string() + ": no <subject>_<split>.csv; name the split's folder");
  std::sort(files.begin(), files.end());
  std::vector<ChoiceItem> items;
  ItemIds ids;
  for (const std::filesystem::path& file : files) {
    const std::string stem = file.stem().string();
    NB_TRY(const std::string text, read_file(file));
    NB_TRY_VOID(add_csv(text, stem.substr(0, stem.rfind('_')), file.string(), items, ids));
  }
  return items;
}

}  // namespace nb
