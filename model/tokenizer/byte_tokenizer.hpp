// The smallest tokenizer that can hold a conversation: a token for every byte and nanochat's nine
// specials. What built-in models speak when nobody says otherwise, and most tests.
#pragma once

#include <span>
#include <string>

#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// Ids 0 … 255 are the bytes, then come `more` (in the order of their merges), then the specials.
Tokenizer byte_tokenizer(std::span<const std::string> more = {});

}  // namespace nb
