// Metrics over all seeds of a node, paired by seed where both sides have it.
#include <tuple>

#include "results/compare/compare_metrics.hpp"
#include "results/store/comparability.hpp"

namespace nb {
namespace {

auto without_seed(const Record& r) { return std::tie(r.kind, r.name, r.trained_on, r.device); }

std::string group_name(const Record& a, const Record& b) {
  Record unseeded = a;
  unseeded.seed.reset();
  if (b.device != a.device) unseeded.device = unseeded.trained_on = "";
  return describe(unseeded);
}

class Groups {
 public:
  // The group of a metric of two nodes; a new one where there is none yet.
  SeedDifference& of(const StoredRecord& a, const StoredRecord& b, const Metric& metric,
                     bool paired) {
    for (SeedDifference& group : groups_)
      if (group.metrics.front() == metric.name && group.paired == paired &&
          without_seed(group.first_a->record) == without_seed(a.record) &&
          without_seed(group.first_b->record) == without_seed(b.record))
        return group;
    SeedDifference group;
    group.group = group_name(a.record, b.record);
    group.metrics = {metric.name};
    group.unit = metric.unit;
    group.direction = metric.direction;
    group.n = metric.n;
    group.paired = paired;
    group.first_a = &a;
    group.first_b = &b;
    groups_.push_back(std::move(group));
    return groups_.back();
  }
  std::vector<SeedDifference> take() { return std::move(groups_); }

 private:
  std::vector<SeedDifference> groups_;
};

void add_pair(Groups& groups, const RecordPair& pair) {
  for (const MetricDifference& row : pair.metrics) {
    if (!row.difference || row.clock != Clock::kNone) continue;
    Metric metric;
    metric.name = row.name;
    metric.unit = row.unit;
    metric.direction = row.direction;
    metric.n = row.n;
    SeedDifference& group = groups.of(*pair.a, *pair.b, metric, true);
    if (pair.a->record.seed) group.seeds.push_back(*pair.a->record.seed);
    group.a.push_back(*row.a);
    group.b.push_back(*row.b);
    group.all_fixed = group.all_fixed && pair.fixed_weights;
  }
}

void add_unmatched(Groups& groups, const UnmatchedSeeds& nodes) {
  const Record& first = nodes.a[0]->record;
  for (const Metric& metric : first.metrics) {
    if (metric.clock != Clock::kNone) continue;
    const auto values = [&](const std::vector<const StoredRecord*>& side) {
      std::vector<double> list;
      for (const StoredRecord* stored : side) {
        const Metric* found = find_metric(stored->record, metric.name);
        const bool same = found != nullptr && found->value && found->unit == metric.unit &&
                          found->clock == metric.clock && stored->record.status == "ok";
        const std::string task = first.kind == "eval" ? task_of_metric(metric.name) : "";
        if (same && incomparable_because(first, stored->record, task).empty())
          list.push_back(*found->value);
      }
      return list;
    };
    std::vector<double> a = values(nodes.a), b = values(nodes.b);
    if (a.empty() || b.empty()) continue;
    SeedDifference& group = groups.of(*nodes.a[0], *nodes.b[0], metric, false);
    for (const StoredRecord* stored : nodes.a)
      if (stored->record.seed) group.seeds.push_back(*stored->record.seed);
    group.a = std::move(a);
    group.b = std::move(b);
    group.all_fixed = false;
  }
}

// Training metrics of the same values on both sides in every seed: one difference under several
// names. Tasks of an evaluation may agree by chance and stay apart.
void join_equal(std::vector<SeedDifference>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = i + 1; j < groups.size();) {
      const SeedDifference &x = groups[i], &y = groups[j];
      const bool equal = x.first_a->record.kind == "train" && x.group == y.group &&
                         x.first_b == y.first_b && x.unit == y.unit && x.direction == y.direction &&
                         x.a == y.a && x.b == y.b;
      if (!equal) {
        ++j;
        continue;
      }
      groups[i].metrics.push_back(y.metrics.front());
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
}

void test(SeedDifference& group) {
  if (group.paired) {
    if (group.a.size() < 2) return;
    group.test = paired_t(group.a, group.b);
    group.method = SeedMethod::kPaired;
  } else if (group.a.size() >= 2 && group.b.size() >= 2) {
    group.test = welch(group.a, group.b);
    group.method = SeedMethod::kWelch;
  } else if (group.a.size() >= 2) {
    group.test = one_against(group.a, group.b[0]);
    group.method = SeedMethod::kOneAgainstMany;
  } else if (group.b.size() >= 2) {  // a captured run beside the seeds of an emulated one
    const MeanTest turned = one_against(group.b, group.a[0]);
    group.test = turned;
    group.test->difference = -turned.difference;
    group.test->t = -turned.t;
    std::swap(group.test->p_below, group.test->p_above);
    group.test->interval95 = {-turned.interval95.high, -turned.interval95.low};
    group.test->interval90 = {-turned.interval90.high, -turned.interval90.low};
    group.method = SeedMethod::kOneAgainstMany;
  }
  if (!group.test) return;
  const MeanTest& t = *group.test;
  if (group.a == group.b)
    group.shown = Shown::kEqual;
  else if (group.direction == Direction::kNone)
    group.shown = Shown::kNothing;
  else if (t.df > 0 && (t.interval95.low > 0 || t.interval95.high < 0))
    group.shown = (t.difference > 0) == (group.direction == Direction::kHigher) ? Shown::kBetter
                                                                                : Shown::kWorse;
  else
    group.shown = Shown::kNotShown;
}

}  // namespace

std::string_view name(SeedMethod method) {
  switch (method) {
    case SeedMethod::kNone:
      break;
    case SeedMethod::kPaired:
      return "paired seeds";
    case SeedMethod::kWelch:
      return "seeds (Welch)";
    case SeedMethod::kOneAgainstMany:
      return "one seed against many";
  }
  return "";
}

std::optional<double> SeedDifference::min_detectable() const {
  if (!test || test->df <= 0) return std::nullopt;
  return nb::min_detectable(test->standard_error, test->df);
}

std::vector<SeedDifference> seed_differences(const std::vector<RecordPair>& pairs,
                                             const std::vector<UnmatchedSeeds>& unmatched) {
  Groups collected;
  for (const RecordPair& pair : pairs)
    if (pair.a->record.kind == "train" || pair.a->record.kind == "eval") add_pair(collected, pair);
  for (const UnmatchedSeeds& nodes : unmatched) add_unmatched(collected, nodes);
  std::vector<SeedDifference> groups = collected.take();
  join_equal(groups);
  for (SeedDifference& group : groups) test(group);
  return groups;
}

}  // namespace nb
