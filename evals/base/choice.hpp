// Scores of choices → which is taken, by the two rules of the references: Python's min of losses
// (CORE, nanochat's core_eval.py) and torch's argmax (ARC and MMLU in chat). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evals/base/scorer_fault.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// Whether every log-probability is a finite number. A model of which one is not has no score, and
// no rule below is asked.
bool are_finite(std::span<const ScoreResult> scores);

// Mean log-probability of a choice's span: summed in double in order, divided, rounded to fp32. An
// empty span gives NaN, as the reference's mean does.
float mean_log_prob(std::span<const float> log_probs);

// The highest mean; the first among equals. As Python's min over losses does: NaN in front wins,
// NaN elsewhere is never chosen. At least one choice.
std::size_t best_choice(std::span<const float> means);
// Choices without tokens of their own score NaN, and the rule of best_choice() then decides some
// items alone: whether `gold` is right (or wrong) whatever the other choices score. Nothing when
// the scores still decide.
std::optional<bool> decided_by_rule(const std::vector<bool>& is_empty, std::size_t gold);
// The best of the others, by the same rule; the choice itself when there is one only.
std::size_t second_best_choice(std::span<const float> means);
// As torch.argmax: the first of the highest; the first that is not a number, if there is one. At
// least one value.
std::size_t torch_argmax(std::span<const float> values);

std::size_t chosen(std::span<const float> means, ScorerFault fault);

}  // namespace nb
