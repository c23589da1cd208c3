// What a metric of another harness is: its unit and bounds, and which way is better. Looked up in
// one table, never guessed: a name that the table does not know has no direction and no interval
// (the user settles it with --higher or --lower). What a file says itself counts before the table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "results/foreign/foreign.hpp"
#include "results/store/record.hpp"

namespace nb {

enum class Quantity {
  kShare,       // mean of scores between 0 and 1: accuracy, pass@k, F1; files write .71 or 71 %
  kPoints,      // 0 to 100 by definition: BLEU, chrF, TER
  kErrorRatio,  // errors over a length, can exceed 1: word and character error rate
  kBounded,     // other scores between fixed ends: Matthews correlation, Brier score
  kNats,        // losses, negative log-likelihoods
  kBitsPerByte,
  kPerplexity,
  kCount,         // errors, trials, tokens
  kTime,          // times and latencies whose unit the name does not say
  kSeconds,       // "eval_runtime"
  kMilliseconds,  // "mean_ttft_ms"
  kPerSecond,     // rates: tokens, samples or requests a second
};
// What a Metric of that quantity has as its unit: "1", "point", "error ratio", "nat", "bit/byte",
// "perplexity", "count", "time", "s", "ms", "1/s".
std::string_view unit_of(Quantity quantity);

struct MetricKind {
  std::string_view names;  // separated by spaces; a star stands for any text, also none
  Quantity quantity;
  Direction direction;      // kNone: neither way is better (sizes, lengths)
  double low, high;         // what a value can be; infinite: no such bound
  std::string_view source;  // repository @ commit: file, or paper
};
std::span<const MetricKind> metric_kinds();
// By its name as a file has it; case does not matter, nor what stands before the last '/', nor
// "mean_", "avg_" before it. nullptr: not known.
const MetricKind* metric_kind(std::string_view metric);

// Direction, unit and is_share where the source does not say them: what ForeignBuilder::finish()
// does with every series. Also for those who make a ForeignSeries without a builder.
void settle_metric(ForeignSeries& series);

// Whether a file writes a share as a percentage: one decision for all its values of one metric.
// `says`: the file or its harness states it (a percent sign, a column's head, opencompass's rule).
// Otherwise any value above 1 tells.
bool is_in_percent(std::span<const double> values, std::optional<bool> says = std::nullopt);

}  // namespace nb
