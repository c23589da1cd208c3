// The ids of the nine special tokens that conversations are made of (nanochat's tokenizer.py).
// Plain value.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

struct ChatTokens {
  int bos = -1;
  int user_start = -1, user_end = -1;
  int assistant_start = -1, assistant_end = -1;
  int python_start = -1, python_end = -1;
  int output_start = -1, output_end = -1;
};

// Error: which of them the tokenizer lacks (its size and hash name it).
Result<ChatTokens> chat_tokens(const Tokenizer& tokenizer);

// "tokenizer 1a2b3c4d5e6f (50257 tokens)": how messages name a tokenizer.
std::string tokenizer_name(const Tokenizer& tokenizer);

}  // namespace nb
