// Encodes and decodes in place of a vocabulary: a tokenizer that is somewhere else. Tokenizer
// stands on it as it stands on a vocabulary.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/tokenizer/vocabulary.hpp"

namespace nb {

class TextCodec {
 public:
  virtual ~TextCodec() = default;
  // Both are thread-safe, and throw std::runtime_error where they cannot. Ids in the order of the
  // texts, nothing in front of them nor behind.
  virtual std::vector<std::vector<int>> encode(std::span<const std::string> texts) const = 0;
  // Of ordinary ids: what of them is no UTF-8 alone may be U+FFFD. decode(a + b) is decode(a) +
  // decode(b) up to such.
  virtual std::string decode(std::span<const int> ids) const = 0;
};

// What is known of such a tokenizer.
struct CodecFacts {
  int vocab_size = 0;  // above every id
  int bos = -1;        // -1: none
  std::vector<SpecialToken> specials;
  bool puts_space_in_front = false;  // decode(encode("a")) is " a", as SentencePiece has it
  std::string hash;                  // names it in records
};

}  // namespace nb
