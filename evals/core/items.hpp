// Rows of a CORE task: read from JSONL, checked, named by their content, put in nanochat's order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/core/task.hpp"
#include "harness/base/result.hpp"

namespace nb {

// One JSON object per line: {query, choices, gold}, {context_options, continuation, gold} or
// {context, continuation} by type; other keys are ignored, as in the reference. A byte order mark,
// CRLF and blank lines are accepted. Errors name file and line, and what is wrong there. No rows is
// an error.
Result<std::vector<CoreItem>> parse_core_items(std::string_view text, CoreTaskType type,
                                               const std::string& where);
Result<std::vector<CoreItem>> read_core_items(const std::filesystem::path& path, CoreTaskType type);

// Sets every id: first 16 hex digits of the SHA-256 of item_bytes and, for the second and later of
// equal items, of how many came before; so ids are unique and do not depend on the other items.
void name_items(std::span<CoreItem> items, CoreTaskType type);

// What an item is, in bytes: netstrings ("<length>:<bytes>") of the type's name and its fields in
// the order of CoreItem, gold as decimal. Two items are the same when these are equal.
std::string item_bytes(const CoreItem& item, CoreTaskType type);

// Positions in file order that are kept: Random(shuffle_seed).shuffle, then the first max_per_task
// (all when not positive). nanochat's base_eval.py.
std::vector<std::size_t> shuffled_and_cropped(std::size_t rows, std::uint64_t shuffle_seed,
                                              std::int64_t max_per_task);

// Few-shot examples of the item at position `index` of `kept` items, as positions in that list, in
// the order used: Random(few_shot_seed + index).sample over all others. shots < kept.
std::vector<std::size_t> few_shot_positions(std::size_t kept, std::size_t index, int shots,
                                            std::uint64_t few_shot_seed);

}  // namespace nb
