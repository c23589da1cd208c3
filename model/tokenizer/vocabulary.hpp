// The plain content of a tokenizer: which bytes every id stands for, the special tokens, the split
// rule. No encoding here. Immutable value; hash() names it in records.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/tokenizer/split_pattern.hpp"

namespace nb {

struct SpecialToken {
  std::string name;  // "<|bos|>"
  int id = 0;
};

// tokens[id]: the bytes of an ordinary token; empty for specials and for ids that no token has.
struct Vocabulary {
  SplitRule rule = SplitRule::kNanochat;
  std::vector<std::string> tokens;
  std::vector<SpecialToken> specials;  // by id
  // SentencePiece's byte fallback (rule kSentencePiece only, else empty): byte_ids[b] stands for
  // byte b of a code point that has no token. These tokens never merge, and another token may have
  // the same byte.
  std::vector<int> byte_ids = {};

  int size() const { return static_cast<int>(tokens.size()); }
};

// nanochat's nine, in order (tokenizer.py): <|bos|>, <|user_start|>, … <|output_end|>.
const std::vector<std::string>& nanochat_specials();
// Appends the nine at ids tokens.size() …
void append_nanochat_specials(Vocabulary& vocabulary);

// Every byte value has a token (or a byte id), no two ids have the same bytes, specials have free
// ids and names of their own. `where` opens the message.
Result<void> check_vocabulary(const Vocabulary& vocabulary, const std::string& where);

// For each id: is it one of byte_ids?
std::vector<bool> byte_id_flags(const Vocabulary& vocabulary);

// SHA-256 over rule, every token's bytes in id order and the specials; 64 hex digits.
std::string vocabulary_hash(const Vocabulary& vocabulary);

}  // namespace nb
