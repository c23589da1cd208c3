#include "results/store/history.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/store/store.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/stored_nights.hpp"

namespace nb {
namespace {

using test::StoredNights;

std::string date_of(int number) { return fmt::format("2026-11-{:02}", number + 1); }
std::string run_on(int number) { return date_of(number) + "/smoke"; }
std::string time_on(int number) { return date_of(number) + "T03:00:00Z"; }

History history_in(const StoredNights& nights, const HistoryFilter& filter = {},
                   const std::string& metric = "val_bpb") {
  auto history = history_of(nights.index(), metric, filter);
  EXPECT_TRUE(history) << history.error().message;
  return history ? std::move(*history) : History();
}

std::vector<double> values_in(const HistoryGroup& group) {
  std::vector<double> values;
  for (const HistoryRow& row : group.rows) values.push_back(row.value.value_or(-1));
  return values;
}

// Twelve nights around 1, from the seventh on around 1.1, when the code changed.
void add_a_step(const StoredNights& nights, int missing = -1) {
  constexpr double kNoise[] = {.001, -.002, .0005, 0, -.001, .002};
  for (int i = 0; i < 12; ++i)
    nights.add(run_on(i), time_on(i), (i < 6 ? 1 : 1.1) + kNoise[i % 6], 1,
               [i, missing](Record& record) {
                 record.subject["code"] = sha256_hex(i < 6 ? "a" : "b");
                 if (i != missing) return;
                 record.metrics[0].value.reset();
                 record.metrics[0].reason_if_null = "loss is not finite";
               });
}

TEST(History, HasOneRowARunInTheOrderOfTime) {
  const StoredNights nights;
  nights.add("n1/smoke", time_on(2), 3);
  nights.add("n2/smoke", time_on(0), 1);
  nights.add("n3/smoke", time_on(1), 2);
  const History history = history_in(nights);
  ASSERT_EQ(history.groups.size(), 1U);
  EXPECT_EQ(values_in(history.groups[0]), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(history.groups[0].rows[2].run, "n1/smoke");
  EXPECT_EQ(history.groups[0].sequence, "smoke");
  EXPECT_EQ(title_of(history.groups[0]), "train base on h100_sxm, seed 1 (smoke)");
}

TEST(History, SeedsOfARunAreOneMean) {
  const StoredNights nights;
  for (int i = 0; i < 3; ++i)
    for (const std::int64_t seed : {1, 2, 3})
      nights.add(run_on(i), time_on(i), i + .5 * static_cast<double>(seed), seed);
  nights.add(run_on(3), time_on(3), 7, 1);
  const History history = history_in(nights);
  ASSERT_EQ(history.groups.size(), 2U) << "a night without two of the seeds is another mean";
  EXPECT_EQ(values_in(history.groups[0]), std::vector<double>{7});
  EXPECT_EQ(values_in(history.groups[1]), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(history.groups[1].rows[0].by_seed, (std::vector<double>{.5, 1, 1.5}));
  HistoryFilter filter;
  filter.seed = 1;
  EXPECT_EQ(values_in(history_in(nights, filter).groups.at(0)),
            (std::vector<double>{.5, 1.5, 2.5, 7}));
}

TEST(History, TheSpreadOfSeedsStandsBesideTheirMeanWithoutIntervals) {
  const StoredNights nights;
  for (const std::int64_t seed : {1, 2, 3})
    nights.add(run_on(0), time_on(0), static_cast<double>(seed), seed, [](Record& record) {
      record.metrics[0].low = 0;
      record.metrics[0].high = 9;
    });
  const History history = history_in(nights);
  EXPECT_FALSE(history.groups.at(0).rows[0].low) << "the interval of one seed is none of the mean";
  EXPECT_FALSE(history.groups.at(0).rows[0].high);
  const std::string text = history_text(history);
  EXPECT_NE(text.find("2.00000   1"), std::string::npos) << "SD of 1, 2, 3\n" << text;
  EXPECT_EQ(text.find("95 % interval"), std::string::npos) << text;
}

TEST(History, OfANodeThatFinishedTwiceTheLaterValueCounts) {
  for (const bool later_is_first : {false, true}) {
    const StoredNights nights;
    nights.add("smoke", time_on(later_is_first ? 1 : 0), 1);
    const auto run = find_runs(nights.folder())->at(0);
    Record again = *read_record(run.folder_of(run.nodes.at(0)));
    again.node_key = sha256_hex("the same node of other code");
    again.environment = Json{{"finished_at", time_on(later_is_first ? 0 : 1)}};
    again.metrics[0].value = 2;
    ASSERT_TRUE(write_record(run.path / ("base.h100_sxm-" + again.node_key.substr(0, 8)), again));
    const History history = history_in(nights);
    EXPECT_EQ(values_in(history.groups.at(0)), std::vector<double>{later_is_first ? 1. : 2.});
    ASSERT_EQ(history.notes.size(), 1U);
    EXPECT_EQ(history.notes[0].rfind("1 of nodes that finished again", 0), 0U);
  }
}

TEST(History, WhatMayNotBeComparedStandsApart) {
  const StoredNights nights;
  for (int i = 0; i < 4; ++i)
    nights.add(run_on(i), time_on(i), i, 1, [i](Record& record) {
      record.kind = "eval";
      record.comparability = {{"tokenizer", i < 2 ? "t1" : "t2"}};
    });
  const History history = history_in(nights);
  ASSERT_EQ(history.groups.size(), 2U);
  EXPECT_EQ(values_in(history.groups[0]), (std::vector<double>{0, 1}));
  EXPECT_EQ(values_in(history.groups[1]), (std::vector<double>{2, 3}));
  EXPECT_NE(history_text(history).find("not comparable with the values above: items"),
            std::string::npos)
      << history_text(history);
}

TEST(History, HostTimesOfAnotherMachineStandApart) {
  const StoredNights nights;
  for (int i = 0; i < 4; ++i)
    nights.add(run_on(i), time_on(i), 1, 1, [i](Record& record) {
      (*record.environment)["host"] = {{"cpu", i < 2 ? "A" : "B"}};
      record.host_metrics = {
          test::metric_of("wall_time_ns", 5e9 + i, "ns", Direction::kLower, Clock::kHost)};
    });
  EXPECT_EQ(history_in(nights).groups.size(), 1U);
  const History times = history_in(nights, {}, "wall_time_ns");
  ASSERT_EQ(times.groups.size(), 2U);
  EXPECT_EQ(times.groups[1].machine, "B");
  EXPECT_NE(history_text(times).find("measured on another machine"), std::string::npos);
}

TEST(History, AChangeOfLevelIsSaidInWords) {
  const StoredNights nights;
  add_a_step(nights);
  const History history = history_in(nights);
  const HistoryGroup& group = history.groups.at(0);
  for (std::size_t i = 0; i < group.rows.size(); ++i)
    EXPECT_EQ(group.rows[i].level.has_value(), i == 6) << i;
  EXPECT_EQ(level_sentences(group),
            std::vector<std::string>{"the level changed at 2026-11-07/smoke: 1.00008 → 1.10008 "
                                     "(+0.10000, worse), p < 0.0001; code changed in that run"});
  EXPECT_NE(history_text(history).find("new level, worse: +0.10000; code"), std::string::npos)
      << history_text(history);
}

TEST(History, ALevelBeginsAtItsRunWhereValuesBeforeItAreMissing) {
  const StoredNights nights;
  add_a_step(nights, /*missing=*/2);
  const History history = history_in(nights);
  const auto& rows = history.groups.at(0).rows;
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].level.has_value(), i == 6) << i;
}

TEST(History, SettingsThatChangeAreMarkedSeedsAreNoChange) {
  const StoredNights nights;
  for (int i = 0; i < 3; ++i)
    nights.add(run_on(i), time_on(i), 1, 1,
               [i](Record& record) { (*record.settings)["lr"] = i < 2 ? .02 : .03; });
  const History history = history_in(nights);
  const auto& rows = history.groups.at(0).rows;
  EXPECT_TRUE(rows[0].changed.empty());
  EXPECT_TRUE(rows[1].changed.empty());
  EXPECT_EQ(rows[2].changed, std::vector<std::string>{"settings"});
}

TEST(History, AValueThatCouldNotBeMeasuredHasItsReason) {
  const StoredNights nights;
  for (int i = 0; i < 8; ++i)
    nights.add(run_on(i), time_on(i), 1 + i % 2, 1, [i](Record& record) {
      if (i != 3) return;
      record.metrics[0].value.reset();
      record.metrics[0].reason_if_null = "loss is not finite";
    });
  const History history = history_in(nights);
  EXPECT_FALSE(history.groups.at(0).rows[3].value);
  EXPECT_NE(history_text(history).find("loss is not finite"), std::string::npos);
  EXPECT_NE(history_text(history).find("7 values from 1.00000 to 2.00000\nno change of level"),
            std::string::npos)
      << history_text(history);
}

TEST(History, NodesOfEarlierPlansAreLeftOutAndCounted) {
  const StoredNights nights;
  nights.add("smoke", time_on(0), 1, 1);
  nights.add("smoke", time_on(0), 2, 2);
  const auto run = find_runs(nights.folder())->at(0);
  for (const RunNode& node : run.nodes)
    if (read_record(run.folder_of(node))->seed == 2) {
      ASSERT_TRUE(write_run_list(run.path, {node.name}));
    }
  const History history = history_in(nights);
  EXPECT_EQ(values_in(history.groups.at(0)), std::vector<double>{2});
  ASSERT_EQ(history.notes.size(), 1U);
  EXPECT_EQ(history.notes[0].rfind("1 of nodes that their run.json no longer lists", 0), 0U);
}

TEST(History, UnknownNamesAreErrorsWithThoseThatThereAre) {
  const StoredNights nights;
  const auto error_of = [&](const std::string& metric, const HistoryFilter& filter) {
    const auto history = history_of(nights.index(), metric, filter);
    return history ? std::string("none") : history.error().message;
  };
  EXPECT_EQ(error_of("val_bpb", {}),
            "no metrics in " + nights.folder().string() + ": it holds no runs");
  nights.add("smoke", time_on(0), 1);
  EXPECT_EQ(error_of("val_pbp", {}), "no metric \"val_pbp\" in " + nights.folder().string() +
                                         "; did you mean \"val_bpb\"? (npubench runs metrics)");
  HistoryFilter filter;
  filter.device = "h100";
  EXPECT_EQ(error_of("val_bpb", filter),
            "--device h100: no \"val_bpb\" there; did you mean \"h100_sxm\"?; there are h100_sxm");
  filter = {};
  filter.seed = 5;
  EXPECT_EQ(error_of("val_bpb", filter), "--seed 5: no \"val_bpb\" there; there are 1");
  filter = {};
  filter.clock = "sim";
  EXPECT_EQ(error_of("val_bpb", filter), "--clock sim: no \"val_bpb\" there; there are none");
}

TEST(History, TextSaysWhatItLeavesOut) {
  const StoredNights nights;
  add_a_step(nights);
  const std::string text = history_text(history_in(nights), 2);
  EXPECT_EQ(text.find("2026-11-10/smoke"), std::string::npos) << text;
  EXPECT_NE(text.find("2026-11-11/smoke"), std::string::npos) << text;
  EXPECT_NE(text.find("2026-11-12/smoke"), std::string::npos) << text;
  EXPECT_NE(text.find("the newest 2 of 12 runs; --limit 0 lists all"), std::string::npos) << text;
  EXPECT_NE(text.find("12 values from"), std::string::npos) << text;
}

TEST(History, CsvAndJsonHaveEveryRow) {
  const StoredNights nights;
  add_a_step(nights);
  const History history = history_in(nights);
  const auto csv = parse_csv(history_csv(history), "history");
  ASSERT_TRUE(csv) << csv.error().message;
  ASSERT_EQ(csv->rows.size(), 12U);
  EXPECT_EQ(csv->rows[6][*csv->column("run")], "2026-11-07/smoke");
  EXPECT_EQ(csv->rows[6][*csv->column("value")], "1.101");
  EXPECT_EQ(csv->rows[6][*csv->column("changed")], "code");
  EXPECT_NE(csv->rows[6][*csv->column("level_p")], "");
  const Json json = history_json(history);
  EXPECT_EQ(json.at("schema"), kHistorySchema);
  const Json& group = json.at("groups").at(0);
  EXPECT_EQ(group.at("rows").size(), 12U);
  EXPECT_EQ(group.at("direction"), "lower");
  EXPECT_TRUE(group.at("rows").at(5).at("level").is_null());
  EXPECT_NEAR(group.at("rows").at(6).at("level").at("after").get<double>(), 1.1, .001);
  // Changes of level were sentences alone.
  ASSERT_EQ(group.at("level_changes").size(), 1U);
  const Json& change = group.at("level_changes").at(0);
  EXPECT_EQ(change.at("run"), "2026-11-07/smoke");
  EXPECT_NEAR(change.at("difference").get<double>(), .1, .002);
  EXPECT_EQ(change.at("judgement"), "worse");
  EXPECT_EQ(change.at("changed").at(0), "code");
  EXPECT_LT(change.at("p").get<double>(), .001);
}

}  // namespace
}  // namespace nb
