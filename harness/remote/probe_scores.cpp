// P3, P4: log-probabilities of a prompt, and whether they are those of the model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/remote/prober.hpp"
#include "harness/remote/probes.hpp"
#include "harness/remote/self_description.hpp"

namespace nb {
namespace {

constexpr double kSumLimit = 1 + 1e-3;  // of probabilities in fp32, rounded on their way
constexpr double kSameScore = 1e-3;     // nat, beside what the server's noise allows
constexpr double kOtherTemperature = 2;

std::string what_is_wrong(std::span<const TokenScore> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const TokenScore& score = scores[i];
    if (!std::isfinite(score.log_prob))
      return fmt::format("the log-probability at position {} is no number", i + 1);
    if (score.log_prob > 1e-6F)
      return fmt::format("the log-probability at position {} is above 0", i + 1);
    double sum = std::exp(static_cast<double>(score.log_prob));
    if (score.top_log_prob > score.log_prob)
      sum += std::exp(static_cast<double>(score.top_log_prob));
    if (sum > kSumLimit)
      return fmt::format("two probabilities at position {} sum to {:.3g}", i + 1, sum);
  }
  return "";
}
}  // namespace

Result<void> Prober::ask_scores() {
  std::string reasons;
  for (const Dialect dialect : {Dialect::kPromptLogprobs, Dialect::kEcho, Dialect::kSglang}) {
    if (dialect == Dialect::kSglang && facts_.kind == "vllm") continue;
    const RemoteCall call = wire_.score(dialect, prompt_, 1);
    NB_TRY(const RemoteAnswer answer, question(call));
    std::string reason;
    if (answer.is_ok()) {
      const auto json = parse_answer(answer.body);
      NB_TRY_VOID(refuse_second_bos(json));
      const auto scores = json ? parse_scores(dialect, *json, prompt_, tokenizer_)
                               : Result<std::vector<TokenScore>>(run_error(json.error().message));
      reason = scores ? what_is_wrong(*scores) : scores.error().message;
      if (reason.empty()) {
        facts_.dialect = dialect;
        facts_.logit_step = logit_step(*scores);
        for (const TokenScore& score : *scores) facts_.canary_log_probs.push_back(score.log_prob);
        note("P3", "passed",
             fmt::format("{} log-probabilities of a prompt by {}", scores->size(), name(dialect)));
        return {};
      }
    } else {
      reason = fmt::format("refused with status {}", answer.status);
    }
    if (dialect == Dialect::kSglang && !answer.is_ok()) continue;  // it is not sglang
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name(dialect), reason);
  }
  facts_.why_no_scores = "P3: " + reasons;
  note("P3", "failed", reasons);
  return {};
}

Result<void> Prober::refuse_second_bos(const Result<Json>& answer) {
  if (!answer) return {};
  std::vector<int> doubled = prompt_;
  doubled.insert(doubled.begin(), prompt_.front());
  for (const Dialect dialect : {Dialect::kPromptLogprobs, Dialect::kEcho})
    if (!parse_scores(dialect, *answer, prompt_, tokenizer_) &&
        parse_scores(dialect, *answer, doubled, tokenizer_))
      return second_bos(1);
  return {};
}

Result<void> Prober::ask_temperature() {
  const auto hot =
      score_prompt(connection_, wire_, *facts_.dialect, prompt_, tokenizer_, kOtherTemperature);
  if (!hot) return tl::unexpected<Error>(hot.error());
  double largest = 0;
  for (std::size_t i = 0; i < hot->size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>((*hot)[i].log_prob) -
                                          static_cast<double>(facts_.canary_log_probs[i])));
  if (largest <= kSameScore + 0.05) {
    note("P4", "passed", "log-probabilities do not depend on the temperature");
    return {};
  }
  facts_.why_no_scores = fmt::format(
      "P4: its log-probabilities are scaled by the temperature ({:.3g} nat between 0 and {}); "
      "vLLM gives raw ones with --logprobs-mode raw_logprobs",
      largest, kOtherTemperature);
  note("P4", "failed", facts_.why_no_scores.substr(4));
  facts_.dialect.reset();
  facts_.canary_log_probs.clear();
  return {};
}

}  // namespace nb
