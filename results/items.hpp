// One line per evaluated item, items.jsonl: at most 150 bytes for a choice item of up to five
// choices. Keys are short: i id, o ok, p prediction, g gold, l log-probabilities, r reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct ItemRecord {
  std::string id;  // 16 hex digits of a hash of the item: the same item, the same id
  bool ok = false;
  std::string prediction;  // choice index, or the extracted answer
  std::string gold;
  std::vector<float> log_probs;  // one per choice, in the task's own normalisation
  std::string reason;  // why it is wrong when that is not a wrong answer: "timeout", "no answer"
};

// Floats with 7 significant digits. NaN, infinities, an empty or doubled id are errors.
Result<std::string> items_text(const std::vector<ItemRecord>& items);
Result<void> write_items(const std::filesystem::path& path, const std::vector<ItemRecord>& items);
// Errors name file:line. An empty file is an error: an evaluation has items.
Result<std::vector<ItemRecord>> read_items(const std::filesystem::path& path);
// "items.jsonl" for an empty task, else "items/<task, other characters as _>.jsonl".
std::string items_file(const std::string& task);

}  // namespace nb
