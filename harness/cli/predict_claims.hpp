// `npubench predict --claims TABLE`: rates, memory and times that somebody published beside what
// the dry step of the same training says: plausible, low, high or impossible, and why. Reads any
// table that `npubench audit` reads; the rows that name a depth.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/cli/predict_ask.hpp"

namespace nb::cli {

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

struct JudgedTable {
  std::string table, device, stack;
  std::vector<JudgedClaim> claims;
  std::vector<std::string> left_out;  // rows that say too little, a sentence each
};

// Of the device and stack of the question; its other entries are not looked at. bad_input: a table
// that cannot be read, or has no row with a depth and a rate, memory or time.
Result<JudgedTable> judge_claims(const PredictQuestion& question, const std::string& table);

std::string claims_text(const JudgedTable& judged);
Json claims_json(const JudgedTable& judged);

}  // namespace nb::cli
