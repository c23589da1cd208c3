#include "model/tokenizer/byte_tokenizer.hpp"

#include <utility>

#include "model/tokenizer/vocabulary.hpp"

namespace nb {

Tokenizer byte_tokenizer(std::span<const std::string> more) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.insert(vocabulary.tokens.end(), more.begin(), more.end());
  append_nanochat_specials(vocabulary);
  return Tokenizer(std::move(vocabulary));
}

}  // namespace nb
