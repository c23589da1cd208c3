#include "results/gate/gate_costs.hpp"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/record.hpp"
#include "results/store/rl_work.hpp"

namespace nb {
namespace {

const Metric* measured(const Record& record, const std::string& name) {
  const Metric* found = find_metric(record, name);
  return found != nullptr && found->value ? found : nullptr;
}

struct Sides {
  std::vector<const Record*> a, b;  // paired: equal sizes
  bool paired = true;
  bool wrote_otherwise = false;
};

// The tests of one node; none of a metric that a record lacks.
void add_tests(const std::string& node, const Sides& sides, CostTests& result) {
  for (const std::string name : {metric::kThroughput, metric::kPeakMemory}) {
    const Metric* first = measured(*sides.a.front(), name);
    if (first == nullptr || first->clock != Clock::kSim) continue;
    SeedTest test;
    test.verdict.metric = name;
    test.verdict.where = node;
    test.unit = first->unit;
    test.direction = first->direction;
    test.paired = sides.paired;
    test.is_training = true;
    test.one_value = name == metric::kPeakMemory;
    test.is_cost = true;
    bool complete = true;
    const auto take = [&](const std::vector<const Record*>& records, std::vector<double>& values) {
      for (const Record* record : records) {
        const Metric* found = measured(*record, name);
        complete = complete && found != nullptr && found->unit == first->unit;
        if (complete) values.push_back(*found->value);
      }
    };
    take(sides.a, test.base);
    take(sides.b, test.candidate);
    if (complete) result.tests.push_back(std::move(test));
  }
  result.notes.push_back(message("gate.wrote_otherwise", node));
}

constexpr double kPeakSpread = 0.015;

}  // namespace

SeedNoise noise_of_peak(const std::optional<SeedNoise>& of_seeds, const std::vector<double>& base) {
  const double least = kPeakSpread * mean(base);
  if (of_seeds && of_seeds->sd >= least) return *of_seeds;
  return {least, message("noise.of_peak", fmt::format("{:.1f}", 100 * kPeakSpread))};
}

CostTests cost_tests(const Comparison& comparison) {
  std::map<std::string, Sides> nodes;
  const auto of = [&](const Record& record) -> Sides& {
    Record node = record;
    node.seed.reset();
    return nodes[describe(node)];
  };
  for (const RecordPair& pair : comparison.pairs) {
    const Record &a = pair.a->record, &b = pair.b->record;
    if (!is_rl(a) || !is_rl(b) || !pair.incomparable.empty()) continue;
    Sides& sides = of(a);
    sides.a.push_back(&a);
    sides.b.push_back(&b);
    sides.wrote_otherwise = sides.wrote_otherwise || wrote_otherwise(a, b);
  }
  for (const UnmatchedSeeds& unmatched : comparison.unmatched) {
    Sides sides;
    sides.paired = false;
    const Record& first = unmatched.a.front()->record;
    for (const StoredRecord* stored : unmatched.a)
      if (is_rl(stored->record)) sides.a.push_back(&stored->record);
    for (const StoredRecord* stored : unmatched.b)
      if (is_rl(stored->record) && incomparable_because(first, stored->record).empty())
        sides.b.push_back(&stored->record);
    for (const Record* a : sides.a)
      for (const Record* b : sides.b)
        sides.wrote_otherwise = sides.wrote_otherwise || wrote_otherwise(*a, *b);
    if (!sides.a.empty() && !sides.b.empty()) of(first) = std::move(sides);
  }
  CostTests result;
  for (const auto& [node, sides] : nodes)
    if (sides.wrote_otherwise) add_tests(node, sides, result);
  return result;
}

}  // namespace nb
