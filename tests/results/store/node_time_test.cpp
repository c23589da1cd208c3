#include "results/store/node_time.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

Record timed(const std::string& name, const std::string& begun, const std::string& ended) {
  Record record;
  record.kind = "train";
  record.name = name;
  record.environment = Json{{"started_at", begun}, {"finished_at", ended}};
  return record;
}

TEST(NodeTime, IsTheDifferenceOfTheRecordsTimes) {
  EXPECT_EQ(node_seconds(timed("base", "2026-11-21T17:05:09Z", "2026-11-21T17:06:08Z")), 59);
  EXPECT_EQ(node_seconds(timed("base", "2028-02-28T23:59:00Z", "2028-03-01T00:01:00Z")), 86520);
  EXPECT_FALSE(node_seconds(timed("base", "2026-11-21T17:05:09Z", "2026-11-21T17:05:08Z")));
  EXPECT_FALSE(node_seconds(timed("base", "2026-13-21T17:05:09Z", "2026-11-21T17:05:08Z")));
  EXPECT_FALSE(node_seconds(timed("base", "", "2026-11-21T17:05:08Z")));
  EXPECT_FALSE(node_seconds(timed("base", "yesterday", "today")));
}

TEST(NodeTime, RowsAreOfAllSeedsLongestFirst) {
  RunRecords run;
  for (const auto& [name, ended] :
       {std::pair("base", "2026-11-21T17:00:10Z"), std::pair("sft", "2026-11-21T17:00:50Z"),
        std::pair("base", "2026-11-21T17:00:20Z")})
    run.records.push_back({timed(name, "2026-11-21T17:00:00Z", ended), {}});
  run.records.push_back({timed("mid", "", ""), {}});
  const auto rows = times_by_node(run);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "sft");
  EXPECT_EQ(rows[1].nodes, 2);
  EXPECT_EQ(rows[1].seconds, 30);
  EXPECT_DOUBLE_EQ(rows[1].share, 30.0 / 80);
}

}  // namespace
}  // namespace nb
