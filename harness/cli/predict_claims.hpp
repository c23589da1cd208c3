// `npubench predict claims TABLE`: rates, memory and times that somebody published beside what
// the dry step of the same training says: plausible, low, high or impossible, and why. Reads any
// table that `npubench audit` reads: the rows that name a depth, or, where --model is of Megatron's
// kind, all rows beside its closed form.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/cli/claim_verdicts.hpp"
#include "harness/cli/predict_ask.hpp"
#include "harness/cli/predict_megatron.hpp"

namespace nb::cli {

struct JudgedTable {
  std::string table, device, stack;
  std::vector<JudgedClaim> claims;
  std::vector<std::string> left_out;  // rows that say too little, a sentence each
  bool is_megatron = false;           // judged by a closed form
};

// Of the device and stack of the question; of its other entries only a model of Megatron's kind and
// its job count, for which a row may say cards, batches and sequence in place of the flags.
// bad_input: a table that cannot be read, or has no row with a rate, memory or time (and a depth).
Result<JudgedTable> judge_claims(const PredictQuestion& question, const MegatronFlags& flags,
                                 const std::string& table);

std::string claims_text(const JudgedTable& judged);
Json claims_json(const JudgedTable& judged);

}  // namespace nb::cli
