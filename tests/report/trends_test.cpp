// The section of trends, and its lines in cells.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "report/report.hpp"
#include "report/sparkline.hpp"
#include "tests/report/has.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/stored_nights.hpp"

namespace nb {
namespace {

using test::has;
using test::StoredNights;

std::string smoke_of(int day) { return fmt::format("2026-11-{:02}/smoke", day + 1); }

// A level of 1, and from the seventh night on one of 1.1.
void add_step(const StoredNights& nights) {
  for (int i = 0; i < 12; ++i)
    nights.add(smoke_of(i), fmt::format("2026-11-{:02}T03:00:00Z", i + 1),
               (i < 6 ? 1 : 1.1) + .001 * (i * 7 % 4));
}

ReportFiles written(const StoredNights& nights, const RunIndex* index, const fs::path& out,
                    Language language = Language::kEn) {
  const auto run = read_run(nights.path(smoke_of(11)));
  EXPECT_TRUE(run) << run.error().message;
  ReportInput input;
  input.title = "smoke";
  input.run = &*run;
  input.nights = index;
  const auto files = write_report(input, out, {language, false, "gnuplot"});
  EXPECT_TRUE(files) << files.error().message;
  return files ? *files : ReportFiles();
}

TEST(Trends, HeadlineMetricsHaveALineAndTheirChangesWords) {
  const StoredNights nights;
  add_step(nights);
  const RunIndex index = nights.index();
  const test::TempDir dir;
  const ReportFiles files = written(nights, &index, dir / "r");
  const std::string text = *read_file(files.markdown);
  EXPECT_TRUE(has(text, "Headline metrics by night")) << text;
  EXPECT_TRUE(has(text, "     12 |")) << text;
  EXPECT_TRUE(has(text, "▁▁▁▁▁▁▇▇▇▇▇▇")) << text;
  EXPECT_TRUE(has(text, "the level changed at 2026-11-07/smoke: 1.00")) << text;
  EXPECT_TRUE(has(text, "neither settings nor code changed in that run")) << text;
  const std::string html = *read_file(files.html);
  EXPECT_TRUE(has(html, "<svg class=spark"));
  EXPECT_TRUE(has(html, "<polyline points=\"3.0,"));
  EXPECT_FALSE(has(html, "▁"));
  EXPECT_FALSE(has(*read_file(files.latex), "▁"));
}

TEST(Trends, WithoutOtherNightsOneSentenceSaysSo) {
  const StoredNights nights;
  add_step(nights);
  const StoredNights others;
  others.add("n1/other", "2026-11-01T03:00:00Z", 1);
  const RunIndex index = others.index();
  const test::TempDir dir;
  EXPECT_TRUE(has(*read_file(written(nights, &index, dir / "a").markdown),
                  "has no two nights of the sequence \"smoke\""));
  EXPECT_TRUE(has(*read_file(written(nights, nullptr, dir / "b").markdown),
                  "earlier nights were not given"));
}

TEST(Trends, ValuesThatMayNotBeComparedAreLeftOutAndCounted) {
  const StoredNights nights;
  for (int i = 0; i < 12; ++i)
    nights.add(smoke_of(i), fmt::format("2026-11-{:02}T03:00:00Z", i + 1), 1, 1,
               [i](Record& record) { record.comparability["tokenizer"] = i < 5 ? "t1" : "t2"; });
  const RunIndex index = nights.index();
  const test::TempDir dir;
  const std::string text = *read_file(written(nights, &index, dir / "r").markdown);
  EXPECT_TRUE(has(text, "      7 |")) << text;
  EXPECT_TRUE(has(text, "left out: 5")) << text;
}

TEST(Trends, WhatIsThereOnceIsCountedNotDrawn) {
  const StoredNights nights;
  for (int i = 0; i < 12; ++i)
    nights.add(
        smoke_of(i), fmt::format("2026-11-{:02}T03:00:00Z", i + 1), 1, 1, [i](Record& record) {
          if (i == 11)
            record.metrics.push_back(
                test::metric_of("peak_memory_bytes", 4096, "byte", Direction::kLower, Clock::kSim));
        });
  const RunIndex index = nights.index();
  const test::TempDir dir;
  std::string text = *read_file(written(nights, &index, dir / "r").markdown);
  text = text.substr(text.find("## Trends"));
  text.resize(text.find("\n## "));
  EXPECT_TRUE(has(text, "With one value so far, not shown: 1.")) << text;
  EXPECT_FALSE(has(text, "| peak\\_memory\\_bytes")) << text;
}

TEST(Trends, ChineseHasThem) {
  const StoredNights nights;
  add_step(nights);
  const RunIndex index = nights.index();
  const test::TempDir dir;
  const std::string text = *read_file(written(nights, &index, dir / "r", Language::kZh).markdown);
  EXPECT_TRUE(has(text, "水平在 2026-11-07/smoke 改变")) << text;
}

TEST(Sparkline, GoesFromTheLowestToTheHighest) {
  EXPECT_EQ(sparkline_text(std::vector<double>{1, 2, 3, 4}), "▁▃▅▇");
  EXPECT_EQ(sparkline_text(std::vector<double>{5, 5, 5}), "▄▄▄");
  EXPECT_EQ(sparkline_text(std::vector<double>{0, 1, 2, 1}, 2), "▇▁");
  EXPECT_EQ(sparkline_text({}), "");
}

TEST(Sparkline, SvgHasALineADotAndAMarkForEachChange) {
  const std::vector<double> values{0, 0, 1, 1};
  const std::vector<std::size_t> changes{2};
  const std::string svg = sparkline_svg(values, changes, "a<b");
  EXPECT_TRUE(has(svg, "points=\"3.0,23.0 51.0,23.0 99.0,3.0 147.0,3.0\"")) << svg;
  EXPECT_TRUE(has(svg, "<line x1=75.0")) << svg;
  EXPECT_TRUE(has(svg, "cx=147.0 cy=3.0")) << svg;
  EXPECT_TRUE(has(svg, "aria-label=\"a&lt;b\"")) << svg;
}

}  // namespace
}  // namespace nb
