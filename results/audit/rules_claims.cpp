// Rules on what is said about the numbers: A13 provenance, A14 placeholders, A16 confounders, A17
// retention, A18 ranges of claims, A19 duplicates, A20 timestamps, A23 statements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "harness/base/portable_math.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/audit.hpp"
#include "results/audit/devices.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/retention.hpp"
#include "results/stats/stats_unpaired.hpp"

namespace nb {
namespace {

std::string first_of(const std::vector<std::string>& names, std::size_t shown) {
  const std::size_t n = std::min(shown, names.size());
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n), ", "));
  if (n < names.size()) text += fmt::format(" and {} more", names.size() - n);
  return text;
}

// Facts that are chosen, not measured: they confound a comparison.
constexpr auto kChosen = std::to_array<std::string_view>(
    {fact::kDepth, fact::kAspectRatio, fact::kVocab, fact::kSequence, fact::kDeviceBatch,
     fact::kTotalBatch, fact::kIterations, fact::kTokens, fact::kTokensPerParameter,
     fact::kParameters, fact::kFlops, fact::kTargetExamples, fact::kExamplesPerStep,
     fact::kMaxProblems, fact::kEpochs});

// What a run was made with, by name; of a stage "MID total_batch_tokens".
std::map<std::string, std::string> choices_of(const ReportedRun& run) {
  std::map<std::string, std::string> choices(run.settings.begin(), run.settings.end());
  const auto add_facts = [&](const Facts& facts, const std::string& prefix) {
    for (const std::string_view name : kChosen)
      if (const auto found = facts.find(std::string(name)); found != facts.end())
        choices[prefix + found->first] = found->second.text;
  };
  add_facts(run.facts, "");
  for (const ReportedStage& stage : run.stages) {
    const std::string prefix = stage.name.empty() ? "" : stage.name + " ";
    add_facts(stage.facts, prefix);
    for (const auto& [name, value] : stage.settings) choices[prefix + name] = value;
  }
  return choices;
}

bool is_date(const std::string& text) {
  return text.size() >= 10 && text[4] == '-' && text[7] == '-';
}

// Only scores can be taken for a comparison.
bool have_common_score(const ReportedRun& a, const ReportedRun& b) {
  for (const ReportedStage& stage : a.stages) {
    const ReportedStage* other = b.stage(stage.name);
    if (other == nullptr) continue;
    for (const ReportedCell& cell : stage.cells)
      if (cell.scale != Scale::kOther && other->find(cell.task) != nullptr) return true;
  }
  return false;
}

std::vector<std::string> differing_choices(const ReportedRun& a, const ReportedRun& b) {
  const auto of_a = choices_of(a), of_b = choices_of(b);
  std::vector<std::string> differing;
  for (const auto& [name, value] : of_a) {
    const auto other = of_b.find(name);
    if (other != of_b.end() && other->second != value)
      differing.push_back(fmt::format("{} ({} or {})", name, value, other->second));
  }
  return differing;
}

}  // namespace

void check_provenance(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs)
    if (run.manifest_hash.empty())
      findings.push_back({"A13", Severity::kInfo, run.name, "",
                          "the numbers are claims: no record of the run shows them",
                          "the hash of the run's manifest, with items and settings", 0});
}

void check_placeholders(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) {
      std::vector<std::string> unmeasured;
      for (const std::string_view name : {fact::kMinutes, fact::kMfu, fact::kMemory})
        if (const Printed* value = stage.fact(name); value != nullptr && value->value == 0)
          unmeasured.push_back(fmt::format("{} {}", name, value->text));
      if (!unmeasured.empty())
        findings.push_back(
            {"A14", Severity::kInfo, run.name, stage.name,
             fmt::format("0 stands for what was not measured: {}", fmt::join(unmeasured, ", ")),
             "an empty value", 0});
      const auto warn = [&](const std::string& found, const std::string& needed) {
        findings.push_back({"A14", Severity::kWarn, run.name, stage.name, found, needed, 0});
      };
      for (const std::string_view name : {fact::kValBpb, fact::kMinValBpb})
        if (const Printed* bpb = stage.fact(name); bpb != nullptr && bpb->value == 8)
          warn(fmt::format("{} is exactly 8: a placeholder of a validation that did not run", name),
               "the measured bits per byte, or nothing");
      if (const Printed* step = stage.fact(fact::kStepTime); step != nullptr && step->value == 5000)
        warn("step time is exactly 5000 ms: the placeholder of a step that failed",
             "the measured time; a step that failed fails the run");
      for (const ReportedCell& cell : stage.cells)
        if (cell.scale == Scale::kComposite && cell.score.value == 0)
          warn(fmt::format("{} is exactly 0: a placeholder of an evaluation that was skipped",
                           cell.label),
               "the measured score, or nothing");
    }
}

void check_confounders(const ReportedTable& table, std::vector<Finding>& findings) {
  std::vector<std::string> unsaid;  // pairs of which nothing tells what differs
  for (std::size_t i = 0; i < table.runs.size(); ++i)
    for (std::size_t j = i + 1; j < table.runs.size(); ++j) {
      const ReportedRun& a = table.runs[i];
      const ReportedRun& b = table.runs[j];
      const std::string_view of_a = maker_of(a.device), of_b = maker_of(b.device);
      if (of_a.empty() || of_b.empty() || of_a == of_b || !have_common_score(a, b)) continue;
      const std::string pair = fmt::format("{}, {}", a.name, b.name);
      if (const auto differing = differing_choices(a, b); !differing.empty()) {
        findings.push_back(
            {"A16", Severity::kFail, pair, "",
             fmt::format("not a hardware comparison: {} besides the device: {}",
                         differing.size() == 1
                             ? "1 setting differs"
                             : fmt::format("{} settings differ", differing.size()),
                         first_of(differing, 6)),
             "the same settings on both devices, or no conclusion about the hardware", 0});
      } else if (choices_of(a).empty() || choices_of(b).empty()) {
        unsaid.push_back(pair);
      }
    }
  if (!unsaid.empty())
    findings.push_back(
        {"A16", Severity::kWarn, unsaid.front(), "",
         fmt::format("nothing tells whether the device alone differs: the settings of "
                     "both sides are not said{}",
                     unsaid.size() == 1 ? ""
                                        : fmt::format(" (nor of {} more pairs of "
                                                      "devices)",
                                                      unsaid.size() - 1)),
         "settings beside the scores", 0});
}

void check_retention(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const Claim& claim : table.claims) {
    const ReportedRun* run = table.run(claim.run);
    const ReportedRun* against = table.run(claim.against);
    if (claim.kind != ClaimKind::kRetention || run == nullptr || against == nullptr) continue;
    const std::vector<Retention> cells = retention_of(*run, *against);
    if (cells.empty()) continue;
    std::vector<std::string> inside;
    double least = cells.front().raw, most = least;
    for (const Retention& cell : cells) {
      least = std::min(least, cell.raw);
      most = std::max(most, cell.raw);
      if (cell.raw >= claim.low && cell.raw <= claim.high)
        inside.push_back(fmt::format("{} {} {:.1f} %", cell.stage, cell.label, 100 * cell.raw));
    }
    if (inside.size() == cells.size()) continue;
    findings.push_back(
        {"A17", 2 * inside.size() < cells.size() ? Severity::kFail : Severity::kWarn, run->name, "",
         fmt::format("claimed \"{}\" of {}, but {} of {} scores lie there{}{}", claim.text,
                     against->name, inside.size(), cells.size(), inside.empty() ? "" : ": ",
                     fmt::join(inside, ", ")),
         fmt::format("a range from {:.0f} to {:.0f} %; near guessing only the share above it says "
                     "something",
                     100 * least, 100 * most),
         0});
  }
}

void check_claim_ranges(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const Claim& claim : table.claims) {
    const ReportedRun* run = table.run(claim.run);
    if (run == nullptr) continue;
    if (claim.kind == ClaimKind::kRetention) {
      const ReportedRun* against = table.run(claim.against);
      if (against == nullptr) continue;
      std::vector<std::string> outside;
      for (const Retention& cell : retention_of(*run, *against))
        if (cell.raw95 && (cell.raw95->low > claim.high || cell.raw95->high < claim.low))
          outside.push_back(fmt::format("{} {} [{:.0f}, {:.0f}] %", cell.stage, cell.label,
                                        100 * cell.raw95->low, 100 * cell.raw95->high));
      if (!outside.empty())
        findings.push_back({"A18", Severity::kWarn, run->name, "",
                            fmt::format("the 95 % intervals of {} scores lie outside \"{}\": {}",
                                        outside.size(), claim.text, first_of(outside, 4)),
                            "a range that the intervals allow", 0});
      continue;
    }
    if (claim.kind != ClaimKind::kImproves) continue;
    const KnownTask* task = known_task_named(claim.task);
    const ReportedStage* from = run->stage(claim.from);
    const ReportedStage* to = run->stage(claim.to);
    if (task == nullptr || from == nullptr || to == nullptr) continue;
    const ReportedCell* before = from->find(task->id);
    const ReportedCell* after = to->find(task->id);
    if (before == nullptr || after == nullptr || !before->n || !after->n) continue;
    const UnpairedTest gain =
        unpaired_shares(accuracy_of(*before), *before->n, accuracy_of(*after), *after->n);
    if (gain.interval95.low > 0) continue;
    findings.push_back(
        {"A18", Severity::kWarn, run->name,
         fmt::format("{} to {} {}", claim.from, claim.to, claim.task),
         fmt::format("claimed \"{}\", but {:+.4f} [{:+.4f}, {:+.4f}] does not exclude 0",
                     claim.text, gain.difference, gain.interval95.low, gain.interval95.high),
         "answers to the same items before and after, or more items", 0});
  }
}

void check_duplicates(const ReportedTable& table, std::vector<Finding>& findings) {
  constexpr std::size_t kFew = 3;  // equal numbers that chance may give
  constexpr auto kMeasured =
      std::to_array<std::string_view>({fact::kRate, fact::kMinutes, fact::kMfu, fact::kMemory,
                                       fact::kSpeedup, fact::kTimeSaved, fact::kStepTime});
  const auto measured = [&](const ReportedRun& run) {
    std::map<std::string, std::string> numbers;
    for (const ReportedStage& stage : run.stages) {
      for (const std::string_view name : kMeasured)
        if (const Printed* value = stage.fact(name))
          numbers[fmt::format("{} {}", stage.name, name)] = value->text;
      for (const ReportedCell& cell : stage.cells)
        numbers[fmt::format("{} {}", stage.name, cell.task)] = cell.score.text;
    }
    return numbers;
  };
  for (std::size_t i = 0; i < table.runs.size(); ++i)
    for (std::size_t j = i + 1; j < table.runs.size(); ++j) {
      const ReportedRun& a = table.runs[i];
      const ReportedRun& b = table.runs[j];
      if (a.device.empty() || b.device.empty() || a.device == b.device) continue;
      const auto of_a = measured(a), of_b = measured(b);
      std::size_t shared = 0, equal = 0;
      for (const auto& [name, text] : of_a)
        if (const auto other = of_b.find(name); other != of_b.end()) {
          ++shared;
          if (other->second == text) ++equal;
        }
      if (shared < kFew || equal < shared) continue;
      findings.push_back(
          {"A19", Severity::kWarn, fmt::format("{}, {}", a.name, b.name), "",
           fmt::format("all {} numbers are the same on {} and {}", equal, a.device, b.device),
           "a measurement on each device", 0});
    }
}

void check_timestamps(const ReportedTable& table, std::vector<Finding>& findings) {
  for (const ReportedRun& run : table.runs) {
    if (is_date(run.published) && is_date(run.first_success) && run.published < run.first_success)
      findings.push_back(
          {"A20", Severity::kWarn, run.name, "",
           fmt::format("an estimate: published {}, but the first step that ran is of {}",
                       run.published, run.first_success),
           "numbers of a run", 0});
    if (!is_date(run.started)) continue;
    std::vector<std::string> older;
    for (const ReportedStage& stage : run.stages)
      if (is_date(stage.timestamp) && stage.timestamp < run.started) older.push_back(stage.name);
    if (!older.empty())
      findings.push_back({"A20", Severity::kWarn, run.name, first_of(older, 4),
                          fmt::format("older than the run, which started {}", run.started),
                          "sections of one run", 0});
  }
}

void check_statements(const ReportedTable& table, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const Claim*>> by_topic;
  std::vector<std::string> topics;
  for (const Claim& claim : table.claims) {
    if (claim.kind != ClaimKind::kStatement) continue;
    if (by_topic[claim.topic].empty()) topics.push_back(claim.topic);
    by_topic[claim.topic].push_back(&claim);
  }
  for (const std::string& topic : topics) {
    std::set<std::string> texts;
    std::vector<std::string> said;
    for (const Claim* claim : by_topic[topic]) {
      texts.insert(claim->text);
      said.push_back(fmt::format("{}: {}", claim->source, claim->text));
    }
    if (texts.size() < 2) continue;
    findings.push_back({"A23", Severity::kWarn, "", topic,
                        fmt::format("sources contradict each other: {}", fmt::join(said, "; ")),
                        "one of them, with its version", 0});
  }
}

}  // namespace nb
