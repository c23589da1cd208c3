#include "report/history_plot.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

HistoryGroup group_of(const std::vector<double>& values, const std::string& clock = "none") {
  HistoryGroup group;
  group.sequence = "smoke";
  group.kind = "train";
  group.name = "base";
  group.unit = "bit/byte";
  group.clock = clock;
  for (std::size_t i = 0; i < values.size(); ++i) {
    HistoryRow row;
    row.run = "night" + std::to_string(i);
    row.when = "2026-11-0" + std::to_string(i + 1) + "T03:00:00Z";
    row.value = values[i];
    group.rows.push_back(row);
  }
  return group;
}

std::string error_of(const History& history) {
  const auto plot = history_plot(history);
  return plot ? "none" : plot.error().message;
}

TEST(HistoryPlot, ALevelIsALineAtTheMeanOfItsValues) {
  HistoryGroup group = group_of({1, 3, 2, 11, 12, 13});
  group.rows[3].level = ChangePoint{3, 2, 12, .0001};
  const auto plot = history_plot({"val_bpb", {group}, {}});
  ASSERT_TRUE(plot) << plot.error().message;
  ASSERT_EQ(plot->series.size(), 2U);
  EXPECT_EQ(plot->series[0].y, (std::vector<double>{1, 3, 2, 11, 12, 13}));
  EXPECT_EQ(plot->series[1].x, (std::vector<double>{1, 3, 4, 6}));
  EXPECT_EQ(plot->series[1].y, (std::vector<double>{2, 2, 12, 12}));
  EXPECT_EQ(plot->y_label, "val_bpb (bit/byte)");
}

// Two groups of which one lacks the first night: the same night has the same place.
TEST(HistoryPlot, RunsOfAllGroupsShareOneAxis) {
  HistoryGroup shorter = group_of({5, 6, 7});
  shorter.rows.erase(shorter.rows.begin());
  const auto plot = history_plot({"val_bpb", {group_of({1, 2, 3}), shorter}, {}});
  ASSERT_TRUE(plot) << plot.error().message;
  EXPECT_EQ(plot->series[0].x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(plot->series[2].x, (std::vector<double>{2, 3}));
}

TEST(HistoryPlot, ItsAxisHasDates) {
  const auto tics_of = [](const History& history) { return history_plot(history)->x_tics; };
  const auto tics = tics_of({"val_bpb", {group_of({1, 2, 3, 4, 5, 6, 7, 8, 9})}, {}});
  ASSERT_EQ(tics.size(), 5U);  // every other one of nine
  EXPECT_EQ(tics.front(), (std::pair<double, std::string>(1, "2026-11-01")));
  EXPECT_EQ(tics.back(), (std::pair<double, std::string>(9, "2026-11-09")));
  HistoryGroup day = group_of({1, 2});
  for (HistoryRow& row : day.rows) row.when = "2026-11-01T03:0" + row.run.substr(5) + ":00Z";
  EXPECT_EQ(tics_of({"val_bpb", {day}, {}}).back().second, "03:01");
}

TEST(HistoryPlot, WhatSharesNoAxisIsRefused) {
  EXPECT_NE(error_of({"step_time_ns", {group_of({1}, "sim"), group_of({2}, "host")}, {}})
                .find("choose one with --clock"),
            std::string::npos);
  HistoryGroup other = group_of({2});
  other.unit = "nat";
  EXPECT_NE(error_of({"loss", {group_of({1}), other}, {}}).find("bit/byte and nat"),
            std::string::npos);
  HistoryGroup none = group_of({2});
  none.rows[0].value.reset();
  EXPECT_NE(error_of({"loss", {none}, {}}).find("no value to draw"), std::string::npos);
  EXPECT_NE(error_of({"loss", std::vector(7, group_of({1})), {}}).find("7 groups"),
            std::string::npos);
}

}  // namespace
}  // namespace nb
