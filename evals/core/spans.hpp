// Token sequences of an item's prompts → which tokens are scored. nanochat's core_eval.py. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evals/core/task.hpp"
#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// Tokens that all sequences share at their beginning (end); the shortest length when none differs
// before.
std::size_t common_prefix(std::span<const std::vector<int>> sequences);
std::size_t common_suffix(std::span<const std::vector<int>> sequences);

// `sequences`: the prompts of render_prompts, each encoded with <|bos|> in front. Choice tasks: one
// request a choice. Multiple choice scores what follows the common prefix, which may reach into
// answers that begin alike; a choice that is a prefix of all others has an empty span. Schema
// scores the common suffix, which may reach into contexts that end alike. Language modelling: one
// request, the second sequence from where the first ends; an error when the first is no token
// prefix of the second.
Result<std::vector<ScoreRequest>> spans_of(std::vector<std::vector<int>> sequences,
                                           CoreTaskType type);

// Keeps the last `limit` tokens, as the reference does for models with a fixed context. Returns
// whether something was cut. An error when scored tokens would go, or the token before them.
Result<bool> cut_left(ScoreRequest& request, std::int64_t limit);

}  // namespace nb
