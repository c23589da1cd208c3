// Fixed questions with known answers, about behaviour that no suite's model comes to: a tie, a
// prompt that is cut, two answers in one text, merges of high rank, caches beyond 128 tokens. A
// scripted model answers where the evaluation is asked about, two views of one small decoder where
// the engine is. Seconds; no files. What each one looks at: README.md. Not for scores of models.
#pragma once

#include <span>
#include <string_view>

#include "evals/base/eval_result.hpp"
#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

struct ProbeInfo {
  std::string_view name;  // as in a suite: "choice_tie"
  std::string_view meaning;
};
std::span<const ProbeInfo> probes();

// Of one device. They must outlive the call.
struct ProbedModels {
  LanguageModel& cached;  // a decoder whose context is kProbeContext, keys and values cached
  LanguageModel& plain;   // the same weights, each request computed alone
  LanguageModel& flat;    // a decoder all of whose logits are equal
};
inline constexpr std::int64_t kProbeContext = 320;  // tokens
inline constexpr std::int64_t kProbeVocab = 265;    // byte_tokenizer()'s

// "probe/<name>" with its items and "probe/<name>/accuracy", which is 1 where all is as it should
// be. The name is one of probes() (NB_CHECK). Errors are trouble of this computer, never an answer.
Result<EvalResult> run_probe(std::string_view name, const ProbedModels& models);

}  // namespace nb
