#include "harness/predict/claim_verdicts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/table.hpp"

namespace nb {
namespace {

void judge_rate(JudgedClaim& claim, double rate, const Expected& expected) {
  const double flop_s = rate * expected.flops_per_token;
  const std::string utilisation =
      fmt::format("{:.3g} TFLOP/s a card, {:.3g} % of its peak", flop_s / 1e12 / expected.cards,
                  100 * flop_s / expected.peak_flop_s);
  if (flop_s > expected.peak_flop_s) {
    claim.verdict = ClaimVerdict::kImpossible;
    claim.why = expected.with_assumed(utilisation);
    return;
  }
  if (!expected.rate_tok_s) {
    claim.why = expected.with_assumed("no prediction: " + expected.no_rate);
    return;
  }
  const double factor = rate / *expected.rate_tok_s;
  claim.verdict = verdict_of(factor, kRateFactor);
  claim.why =
      expected.with_assumed(fmt::format("{}; {:.2g} x the prediction", utilisation, factor));
}

}  // namespace

std::string_view name(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kPlausible:
      return "plausible";
    case ClaimVerdict::kLow:
      return "low";
    case ClaimVerdict::kHigh:
      return "high";
    case ClaimVerdict::kImpossible:
      return "IMPOSSIBLE";
    case ClaimVerdict::kUnknown:
      break;
  }
  return "?";
}

ClaimVerdict verdict_of(double factor, double limit) {
  if (factor > limit) return ClaimVerdict::kHigh;
  return factor < 1 / limit ? ClaimVerdict::kLow : ClaimVerdict::kPlausible;
}

JudgedClaim judged_rate(const std::string& row, const Printed& claimed, const Expected& expected) {
  JudgedClaim claim{row, "rate", claimed.text + " tok/s", claimed.value, 0, "", {}, ""};
  judge_rate(claim, claimed.value, expected);
  if (expected.rate_tok_s) {
    claim.predicted_value = *expected.rate_tok_s;
    claim.predicted = with_commas(std::llround(claim.predicted_value)) + " tok/s";
  }
  return claim;
}

JudgedClaim judged_time(const std::string& row, const Printed& claimed, double tokens,
                        const Expected& expected) {
  const double rate = tokens / (60 * claimed.value);
  JudgedClaim claim{row, "time", claimed.text, claimed.value / 60, 0, "", {}, ""};
  judge_rate(claim, rate, expected);
  if (expected.rate_tok_s) {
    claim.predicted_value = tokens / *expected.rate_tok_s / 3600;
    claim.predicted = fmt::format("{:.3g} h", claim.predicted_value);
  }
  claim.why = fmt::format("needs {} tok/s: {}", with_commas(std::llround(rate)), claim.why);
  // A rate that is too high is a time that is too short.
  if (claim.verdict == ClaimVerdict::kHigh)
    claim.verdict = ClaimVerdict::kLow;
  else if (claim.verdict == ClaimVerdict::kLow)
    claim.verdict = ClaimVerdict::kHigh;
  return claim;
}

}  // namespace nb
