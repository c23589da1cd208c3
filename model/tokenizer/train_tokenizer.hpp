// BPE training as nanochat's rustbpe does it (rustbpe/src/lib.rs), exactly: again and again the
// pair with the highest count, on ties the smallest (left id, right id). A function of the text
// alone, not of the order of documents beyond the crop. Uses every core to count pieces; the result
// cannot depend on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

struct TokenizerSettings {
  std::int64_t vocab_size = 4096;           // bytes, merges and the nine specials together
  std::int64_t doc_cap = 10'000;            // code points of each document that are used
  std::int64_t max_chars = 10'000'000'000;  // stop after the document that makes the sum exceed it
  FieldList fields();
};

// An error when vocab_size < 265 or when the text has too few pairs for it (nanochat would silently
// make a smaller vocabulary); the message says how many there are.
Result<Tokenizer> train_tokenizer(std::span<const std::string> documents,
                                  const TokenizerSettings& settings);
Result<Tokenizer> train_tokenizer(std::span<const std::string> documents, std::int64_t vocab_size);

}  // namespace nb
