// Items in a few bytes each, for the half a million that another harness's file may hold: an
// ItemRecord takes 360 bytes and its texts besides, of which most are digits of hashes; packed it
// takes about 90. Items are appended and never changed; one is unpacked when it is looked at.
// Copies share their bytes. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "results/store/items.hpp"

namespace nb {

class PackedItems {
 public:
  PackedItems() = default;
  explicit PackedItems(const std::vector<ItemRecord>& items);

  void push_back(const ItemRecord& item);
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

  ItemRecord operator[](std::size_t i) const;
  // The same into an item that was used before: its memory is used again, which is four times as
  // fast.
  void read(std::size_t i, ItemRecord& into) const;

  std::string_view source_id(std::size_t i) const;
  // Bytes that are equal where the ids, or the documents' hashes, are; empty: there is none.
  std::string_view id_key(std::size_t i) const;
  std::string_view doc_key(std::size_t i) const;

  // One item at a time: the reference holds until the next.
  class Iterator {
   public:
    Iterator(const PackedItems* items, std::size_t at) : items_(items), at_(at) {}
    const ItemRecord& operator*() {
      items_->read(at_, item_);
      return item_;
    }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const PackedItems* items_;
    std::size_t at_;
    ItemRecord item_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  bool operator==(const PackedItems& other) const;

 private:
  struct Block {
    std::shared_ptr<char[]> bytes;
    std::size_t size = 0, filled = 0;
  };
  std::vector<Block> blocks_;
  std::vector<const char*> items_;  // into the blocks
};

}  // namespace nb
