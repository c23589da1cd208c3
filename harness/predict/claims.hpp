// Rates, memory and times that somebody published beside what the dry step of the same training
// says: plausible, low, high or impossible, and why. Takes any table that `npubench audit` reads:
// the rows that name a depth, or, where the model is of Megatron's kind, all rows beside its closed
// form.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/predict/claim_verdicts.hpp"
#include "harness/predict/megatron_request.hpp"
#include "harness/predict/request.hpp"

namespace nb {

struct JudgedTable {
  std::string table, device, stack;
  std::vector<JudgedClaim> claims;
  std::vector<std::string> left_out;  // rows that say too little, a sentence each
  bool is_megatron = false;           // judged by a closed form
};

// Of the device and stack of the request; of its other entries only a model of Megatron's kind and
// its job count, for which a row may say cards, batches and sequence in place of the flags.
// bad_input: a table that cannot be read, or has no row with a rate, memory or time (and a depth).
Result<JudgedTable> judge_claims(const PredictRequest& request, const MegatronFlags& flags,
                                 const std::string& table);

}  // namespace nb
