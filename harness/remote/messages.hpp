// Prompts of conversations as messages for a server's chat endpoint. Evaluators render
// conversations as ids, nanochat's nine special tokens between them; those say who speaks. Pure.
#pragma once

#include <span>

#include "harness/base/json_io.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// The tokenizer itself where it has nanochat's nine; else the same with the nine behind its ids:
// they stand in prompts here and are never sent.
Tokenizer with_chat_tokens(Tokenizer tokenizer);

// [{"role": "user", "content": "…"}, …] of a prompt whose last token is <|assistant_start|>.
Json messages_of(std::span<const int> prompt, const Tokenizer& tokenizer);

}  // namespace nb
