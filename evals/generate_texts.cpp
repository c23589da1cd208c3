#include "evals/generate_texts.hpp"

#include <utility>

#include "model/tokenizer/tokenizer.hpp"

namespace nb {

GeneratedTexts texts_of(const GenerateResult& result, const Tokenizer& tokenizer) {
  GeneratedTexts one;
  for (const GeneratedSample& sample : result.samples) {
    one.texts.push_back(tokenizer.decode(sample.tokens));
    one.is_finite = one.is_finite && sample.stop != StopReason::kNotFiniteLogits;
  }
  return one;
}

std::vector<GeneratedTexts> generate_texts(LanguageModel& model,
                                           std::span<const std::vector<int>> prompts,
                                           const EvalSettings& settings) {
  std::vector<GenerateRequest> requests;
  for (const std::vector<int>& prompt : prompts) {
    GenerateRequest request;
    request.prompt = prompt;
    request.num_samples = static_cast<int>(settings.num_samples);
    request.max_tokens = settings.max_new_tokens;
    request.temperature = settings.temperature;
    if (settings.top_k > 0) request.top_k = static_cast<int>(settings.top_k);
    request.seed = settings.sample_seed;
    requests.push_back(std::move(request));
  }
  std::vector<GeneratedTexts> all;
  for (const GenerateResult& result : model.generate(requests))
    all.push_back(texts_of(result, model.tokenizer()));
  return all;
}

}  // namespace nb
