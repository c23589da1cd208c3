#include "results/compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "results/compare_metrics.hpp"
#include "results/confounders.hpp"

namespace nb {
namespace {

bool fixed_weights(const Record& a, const Record& b) {
  const auto left = a.subject.find("weights"), right = b.subject.find("weights");
  return a.kind == "eval" && left != a.subject.end() && right != b.subject.end() &&
         !left->second.empty() && left->second == right->second;
}

// "mw/arc_easy" beside "arc_easy": generated tasks never stand in one row with real ones.
void add_refusals(const Record& a, const Record& b, std::vector<std::string>& refused) {
  const auto generated_twin = [&](const Record& real, const Record& generated) {
    for (const auto& [task, file] : real.items)
      if (!generated.items.contains(task) && generated.items.contains("mw/" + task))
        refused.push_back(
            fmt::format("{}: {} and mw/{} are not compared: a generated task is not the real one",
                        describe(real), task, task));
  };
  generated_twin(a, b);
  generated_twin(b, a);
}

RecordPair pair_of(const StoredRecord& a, const StoredRecord& b, Comparison& comparison) {
  RecordPair pair;
  pair.a = &a;
  pair.b = &b;
  pair.bit_identical = a.record.status == "ok" && same_results(a.record, b.record);
  pair.incomparable = incomparable_because(a.record, b.record);
  pair.fixed_weights = fixed_weights(a.record, b.record);
  for (const auto* side : {&a.record, &b.record})
    if (side->status != "ok")
      comparison.damaged.push_back(fmt::format("{} failed: {}", describe(*side), side->error));
  pair.metrics = metric_differences(a, b, comparison.damaged);
  if (!pair.fixed_weights)  // an item interval says nothing about another training seed
    for (MetricDifference& row : pair.metrics)
      if (row.counts) row.method += ", these two checkpoints only";
  add_refusals(a.record, b.record, comparison.unpaired);
  add_confounders(comparison.confounders, confounders_of(a.record, b.record));
  return pair;
}

void finish(Comparison& comparison) {
  comparison.seeds = seed_differences(comparison.pairs);
  auto& confounders = comparison.confounders;
  const auto rank = [](const std::string& category) {
    return category == "settings" ? 0 : category == "code" ? 1 : category == "numerics" ? 2 : 3;
  };
  std::stable_sort(confounders.begin(), confounders.end(), [&](const auto& x, const auto& y) {
    return rank(x.category) < rank(y.category);
  });
}

auto identity(const Record& record) {
  return std::tie(record.kind, record.name, record.trained_on, record.device, record.seed);
}

}  // namespace

bool Comparison::only_device_differs() const {
  return std::none_of(confounders.begin(), confounders.end(), [](const Confounder& confounder) {
    return confounder.category == "settings" || confounder.category == "code";
  });
}

Comparison compare_runs(const RunRecords& a, const RunRecords& b) {
  Comparison comparison;
  comparison.label_a = a.path.string();
  comparison.label_b = b.path.string();
  comparison.damaged = a.damaged;
  comparison.damaged.insert(comparison.damaged.end(), b.damaged.begin(), b.damaged.end());
  std::set<const StoredRecord*> used;
  for (const StoredRecord& left : a.records) {
    const auto right = std::find_if(b.records.begin(), b.records.end(), [&](const auto& other) {
      return identity(other.record) == identity(left.record);
    });
    if (right == b.records.end()) {
      comparison.unpaired.push_back("only in A: " + describe(left.record));
      continue;
    }
    used.insert(&*right);
    comparison.pairs.push_back(pair_of(left, *right, comparison));
  }
  for (const StoredRecord& right : b.records)
    if (!used.contains(&right))
      comparison.unpaired.push_back("only in B: " + describe(right.record));
  finish(comparison);
  return comparison;
}

Result<Comparison> compare_devices(const RunRecords& run, const std::string& device_a,
                                   const std::string& device_b) {
  std::set<std::string> devices;
  for (const StoredRecord& stored : run.records)
    if (!stored.record.device.empty()) devices.insert(stored.record.device);
  for (const std::string& device : {device_a, device_b})
    if (!devices.contains(device)) {
      std::string known;
      for (const std::string& one : devices) known += (known.empty() ? "" : ", ") + one;
      return bad_input(fmt::format("{}: has no record of device \"{}\"; it has: {}",
                                   run.path.string(), device, known.empty() ? "none" : known));
    }
  Comparison comparison;
  comparison.label_a = comparison.device_a = device_a;
  comparison.label_b = comparison.device_b = device_b;
  comparison.damaged = run.damaged;
  std::set<const StoredRecord*> used;
  for (const StoredRecord& left : run.records) {
    if (left.record.device != device_a) continue;
    for (const StoredRecord& right : run.records) {
      const Record &l = left.record, &r = right.record;
      const bool own = l.trained_on == device_a && r.trained_on == device_b;
      const bool same_task = std::tie(l.kind, l.name, l.seed) == std::tie(r.kind, r.name, r.seed);
      if (r.device != device_b || !same_task || (l.trained_on != r.trained_on && !own)) continue;
      used.insert(&left);
      used.insert(&right);
      comparison.pairs.push_back(pair_of(left, right, comparison));
    }
  }
  for (const StoredRecord& stored : run.records) {
    const bool ours = stored.record.device == device_a || stored.record.device == device_b;
    if (ours && !used.contains(&stored))
      comparison.unpaired.push_back(
          fmt::format("only on {}: {}", stored.record.device, describe(stored.record)));
  }
  finish(comparison);
  return comparison;
}

}  // namespace nb
