#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/import/formats.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Result<ForeignResults> read_text(const std::string& name, const std::string& text) {
  const test::TempDir folder;
  EXPECT_TRUE(write_file(folder.path() / name, text));
  auto results = read_foreign(folder.path() / name);
  if (!results) {
    std::string& message = results.error().message;
    const std::string path = folder.path().string() + "/";
    for (std::size_t at; (at = message.find(path)) != std::string::npos;)
      message.erase(at, path.size());
  }
  return results;
}

TEST(SimpleCsv, ItemsWithTheirTasksAndOutcomes) {
  const auto results = read_text("a.csv", "task,item,outcome\nx,1,1\nx,2,wrong\ny,1,true\n");
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "");  // a file's name is none
  EXPECT_EQ(run.label, "a");
  ASSERT_EQ(run.series.size(), 2u);
  EXPECT_EQ(run.series[0].name.task, "x");
  ASSERT_EQ(run.series[0].items.size(), 2u);
  EXPECT_TRUE(run.series[0].items[0].ok);
  EXPECT_FALSE(run.series[0].items[1].ok);
}

TEST(SimpleCsv, TotalsTakePercentSignsAndThousands) {
  const auto results =
      read_text("a.csv", "task,accuracy,n\nmmlu,37.5 %,\"14,042\"\ngsm8k,0.1,1319\n");
  ASSERT_TRUE(results) << results.error().message;
  const auto& series = results->runs.at(0).series;
  EXPECT_EQ(series.at(0).reported, 0.375);
  EXPECT_EQ(series.at(0).reported_n, 14042);
}

TEST(SimpleCsv, BadCellsAreNamedWithTheirLine) {
  EXPECT_EQ(read_text("a.csv", "item,outcome\n1,1\n2,maybe\n").error().message,
            "a.csv:3: outcome \"maybe\" is no number and none of correct, wrong, true, false, "
            "pass, fail");
  EXPECT_EQ(read_text("a.csv", "item,outcome,colour\n1,1,red\n").error().message,
            "a.csv:1: unknown column \"colour\"; known are task, item, outcome, prediction, gold, "
            "question, epoch");
  EXPECT_EQ(read_text("a.csv", "task,accuracy,n\nx,nan?,3\n").error().message,
            "a.csv:2: accuracy \"nan?\" is not a number; write 0.311 or 31.1 %");
  EXPECT_EQ(read_text("a.csv", "task,accuracy,n\nx,0.5,3\nx,0.5,3\n").error().message,
            "a.csv:3: task x occurs twice");
}

// "31,1 %" was read as 3.11, a percentage without its sign as an accuracy above 1.
TEST(SimpleCsv, NothingIsGuessedOfANumber) {
  const auto error = [](const std::string& text) {
    const auto results = read_text("a.csv", text);
    return results ? "read" : results.error().message;
  };
  EXPECT_EQ(error("task,accuracy\nx,\"31,1 %\"\n"),
            "a.csv:2: accuracy \"31,1 %\" is not a number; write 0.311 or 31.1 %");
  EXPECT_EQ(error("task,accuracy\nx,31.1\n"),
            "a.csv:2: accuracy \"31.1\" is not between 0 and 1; a percentage has its sign: 31.1 %");
  EXPECT_EQ(error("task,accuracy,stderr\nx,.5,?\n"), "a.csv:2: stderr \"?\" is no standard error");
  EXPECT_EQ(error("task,accuracy,n\nx,.5,1e300\n"), "a.csv:2: n \"1e300\" is not a count of items");
}

// The cast of a number that no integer holds is undefined, and was done before the number was
// looked at.
TEST(SimpleCsv, CountsThatNoIntegerHoldsAreRefused) {
  for (const char* count : {"1e300", "-1e300", "1e15", "1.5", "0"}) {
    const auto totals = read_text("a.csv", std::string("task,accuracy,n\nx,0.5,") + count + "\n");
    ASSERT_FALSE(totals) << count;
    EXPECT_EQ(totals.error().message,
              std::string("a.csv:2: n \"") + count + "\" is not a count of items");
  }
  for (const char* epoch : {"1e300", "-1", "1.5", "first"}) {
    const auto items =
        read_text("a.csv", std::string("task,item,outcome,epoch\nx,1,1,") + epoch + "\n");
    ASSERT_FALSE(items) << epoch;
    EXPECT_EQ(items.error().message,
              std::string("a.csv:2: epoch \"") + epoch + "\" is not a whole number");
  }
  EXPECT_TRUE(read_text("a.csv", "task,item,outcome,epoch\nx,1,1,0\nx,1,1,1\nx,2,1,\n"));
}

TEST(SimpleCsv, SomethingElseIsCalledUnknownWithItsBeginning) {
  const auto results = read_text("a.txt", "hello there");
  ASSERT_FALSE(results);
  EXPECT_TRUE(results.error().message.starts_with(
      "a.txt: not a known result file (it begins with \"hello there\"; npubench import --formats "))
      << results.error().message;
}

}  // namespace
}  // namespace nb
