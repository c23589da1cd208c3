#include "results/store/item_pairs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/spool.hpp"
#include "results/store/stored_items.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// Items one after another, of a file or of memory.
class Source {
 public:
  explicit Source(const PackedItems& items) : items_(&items) {}
  explicit Source(const fs::path& path) : path_(path.string()), lines_(path, std::ios::binary) {}

  // False: there are no more.
  Result<bool> next(ItemRecord& item) {
    if (items_ != nullptr) {
      if (count_ == items_->size()) return false;
      items_->read(count_++, item);
      return true;
    }
    if (!std::getline(lines_, line_)) {
      if (count_ == 0) return bad_input(path_ + ": has no items");
      return false;
    }
    if (lines_.eof()) return bad_input(path_ + ": the last line is truncated; evaluate again");
    NB_TRY(item, parse_item(line_, fmt::format("{}:{}", path_, ++count_)));
    return true;
  }

 private:
  const PackedItems* items_ = nullptr;
  std::string path_, line_;
  std::ifstream lines_;
  std::size_t count_ = 0;
};

// What is to come, `first` before it.
Result<std::vector<ItemRecord>> rest_of(Source& source, ItemRecord first) {
  std::vector<ItemRecord> rest;
  rest.push_back(std::move(first));
  ItemRecord item;
  for (;;) {
    NB_TRY(const bool is_there, source.next(item));
    if (!is_there) return rest;
    rest.push_back(std::move(item));
    item = {};
  }
}

// Hashes of the ids of one side, kept as items are walked.
using Hashes = Spool<std::uint64_t>;
constexpr std::size_t kSortedHashes = std::size_t{1} << 17U;  // at a time: 1 MiB

void add_hash(Hashes& hashes, const ItemRecord& item) {
  hashes.push_back(std::hash<std::string>()(item.id));
}

// Ids that are there twice, or whose hashes are equal by chance: then the items are looked at once
// more, whole.
bool may_have_twins(const Hashes& hashes) {
  const std::size_t parts = hashes.size() / kSortedHashes + 1;
  std::vector<std::uint64_t> some;
  for (std::size_t part = 0; part < parts; ++part) {
    some.clear();
    hashes.for_each([&](std::uint64_t hash) {
      if (hash % parts == part) some.push_back(hash);
    });
    std::sort(some.begin(), some.end());
    if (std::adjacent_find(some.begin(), some.end()) != some.end()) return true;
  }
  return false;
}

Result<Source> source_of(const StoredRecord& stored, const std::string& task) {
  NB_TRY(const auto place, items_place(stored, task));
  return place.in_memory != nullptr ? Source(*place.in_memory) : Source(place.path);
}

Result<void> check_twins(const StoredRecord& stored, const std::string& task) {
  NB_TRY(const auto place, items_place(stored, task));
  if (place.in_memory != nullptr) return {};
  if (const auto items = read_items(place.path); !items) return tl::unexpected(items.error());
  return {};
}

}  // namespace

Result<void> for_each_pair(const StoredRecord& a, const StoredRecord& b, const std::string& task,
                           const std::function<void(std::size_t row, const ItemRecord& left,
                                                    const ItemRecord& right)>& take) {
  NB_TRY(Source source_a, source_of(a, task));
  NB_TRY(Source source_b, source_of(b, task));
  Hashes hashes;  // of the items that stand at the same place on both sides
  std::size_t row = 0;
  std::vector<ItemRecord> rest_a, rest_b;
  for (;; ++row) {
    ItemRecord left, right;
    NB_TRY(const bool has_left, source_a.next(left));
    NB_TRY(const bool has_right, source_b.next(right));
    if (has_left && has_right && left.id == right.id) {
      add_hash(hashes, left);
      take(row, left, right);
      continue;
    }
    if (has_left) {
      NB_TRY(rest_a, rest_of(source_a, std::move(left)));
    }
    if (has_right) {
      NB_TRY(rest_b, rest_of(source_b, std::move(right)));
    }
    break;
  }
  for (const auto& [stored, rest] : {std::pair(&a, &rest_a), std::pair(&b, &rest_b)}) {
    Hashes all = hashes;
    for (const ItemRecord& item : *rest) add_hash(all, item);
    if (may_have_twins(all)) NB_TRY_VOID(check_twins(*stored, task));
  }
  if (rest_a.size() != rest_b.size())
    return bad_input(fmt::format("{}: {} items in {}, {} in {}", task, row + rest_a.size(),
                                 a.folder.string(), row + rest_b.size(), b.folder.string()));
  std::unordered_map<std::string_view, const ItemRecord*> by_id;  // looked up only, never walked
  for (const ItemRecord& item : rest_b) by_id.emplace(item.id, &item);
  for (const ItemRecord& left : rest_a) {
    const auto at = by_id.find(left.id);
    if (at == by_id.end())
      return bad_input(fmt::format("{}: item {} of {} is not in {}", task, left.id,
                                   a.folder.string(), b.folder.string()));
    take(row++, left, *at->second);
  }
  return {};
}

}  // namespace nb
