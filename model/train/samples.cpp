#include "model/train/samples.hpp"

#include <span>

#include "harness/base/check.hpp"

namespace nb {
namespace {

int first_largest(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int>(best);
}

}  // namespace

const std::vector<std::string>& sample_prompts() {
  static const std::vector<std::string> prompts = {"The capital of France is",
                                                   "The chemical symbol of gold is",
                                                   "If yesterday was Friday, then tomorrow will be",
                                                   "The opposite of hot is",
                                                   "The planets of the solar system are:",
                                                   "My favorite color is",
                                                   "If 5*x + 3 = 13, then x is"};
  return prompts;
}

std::vector<int> continue_greedily(Decoder& decoder, std::vector<int> tokens, int count) {
  NB_CHECK(!tokens.empty(), "[sample] nothing to continue");
  const UseScope scope(decoder.device(), Use::kGenerate);
  for (int i = 0; i < count; ++i) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    if (length >= decoder.config().max_positions()) break;
    const std::int64_t last = length - 1;
    int next = 0;
    decoder.forward_logits(tokens, 1, length, {&last, 1}, [&](std::int64_t, ConstMatrix logits) {
      next = first_largest({logits.row(0), static_cast<std::size_t>(logits.cols)});
    });
    tokens.push_back(next);
  }
  return tokens;
}

std::string sample_text(Decoder& decoder, const Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<int> tokens =
      tokenizer.bos() >= 0 ? tokenizer.encode(prompt, tokenizer.bos()) : tokenizer.encode(prompt);
  tokens = continue_greedily(decoder, std::move(tokens), kSampleTokens);
  const std::span<const int> all = tokens;
  return tokenizer.decode(tokenizer.bos() >= 0 ? all.subspan(1) : all);
}

}  // namespace nb
