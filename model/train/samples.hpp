// A few texts to look at while training: greedy continuations of nanochat's prompts, by
// recomputing the whole prefix for every token.
#pragma once

#include <string>
#include <vector>

#include "model/decoder/decoder.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

inline constexpr int kSampleTokens = 16;
const std::vector<std::string>& sample_prompts();

// `count` most likely next tokens (lowest id among equals) after `tokens`, appended to them.
std::vector<int> continue_greedily(Decoder& decoder, std::vector<int> tokens, int count);
// Prompt with <|bos|> before it and kSampleTokens more, decoded without the <|bos|>.
std::string sample_text(Decoder& decoder, const Tokenizer& tokenizer, const std::string& prompt);

}  // namespace nb
