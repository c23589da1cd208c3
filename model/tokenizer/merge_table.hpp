// BPE of one piece: single bytes, then again and again the adjacent pair with the lowest merged id,
// leftmost first, until none merges (nanochat's tokenizer.py). Short pieces by scanning, long ones
// by a heap in O(n log n); both give the same ids. Immutable after construction, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/byte_map.hpp"
#include "model/tokenizer/vocabulary.hpp"

namespace nb {

class MergeTable {
 public:
  // tokens: the id of every token's bytes. Neither is needed after construction.
  MergeTable(const Vocabulary& vocabulary, const ByteMap& tokens);

  // Appends the ids of the piece. The rule "a piece that is a token is that token" is the caller's.
  void merge(std::string_view piece, std::vector<int>& ids) const;
  // The same from other beginnings than single bytes (SentencePiece: code points): `parts` are ids.
  void merge_parts(std::span<const std::uint32_t> parts, std::vector<int>& ids) const;

 private:
  void merge_short(std::string_view piece, std::vector<int>& ids) const;

  std::array<std::uint32_t, 256> byte_ids_{};
  // (l, r) → t for every token t and every cut of its bytes into two tokens l and r: exactly the
  // pairs whose concatenated bytes are in the vocabulary.
  PairMap pairs_;
};

}  // namespace nb
