// Names of metrics that reports and gates look for. Others may be recorded freely; they show in
// tables.
#pragma once

#include <string>
#include <string_view>

namespace nb::metric {

// Training (kind "train"); deterministic.
inline constexpr const char* kValBpb = "val_bpb";         // bit/byte, lower
inline constexpr const char* kTrainLoss = "train_loss";   // nat, lower; last step
inline constexpr const char* kStepTime = "step_time_ns";  // ns, lower, clock sim; median step
inline constexpr const char* kThroughput =
    "throughput_tok_s";                                     // tok/s, higher, clock sim (or host)
inline constexpr const char* kTrainTime = "train_time_ns";  // ns, lower, clock sim; all steps
inline constexpr const char* kPeakMemory = "peak_memory_bytes";  // byte, lower, clock sim
inline constexpr const char* kTokens = "tokens";                 // token; trained on in all steps
inline constexpr const char* kMfu = "mfu";                       // 1, higher, clock sim
// Evaluation (kind "eval"), named "<task>/<metric>"; a composite ("core") is named as its task
// alone.
inline constexpr const char* kAccuracy = "accuracy";            // 1, higher; n = items
inline constexpr const char* kCentred = "centred";              // 1, higher; (a − r)/(1 − r)
inline constexpr const char* kCore = "core";                    // 1, higher; mean of centred
inline constexpr const char* kBitsPerByte = "bits_per_byte";    // bit/byte, lower; n = bytes
inline constexpr const char* kNatsPerToken = "nats_per_token";  // nat, lower; n = tokens
// 1, lower; share of items without a score (items.hpp: kNotFinite), recorded only where there are
// such items: the task's other metrics are null then.
inline constexpr const char* kNotScored = "not_scored";
// Counts of items, without direction; recorded only where they are not 0.
inline constexpr const char* kLeftOut = "left_out";          // without completions, not scored
inline constexpr const char* kCutPrompts = "cut_prompts";    // cut to the model's context
inline constexpr const char* kAlwaysRight = "always_right";  // no model decides them: evals/core
inline constexpr const char* kAlwaysWrong = "always_wrong";
inline std::string of_task(std::string_view task, std::string_view metric) {
  return std::string(task) + "/" + std::string(metric);
}

// For tables: "mw/facts" of "mw/facts/accuracy"; other names as they are.
inline std::string shown_name(const std::string& metric) {
  const std::string end = std::string("/") + kAccuracy;
  return metric.ends_with(end) ? metric.substr(0, metric.size() - end.size()) : metric;
}

// Of a training node, beside its record.
inline constexpr const char* kSeriesFile = "steps.csv";
// In the subject of a training after BASE: digest of the weights that it began with.
inline constexpr const char* kParentWeights = "parent_weights";
// Columns of steps.csv of a training node (series.hpp); the first is "step".
inline constexpr const char* kSeriesLoss = "train_loss";
inline constexpr const char* kSeriesValBpb = "val_bpb";  // empty on steps without validation
// 32 bits of a hash of all ids that the step's model read and was asked for, in their order; of RL
// the questions. No column in files of before 2026-12.
inline constexpr const char* kSeriesBatchHash = "batch_hash";

}  // namespace nb::metric
