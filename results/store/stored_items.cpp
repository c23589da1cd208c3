#include "results/store/stored_items.hpp"

#include <fmt/core.h>

#include <charconv>
#include <fstream>
#include <string>

#include "harness/base/fs.hpp"
#include "results/store/item_lines.hpp"

namespace nb {
namespace {

// As read_items, in the memory of one line and of what is packed.
Result<PackedItems> read_packed(const fs::path& path) {
  std::ifstream lines(path, std::ios::binary);
  PackedItems items;
  for (std::string line; std::getline(lines, line);) {
    if (lines.eof())
      return bad_input(path.string() + ": the last line is truncated; evaluate again");
    NB_TRY(const ItemRecord item,
           parse_item(line, fmt::format("{}:{}", path.string(), items.size() + 1)));
    items.push_back(item);
  }
  if (items.empty()) return bad_input(path.string() + ": has no items");
  if (const auto twice = repeated_item(items))
    return bad_input(
        fmt::format("{}:{}: item {} appears twice", path.string(), *twice + 1, items[*twice].id));
  return items;
}

}  // namespace

Result<ItemsPlace> items_place(const StoredRecord& stored, const std::string& task) {
  const auto at = stored.record.items.find(task);
  if (at == stored.record.items.end())
    return bad_input(
        fmt::format("{}: the record has no items of {}", stored.folder.string(), task));
  if (stored.items != nullptr) return ItemsPlace{{}, &stored.items->at(task)};
  NB_TRY_VOID(verify_artifact(stored, at->second));
  return ItemsPlace{stored.folder / at->second};
}

Result<StoredItems> stored_items(const StoredRecord& stored, const std::string& task) {
  NB_TRY(const ItemsPlace place, items_place(stored, task));
  if (place.in_memory != nullptr) return StoredItems(place.in_memory);
  NB_TRY(PackedItems items, read_packed(place.path));
  return StoredItems(std::move(items));
}

double score_of(const ItemRecord& item) { return item.value ? *item.value : (item.ok ? 1 : 0); }

std::optional<std::size_t> choice_of(const std::string& answer) {
  if (answer.size() == 1 && answer[0] >= 'A' && answer[0] <= 'Z')
    return static_cast<std::size_t>(answer[0] - 'A');
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(answer.data(), answer.data() + answer.size(), index);
  if (error != std::errc() || end != answer.data() + answer.size()) return std::nullopt;
  return index;
}

std::optional<double> gold_margin(const ItemRecord& item) {
  if (item.log_probs.size() == 1) return item.log_probs[0];
  const auto gold = choice_of(item.gold);
  if (!gold || *gold >= item.log_probs.size()) return std::nullopt;
  std::optional<double> best_other;
  for (std::size_t i = 0; i < item.log_probs.size(); ++i)
    if (i != *gold && (!best_other || item.log_probs[i] > *best_other))
      best_other = item.log_probs[i];
  return item.log_probs[*gold] - *best_other;
}

std::optional<MarginPair> gold_margins(const ItemRecord& left, const ItemRecord& right) {
  if (left.log_probs.size() != right.log_probs.size()) return std::nullopt;
  const auto a = gold_margin(left), b = gold_margin(right);
  if (!a || !b) return std::nullopt;
  return MarginPair{*a, *b};
}

}  // namespace nb
