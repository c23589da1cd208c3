#include "tests/gate/nights.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/base/rng.hpp"
#include "results/gate/aa_control.hpp"
#include "results/gate/gate_judge.hpp"
#include "results/gate/gate_scoring.hpp"
#include "results/stats/stats_bootstrap.hpp"

namespace nb::test {
namespace {

constexpr std::uint64_t kSeed = 20240817;

bool is_red(Verdict verdict) {
  return verdict == Verdict::kRegressed || verdict == Verdict::kSuspicious;
}

void count(NightShares& shares, const std::vector<Verdict>& verdicts, int nights) {
  const bool red = std::any_of(verdicts.begin(), verdicts.end(), is_red);
  const bool open =
      std::find(verdicts.begin(), verdicts.end(), Verdict::kInconclusive) != verdicts.end();
  shares.red += red ? 1.0 / nights : 0;
  shares.open += open && !red ? 1.0 / nights : 0;
}

GatePolicy with_profile(const std::vector<NightTask>& tasks, double discordance) {
  GatePolicy policy;
  for (const NightTask& task : tasks) policy.noise_discordance[task.name] = discordance;
  return policy;
}

// Multinomial: lost, won, right on both sides, wrong on both.
PairedCounts draw_counts(const NightTask& task, Draws& draws) {
  const double lost = (task.flips + task.drop) / 2, won = (task.flips - task.drop) / 2;
  PairedCounts counts;
  counts.only_a = draws.binomial(task.items, lost);
  counts.only_b = draws.binomial(task.items - counts.only_a, won / (1 - lost));
  const std::int64_t rest = task.items - counts.only_a - counts.only_b;
  const double both = std::max(0.0, task.accuracy - lost) / (1 - lost - won);
  counts.both = draws.binomial(rest, both);
  counts.neither = rest - counts.both;
  return counts;
}

// ψ of Laplace(0, 1) margins under normal noise of SD s is s·sqrt(2/π)·½ for small s: density ½ at
// 0 on either side, mean |noise| s·sqrt(2/π).
double noise_for(double flips) { return 2 * flips / std::sqrt(2 / 3.14159265358979323846); }

double laplace(double u) {
  const double v = u - 0.5;
  return (v < 0 ? 1 : -1) * std::log(1 - 2 * std::fabs(v) + 1e-300);
}

}  // namespace

std::vector<NightTask> five_tasks(double flips, double drop) {
  std::vector<NightTask> tasks = {{"humaneval", 164, .12},
                                  {"gsm8k", 1319, .10},
                                  {"arc_challenge", 1172, .45},
                                  {"arc_easy", 2376, .62},
                                  {"mmlu", 14042, .37}};
  for (NightTask& task : tasks) {
    task.flips = flips;
    task.drop = drop;
  }
  return tasks;
}

std::vector<NightTask> one_falls(const char* name, double flips, double task_flips, double drop) {
  std::vector<NightTask> tasks = five_tasks(flips);
  for (NightTask& task : tasks)
    if (std::string_view(task.name) == name) {
      task.flips = task_flips;
      task.drop = drop;
    }
  return tasks;
}

NightShares fixed_nights(const std::vector<NightTask>& tasks, double discordance, int nights) {
  const GatePolicy policy = with_profile(tasks, discordance);
  NightShares shares{0, 0, nights};
  for (int night = 0; night < nights; ++night) {
    std::vector<ItemTest> family;
    for (const NightTask& task : tasks) {
      Draws draws(Rng(kSeed, std::string("night/") + task.name, static_cast<std::uint64_t>(night)));
      ItemTest test;
      test.task = task.name;
      test.counts = draw_counts(task, draws);
      family.push_back(std::move(test));
    }
    judge_items(family, policy);
    std::vector<Verdict> verdicts;
    for (const ItemTest& test : family) verdicts.push_back(test.verdict.verdict);
    count(shares, verdicts, nights);
  }
  return shares;
}

NightShares rounded_nights(double flips, int nights) {
  const std::vector<NightTask> tasks = five_tasks(flips);
  const GatePolicy policy = with_profile(tasks, flips);
  const double s = noise_for(flips);
  NightShares shares{0, 0, nights};
  for (int night = 0; night < nights; ++night) {
    std::vector<ItemTest> items;
    std::vector<ScoringTest> scoring;
    for (const NightTask& task : tasks) {
      const Rng rng(kSeed, std::string("rounding/") + task.name, static_cast<std::uint64_t>(night));
      ScoringTest test;
      test.has_choices = true;
      // Right where the margin is positive; shifted so that this happens as often as it should.
      const double shift = -laplace(1 - task.accuracy);
      for (std::int64_t i = 0; i < task.items; ++i) {
        const auto at = static_cast<std::uint64_t>(i);
        const double a = laplace(rng.uniform(at)) + shift;
        const double b = a + s * rng.normal((1ULL << 32) + at);
        const bool right_a = a > 0, right_b = b > 0;
        test.margins.add({a, b});
        if (right_a != right_b) test.margins.add_flip({a, b}, {});
        ++(right_a ? (right_b ? test.counts.both : test.counts.only_a)
                   : (right_b ? test.counts.only_b : test.counts.neither));
      }
      ItemTest item;
      item.task = task.name;
      item.counts = test.counts;
      items.push_back(std::move(item));
      scoring.push_back(std::move(test));
    }
    judge_items(items, policy);
    judge_scoring(scoring, policy);
    std::vector<Verdict> verdicts;
    for (const ItemTest& test : items) verdicts.push_back(test.verdict.verdict);
    for (const ScoringTest& test : scoring) verdicts.push_back(test.verdict.verdict);
    count(shares, verdicts, nights);
  }
  return shares;
}

NightShares retrained_nights(int seeds, double accuracy_sd, bool paired, bool has_profile,
                             int nights) {
  constexpr double kLossSd = .0003;
  const std::vector<NightTask> tasks = five_tasks(0);
  NightShares shares{0, 0, nights};
  for (int night = 0; night < nights; ++night) {
    const Rng rng(kSeed, "retrained", static_cast<std::uint64_t>(night));
    std::uint64_t draw = 0;
    const auto normal = [&] { return rng.normal(draw++); };
    std::vector<SeedTest> family;
    const auto add = [&](const std::string& unit, Direction direction, double centre, double sd,
                         std::int64_t items) {
      SeedTest test;
      test.unit = unit;
      test.direction = direction;
      test.paired = paired;
      test.is_training = items == 0;
      const double item_sd =
          items == 0 ? 0 : std::sqrt(centre * (1 - centre) / static_cast<double>(items));
      for (int seed = 0; seed < seeds; ++seed) {
        const double shared = paired ? normal() : 0;
        for (std::vector<double>* side : {&test.base, &test.candidate}) {
          const double own = normal();
          const double noise = paired ? (shared + own) / std::sqrt(2.0) : own;
          const double value = centre + sd * noise + item_sd * normal();
          // Accuracies are shares of whole items.
          const double size = static_cast<double>(items);
          side->push_back(items == 0 ? value
                                     : std::round(std::clamp(value, 0.0, 1.0) * size) / size);
        }
      }
      if (has_profile) {
        // Card of ten seeds, whose SD is itself only estimated.
        std::vector<double> profile;
        for (int seed = 0; seed < 10; ++seed)
          profile.push_back(centre + sd * normal() + item_sd * normal());
        test.noise = noise_of_profile(sample_sd(profile), 10);
      } else {
        test.noise = noise_of_seeds(test.base, unit, items);
      }
      family.push_back(std::move(test));
    };
    add("bit/byte", Direction::kLower, .8, kLossSd, 0);
    add("nat", Direction::kLower, 2.7, kLossSd * 3, 0);
    for (const NightTask& task : tasks)
      add("1", Direction::kHigher, task.accuracy, accuracy_sd, task.items);
    judge_seeds(family, {});
    std::vector<Verdict> verdicts;
    for (const SeedTest& test : family) verdicts.push_back(test.verdict.verdict);
    count(shares, verdicts, nights);
  }
  return shares;
}

NightShares control_nights(int nights, int planted) {
  NightShares shares{0, 0, nights};
  for (int night = 0; night < nights; ++night) {
    const Rng rng(kSeed, "control", static_cast<std::uint64_t>(night));
    RunRecords first;
    first.path = "first";
    for (int i = 0; i < 12; ++i) {
      StoredRecord stored;
      stored.record.kind = "eval";
      stored.record.name = "node" + std::to_string(i);
      stored.record.node_key = std::string(64, 'a');
      for (int m = 0; m < 5; ++m) {
        Metric metric;
        metric.name = "task" + std::to_string(m) + "/accuracy";
        metric.value = rng.uniform(static_cast<std::uint64_t>(5 * i + m));
        stored.record.metrics.push_back(metric);
      }
      first.records.push_back(std::move(stored));
    }
    RunRecords second = first;
    second.path = "second";
    if (night < planted) {
      Record& record = second.records[rng.below(1000, 12)].record;
      Metric& metric = record.metrics[rng.below(1001, 5)];
      metric.value = std::nextafter(*metric.value, 2.0);
    }
    const GateResult result = aa_control(first, second);
    shares.red += result.night == Verdict::kError && result.exit_code == 4 ? 1.0 / nights : 0;
  }
  return shares;
}

}  // namespace nb::test
