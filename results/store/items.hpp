// One line per evaluated item, items.jsonl: at most 150 bytes for a choice item of up to five
// choices. Keys are short: i id, h prompt hash, o ok, p prediction, g gold, l log-probabilities, r
// reason, c cut tokens, s ok of each sample, t texts, n nats, tokens and bytes; of imported items
// also v value, d the source's hash, x the source's name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// The reason of an item that has no score at all: a log-probability or a logit of the model is NaN
// or infinite. `ok` is false then and there is no prediction; whoever counts right and wrong items
// leaves it out.
inline constexpr const char* kNotFinite = "not finite";

// Of a text that was scored whole.
struct TextLoss {
  double nats = 0;
  std::int64_t tokens = 0;  // scored
  std::int64_t bytes = 0;   // of the text
  bool operator==(const TextLoss&) const = default;
};

struct ItemRecord {
  std::string id;  // 16 hex digits of a hash of the item: the same item, the same id
  bool ok = false;
  std::string prediction;  // choice index, or the extracted answer
  std::string gold;
  std::vector<float> log_probs;  // one per choice, in the task's own normalisation
  std::string reason;  // why it is wrong when that is not a wrong answer: "timeout", "no answer"
  std::string prompt_hash = {};  // 16 hex digits of a hash of what was asked; empty: not recorded
  std::int64_t cut_tokens = 0;   // dropped in front, so that the prompt fitted the context
  std::vector<std::string> texts =
      {};                             // what the model said, one per sample; empty for scored items
  std::vector<int> sample_ok = {};    // 1 or 0 per sample; empty when there is one text
  std::optional<TextLoss> loss = {};  // of items without answers; `ok` means nothing then
  // Of items that another harness scored:
  std::optional<double> value = {};  // where scores are not 1 or 0 alone: this item's; ok: it is 1
  std::string doc_hash = {};         // the source's own hash of the document; empty: none
  std::string source_id = {};        // as the source names it: "17"
  bool operator==(const ItemRecord&) const = default;
};

// Floats with 7 significant digits; what is read and written again has the same bytes. NaN,
// infinities, an empty or doubled id are errors.
Result<std::string> items_text(const std::vector<ItemRecord>& items);
Result<void> write_items(const std::filesystem::path& path, const std::vector<ItemRecord>& items);
// Errors name file:line. An empty file is an error: an evaluation has items.
Result<std::vector<ItemRecord>> parse_items(std::string_view text, const std::string& where);
Result<std::vector<ItemRecord>> read_items(const std::filesystem::path& path);
// One line of such a file, without its end; where: "file:line".
Result<ItemRecord> parse_item(std::string_view line, const std::string& where);
// "items.jsonl" for an empty task, else "items/<task, other characters as _>.jsonl".
std::string items_file(const std::string& task);

}  // namespace nb
