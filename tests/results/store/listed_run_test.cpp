#include "results/store/listed_run.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/store/meant_names.hpp"
#include "results/store/store.hpp"
#include "tests/results/stored_nights.hpp"

namespace nb {
namespace {

TEST(ListedRun, NewestRunsStandFirst) {
  const test::StoredNights nights;
  nights.add("a", "2026-11-02T03:00:00Z", 1);
  nights.add("a", "2026-11-01T03:00:00Z", 1, 2, [](Record& record) { record.device = "tiny"; });
  nights.add("b", "2026-11-03T03:00:00Z", 1);
  const auto runs = listed_runs(nights.index());
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].name, "b");
  EXPECT_EQ(runs[1].when, "2026-11-02T03:00:00Z");
  EXPECT_EQ(runs[1].records, 2);
  EXPECT_EQ(runs[1].devices, (std::vector<std::string>{"h100_sxm", "tiny"}));
  EXPECT_EQ(status_text(runs[1]), "ok");
}

TEST(ListedRun, SaysWhatIsFailedUnfinishedEarlierAndDamaged) {
  const test::StoredNights nights;
  nights.add("a", "2026-11-02T03:00:00Z", 1, 1, [](Record& record) {
    record.status = "failed";
    record.error = "out of memory";
    record.metrics.clear();
  });
  nights.add("a", "2026-11-02T03:00:00Z", 1, 2);
  nights.add("a", "2026-11-02T03:00:00Z", 1, 3);
  const auto nodes = find_runs(nights.folder())->at(0).nodes;
  ASSERT_EQ(nodes.size(), 3U);
  std::string listed;  // one of the good ones is of an earlier plan
  for (const RunNode& node : nodes) {
    const auto record = read_record(nights.path("a") / node.name);
    if (record->seed == 2) {
      ASSERT_TRUE(write_file(nights.path("a") / node.name / "record.json", "{"));
    }
    if (record->seed != 3) listed += "\"" + node.name + "\", ";
  }
  ASSERT_TRUE(
      write_file(nights.path("a/run.json"), "{\"nodes\": [" + listed + "\"eval-cccccccc\"]}"));
  const auto runs = listed_runs(nights.index());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(status_text(runs[0]), "1 failed, 1 unfinished, 1 damaged");
  EXPECT_EQ(runs[0].records, 1);
  EXPECT_EQ(runs[0].earlier, 1);
  ASSERT_EQ(runs[0].damage.size(), 1U);
  EXPECT_NE(runs[0].damage[0].find("record.json"), std::string::npos);
}

TEST(ListedRun, TimeWithoutARecordsOwnIsThatOfTheFile) {
  const test::StoredNights nights;
  nights.add("a", "yesterday", 1);
  const auto runs = listed_runs(nights.index());
  EXPECT_EQ(runs[0].when.size(), 20U) << runs[0].when;
  EXPECT_EQ(short_time("2026-11-02T03:04:05Z"), "2026-11-02 03:04");
  EXPECT_EQ(short_time("yesterday"), "yesterday");
}

TEST(MeantNames, HoldTheTextOrAreNear) {
  const std::vector<std::string> names{"mw/facts/accuracy", "val_bpb", "core", "arc/accuracy"};
  EXPECT_EQ(meant_names("accuracy", names),
            "; did you mean \"arc/accuracy\" or \"mw/facts/accuracy\"?");
  EXPECT_EQ(meant_names("val_bbp", names), "; did you mean \"val_bpb\"?");
  EXPECT_EQ(meant_names("perplexity", names), "");
}

}  // namespace
}  // namespace nb
