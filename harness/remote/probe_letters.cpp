// How an answer can be held to letters.
#include <nlohmann/json.hpp>

#include "harness/remote/prober.hpp"

namespace nb {
namespace {

constexpr int kTopTokens[] = {20, 5};  // vLLM's largest, MindIE's

}  // namespace

// Held to each letter alone: a server that ignores the wish has one answer to both.
Result<bool> Prober::holds_to(LetterWay way, std::span<const int> letters) {
  for (const int letter : letters) {
    Wire::Generation generation;
    (way == LetterWay::kAllowedTokens ? generation.allowed_tokens
                                      : generation.biased_tokens) = {letter};
    NB_TRY(const RemoteAnswer answer, question(fixed(generation)));
    if (!answer.is_ok()) return false;
    const auto json = parse_answer(answer.body);
    const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
    if (!generated) return false;
    const std::vector<int> ids =
        generated->tokens ? *generated->tokens : tokenizer_.encode(generated->text);
    if (ids.empty() || ids.front() != letter) return false;
  }
  return true;
}

Result<void> Prober::ask_letters() {
  std::vector<int> letters;
  for (const char* letter : {"A", "B"})
    if (const auto ids = tokenizer_.encode(letter); ids.size() == 1) letters.push_back(ids.front());
  if (letters.size() != 2) {
    facts_.why_no_letters = "letters are no single tokens";
    return {};
  }
  for (const LetterWay way : {LetterWay::kAllowedTokens, LetterWay::kLogitBias}) {
    NB_TRY(const bool holds, holds_to(way, letters));
    if (!holds) continue;
    facts_.letters = way;
    return {};
  }
  for (const int top : kTopTokens) {
    Wire::Generation likely;
    likely.top = top;
    NB_TRY(const RemoteAnswer answer, question(fixed(likely)));
    if (!answer.is_ok()) continue;
    const auto json = parse_answer(answer.body);
    const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
    if (!generated || generated->first_top.size() < 2) continue;
    facts_.letters = LetterWay::kTopLogProbs;
    facts_.most_top = top;
    return {};
  }
  facts_.why_no_letters = "it neither holds an answer to given tokens nor tells the likeliest ones";
  return {};
}

}  // namespace nb
