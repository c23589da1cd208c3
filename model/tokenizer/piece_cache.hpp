// Remembers the ids of pieces that had to be merged. Bounded: when full it forgets everything. What
// it holds never changes a result. One owner at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/byte_map.hpp"

namespace nb {

class PieceCache {
 public:
  PieceCache();
  // The ids, or an empty span if the piece is not known.
  std::span<const int> find(std::string_view piece, std::uint64_t hash) const;
  // Pieces that are too long are not kept. The piece is not in the cache.
  void insert(std::string_view piece, std::uint64_t hash, std::span<const int> ids);

 private:
  struct Entry {
    std::uint32_t begin, count;
  };
  ByteMap map_;              // keys point into bytes_
  std::vector<char> bytes_;  // never grows past its reserve, so keys stay
  std::vector<int> ids_;
  std::vector<Entry> entries_;
};

}  // namespace nb
