// What the front page shows is what its commands print.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

const std::string kExample = NB_SOURCE_DIR "/results/import/example";

std::string front_page() { return read_file(fs::path(NB_SOURCE_DIR) / "README.md").value(); }

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == text.npos) return "(no " + from + ")";
  const std::size_t start = begin + from.size();
  return text.substr(start, text.find(to, start) - start);
}

TEST(FrontPage, ItsComparisonIsWhatComparePrints) {
  const Bench bench;
  const auto result = bench({"compare", kExample + "/gpu_results", kExample + "/npu_results"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string page = front_page();
  const std::string sentence = between(page, "npu_results/\n", "\nA: ");
  EXPECT_TRUE(result.out.starts_with(sentence)) << sentence << "\n\n" << result.out;
  const std::string table = "score " + between(page, "\nscore ", "```");
  EXPECT_NE(result.out.find(table), std::string::npos) << table << "\n\n" << result.out;
}

TEST(FrontPage, ItsGateEndsWithOne) {
  const Bench bench;
  const auto result =
      bench({"gate", kExample + "/gpu_results", kExample + "/npu_results", "--no-history"});
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(result.out.starts_with("REGRESSED (exit 1): gsm8k")) << result.out;
}

TEST(FrontPage, ItsPictureIsWhatReportDraws) {
  const Bench bench;
  const fs::path out = bench.results() / "report";
  const auto result = bench({"report", kExample + "/npu_results", "--baseline",
                             kExample + "/gpu_results", "--out", out.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto drawn = read_file(out / "plots/differences.svg");
  if (!drawn) GTEST_SKIP() << "no gnuplot";
  EXPECT_EQ(*drawn, read_file(fs::path(NB_SOURCE_DIR) / "report/example.svg").value());
}

TEST(FrontPage, ItsOwnDeviceIsPredicted) {
  const Bench bench;
  const fs::path card = bench.results() / "my_card.json";
  const std::string words = between(front_page(), "echo '", "' > my_card.json");
  const std::string json = std::regex_replace(words, std::regex("' *\\\\\n *'"), " ");
  ASSERT_TRUE(write_file(card, json));
  const auto own = bench({"predict", "--device", card.string(), "--depth", "12", "--cards", "1"});
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_NE(own.out.find("not known: the machine's profile is made from data sheets"),
            std::string::npos)
      << own.out;
  const auto base = bench({"predict", "--device", "rtx_4090", "--depth", "12", "--cards", "1"});
  EXPECT_NE(own.out, base.out);
}

TEST(Compare, OneLineAScoreAndTablesForPapers) {
  const Bench bench;
  const std::string a = kExample + "/gpu_results", b = kExample + "/npu_results";
  const auto lines = bench({"compare", a, b, "--summary"});
  EXPECT_TRUE(lines.out.starts_with("gsm8k:strict-match/exact_match: 61.8 % → 56.2 %, −5.5 pp ["))
      << lines.out;
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 3) << lines.out;
  const auto csv = bench({"compare", a, b, "--format", "csv"});
  EXPECT_TRUE(csv.out.starts_with("score,unit,a,b,difference,low,high,verdict\n")) << csv.out;
  EXPECT_NE(csv.out.find("gsm8k:strict-match/exact_match,1,0.6175,0.5625,"), std::string::npos)
      << csv.out;
  EXPECT_NE(bench({"compare", a, b, "--format", "latex"}).out.find("\\toprule"), std::string::npos);
  EXPECT_TRUE(bench({"compare", a, b, "--format", "markdown"}).out.starts_with("| score"));
  expect_sentence(bench({"compare", a, b, "--format", "html"}), 64, {"--format", "markdown"});
}

}  // namespace
}  // namespace nb::test
