#include "results/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "results/metric_names.hpp"

namespace nb {
namespace {

// One task of equal weights over all pairs.
struct Rescored {
  std::int64_t items = 0, changed = 0, lost = 0, won = 0;
};

std::string rescored_text(const std::string& task, const Rescored& r) {
  return fmt::format("{}: {} of {} items, {} answers lost, {} won", task, r.changed, r.items,
                     r.lost, r.won);
}

// The same weights on the same device gave other items.
void add_rescored(const Comparison& comparison, std::vector<std::string>& findings) {
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
  std::vector<std::string> parts;
  for (const auto& [task, r] : tasks) parts.push_back(rescored_text(task, r));
  findings.push_back(
      fmt::format("the same weights were scored otherwise on the same device: the evaluator or the "
                  "numerics changed ({})",
                  fmt::join(parts, "; ")));
}

void add_changed_metrics(const Comparison& comparison, std::vector<std::string>& findings) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> parts;
  std::vector<const Record*> where;
  for (const RecordPair& pair : comparison.pairs) {
    if (pair.changed_metrics.empty() || !pair.incomparable.empty()) continue;
    if (where.empty()) parts = pair.changed_metrics;
    where.push_back(&pair.a->record);
  }
  if (where.empty()) return;
  if (parts.size() > kNamed) {
    const std::size_t more = parts.size() - kNamed;
    parts.resize(kNamed);
    parts.push_back(fmt::format("{} more", more));
  }
  findings.push_back(
      fmt::format("the metric itself changed: it is computed in another way ({}; {})",
                  fmt::join(parts, ", "), nodes_text(where)));
}

void add_departures(const Comparison& comparison, std::vector<std::string>& findings) {
  std::vector<const Record*> where;
  const CurveDeparture* first = nullptr;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.departure) {
      if (first == nullptr) first = &*pair.departure;
      where.push_back(&pair.a->record);
    }
  if (where.empty()) return;
  findings.push_back(fmt::format("the training procedure changed: {}: {}", nodes_text(where),
                                 departure_text(*first)));
}

void add_same_key(const Comparison& comparison, std::vector<std::string>& findings) {
  std::vector<const Record*> where;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.same_key && !pair.bit_identical && pair.a->record.status == "ok" &&
        pair.b->record.status == "ok")
      where.push_back(&pair.a->record);
  if (where.empty()) return;
  findings.push_back(fmt::format(
      "equal settings, code and data gave other bits ({}): the computer or its software "
      "changed, or a record was edited",
      nodes_text(where)));
}

// Totals and items of a file that contradict each other: nothing of that score is judged.
void add_contradictions(const Comparison& comparison, std::vector<std::string>& findings) {
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
    findings.push_back(fmt::format("{} of {} cannot be judged: {}{}", first->name,
                                   describe(pair.a->record), first->contradiction,
                                   more > 0 ? fmt::format("; {} more like it", more) : ""));
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

std::vector<std::string> findings_of(const Comparison& comparison) {
  std::vector<std::string> findings;
  add_contradictions(comparison, findings);
  add_same_key(comparison, findings);
  add_changed_metrics(comparison, findings);
  add_rescored(comparison, findings);
  add_departures(comparison, findings);
  return findings;
}

std::vector<std::string> cautions_of(const Comparison& comparison) {
  std::vector<std::string> prompts, golds, samples, parts, cautions;
  for (const RecordPair& pair : comparison.pairs)
    for (const ItemComparison& items : pair.items) {
      const std::string share = fmt::format("of {} items", items.counts.n());
      if (items.counts.n() > 0 && (items.only_a > 0 || items.only_b > 0))
        parts.push_back(fmt::format("{} {} items, {} only in A, {} only in B", items.task,
                                    items.counts.n(), items.only_a, items.only_b));
      if (items.prompts_differ > 0)
        prompts.push_back(fmt::format("{} {} of {}", items.prompts_differ, share, items.task));
      if (items.samples_differ > 0)
        samples.push_back(fmt::format("{} {} of {}", items.samples_differ, share, items.task));
      if (items.golds_differ > 0)
        golds.push_back(fmt::format("{} {} of {}", items.golds_differ, share, items.task));
    }
  if (!parts.empty())
    cautions.push_back(fmt::format("compared is what both sides have: {}", fmt::join(parts, "; ")));
  if (!golds.empty())
    cautions.push_back(fmt::format("the reference answers differ: {}", fmt::join(golds, ", ")));
  if (!samples.empty())
    cautions.push_back(fmt::format("one side has more samples, its first ones are compared: {}",
                                   fmt::join(samples, ", ")));
  if (!prompts.empty())
    cautions.push_back(
        fmt::format("the prompts differ: {}; no difference below is the device's alone",
                    fmt::join(prompts, ", ")));
  return cautions;
}

}  // namespace nb
