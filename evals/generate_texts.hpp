// Prompts → texts, with the settings of an evaluation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evals/base/eval_settings.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// What was generated behind one prompt.
struct GeneratedTexts {
  std::vector<std::string> texts;  // settings.num_samples, decoded, specials by their names
  bool is_finite = true;           // false: a sample ended where the model's logits were not
};
GeneratedTexts texts_of(const GenerateResult& result, const Tokenizer& tokenizer);
std::vector<GeneratedTexts> generate_texts(LanguageModel& model,
                                           std::span<const std::vector<int>> prompts,
                                           const EvalSettings& settings);

}  // namespace nb
