// A model, its tokenizer and its items as the evaluation of a port has them: where the defects of
// evaluations (model/train/port_defects.hpp) take hold.
#pragma once

#include <cstddef>
#include <memory>

#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/port_defects.hpp"

namespace nb {

// Without defects a DecoderLanguageModel. As with that, a result is a function of its own request.
// Decoder and tokenizer outlive it.
std::unique_ptr<LanguageModel> ported_model(Decoder& decoder, const Tokenizer& tokenizer,
                                            const ScoreBatching& batching,
                                            const PortDefects& defects);

// The same tokens, those that were learned last with each other's ids. bad_input: fewer than two
// were learned.
Result<Tokenizer> with_last_merges_reversed(const Tokenizer& tokenizer);

// EvalContext::asked_instead: the first half of the items, and again.
std::size_t first_half_twice(std::size_t i, std::size_t items);

}  // namespace nb
