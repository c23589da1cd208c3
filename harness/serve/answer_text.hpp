// Texts of an answer's tokens: as they come, cut at stop strings; one by one, as log-probabilities
// name them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/engine/stop_strings.hpp"
#include "model/engine/text_stream.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// One sample's text while it grows. All that is shown is one text, however it was cut to pieces.
class AnswerText {
 public:
  // The tokenizer must outlive this.
  AnswerText(const Tokenizer& tokenizer, const std::vector<std::string>& stops, bool includes_stop,
             bool skips_specials)
      : tokenizer_(tokenizer),
        skips_specials_(skips_specials),
        stream_(tokenizer),
        stops_(stops, includes_stop) {}

  std::string push(int token);  // what can be shown now
  std::string finish();         // what was held back
  bool is_stopped() const { return stops_.hit().has_value(); }
  std::optional<std::size_t> hit() const { return stops_.hit(); }

 private:
  const Tokenizer& tokenizer_;
  bool skips_specials_;
  TextStream stream_;
  StopStrings stops_;
};

// The text of one token: a special's name; what is no UTF-8 by itself as OpenAI writes it,
// "bytes:\xe2\x80"; an id without bytes "token_id:7". Tokens of equal text are possible only where
// a special is named like an ordinary token.
std::string token_text(int token, const Tokenizer& tokenizer);
std::string token_id_text(int token);  // "token_id:7"

// Decoded, without the specials where they are skipped.
std::string text_of(std::span<const int> tokens, const Tokenizer& tokenizer, bool skips_specials);

}  // namespace nb
