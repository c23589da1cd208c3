// Scores of one item → its record (nanochat's core_eval.py).
#pragma once

#include <span>

#include "evals/base/scorer_fault.hpp"
#include "evals/core/task.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/store/items.hpp"

namespace nb {

// Choice tasks: prediction and gold are indices, log_probs the mean of each choice's span. Language
// modelling: right when the argmax of every scored token is that token; prediction and gold are
// their texts (at most 40 characters), log_probs holds the continuation's mean. log_probs stays
// empty, with the reason, when a choice has no tokens of its own (it is a token prefix of all the
// others): one of the three below. A model whose log-probabilities are not finite has no score: no
// prediction, and kNotFinite (items.hpp) as the reason.
inline constexpr const char* kNoTokens = "a choice has no tokens of its own";
inline constexpr const char* kAlwaysRight = "a choice has no tokens of its own: always right";
inline constexpr const char* kAlwaysWrong = "a choice has no tokens of its own: always wrong";
ItemRecord grade(const CoreItem& item, CoreTaskType type, std::span<const ScoreRequest> requests,
                 std::span<const ScoreResult> scores, const Tokenizer& tokenizer,
                 ScorerFault fault);

}  // namespace nb
