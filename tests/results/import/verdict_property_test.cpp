// compare and gate on drawn pairs of foreign results: what one calls worse the other never passes,
// and chance alone is rarely red.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "results/gate/gate.hpp"
#include "results/import/builder.hpp"
#include "results/import/to_records.hpp"

namespace nb {
namespace {

// std::mt19937_64 gives the same numbers everywhere, its distributions do not.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  int below(int n) { return static_cast<int>(uniform() * n); }
  bool chance(double p) { return uniform() < p; }
  int binomial(int n, double p) {
    int count = 0;
    for (int i = 0; i < n; ++i) count += chance(p) ? 1 : 0;
    return count;
  }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

struct Side {
  ForeignBuilder builder;
  ForeignRun& run = builder.run("harness", "org/m");
  RunRecords records() {
    ForeignResults results = builder.finish();
    return records_of(std::move(results));
  }
};

void add_total(Side& side, const std::string& task, const std::string& metric, double value,
               std::int64_t n, double standard_error = 0, const std::string& part_of = "") {
  ForeignSeries& series = side.builder.series(side.run, {task, "", metric});
  series.reported = value;
  series.reported_n = n;
  if (standard_error > 0) series.reported_stderr = standard_error;
  series.part_of = part_of;
}

void add_items(Side& side, const std::string& task, const std::string& metric,
               const std::vector<double>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    ForeignItem item;
    item.source_id = std::to_string(i);
    const SeriesValue value{{task, "", metric}, scores[i]};
    ASSERT_TRUE(side.builder.add_item(side.run, {&value, 1}, item, "drawn"));
  }
}

struct Judged {
  Comparison comparison;
  GateResult gate;
};

// The sides must live as long: a comparison points into them.
Judged judge(const RunRecords& a, const RunRecords& b) {
  Judged judged{compare_runs(a, b, PairAcross::kNothing), {}};
  judged.gate = gate(judged.comparison);
  return judged;
}

bool is_green(const GateResult& result) {
  return result.night == Verdict::kPass || result.night == Verdict::kImproved;
}

void expect_no_contradiction(const Judged& judged) {
  for (const RecordPair& pair : judged.comparison.pairs)
    for (const MetricDifference& row : pair.metrics) {
      if (row.shown == Shown::kWorse) {
        EXPECT_FALSE(is_green(judged.gate))
            << row.name << "\n"
            << comparison_text(judged.comparison) << gate_text(judged.gate);
      }
      if (row.shown != Shown::kWorse && row.shown != Shown::kBetter) continue;
      EXPECT_TRUE(!row.gross.empty() ||
                  (row.interval95 && (row.interval95->low > 0 || row.interval95->high < 0)))
          << row.name;
    }
  for (const TaskVerdict& verdict : judged.gate.verdicts) {
    if (verdict.verdict != Verdict::kImproved || !verdict.interval95) continue;
    EXPECT_TRUE(verdict.interval95->low > 0 || verdict.interval95->high < 0) << verdict.metric;
  }
}

constexpr const char* kMetrics[] = {
    "acc",           "exact_match", "pass@1",   "f1",  "perplexity",     "wer",         "bleu",
    "bits_per_byte", "train_loss",  "n_errors", "mcc", "no_such_metric", "is_incorrect"};

double drawn_value(Draw& draw, const std::string& metric) {
  if (metric == "perplexity") return 1 + 20 * draw.uniform();
  if (metric == "bleu" || metric == "n_errors") return std::floor(100 * draw.uniform());
  return draw.chance(.1) ? static_cast<double>(draw.below(2)) : draw.uniform();
}

TEST(ForeignVerdicts, WhatCompareCallsWorseIsNeverAPass) {
  Draw draw(1);
  int worse = 0, improved = 0;
  for (int pair = 0; pair < 10000; ++pair) {
    Side a, b;
    const int tasks = 1 + draw.below(4);
    for (int t = 0; t < tasks; ++t) {
      const std::string task = "t" + std::to_string(t), metric = kMetrics[draw.below(13)];
      const double value = drawn_value(draw, metric);
      const double step = draw.chance(.3)   ? 0
                          : draw.chance(.5) ? .02 * draw.normal()
                                            : .3 * draw.normal();
      double other =
          metric == "perplexity" || metric == "bleu" ? value * std::exp(step) : value + step;
      if (metric != "wer" && value <= 1)
        other = std::clamp(other, 0.0, metric == "perplexity" ? 1e9 : 1.0);
      const bool has_n = draw.chance(.5), has_error = draw.chance(.4);
      const int n = 1 + static_cast<int>(std::pow(10, 4 * draw.uniform()));
      const double error = has_error ? .3 / std::sqrt(n) : 0;
      if (draw.chance(.25)) {  // items
        std::vector<double> left, right;
        const int items = 2 + draw.below(60);
        const bool fractional = draw.chance(.04);
        const double flip = draw.uniform() * .5;
        for (int i = 0; i < items; ++i) {
          left.push_back(fractional ? draw.below(5) / 4.0 : draw.below(2));
          right.push_back(draw.chance(flip) ? (fractional ? draw.below(5) / 4.0 : draw.below(2))
                                            : left.back());
        }
        add_items(a, task, metric, left);
        add_items(b, task, metric, right);
      } else {
        add_total(a, task, metric, value, has_n ? n : 0, error);
        add_total(b, task, metric, other, has_n ? n : 0, draw.chance(.9) ? error : 0);
      }
    }
    const RunRecords left = a.records(), right = b.records();
    const Judged judged = judge(left, right);
    expect_no_contradiction(judged);
    if (HasFailure()) FAIL() << "pair " << pair;
    for (const RecordPair& one : judged.comparison.pairs)
      for (const MetricDifference& row : one.metrics) worse += row.shown == Shown::kWorse;
    improved += judged.gate.night == Verdict::kImproved;
  }
  EXPECT_GT(worse, 1000);  // the property is not empty
  EXPECT_GT(improved, 500);
}

struct Rates {
  int red = 0, covered = 0, intervals = 0, low_p = 0, tests = 0;
};

// One headline row without a true difference.
void count(Rates& rates, const Judged& judged, double truth) {
  rates.red += judged.gate.exit_code == 1;
  for (const RecordPair& pair : judged.comparison.pairs)
    for (const MetricDifference& row : pair.metrics) {
      if (!row.part_of.empty()) continue;
      if (row.interval95) {
        ++rates.intervals;
        rates.covered += row.interval95->low <= truth && truth <= row.interval95->high;
      }
      if (row.p_two_sided) {
        ++rates.tests;
        rates.low_p += *row.p_two_sided <= .1;
      }
    }
}

// False red at most 5 %, intervals that cover 93.5 to 96.5 % (limits of sampling included), p
// values uniform.
void expect_honest(const Rates& rates, int pairs, double most_covered = .965) {
  const auto share = [](int count, int of) { return static_cast<double>(count) / of; };
  ASSERT_GT(rates.intervals, 0);
  const double red = share(rates.red, pairs), covered = share(rates.covered, rates.intervals),
               low = share(rates.low_p, rates.tests);
  EXPECT_LE(red, .05 + 2 * std::sqrt(.05 * .95 / pairs));
  EXPECT_GE(covered, .935);
  EXPECT_LE(covered, most_covered);
  EXPECT_NEAR(low, .1, .03);
  ::testing::Test::RecordProperty("red", std::to_string(red));
  std::printf("    red %.4f, covered %.4f, p <= .1 in %.4f\n", red, covered, low);
}

constexpr int kPairs = 2000;

TEST(ForeignVerdicts, SharesOfKnownSizeAreHonestWhereNothingDiffers) {
  Draw draw(2);
  Rates rates;
  for (int i = 0; i < kPairs; ++i) {
    const double p = .1 + .8 * draw.uniform();
    const int n = 200 + draw.below(800);
    Side a, b;
    add_total(a, "t", "acc", draw.binomial(n, p) / double(n), n);
    add_total(b, "t", "acc", draw.binomial(n, p) / double(n), n);
    const RunRecords left = a.records(), right = b.records();
    count(rates, judge(left, right), 0);
  }
  expect_honest(rates, kPairs);
}

TEST(ForeignVerdicts, SharesWithAnErrorAloneAreHonestWhereNothingDiffers) {
  Draw draw(3);
  Rates rates;
  for (int i = 0; i < kPairs; ++i) {
    const double p = .1 + .8 * draw.uniform();
    const int n = 300 + draw.below(800);
    Side a, b;
    for (Side* side : {&a, &b}) {
      const double share = draw.binomial(n, p) / double(n);
      add_total(*side, "t", "acc", share, 0, std::sqrt(share * (1 - share) / (n - 1)));
    }
    const RunRecords left = a.records(), right = b.records();
    count(rates, judge(left, right), 0);
  }
  expect_honest(rates, kPairs);
}

TEST(ForeignVerdicts, SharesWithoutAnyErrorAreRarelyRed) {
  Draw draw(4);
  int red = 0;
  for (int i = 0; i < kPairs; ++i) {
    const double p = .1 + .8 * draw.uniform();
    const int n = 30 + draw.below(300);
    Side a, b;
    add_total(a, "t", "acc", draw.binomial(n, p) / double(n), 0);
    add_total(b, "t", "acc", draw.binomial(n, p) / double(n), 0);
    const RunRecords left = a.records(), right = b.records();
    red += judge(left, right).gate.exit_code == 1;
  }
  EXPECT_LE(red, kPairs / 50);
}

// Subjects of a group: all of their items, and the group's row without an error of its own.
TEST(ForeignVerdicts, GroupsAreHonestWhereNothingDiffers) {
  Draw draw(5);
  Rates rates;
  for (int i = 0; i < kPairs; ++i) {
    Side a, b;
    std::vector<double> p;
    for (int s = 0; s < 20; ++s) p.push_back(.2 + .7 * draw.uniform());
    for (Side* side : {&a, &b}) {
      int right = 0;
      for (std::size_t s = 0; s < p.size(); ++s) {
        const int hits = draw.binomial(60, p[s]);
        right += hits;
        add_total(*side, "g_" + std::to_string(s), "acc", hits / 60.0, 60, 0, "g");
      }
      add_total(*side, "g", "acc", right / 1200.0, 0);
    }
    const RunRecords left = a.records(), right = b.records();
    count(rates, judge(left, right), 0);
  }
  // Subjects differ, so one binomial of all 1,200 items is a little too wide.
  expect_honest(rates, kPairs, .985);
}

// Samples of a question repeat it: 40 questions, 16 samples each, as the mean of all reports them.
TEST(ForeignVerdicts, RepeatedQuestionsAreHonestWhereNothingDiffers) {
  Draw draw(7);
  int red = 0, covered = 0;
  for (int i = 0; i < kPairs; ++i) {
    Side a, b;
    for (Side* side : {&a, &b}) {
      int right = 0;  // questions of their own on each side: the worst that clusters can do
      for (int q = 0; q < 40; ++q) right += draw.chance(.6) ? 16 : draw.binomial(16, .1);
      add_total(*side, "t", "acc", right / 640.0, 640);
      side->builder.series(side->run, {"t", "", "acc"}).repeats = 16;
    }
    const RunRecords left = a.records(), right = b.records();
    const Judged judged = judge(left, right);
    red += judged.gate.exit_code == 1;
    const auto& interval = judged.comparison.pairs[0].metrics[0].interval95;
    ASSERT_TRUE(interval);
    covered += interval->low <= 0 && 0 <= interval->high;
  }
  EXPECT_LE(red, kPairs * .05);
  EXPECT_GE(covered, kPairs * .935);
}

TEST(ForeignVerdicts, PairedItemsAreHonestWhereNothingDiffers) {
  Draw draw(6);
  Rates rates;
  for (int i = 0; i < kPairs; ++i) {
    std::vector<double> left, right;
    for (int item = 0; item < 150; ++item) {
      const double p = draw.uniform();
      left.push_back(draw.chance(p) ? 1 : 0);
      right.push_back(draw.chance(p) ? 1 : 0);
    }
    Side a, b;
    add_items(a, "t", "acc", left);
    add_items(b, "t", "acc", right);
    const RunRecords before = a.records(), after = b.records();
    count(rates, judge(before, after), 0);
  }
  expect_honest(rates, kPairs);
}

}  // namespace
}  // namespace nb
