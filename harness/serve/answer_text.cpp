#include "harness/serve/answer_text.hpp"

#include <fmt/format.h>

#include <span>

#include "model/tokenizer/utf8.hpp"

namespace nb {

std::string AnswerText::push(int token) {
  if (skips_specials_ && tokenizer_.is_special(token)) return "";
  return stops_.push(stream_.push(token));
}

std::string AnswerText::finish() {
  std::string text = stops_.push(stream_.finish());
  return text + stops_.finish();
}

std::string token_id_text(int token) { return fmt::format("token_id:{}", token); }

std::string token_text(int token, const Tokenizer& tokenizer) {
  if (token < 0 || token >= tokenizer.vocab_size()) return token_id_text(token);
  const std::string bytes = tokenizer.decode_bytes(std::span(&token, 1));
  if (bytes.empty()) return token_id_text(token);
  if (utf8_valid_prefix(bytes) == bytes.size()) return bytes;
  std::string text = "bytes:";
  for (const char byte : bytes)
    text += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return text;
}

std::string text_of(std::span<const int> tokens, const Tokenizer& tokenizer, bool skips_specials) {
  if (!skips_specials) return tokenizer.decode(tokens);
  std::vector<int> plain;
  for (const int token : tokens)
    if (!tokenizer.is_special(token)) plain.push_back(token);
  return tokenizer.decode(plain);
}

}  // namespace nb
