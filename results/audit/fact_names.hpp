// Names of the numbers about a training that rules look for, and how nanochat's report cards, its
// logs and tables print them.
#pragma once

#include <span>
#include <string_view>

#include "results/audit/table.hpp"

namespace nb {

namespace fact {
inline constexpr std::string_view kDepth = "depth";
inline constexpr std::string_view kAspectRatio = "aspect_ratio";  // width / depth
inline constexpr std::string_view kVocab = "vocab";
inline constexpr std::string_view kSequence = "sequence";         // tokens
inline constexpr std::string_view kDeviceBatch = "device_batch";  // sequences on one card
inline constexpr std::string_view kTotalBatch = "total_batch_tokens";
inline constexpr std::string_view kCards = "cards";
inline constexpr std::string_view kParameters = "parameters";
inline constexpr std::string_view kFlopsPerToken = "flops_per_token";
inline constexpr std::string_view kIterations = "iterations";
inline constexpr std::string_view kAskedIterations = "asked_iterations";  // -1: calculated
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kTokensPerParameter = "tokens_per_parameter";
inline constexpr std::string_view kFlops = "flops";
inline constexpr std::string_view kMinutes = "minutes";
inline constexpr std::string_view kRate = "tok_s";  // of all cards
inline constexpr std::string_view kStepTime = "step_ms";
inline constexpr std::string_view kMfu = "mfu";            // share of the peak
inline constexpr std::string_view kPeak = "peak_tflops";   // of one card, that mfu is a share of
inline constexpr std::string_view kMemory = "peak_bytes";  // of one card
inline constexpr std::string_view kCapacity = "memory_bytes";  // that one card has
inline constexpr std::string_view kValBpb = "val_bpb";
inline constexpr std::string_view kMinValBpb = "min_val_bpb";
inline constexpr std::string_view kRows = "training_rows";
inline constexpr std::string_view kEpochs = "epochs";
inline constexpr std::string_view kTargetExamples = "target_examples";     // SFT: a step
inline constexpr std::string_view kExamplesPerStep = "examples_per_step";  // RL
inline constexpr std::string_view kMaxProblems = "max_problems";  // items of each task, at most
inline constexpr std::string_view kSpeedup = "speedup";           // times faster than one card
inline constexpr std::string_view kTimeSaved = "time_saved";      // share of one card's time
}  // namespace fact

struct FactName {
  std::string_view name;
  std::string_view card;  // nanochat's words in report cards and logs; empty: it prints none
  std::string_view unit;  // "min", "byte", "ms" or "": what the value is kept in
};
std::span<const FactName> fact_names();
const FactName* fact_named(std::string_view name);     // by our name; nullptr: there is none
const FactName* fact_of_card(std::string_view words);  // by nanochat's

// The number in the fact's own unit: "172.57m" → minutes, "24 GB" → bytes. A unit that does not
// belong is refused; the message begins with `where`.
Result<Printed> parse_fact(const FactName& name, std::string_view text, const std::string& where);

}  // namespace nb
