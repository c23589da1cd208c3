// Rules on what a device can do: A07 share of its peak, A08 memory, and A04's MFU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/base/table.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/devices.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/shape_of.hpp"
#include "results/audit/sizes.hpp"

namespace nb {
namespace {

constexpr double kLeast = .02, kMost = .65;  // MFU of trainings that somebody measured
constexpr double kGib = 1073741824;

// tok/s of all cards: as printed, else what tokens and time give.
struct Rate {
  double tok_s = 0;
  bool is_of_time = false;
  double hidden = 0;  // share of it that rounding of the time can hide
};

std::optional<Rate> rate_of(const ReportedRun& run, const ReportedStage& stage) {
  if (const Printed* own = stage.fact(fact::kRate); own != nullptr && own->value > 0)
    return Rate{own->value, false, 0};
  const auto tokens = tokens_of(run, stage);
  const Printed* minutes = stage.fact(fact::kMinutes);
  // A row of hours without tokens is a claim of A05.
  if (!tokens || minutes == nullptr || minutes->value < 1) return std::nullopt;
  return Rate{*tokens / (60 * minutes->value), true, minutes->half_unit / minutes->value};
}

std::string cards_text(double cards) {
  return whole_text(cards) + (cards == 1 ? " card" : " cards");
}

struct Achieved {
  double tflops = 0;  // of one card
  std::string from;
};

std::optional<Achieved> achieved(const ReportedRun& run, const ReportedStage& stage) {
  const auto cards = positive(run, stage, fact::kCards);
  const auto flops = flops_of(run, stage);
  const auto rate = rate_of(run, stage);
  if (!cards || !flops || !rate) return std::nullopt;
  return Achieved{*flops * rate->tok_s / *cards / 1e12,
                  fmt::format("{} tok/s on {}", whole_text(rate->tok_s), cards_text(*cards))};
}

// A run whose settings name fp8 may multiply twice as fast where the device can.
bool uses_fp8(const ReportedRun& run, const ReportedStage& stage) {
  for (const Settings* settings : {&run.settings, &stage.settings})
    for (const auto& [name, value] : *settings) {
      if (value.find("fp8") != value.npos || value.find("FP8") != value.npos) return true;
      if (name.find("fp8") != name.npos && value != "False" && value != "false" && value != "0")
        return true;
    }
  return false;
}

// The peaks that a rate of this stage is held against: the one that the table states, else the
// device's own. Never another device's.
std::vector<double> peaks_held(const ReportedRun& run, const ReportedStage& stage) {
  if (const auto stated = positive(run, stage, fact::kPeak)) return {*stated};
  std::vector<double> peaks = peaks_of(run.device);
  if (uses_fp8(run, stage))
    for (double& peak : peaks) peak *= 2;
  return peaks;
}

std::string shares_text(double tflops, const std::vector<double>& peaks) {
  std::vector<std::string> shares;
  for (const double peak : peaks)
    shares.push_back(fmt::format("{:.2f} % of {}", 100 * tflops / peak, peak));
  return fmt::format("{}", fmt::join(shares, ", "));
}

void judge_rate(const ReportedRun& run, const ReportedStage& stage, const Achieved& done,
                const std::vector<double>& peaks, std::vector<Finding>& findings) {
  const bool is_plausible = std::ranges::any_of(peaks, [&](double peak) {
    return done.tflops / peak >= kLeast && done.tflops / peak <= kMost;
  });
  if (is_plausible) return;
  const double most = *std::ranges::max_element(peaks);
  const bool is_impossible = done.tflops > most;
  const auto cards = positive(run, stage, fact::kCards).value_or(1);
  std::string needed = fmt::format(
      "from {:.0f} to {:.0f} % of the peak are measured in practice: check tok/s, and whether it "
      "counts one micro-batch or the step",
      100 * kLeast, 100 * kMost);
  if (is_impossible) {
    const double flops = flops_of(run, stage).value_or(0);
    needed = fmt::format(
        "at most {} tok/s, the peak itself; check whether tok/s counts padding, and the cards: of "
        "a package of two dies each die is one",
        whole_text(std::floor(most * 1e12 * cards / flops)));
  }
  findings.push_back({"A07", is_impossible ? Severity::kFail : Severity::kWarn, run.name,
                      stage.name,
                      fmt::format("{} are {:.2f} TFLOP/s a card: {} TFLOP/s{}", done.from,
                                  done.tflops, shares_text(done.tflops, peaks),
                                  is_impossible ? ", more than the device can do" : ""),
                      std::move(needed), 0});
}

// An MFU above 1 without a rate beside it. Of which peak it is a share may not be said: what no
// peak of the device allows fails, the rest is implausible.
void judge_share(const ReportedRun& run, const ReportedStage& stage,
                 const std::vector<double>& peaks, std::vector<Finding>& findings) {
  const Printed* mfu = run.fact(stage, fact::kMfu);
  if (mfu == nullptr || mfu->value - mfu->half_unit <= 1) return;
  const auto stated = positive(run, stage, fact::kPeak);
  std::vector<double> quoted = quoted_peaks_of(run.device);
  if (stated) quoted = {*stated};
  const bool is_impossible =
      stated || (!peaks.empty() &&
                 *std::ranges::min_element(quoted) * mfu->value > *std::ranges::max_element(peaks));
  findings.push_back({"A07", is_impossible ? Severity::kFail : Severity::kWarn, run.name,
                      stage.name, fmt::format("MFU {}: more than all of the peak", mfu->text),
                      "the device's own dense peak as the whole, or a rate below it", 0});
}

void judge_capacity(const ReportedRun& run, const ReportedStage& stage,
                    std::vector<Finding>& findings) {
  const Printed* peak = stage.fact(fact::kMemory);
  if (peak == nullptr || peak->value <= 0) return;
  const Printed* capacity = run.fact(stage, fact::kCapacity);
  const auto of_device = memory_gib_of(run.device);
  std::optional<double> most;
  // "80 GB" of memory are 80 GiB on every card that is sold so.
  if (capacity != nullptr && capacity->value > 0)
    most = capacity->value * (capacity->unit == "GB" ? kGib / 1e9 : 1);
  else if (of_device)
    most = *of_device * kGib;
  if (!most || peak->value - peak->half_unit <= *most) return;
  findings.push_back(
      {"A08", Severity::kFail, run.name, stage.name,
       fmt::format("{} on a card of {:.0f} GiB ({})", peak->text, *most / kGib,
                   capacity != nullptr && capacity->value > 0 ? capacity->text : run.device),
       fmt::format(
           "at most {} MiB, or the device that has more; a sum over cards is no peak of one",
           whole_text(std::floor(*most / 1048576))),
       0});
}

}  // namespace

void check_mfu(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) {
      const std::vector<double> peaks = peaks_held(run, stage);
      const auto done = achieved(run, stage);
      if (done && !peaks.empty())
        judge_rate(run, stage, *done, peaks, findings);
      else if (stage.fact(fact::kMfu) != nullptr)
        judge_share(run, stage, peaks, findings);
    }
}

void check_mfu_identities(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kIdentity = .01, kRough = .1;  // share that a rate of the same steps may be off
  // A card's MFU is of the last step, tokens and time are of all of them: of the published cards
  // that have both it is .74 to 1.13 of their average.
  constexpr double kOfTime = 1.4, kFarOff = 1.6;
  constexpr double kFewSteps = 100;  // warming up is much of a run of so few
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) {
      const Printed* mfu = run.fact(stage, fact::kMfu);
      const auto cards = positive(run, stage, fact::kCards);
      const auto flops = flops_of(run, stage);
      const auto rate = rate_of(run, stage);
      if (stage.facts.empty() || mfu == nullptr || mfu->value <= 0 || !rate || !cards || !flops)
        continue;
      const auto steps = positive(run, stage, fact::kIterations);
      if (rate->is_of_time && steps && *steps < kFewSteps) continue;
      const auto stated = positive(run, stage, fact::kPeak);
      const std::vector<double> peaks =
          stated ? std::vector<double>{*stated} : quoted_peaks_of(run.device);
      const auto share = [&](double peak) { return *flops * rate->tok_s / (*cards * peak * 1e12); };
      const double allowed =
          rate->is_of_time ? 1 - 1 / kOfTime + rate->hidden : (mfu->is_rough ? kRough : kIdentity);
      const bool fits = std::ranges::any_of(peaks, [&](double peak) {
        return is_near(mfu->value, share(peak), allowed, mfu->half_unit + 5e-5);
      });
      if (fits) continue;
      // The whole that comes nearest, so that it is not made worse than it is.
      const double whole = *std::ranges::min_element(
          peaks, {}, [&](double peak) { return std::abs(std::log(mfu->value / share(peak))); });
      const bool is_possible = rate->is_of_time && mfu->value < kFarOff * share(whole);
      const double shown = rate->is_of_time ? whole : peaks.front();
      const Severity severity = is_possible ? Severity::kWarn : Severity::kFail;
      findings.push_back(
          {"A04", severity, run.name, stage.name,
           fmt::format("MFU {}, but {}{} tok/s on {} of {} TFLOP/s is {:.2f} %", mfu->text,
                       rate->is_of_time ? "tokens and time give " : "", whole_text(rate->tok_s),
                       cards_text(*cards), shown, 100 * share(shown)),
           fmt::format("MFU {:.2f} %, or the peak that it is a share of", 100 * share(shown)), 0});
    }
}

void check_memory(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kBand = .25;
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) {
      judge_capacity(run, stage, findings);
      if (!is_ascend(run.device)) continue;  // the model is of eager training
      const auto bytes = positive(run, stage, fact::kMemory);
      const auto shape = shape_of(run, stage);
      const auto batch = positive(run, stage, fact::kDeviceBatch);
      if (!bytes || !shape || !batch || stage.fact(fact::kMemory) == nullptr) continue;
      const auto cards = positive(run, stage, fact::kCards).value_or(1);
      const double expected = eager_training_bytes(*shape, *batch, cards);
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

}  // namespace nb
