#include "report/flips.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "report/report.hpp"
#include "tests/report/has.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::has;

bool first_half(int i) { return i < 20; }
bool first_half_but_two(int i) { return i < 20 && i != 3 && i != 4; }

// The second choice is gold. Item 3 is lost by a hair, item 4 by 2 nat; the others do not move.
std::vector<float> before(int i) {
  if (i == 3) return {-1.01F, -1.0F};
  if (i == 4) return {-2.0F, -1.0F};
  return {-1.5F, i < 20 ? -1.0F : -2.0F};
}
std::vector<float> after(int i) {
  if (i == 3) return {-1.0F, -1.01F};
  if (i == 4) return {-1.0F, -2.0F};
  return before(i);
}

TEST(Flips, ATieIsNearAndALostChoiceOfTwoNatIsHard) {
  FakeRun run;
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, first_half, before}},
                     [](Record& record) { record.trained_on = "h100_sxm"; });
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, first_half_but_two, after}},
                     [](Record& record) { record.trained_on = "h100_sxm"; });
  const RunRecords records = run.read();
  const auto comparisons = device_comparisons(records);
  const ItemList list = flips_of(comparisons);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_TRUE(list.groups[0].same_weights);
  EXPECT_EQ(list.groups[0].lost, 2);
  EXPECT_EQ(list.groups[0].near_tie, 1);
  EXPECT_EQ(list.groups[0].hard, 1);
  EXPECT_DOUBLE_EQ(list.groups[0].limit, 0.05) << "no margin but two moved";
  ASSERT_EQ(list.flips.size(), 2U);
  EXPECT_EQ(list.flips[0].kind, FlipKind::kNearTie);
  EXPECT_EQ(list.flips[0].row, 3);
  EXPECT_TRUE(list.flips[0].lost);
  EXPECT_NEAR(*list.flips[0].margin_a, 0.01, 1e-6);
  EXPECT_EQ(list.flips[1].kind, FlipKind::kHard);
  EXPECT_NEAR(*list.flips[1].margin_b, -1.0, 1e-6);
}

// What a model says may look like markup; it reaches the page as data only.
TEST(Flips, TextsOfModelsCannotLeaveTheScriptElement) {
  FakeRun run;
  const auto evil = [](int) { return std::string("</script><script>alert(1)</script>"); };
  const auto right = [](int i) { return i % 2 == 0; };
  const auto wrong = [](int i) { return i % 2 == 1; };
  run.add_evaluation("ascend_910b3", 1, "a", {{"mw/gsm8k", 20, right, {}, evil}});
  run.add_evaluation("h100_sxm", 1, "b", {{"mw/gsm8k", 20, wrong, {}, evil}});
  const RunRecords records = run.read();
  ReportInput input{"x", &records, device_comparisons(records), {}, {}};
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r", {Language::kEn, false, "gnuplot"});
  ASSERT_TRUE(files);
  const std::string html = *read_file(files->html);
  EXPECT_FALSE(has(html, "<script>alert"));
  EXPECT_TRUE(has(html, "\\u003c/script>"));
  // The data parse, and hold every flip.
  const std::string begin = "id=items-data>";
  const std::size_t at = html.find(begin) + begin.size();
  const Json data = Json::parse(html.substr(at, html.find("</script>", at) - at));
  EXPECT_EQ(data.at("flips").size(), 20U);
  EXPECT_EQ(data.at("flips")[0].at("ta"), evil(0));
}

}  // namespace
}  // namespace nb
