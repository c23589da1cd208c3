#include "evals/core/items.hpp"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "evals/data/jsonl.hpp"
#include "harness/base/check.hpp"
#include "harness/base/cpython_random.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

std::string expected_keys(CoreTaskType type) {
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

// Reads the members of one row; the first error stays.
class RowReader {
 public:
  RowReader(const Json& row, CoreTaskType type, std::string where)
      : row_(row), type_(type), where_(std::move(where)) {}

  std::string text(const char* key) {
    const Json* value = member(key, "a string");
    if (value == nullptr) return "";
    if (!value->is_string()) return fail_kind(key, "a string", *value), "";
    return value->get<std::string>();
  }

  std::vector<std::string> texts(const char* key) {
    const Json* value = member(key, "a list of strings");
    if (value == nullptr) return {};
    if (!value->is_array())
      return fail_kind(key, "a list of strings", *value), std::vector<std::string>{};
    std::vector<std::string> result;
    for (const Json& element : *value) {
      if (!element.is_string()) return fail_kind(key, "a list of strings", element), result;
      result.push_back(element.get<std::string>());
    }
    if (result.size() < 2)
      fail(fmt::format("\"{}\" has {} entries; a choice needs at least 2", key, result.size()));
    return result;
  }

  int index(const char* key, std::size_t count) {
    const Json* value = member(key, "an integer");
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) return fail_kind(key, "an integer", *value), 0;
    const bool too_large = value->is_number_unsigned() && value->get<std::uint64_t>() >= count;
    if (too_large || value->get<std::int64_t>() < 0) {
      fail(fmt::format("\"{}\" is {}, but the choices are 0 to {}", key, value->dump(), count - 1));
      return 0;
    }
    return value->get<int>();
  }

  const std::string& error() const { return error_; }

 private:
  const Json* member(const char* key, const char* kind) {
    const auto found = row_.find(key);
    if (found != row_.end()) return &*found;
    fail(fmt::format("\"{}\" is missing ({}); a {} row has {}", key, kind, name(type_),
                     expected_keys(type_)));
    return nullptr;
  }
  void fail_kind(const char* key, const char* kind, const Json& value) {
    fail(fmt::format("\"{}\" must be {}, got {}", key, kind, value.type_name()));
  }
  void fail(std::string what) {
    if (error_.empty()) error_ = where_ + ": " + std::move(what);
  }

  const Json& row_;
  CoreTaskType type_;
  std::string where_;
  std::string error_;
};

Result<CoreItem> parse_row(const Json& row, CoreTaskType type, const std::string& where) {
  RowReader reader(row, type, where);
  CoreItem item;
  switch (type) {
    case CoreTaskType::kMultipleChoice:
      item.query = reader.text("query");
      item.choices = reader.texts("choices");
      item.gold = reader.index("gold", item.choices.size());
      break;
    case CoreTaskType::kSchema:
      item.choices = reader.texts("context_options");
      item.continuation = reader.text("continuation");
      item.gold = reader.index("gold", item.choices.size());
      break;
    case CoreTaskType::kLanguageModelling:
      item.query = reader.text("context");
      item.continuation = reader.text("continuation");
      break;
  }
  if (!reader.error().empty()) return bad_input(reader.error());
  return item;
}

void append_netstring(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
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
  NB_TRY_VOID(for_each_json_line(text, where,
                                 [&](const Json& row, const std::string& line) -> Result<void> {
                                   NB_TRY(CoreItem item, parse_row(row, type, line));
                                   items.push_back(std::move(item));
                                   return {};
                                 }));
  if (items.empty()) return bad_input(where + ": no rows; expected one JSON object a line");
  name_items(items, type);
  return items;
}

Result<std::vector<CoreItem>> read_core_items(const std::filesystem::path& path,
                                              CoreTaskType type) {
  NB_TRY(const std::string text, read_file(path));
  return parse_core_items(text, type, path.string());
}

std::string item_bytes(const CoreItem& item, CoreTaskType type) {
  std::string bytes;
  append_netstring(bytes, name(type));
  if (type != CoreTaskType::kSchema) append_netstring(bytes, item.query);
  if (type != CoreTaskType::kLanguageModelling) {
    append_netstring(bytes, std::to_string(item.choices.size()));
    for (const std::string& choice : item.choices) append_netstring(bytes, choice);
  }
  if (type != CoreTaskType::kMultipleChoice) append_netstring(bytes, item.continuation);
  if (type != CoreTaskType::kLanguageModelling) append_netstring(bytes, std::to_string(item.gold));
  return bytes;
}

void name_items(std::span<CoreItem> items, CoreTaskType type) {
  std::map<std::string, int> seen;
  for (CoreItem& item : items) {
    std::string bytes = item_bytes(item, type);
    const int before = seen[bytes]++;
    if (before > 0) append_netstring(bytes, std::to_string(before));
    item.id = sha256_hex(bytes).substr(0, 16);
  }
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
