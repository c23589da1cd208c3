#include "results/compare/findings.hpp"

#include <fmt/format.h>

#include <map>

#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// One task of equal weights over all pairs.
struct Rescored {
  std::int64_t items = 0, changed = 0, lost = 0, won = 0;
};

// The same weights on the same device gave other items.
void add_rescored(const Comparison& comparison, std::vector<Sentence>& findings) {
  std::map<std::string, Rescored> tasks;
  for (const RecordPair& pair : comparison.pairs) {
    if (!pair.fixed_weights || !pair.same_device || !pair.incomparable.empty()) continue;
    for (const ItemComparison& items : pair.items) {
      if (!items.error.empty() || items.changed == 0) continue;
      if (!incomparable_because(pair.a->record, pair.b->record, items.task).empty()) continue;
      Rescored& r = tasks[items.task];
      r.items += items.counts.n();
      r.changed += items.changed;
      r.lost += items.counts.only_a;
      r.won += items.counts.only_b;
    }
  }
  if (tasks.empty()) return;
  std::vector<Sentence> parts;
  for (const auto& [task, r] : tasks)
    parts.push_back(message("finding.rescored_task", task, r.changed, r.items, r.lost, r.won));
  findings.push_back(message("finding.rescored", joined("join.semicolon", std::move(parts))));
}

void add_changed_metrics(const Comparison& comparison, std::vector<Sentence>& findings) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> changed;
  std::vector<const Record*> where;
  for (const RecordPair& pair : comparison.pairs) {
    if (pair.changed_metrics.empty() || !pair.incomparable.empty()) continue;
    if (where.empty()) changed = pair.changed_metrics;
    where.push_back(&pair.a->record);
  }
  if (where.empty()) return;
  std::vector<Sentence> parts;
  for (const std::string& one : changed)
    if (parts.size() < kNamed) parts.push_back(verbatim(one));
  if (changed.size() > kNamed) parts.push_back(message("list.more", changed.size() - kNamed));
  findings.push_back(
      message("finding.metric_changed", joined("join.list", std::move(parts)), nodes_text(where)));
}

void add_departures(const Comparison& comparison, std::vector<Sentence>& findings) {
  std::vector<const Record*> where;
  const CurveDeparture* first = nullptr;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.departure) {
      if (first == nullptr) first = &*pair.departure;
      where.push_back(&pair.a->record);
    }
  if (where.empty()) return;
  findings.push_back(
      message("finding.procedure_changed", nodes_text(where), departure_sentence(*first)));
}

void add_same_key(const Comparison& comparison, std::vector<Sentence>& findings) {
  std::vector<const Record*> where;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.same_key && !pair.bit_identical && pair.a->record.status == "ok" &&
        pair.b->record.status == "ok")
      where.push_back(&pair.a->record);
  if (where.empty()) return;
  findings.push_back(message("finding.other_bits", nodes_text(where)));
}

// Totals and items of a file that contradict each other: nothing of that score is judged.
void add_contradictions(const Comparison& comparison, std::vector<Sentence>& findings) {
  for (const RecordPair& pair : comparison.pairs) {
    std::size_t more = 0;
    const MetricDifference* first = nullptr;
    for (const MetricDifference& row : pair.metrics) {
      if (row.contradiction.empty()) continue;
      if (first == nullptr)
        first = &row;
      else
        ++more;
    }
    if (first == nullptr) continue;
    findings.push_back(message("finding.contradiction", first->name, describe(pair.a->record),
                               first->contradiction));
    if (more > 0) append(findings.back(), message("finding.more_like_it", more));
  }
}

}  // namespace

std::string nodes_text(const std::vector<const Record*>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::int64_t>> seeds;
  for (const Record* record : records) {
    Record unseeded = *record;
    unseeded.seed.reset();
    const std::string name = describe(unseeded);
    if (!seeds.contains(name)) order.push_back(name);
    auto& list = seeds[name];
    if (record->seed) list.push_back(*record->seed);
  }
  std::vector<std::string> parts;
  for (const std::string& name : order) {
    const auto& list = seeds.at(name);
    parts.push_back(list.empty() ? name
                                 : fmt::format("{}, seed{} {}", name, list.size() == 1 ? "" : "s",
                                               fmt::join(list, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<Sentence> findings_of(const Comparison& comparison) {
  std::vector<Sentence> findings;
  add_contradictions(comparison, findings);
  add_same_key(comparison, findings);
  add_changed_metrics(comparison, findings);
  add_rescored(comparison, findings);
  add_departures(comparison, findings);
  return findings;
}

std::vector<Sentence> cautions_of(const Comparison& comparison) {
  std::vector<Sentence> prompts, golds, samples, parts, cautions;
  for (const RecordPair& pair : comparison.pairs)
    for (const ItemComparison& items : pair.items) {
      const std::int64_t n = items.counts.n();
      if (n > 0 && (items.only_a > 0 || items.only_b > 0))
        parts.push_back(message("caution.part", items.task, n, items.only_a, items.only_b));
      const auto add = [&](std::vector<Sentence>& list, std::int64_t count) {
        if (count > 0) list.push_back(message("caution.share", count, n, items.task));
      };
      add(prompts, items.prompts_differ);
      add(samples, items.samples_differ);
      add(golds, items.golds_differ);
    }
  if (!parts.empty())
    cautions.push_back(message("caution.parts", joined("join.semicolon", std::move(parts))));
  if (!golds.empty())
    cautions.push_back(message("caution.golds", joined("join.comma", std::move(golds))));
  if (!samples.empty())
    cautions.push_back(message("caution.samples", joined("join.comma", std::move(samples))));
  if (!prompts.empty())
    cautions.push_back(message("caution.prompts", joined("join.comma", std::move(prompts))));
  return cautions;
}

}  // namespace nb
