// Prompts → texts, with the settings of an evaluation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evals/base/eval_settings.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// settings.num_samples texts a prompt: what was generated, decoded, specials by their names.
std::vector<std::vector<std::string>> generate_texts(LanguageModel& model,
                                                     std::span<const std::vector<int>> prompts,
                                                     const EvalSettings& settings);

}  // namespace nb
