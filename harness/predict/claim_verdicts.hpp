// A published rate or time beside an expected one: plausible, low, high or impossible, and why.
// Knows numbers; which step is expected and who predicts it is claims.hpp's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/audit/table.hpp"

namespace nb {

// Whole runs that nothing was fitted on, and whose batch or stack is not said: a prediction is
// taken for right within these factors.
inline constexpr double kRateFactor = 1.5, kMemoryFactor = 1.25;

enum class ClaimVerdict { kPlausible, kLow, kHigh, kImpossible, kUnknown };
std::string_view name(ClaimVerdict verdict);

struct JudgedClaim {
  std::string row;                                // "Base, 8 cards"
  std::string what;                               // "rate", "memory", "time"
  std::string claimed;                            // as printed: "15,000", "24 GB", "~2 h"
  double claimed_value = 0, predicted_value = 0;  // tok/s, byte, hour; predicted 0: none
  std::string predicted;
  ClaimVerdict verdict = ClaimVerdict::kUnknown;
  std::string why;
};

// What a step is expected to take, whoever predicts it.
struct Expected {
  double peak_flop_s = 0;  // of all cards
  double flops_per_token = 0;
  double cards = 1;
  std::optional<double> rate_tok_s;  // of all cards
  std::string no_rate;               // why there is none
  std::vector<std::string> assumed;

  std::string with_assumed(std::string why) const {
    for (const std::string& one : assumed) why += "; taken: " + one;
    return why;
  }
};

// factor: claimed over predicted, of a quantity that grows with what is claimed.
ClaimVerdict verdict_of(double factor, double limit);
JudgedClaim judged_rate(const std::string& row, const Printed& claimed, const Expected& expected);
// Of a training of so many tokens.
JudgedClaim judged_time(const std::string& row, const Printed& claimed, double tokens,
                        const Expected& expected);

}  // namespace nb
