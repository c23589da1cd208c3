// Rules on what a device can do: A07 share of its peak, A08 memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/table.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/shape_of.hpp"

namespace nb {
namespace {

constexpr double kLeast = .02, kMost = .65;  // MFU of trainings that somebody measured

struct Achieved {
  double tflops = 0;  // of one card
  std::string from;
};

std::optional<Achieved> achieved(const ReportedRun& run, const ReportedStage& stage) {
  const auto cards = positive(run, stage, fact::kCards);
  const auto flops = flops_of(run, stage);
  if (!cards || !flops) return std::nullopt;
  std::optional<double> rate;
  if (const Printed* own = stage.fact(fact::kRate); own != nullptr && own->value > 0)
    rate = own->value;
  const auto tokens = tokens_of(run, stage);
  const Printed* minutes = stage.fact(fact::kMinutes);
  // A row of hours without tokens is a claim of A05.
  if (!rate && tokens && minutes != nullptr && minutes->value >= 1)
    rate = *tokens / (60 * minutes->value);
  if (!rate) return std::nullopt;
  return Achieved{*flops * *rate / *cards / 1e12,
                  fmt::format("{} tok/s on {}", with_commas(static_cast<long long>(*rate)),
                              count_text(static_cast<long long>(*cards), "card"))};
}

}  // namespace

void check_mfu(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs) {
    std::vector<double> peaks = peaks_of(run.device);
    for (const ReportedStage& stage : run.stages) {
      if (const auto stated = positive(run, stage, fact::kPeak)) peaks = {*stated};
      const auto done = achieved(run, stage);
      if (peaks.empty() || !done) continue;
      const bool is_plausible = std::ranges::any_of(peaks, [&](double peak) {
        return done->tflops / peak >= kLeast && done->tflops / peak <= kMost;
      });
      if (is_plausible) continue;
      std::vector<std::string> shares;
      for (const double peak : peaks)
        shares.push_back(fmt::format("{:.2f} % of {}", 100 * done->tflops / peak, peak));
      findings.push_back(
          {"A07", Severity::kWarn, run.name, stage.name,
           fmt::format("{} are {:.2f} TFLOP/s a card: {} TFLOP/s", done->from, done->tflops,
                       fmt::join(shares, ", ")),
           fmt::format("from {:.0f} to {:.0f} % of the peak are measured in practice: check tok/s, "
                       "and whether it counts one micro-batch or the step",
                       100 * kLeast, 100 * kMost),
           0});
    }
  }
}

void check_memory(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kBand = .25;
  for (const ReportedRun& run : table.runs) {
    if (!is_ascend(run.device)) continue;  // the model is of eager training
    for (const ReportedStage& stage : run.stages) {
      const auto bytes = positive(run, stage, fact::kMemory);
      const auto shape = shape_of(run, stage);
      const auto batch = positive(run, stage, fact::kDeviceBatch);
      if (!bytes || !shape || !batch) continue;
      const auto cards = positive(run, stage, fact::kCards).value_or(1);
      const double expected = eager_training_bytes(*shape, static_cast<std::int64_t>(*batch),
                                                   static_cast<std::int64_t>(cards));
      const double share = *bytes / expected;
      if (share >= 1 - kBand && share <= 1 + kBand) continue;
      const auto capacity = positive(run, stage, fact::kCapacity);
      findings.push_back(
          {"A08", Severity::kWarn, run.name, stage.name,
           fmt::format("{} for depth {} with {:.0f} sequences of {} tokens is {}; eager training "
                       "needs about {:.1f} GB{}",
                       stage.fact(fact::kMemory)->text, shape->depth, *batch, shape->sequence,
                       share < 1 ? "low" : "high", expected / 1e9,
                       capacity && expected > *capacity
                           ? fmt::format(", impossible on {:.0f} GB", *capacity / 1e9)
                           : ""),
           fmt::format("{:.0f} to {:.0f} GB, or say whether it is allocated, reserved or peak",
                       (1 - kBand) * expected / 1e9, (1 + kBand) * expected / 1e9),
           0});
    }
  }
}

}  // namespace nb
