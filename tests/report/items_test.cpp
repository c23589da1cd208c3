// The items of a report's HTML: filter, search and open.
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

// What a model says may look like markup; it reaches the page as data only.
TEST(HtmlItems, TextsOfModelsCannotLeaveTheScriptElement) {
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
