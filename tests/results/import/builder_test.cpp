#include "results/import/builder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

const SeriesValue kRight{{"t", "", "acc"}, 1}, kWrong{{"t", "", "acc"}, 0};

ForeignItem named(const std::string& id, const std::string& content, std::int64_t epoch = 1) {
  ForeignItem item;
  item.source_id = id;
  item.content = content;
  item.epoch = epoch;
  return item;
}

TEST(ForeignBuilder, ContentThatDiffersByWhiteSpaceIsTheSameItem) {
  EXPECT_EQ(content_hash("How  many\n apples?"), content_hash(" How many apples? "));
  EXPECT_NE(content_hash("How many apples?"), content_hash("Howmany apples?"));
}

TEST(ForeignBuilder, EpochsAreOneItemWithTheirMean) {
  ForeignBuilder builder;
  ForeignRun& run = builder.run("h", "m");
  ASSERT_TRUE(builder.add_item(run, {&kRight, 1}, named("1", "a", 1), "f:1"));
  ASSERT_TRUE(builder.add_item(run, {&kWrong, 1}, named("1", "a", 2), "f:2"));
  ASSERT_TRUE(builder.add_item(run, {&kRight, 1}, named("2", "b", 1), "f:3"));
  ASSERT_TRUE(builder.add_item(run, {&kRight, 1}, named("2", "b", 2), "f:4"));
  const ForeignResults results = builder.finish();
  ASSERT_EQ(results.runs.size(), 1u);
  ASSERT_EQ(results.runs[0].series.size(), 1u);
  const ForeignSeries& series = results.runs[0].series[0];
  ASSERT_EQ(series.items.size(), 2u);
  EXPECT_EQ(series.items[0].value, 0.5);
  EXPECT_EQ(series.items[0].sample_ok, (std::vector<int>{1, 0}));
  EXPECT_FALSE(series.items[0].ok);
  EXPECT_TRUE(series.items[1].ok);
  EXPECT_EQ(series.must_match.at("samples"), "2");
}

TEST(ForeignBuilder, ItemThatOccursTwiceIsRefused) {
  ForeignBuilder builder;
  ForeignRun& run = builder.run("h", "m");
  ASSERT_TRUE(builder.add_item(run, {&kRight, 1}, named("1", "a"), "f:1"));
  const auto second = builder.add_item(run, {&kRight, 1}, named("1", "a"), "f:2");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "f:2: item 1 of t/acc occurs twice; is the same file there twice, or are two runs in "
            "one?");
}

TEST(ForeignBuilder, CopiesOfOneDocumentAreNumberedInTheOrderOfTheirNames) {
  const auto ids = [](const std::vector<std::string>& order) {
    ForeignBuilder builder;
    ForeignRun& run = builder.run("h", "m");
    for (const std::string& id : order)
      EXPECT_TRUE(builder.add_item(run, {&kRight, 1}, named(id, "same"), "f"));
    std::map<std::string, std::string> found;
    const ForeignResults results = builder.finish();
    for (const ItemRecord& item : results.runs[0].series[0].items) found[item.source_id] = item.id;
    return found;
  };
  const auto forward = ids({"2", "10", "100"});
  EXPECT_EQ(forward, ids({"100", "10", "2"}));
  EXPECT_EQ(forward.size(), 3u);
  EXPECT_NE(forward.at("2"), forward.at("10"));
}

TEST(ForeignBuilder, FactsThatContradictAreNoted) {
  ForeignBuilder builder;
  ForeignRun& run = builder.run("h", "m");
  builder.say(run, "batch_size", "8");
  builder.say(run, "batch_size", "16");
  builder.say(run, "batch_size", "16");
  EXPECT_EQ(run.provenance.at("batch_size"), "8");
  EXPECT_EQ(texts_of(run.notes),
            std::vector<std::string>{"batch_size is 8 in one of its files, 16 in another"});
}

TEST(ForeignBuilder, OfTwoFilesWithOneTaskTheLaterCountsInWhateverOrder) {
  const auto read = [](const std::vector<std::string>& stamps) {
    ForeignBuilder builder;
    ForeignRun& run = builder.run("h", "m");
    for (const std::string& stamp : stamps) {
      if (!builder.is_latest(run, "t", stamp, "f" + stamp)) continue;
      const SeriesValue value{{"t", "", stamp == "1" ? "acc" : "f1"}, 1};
      EXPECT_TRUE(builder.add_item(run, {&value, 1}, named("1", stamp), "f" + stamp));
    }
    return builder.finish();
  };
  for (const auto& order : {std::vector<std::string>{"1", "2"}, {"2", "1"}}) {
    const ForeignResults results = read(order);
    ASSERT_EQ(results.runs.size(), 1u);
    ASSERT_EQ(results.runs[0].series.size(), 1u);
    EXPECT_EQ(results.runs[0].series[0].name.metric, "f1");
    EXPECT_EQ(texts_of(results.runs[0].notes),
              std::vector<std::string>{"t is there twice: the later counts, f2; f1 is left out"});
  }
}

// A results file was parsed again for each of the samples files beside it.
TEST(ForeignBuilder, AJsonThatManyReadersLookAtIsParsedOnce) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "results.json", R"({"a": 1, "b": NaN})"));
  ForeignBuilder builder;
  const auto first = builder.shared_json(folder / "results.json", NotNumbers::kAsTexts);
  const auto second = builder.shared_json(folder / "results.json", NotNumbers::kAsTexts);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ((**first)["b"], "NaN");
  EXPECT_FALSE(builder.shared_json(folder / "results.json", NotNumbers::kRefused));
}

TEST(ForeignBuilder, SamplesThatDifferKeepNoAnswerOfOne) {
  ForeignBuilder builder;
  ForeignRun& run = builder.run("h", "m");
  ForeignItem one = named("1", "a", 1), two = named("1", "a", 2), other = named("2", "b", 1);
  one.prediction = "x";
  one.log_probs = {-1, -2};
  two.prediction = "y";
  two.log_probs = {-1, -2};
  other.prediction = "z";
  for (const ForeignItem& item : {one, two, other})
    ASSERT_TRUE(builder.add_item(run, {&kRight, 1}, item, "f:1"));
  const ForeignResults results = builder.finish();
  const PackedItems& items = results.runs.at(0).series.at(0).items;
  EXPECT_EQ(items[0].prediction, "");
  EXPECT_EQ(items[0].log_probs, (std::vector<float>{-1, -2}));
  EXPECT_EQ(items[1].prediction, "z");
}

}  // namespace
}  // namespace nb
