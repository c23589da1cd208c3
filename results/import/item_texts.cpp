#include "results/import/item_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "harness/base/check.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"

namespace nb {
namespace {

std::string setting(const Record& record, const char* key) {
  const Json& imported = record.settings->at("imported");
  return imported.contains(key) ? imported.at(key).get<std::string>() : "";
}

bool is_hash(const std::string& prompt) {
  return prompt.size() >= 32 && std::all_of(prompt.begin(), prompt.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

struct Seen {
  ItemText text;
  std::map<std::int64_t, std::string> responses;  // by epoch
};

void fill(Seen& seen, const ForeignItem& item) {
  ItemText& text = seen.text;
  text.name = item.source_id;
  text.question = item.question;
  text.choices = item.choices;
  text.prompts.clear();
  if (!item.prompt_text.empty())
    text.prompts.push_back(item.prompt_text);
  else if (!item.prompt.empty() && !is_hash(item.prompt))
    text.prompts.push_back(item.prompt);
  // What tells the item from others; it may end in the reference answer.
  if (text.question.empty() && text.prompts.empty()) text.question = item.content;
  if (!item.response.empty()) seen.responses[item.epoch] = item.response;
}

}  // namespace

Result<std::vector<ItemText>> foreign_item_texts(const StoredRecord& stored,
                                                 const std::string& task,
                                                 std::span<const ItemName> names) {
  NB_CHECK(stored.items != nullptr, "[import] {} is a record in a folder", stored.record.name);
  const std::string harness = setting(stored.record, "harness"),
                    model = setting(stored.record, "model"),
                    stage = setting(stored.record, "stage");
  std::unordered_map<std::string, Seen> wanted;  // by source_id; looked up only, never walked
  for (const ItemName& name : names) wanted.try_emplace(name.source_id);
  // A file may be superseded by a later one, which is read later: the last that is seen counts.
  const auto look = [&](const ForeignRun& run, std::span<const SeriesValue> values,
                        const ForeignItem& item) {
    const auto at = wanted.find(item.source_id);
    if (at == wanted.end() || run.harness != harness || run.model != model || run.stage != stage)
      return;
    if (std::any_of(values.begin(), values.end(),
                    [&](const SeriesValue& one) { return item_key(one.series) == task; }))
      fill(at->second, item);
  };
  std::vector<std::string> asked;
  for (const auto& [name, seen] : wanted) asked.push_back(name);
  // Of other rows nothing is parsed. That the files hold no item of these names is no error here.
  if (auto read = read_foreign(stored.folder, look, std::move(asked)); !read)
    return tl::unexpected(read.error());
  std::vector<ItemText> texts;
  for (const ItemName& name : names) {
    const Seen& seen = wanted.at(name.source_id);
    ItemText text = seen.text;
    for (const auto& [epoch, response] : seen.responses) text.responses.push_back(response);
    if (text.is_empty()) text.warning = "the file holds no text of this item, its scores alone";
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace nb
