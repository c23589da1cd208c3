#include "results/compare/drift.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/compare/compare.hpp"
#include "results/compare/loss_curve.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// Differences B − A of the losses of one pair, by step.
struct LossDifferences {
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

Result<LossDifferences> loss_differences(const RecordPair& pair) {
  NB_TRY(const Series a, read_curve(*pair.a));
  NB_TRY(const Series b, read_curve(*pair.b));
  const auto in_a = a.column(metric::kSeriesLoss), in_b = b.column(metric::kSeriesLoss);
  LossDifferences differences;
  if (!in_a || !in_b) return differences;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const auto at = std::ranges::lower_bound(b.steps, a.steps[i]);
    if (at == b.steps.end() || *at != a.steps[i]) continue;
    const auto& left = a.values[*in_a][i];
    const auto& right = b.values[*in_b][static_cast<std::size_t>(at - b.steps.begin())];
    if (!left || !right) continue;
    differences.steps.push_back(a.steps[i]);
    differences.values.push_back(*right - *left);
  }
  return differences;
}

// Means over the seeds of one training, row by row.
CurveDrift curve_drift(const std::string& training, const std::string& device,
                       const std::vector<LossDifferences>& seeds,
                       const std::vector<std::int64_t>& shown) {
  CurveDrift drift;
  drift.training = training;
  drift.device = device;
  drift.seeds = std::ssize(seeds);
  std::size_t rows = seeds[0].steps.size();
  for (const LossDifferences& one : seeds) rows = std::min(rows, one.steps.size());
  drift.steps = static_cast<std::int64_t>(rows);
  std::vector<double> sizes(rows), signs(rows);
  for (std::size_t i = 0; i < rows; ++i)
    for (const LossDifferences& one : seeds) {
      sizes[i] += std::abs(one.values[i]) / static_cast<double>(seeds.size());
      signs[i] += one.values[i] / static_cast<double>(seeds.size());
    }
  for (const std::int64_t step : shown)
    if (step <= drift.steps) drift.at.push_back(sizes[static_cast<std::size_t>(step - 1)]);
  const auto largest = std::ranges::max_element(sizes);
  drift.largest = *largest;
  drift.largest_step = largest - sizes.begin() + 1;
  const std::size_t tail = std::max<std::size_t>(1, rows / 10);
  for (std::size_t i = rows - tail; i < rows; ++i) {
    drift.last += sizes[i] / static_cast<double>(tail);
    drift.last_signed += signs[i] / static_cast<double>(tail);
  }
  return drift;
}

std::vector<std::int64_t> steps_to_show(std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t step : {1, 10, 50, 100, 200, 500, 1000})
    if (step < last) steps.push_back(step);
  steps.push_back(last);
  return steps;
}

// A device's settings that choose its arithmetic, and how a suite asks for one.
bool chooses_arithmetic(std::string_view field) {
  constexpr std::string_view kFields[] = {"/settings/device/numerics",
                                          "/settings/device/numerics_overrides",
                                          "/settings/device/stack", "/settings/device/stacks"};
  return std::ranges::any_of(kFields, [&](std::string_view own) {
    return field == own || (field.starts_with(own) && field[own.size()] == '/');
  });
}

using AnswersBySeed = std::map<std::pair<std::string, std::string>, AnswerDrift>;

void add_answers(AnswersBySeed& all, const RecordPair& pair, const std::string& device,
                 std::map<std::pair<std::string, std::string>, std::int64_t>& seeds) {
  for (const ItemComparison& items : pair.items) {
    if (!items.error.empty()) continue;
    const std::pair key(pair.b->record.name, items.task);
    AnswerDrift& drift = all[key];
    drift.evaluation = pair.b->record.name;
    drift.task = items.task;
    drift.device = device;
    drift.items += items.counts.n();
    drift.lost += items.counts.only_a;
    drift.won += items.counts.only_b;
    ++seeds[key];
    if (items.margins.size() < 2 || !items.has_choices) continue;
    const MarginShift shift =
        margin_shift(items.margins, items.counts.only_a + items.counts.only_b, items.has_choices);
    drift.hard += shift.hard_flips;
    drift.typical = std::max(drift.typical, shift.typical);
    drift.divergence += items.agreement.mean_divergence;
  }
}

struct Answers {
  AnswersBySeed same, own;
  std::map<std::pair<std::string, std::string>, std::int64_t> same_seeds, own_seeds;
};

void take(std::vector<AnswerDrift>& list, AnswersBySeed& all,
          const std::map<std::pair<std::string, std::string>, std::int64_t>& seeds) {
  for (auto& [key, drift] : all) {
    drift.divergence /= static_cast<double>(seeds.at(key));
    list.push_back(std::move(drift));
  }
}

void add_device(Drift& drift, const Comparison& comparison, const std::string& device) {
  std::map<std::string, std::vector<LossDifferences>> curves;
  Answers answers;
  for (const RecordPair& pair : comparison.pairs) {
    const Record& record = pair.b->record;
    if (!pair.incomparable.empty()) continue;
    if (record.kind == "train") {
      auto differences = loss_differences(pair);
      if (!differences)
        drift.damaged.push_back(differences.error().message);
      else if (!differences->steps.empty())
        curves[record.name].push_back(std::move(*differences));
    } else if (record.kind == "eval") {
      const bool of_reference = pair.a->record.trained_on == drift.reference;
      if (of_reference && record.trained_on == drift.reference)
        add_answers(answers.same, pair, device, answers.same_seeds);
      else if (of_reference && record.trained_on == device)
        add_answers(answers.own, pair, device, answers.own_seeds);
    }
  }
  for (const auto& [training, seeds] : curves) {
    if (drift.shown_steps.empty()) drift.shown_steps = steps_to_show(std::ssize(seeds[0].steps));
    drift.curves.push_back(curve_drift(training, device, seeds, drift.shown_steps));
  }
  take(drift.same_weights, answers.same, answers.same_seeds);
  take(drift.own_weights, answers.own, answers.own_seeds);
  for (const Confounder& c : comparison.confounders)
    if (c.category != "numerics" && c.category != "device" && !chooses_arithmetic(c.field))
      drift.confounders.push_back(fmt::format("{}: {} {} → {}", device, c.field, c.a, c.b));
  drift.damaged.insert(drift.damaged.end(), comparison.damaged.begin(), comparison.damaged.end());
}

std::set<std::string> devices_of(const RunRecords& run) {
  std::set<std::string> devices;
  for (const StoredRecord& stored : run.records)
    if (stored.record.kind == "train" || stored.record.kind == "eval")
      devices.insert(stored.record.device);
  return devices;
}

}  // namespace

Result<Drift> drift_from(const RunRecords& run, const std::string& reference) {
  const std::set<std::string> devices = devices_of(run);
  if (!devices.contains(reference))
    return bad_input(
        fmt::format("{}: has no device \"{}\"; it has: {}", run.path.string(), reference,
                    devices.empty() ? "none" : fmt::format("{}", fmt::join(devices, ", "))));
  if (devices.size() == 1)
    return bad_input(fmt::format("{}: has no device beside {} to compare with it",
                                 run.path.string(), reference));
  Drift drift;
  drift.reference = reference;
  for (const std::string& device : devices) {
    if (device == reference) continue;
    NB_TRY(const Comparison comparison, compare_devices(run, reference, device));
    add_device(drift, comparison, device);
  }
  std::ranges::stable_sort(drift.curves, {}, &CurveDrift::training);
  std::ranges::sort(drift.damaged);
  drift.damaged.erase(std::unique(drift.damaged.begin(), drift.damaged.end()), drift.damaged.end());
  return drift;
}

}  // namespace nb
