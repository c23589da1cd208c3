// Tokenizers that can hold a conversation, for tests: bytes and nanochat's nine specials (ids 256
// …), and GPT-2's with the same nine behind its own (ids 50257 …), as tests/golden/chat_tasks.py
// has it.
#pragma once

#include <gtest/gtest.h>

#include "model/tokenizer/byte_tokenizer.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {

inline const Tokenizer& byte_tokenizer() {
  static const Tokenizer tokenizer = nb::byte_tokenizer();
  return tokenizer;
}

// Needs the data (NB_NEEDS_DATA).
inline const Tokenizer& gpt2_chat_tokenizer() {
  static const Tokenizer tokenizer = [] {
    auto gpt2 = Tokenizer::load(data_dir() / "tokenizers" / "gpt2");
    EXPECT_TRUE(gpt2.has_value()) << gpt2.error().message;
    Vocabulary vocabulary = gpt2->vocabulary();
    append_nanochat_specials(vocabulary);
    return Tokenizer(std::move(vocabulary));
  }();
  return tokenizer;
}

}  // namespace nb::test
