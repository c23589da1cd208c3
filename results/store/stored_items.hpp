// The items of a record, from its files or from memory, and what one of them says in numbers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/result.hpp"
#include "results/stats/margin_shift.hpp"
#include "results/store/packed_items.hpp"
#include "results/store/store.hpp"

namespace nb {

// Those in memory are the record's, which outlives this; those of a file are the caller's.
class StoredItems {
 public:
  explicit StoredItems(PackedItems read) : read_(std::move(read)) {}
  explicit StoredItems(const PackedItems* in_memory) : in_memory_(in_memory) {}
  const PackedItems& get() const { return in_memory_ != nullptr ? *in_memory_ : read_; }

 private:
  PackedItems read_;
  const PackedItems* in_memory_ = nullptr;
};

// Where they are.
struct ItemsPlace {
  std::filesystem::path path;
  const PackedItems* in_memory = nullptr;  // then there is no file
};
// Errors: as of stored_items, of which the file is verified but not read.
Result<ItemsPlace> items_place(const StoredRecord& stored, const std::string& task);

// task: a key of record.items. Errors: the record has no items of it; the file is not the one that
// the record was written with, or damaged.
Result<StoredItems> stored_items(const StoredRecord& stored, const std::string& task);

// 1 right, 0 wrong, or the fraction that another harness gave.
double score_of(const ItemRecord& item);
// Which choice a prediction or a gold means: "2" or "C" → 2; nothing for other texts.
std::optional<std::size_t> choice_of(const std::string& answer);
// As of MarginPair (margin_shift.hpp): of one log-probability itself; nothing where the right
// choice has none.
std::optional<double> gold_margin(const ItemRecord& item);
// Of one item on two sides; nothing where one has none, or another number of log-probabilities.
std::optional<MarginPair> gold_margins(const ItemRecord& left, const ItemRecord& right);

}  // namespace nb
