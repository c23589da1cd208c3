#include "results/store/series.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

void write_steps(const fs::path& path, std::int64_t first, std::int64_t last) {
  auto writer = SeriesWriter::open(path, {"loss", "bpb"}, first);
  ASSERT_TRUE(writer) << writer.error().message;
  for (std::int64_t step = first; step < last; ++step)
    ASSERT_TRUE(writer->append(step, {1.0 / (static_cast<double>(step) + 3),
                                      step % 4 == 0 ? std::optional(0.25) : std::nullopt}));
  ASSERT_TRUE(writer->flush());
}

TEST(Series, SurvivesARoundTrip) {
  const test::TempDir dir;
  write_steps(dir / "steps.csv", 0, 100);
  const auto series = read_series(dir / "steps.csv");
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->columns, (std::vector<std::string>{"loss", "bpb"}));
  ASSERT_EQ(series->steps.size(), 100U);
  EXPECT_EQ(series->values[0][4], 1.0 / 7);  // the same double
  EXPECT_EQ(series->values[1][5], std::nullopt);
  EXPECT_EQ(series->column("bpb"), 1U);
  EXPECT_EQ(series->column("lr"), std::nullopt);
}

TEST(Series, ResumedRunHasTheBytesOfAnUndisturbedOne) {
  const test::TempDir dir;
  write_steps(dir / "whole.csv", 0, 90);
  write_steps(dir / "torn.csv", 0, 83);                   // went on after the checkpoint at 70
  ASSERT_TRUE(append_file(dir / "torn.csv", "83,0.01"));  // killed while writing
  write_steps(dir / "torn.csv", 70, 90);
  EXPECT_EQ(*read_file(dir / "whole.csv"), *read_file(dir / "torn.csv"));
}

TEST(Series, StartAfreshDropsTheOldFile) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "steps.csv", "rubbish"));
  write_steps(dir / "steps.csv", 0, 2);
  EXPECT_EQ(read_series(dir / "steps.csv")->steps.size(), 2U);
}

TEST(Series, BadFilesAreNamedWithTheirLine) {
  const test::TempDir dir;
  const auto path = dir / "steps.csv";
  const auto open_error = [&](const std::string& text) {
    EXPECT_TRUE(write_file(path, text));
    const auto writer = SeriesWriter::open(path, {"loss"}, 5);
    return writer ? "opened" : writer.error().message.substr(path.string().size());
  };
  EXPECT_EQ(open_error("step,lr\n0,1\n"), ":1: other columns than \"step,loss\"; start over");
  EXPECT_EQ(open_error("step,loss\n1,1\n1,2\n"), ":3: steps must be rising integers; start over");
  EXPECT_EQ(open_error("step,loss\nx,1\n"), ":2: steps must be rising integers; start over");
  const auto missing = SeriesWriter::open(dir / "none.csv", {"loss"}, 5);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("is missing"), std::string::npos);

  ASSERT_TRUE(write_file(path, "step,loss\n0,abc\n"));
  EXPECT_NE(read_series(path).error().message.find(":2: loss is not a number"), std::string::npos);
}

TEST(Series, WhatIsNotFiniteIsWrittenAndIsNoPointOfACurve) {
  const test::TempDir dir;
  auto writer = SeriesWriter::open(dir / "steps.csv", {"loss"}, 0);
  ASSERT_TRUE(writer);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(writer->append(0, {2.5}));
  ASSERT_TRUE(writer->append(1, {std::numeric_limits<double>::quiet_NaN()}));
  ASSERT_TRUE(writer->append(2, {-std::numeric_limits<double>::quiet_NaN()}));
  ASSERT_TRUE(writer->append(3, {kInf}));
  ASSERT_TRUE(writer->append(4, {-kInf}));
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(*read_file(dir / "steps.csv"), "step,loss\n0,2.5\n1,nan\n2,nan\n3,inf\n4,-inf\n");
  const auto series = read_series(dir / "steps.csv");
  ASSERT_TRUE(series);
  EXPECT_EQ(series->steps.size(), 5U);
  EXPECT_EQ(series->values[0][0], 2.5);
  for (std::size_t row = 1; row < 5; ++row) EXPECT_EQ(series->values[0][row], std::nullopt);
}

}  // namespace
}  // namespace nb
