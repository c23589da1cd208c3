// Rules on the arithmetic of a training: A04 identities, A05 times, A06 scaling, A09 time saved,
// A10 tokens per parameter, A11 divisibility, A12 step counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/base/table.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/shape_of.hpp"

namespace nb {
namespace {

constexpr double kIdentity = .01;  // share that an exact identity may be off, for rounded inputs
constexpr double kRoughly = .1;    // the same where a number says "~"

template <class Check>
void each(const ReportedTable& table, Check check) {
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) check(run, stage);
}

double share_for(const Printed& printed) { return printed.is_rough ? kRoughly : kIdentity; }

void add(std::vector<Finding>& findings, std::string_view rule, Severity severity,
         const ReportedRun& run, const ReportedStage& stage, std::string found,
         std::string needed) {
  findings.push_back(
      {rule, severity, run.name, stage.name, std::move(found), std::move(needed), 0});
}

// reported = expected, or a FAIL.
void check_equal(std::vector<Finding>& findings, const ReportedRun& run, const ReportedStage& stage,
                 const Printed& reported, double expected, const std::string& what) {
  if (is_near(reported.value, expected, share_for(reported), reported.half_unit)) return;
  add(findings, "A04", Severity::kFail, run, stage,
      fmt::format("{} is {}, but {} gives {}", what.substr(0, what.find(" = ")), reported.text,
                  what.substr(what.find(" = ") + 3), whole_text(expected)),
      fmt::format("{} in place of {}, or the other numbers changed", whole_text(expected),
                  reported.text));
}

void check_parameters(std::vector<Finding>& findings, const ReportedRun& run,
                      const ReportedStage& stage) {
  const Printed* reported = run.fact(stage, fact::kParameters);
  const auto shape = shape_of(run, stage);
  if (reported == nullptr || reported->value <= 0 || !shape ||
      run.fact(stage, fact::kVocab) == nullptr)
    return;
  const auto counts = parameter_counts(*shape);
  const bool fits = std::ranges::any_of(counts, [&](double expected) {
    return is_near(reported->value, expected, kIdentity, reported->half_unit);
  });
  if (fits) return;
  // A program counts both itself: where they agree, the model has another shape.
  const auto flops = positive(run, stage, fact::kFlopsPerToken);
  const bool is_counted = flops && std::ranges::any_of(counts, [&](double expected) {
                            const double others = reported->value - expected;
                            return is_near(*flops, flops_per_token(*shape) + 6 * others, .05);
                          });
  add(findings, "A04", is_counted ? Severity::kInfo : Severity::kFail, run, stage,
      fmt::format("{} parameters, but a nanochat of depth {} with {} tokens has {}", reported->text,
                  shape->depth, with_commas(shape->vocab), whole_text(counts.front())),
      is_counted ? "the change of the architecture beside the numbers"
                 : fmt::format("{} parameters ({} with value embeddings), or another width",
                               whole_text(counts[0]), whole_text(counts[1])));
}

// The rate that the table gives for these cards and this depth: its own row, or that of one card
// times the cards, for the operations of the other depth.
std::optional<double> table_rate(const ReportedRun& run, const ReportedStage& stage) {
  if (const Printed* own = stage.fact(fact::kRate); own != nullptr && own->value > 0)
    return own->value;
  const auto cards = positive(run, stage, fact::kCards);
  const auto flops = flops_of(run, stage);
  if (!cards || !flops) return std::nullopt;
  const ReportedStage* best = nullptr;
  double best_cards = 0;
  std::string_view group;  // rates of another stage of training are other work
  for (const ReportedStage& row : run.stages) {
    if (row.fact(fact::kRate) == nullptr || row.fact(fact::kCards) == nullptr) continue;
    if (group.empty()) group = row.group;
    if (row.group != group) continue;
    const double row_cards = row.fact(fact::kCards)->value;
    if (best == nullptr || row_cards == *cards ||
        (best_cards != *cards && row_cards < best_cards)) {
      best = &row;
      best_cards = row_cards;
    }
  }
  if (best == nullptr || best_cards <= 0) return std::nullopt;
  const auto row_flops = flops_of(run, *best);
  if (!row_flops) return std::nullopt;
  return best->fact(fact::kRate)->value * (*cards / best_cards) * *row_flops / *flops;
}

}  // namespace

void check_identities(const ReportedTable& table, std::vector<Finding>& findings) {
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    for (const ReportedCell& cell : stage.cells) {
      if (!cell.repeated || is_near(cell.score.value, cell.repeated->value, 0,
                                    cell.score.half_unit + cell.repeated->half_unit + 1e-12))
        continue;
      findings.push_back({"A04", Severity::kFail, run.name, stage.name + " " + cell.label,
                          fmt::format("{} in its section, {} in the summary", cell.score.text,
                                      cell.repeated->text),
                          "the same number in both places", cell.line});
    }
    if (stage.facts.empty()) return;
    const auto steps = positive(run, stage, fact::kIterations);
    const auto batch = positive(run, stage, fact::kTotalBatch);
    const Printed* tokens = stage.fact(fact::kTokens);
    if (tokens != nullptr && tokens->value > 0 && steps && batch)
      check_equal(findings, run, stage, *tokens, *steps * *batch,
                  fmt::format("tokens = {} steps × {}", whole_text(*steps), whole_text(*batch)));
    const Printed* flops = stage.fact(fact::kFlops);
    const auto per_token = positive(run, stage, fact::kFlopsPerToken);
    if (flops != nullptr && flops->value > 0 && per_token && tokens != nullptr)
      check_equal(findings, run, stage, *flops, *per_token * tokens->value,
                  fmt::format("FLOP = {:.6g} a token × {} tokens", *per_token, tokens->text));
    const Printed* rate = stage.fact(fact::kRate);
    const auto step_ms = positive(run, stage, fact::kStepTime);
    if (rate != nullptr && step_ms && batch)
      check_equal(findings, run, stage, *rate, *batch / (*step_ms / 1000),
                  fmt::format("tok/s = {} tokens in {} ms", whole_text(*batch), *step_ms));
    check_parameters(findings, run, stage);
    const Printed* least = stage.fact(fact::kMinValBpb);
    const Printed* last = stage.fact(fact::kValBpb);
    if (least != nullptr && last != nullptr && last->value > 0 &&
        least->value > last->value + least->half_unit + last->half_unit)
      add(findings, "A04", Severity::kFail, run, stage,
          fmt::format("the minimum of bits per byte, {}, lies above the final value, {}",
                      least->text, last->text),
          fmt::format("a minimum of at most {}", last->text));
  });
  check_mfu_identities(table, findings);
}

void check_times(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kWarn = 1.1, kFail = 2;
  constexpr double kFewSteps = 100;  // warming up is much of a run of so few
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const Printed* minutes = stage.fact(fact::kMinutes);
    if (minutes == nullptr || minutes->value <= 0) return;
    if (const auto steps = positive(run, stage, fact::kIterations); steps && *steps < kFewSteps)
      return;
    const auto rate = table_rate(run, stage);
    std::optional<double> tokens = tokens_of(run, stage);
    const auto ratio = positive(run, stage, fact::kTokensPerParameter);
    const auto parameters = parameters_of(run, stage);
    if (!tokens && ratio && !parameters.empty()) tokens = *ratio * parameters.front();
    if (!rate || !tokens) return;
    const double needed_rate = *tokens / (60 * minutes->value);
    const double gap = needed_rate / *rate;
    const double off = std::max(gap, 1 / gap);
    if (off <= kWarn) return;
    const double hours = *tokens / *rate / 3600;
    add(findings, "A05", off > kFail ? Severity::kFail : Severity::kWarn, run, stage,
        fmt::format("{} tokens in {} need {} tok/s; the table's rate is {} ({:.1f} h, {:.1f} times "
                    "off)",
                    whole_text(*tokens), minutes->text, whole_text(needed_rate), whole_text(*rate),
                    hours, off),
        fmt::format("{:.1f} h, or {} tok/s, or {} tokens", hours, whole_text(needed_rate),
                    whole_text(*rate * 60 * minutes->value)));
  });
}

void check_scaling(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kMost = 1.02;
  for (const ReportedRun& run : table.runs) {
    for (const ReportedStage& few : run.stages)
      for (const ReportedStage& many : run.stages) {
        if (few.group.empty() || few.group != many.group) continue;
        const Printed* few_rate = few.fact(fact::kRate);
        const Printed* many_rate = many.fact(fact::kRate);
        const auto few_cards = positive(run, few, fact::kCards);
        const auto many_cards = positive(run, many, fact::kCards);
        if (few_rate == nullptr || many_rate == nullptr || !few_cards || !many_cards ||
            *few_cards >= *many_cards || few_rate->value <= 0)
          continue;
        const double efficiency = many_rate->value / few_rate->value / (*many_cards / *few_cards);
        if (efficiency > 0 && efficiency <= kMost) continue;
        add(findings, "A06", Severity::kWarn, run, many,
            fmt::format("{} cards are {:.2f} times as fast as {}: efficiency {:.1f} %",
                        whole_text(*many_cards), many_rate->value / few_rate->value,
                        whole_text(*few_cards), 100 * efficiency),
            fmt::format("at most {} tok/s",
                        whole_text(few_rate->value * *many_cards / *few_cards)));
      }
    for (const ReportedStage& stage : run.stages) {
      const auto speedup = positive(run, stage, fact::kSpeedup);
      const auto cards = positive(run, stage, fact::kCards);
      if (!speedup || !cards || *speedup / *cards <= kMost) continue;
      add(findings, "A06", Severity::kWarn, run, stage,
          fmt::format("{} times faster on {} cards", *speedup, whole_text(*cards)),
          fmt::format("a speed-up of at most {}", whole_text(*cards)));
    }
  }
}

void check_time_saved(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr double kHidden = .005;  // half of a percent
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const Printed* saved = stage.fact(fact::kTimeSaved);
    const auto speedup = positive(run, stage, fact::kSpeedup);
    if (saved == nullptr || !speedup) return;
    const double follows = 1 - 1 / *speedup;
    const bool is_at_least = saved->text.ends_with('+');
    const bool fits = is_at_least ? follows >= saved->value - 1e-9
                                  : std::abs(follows - saved->value) <= kHidden + saved->half_unit;
    if (fits) return;
    add(findings, "A09", Severity::kFail, run, stage,
        fmt::format("{} times faster saves {:.1f} % of the time, not {}", *speedup, 100 * follows,
                    saved->text),
        fmt::format("a speed-up of {:.3f}, or {:.1f} % saved", 1 / (1 - saved->value),
                    100 * follows));
  });
}

void check_token_ratio(const ReportedTable& table, std::vector<Finding>& findings) {
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const Printed* claimed = stage.fact(fact::kTokensPerParameter);
    const auto tokens = tokens_of(run, stage);
    const auto parameters = parameters_of(run, stage);
    if (claimed == nullptr || claimed->value <= 0 || !tokens || parameters.empty()) return;
    const bool fits = std::ranges::any_of(parameters, [&](double n) {
      return is_near(*tokens / n, claimed->value, share_for(*claimed), claimed->half_unit);
    });
    if (fits) return;
    add(findings, "A10", Severity::kFail, run, stage,
        fmt::format("{} tokens on {} parameters are {:.2f} a parameter, not {}",
                    whole_text(*tokens), whole_text(parameters.front()),
                    *tokens / parameters.front(), claimed->text),
        fmt::format("{} tokens", whole_text(claimed->value * parameters.front())));
  });
}

void check_divisibility(const ReportedTable& table, std::vector<Finding>& findings) {
  const auto divides = [&](const ReportedRun& run, const ReportedStage& stage,
                           std::string_view total_fact, std::optional<double> part,
                           const std::string& part_text, std::string_view unit) {
    const Printed* total = stage.fact(total_fact);
    if (total == nullptr || total->value <= 0 || !part || *part <= 0) return;
    const double passes = total->value / *part;
    if (passes == std::floor(passes)) return;
    const double fewer = std::floor(passes) * *part;
    add(findings, "A11", Severity::kFail, run, stage,
        fmt::format("{} {} a step are {:.2f} passes of {}", total->text, unit, passes, part_text),
        passes < 1 ? fmt::format("{} {} a step", whole_text(*part), unit)
                   : fmt::format("{} or {} {} a step", whole_text(fewer),
                                 whole_text(std::ceil(passes) * *part), unit));
  };
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const auto batch = positive(run, stage, fact::kDeviceBatch);
    const auto cards = positive(run, stage, fact::kCards);
    const auto sequence = positive(run, stage, fact::kSequence);
    if (!cards) return;
    if (batch && sequence)
      divides(run, stage, fact::kTotalBatch, *batch * *sequence * *cards,
              fmt::format("{} sequences × {} tokens × {} cards", *batch, *sequence, *cards),
              "tokens");
    if (batch)
      divides(run, stage, fact::kTargetExamples, *batch * *cards,
              fmt::format("{} examples × {} cards", *batch, *cards), "examples");
    divides(run, stage, fact::kExamplesPerStep, cards, fmt::format("{} cards", *cards), "examples");
  });
}

void check_step_counts(const ReportedTable& table, std::vector<Finding>& findings) {
  each(table, [&](const ReportedRun& run, const ReportedStage& stage) {
    const Printed* steps = stage.fact(fact::kIterations);
    const auto rows = positive(run, stage, fact::kRows);
    auto examples = positive(run, stage, fact::kTargetExamples);
    if (!examples) examples = positive(run, stage, fact::kExamplesPerStep);
    if (steps == nullptr || !rows || !examples) return;
    if (positive(run, stage, fact::kAskedIterations)) return;  // a number that was asked for
    const double expected =
        std::floor(*rows / *examples) * positive(run, stage, fact::kEpochs).value_or(1);
    const double off = std::abs(steps->value - expected);
    // Rows of several epochs may be counted through.
    if (off <= positive(run, stage, fact::kEpochs).value_or(1)) return;
    const bool is_far = off > .1 * expected || !steps->is_rough;
    add(findings, "A12", is_far ? Severity::kFail : Severity::kWarn, run, stage,
        fmt::format("{} steps, but {} rows at {} a step are {}", steps->text, whole_text(*rows),
                    whole_text(*examples), whole_text(expected)),
        fmt::format("{} steps", whole_text(expected)));
  });
}

}  // namespace nb
