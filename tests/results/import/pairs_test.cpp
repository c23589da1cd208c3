// Every pair of expected.json through the comparison that `compare A B` prints.
#include <gtest/gtest.h>

#include "results/compare/compare.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// "math_500 Level 1" is of one of the files that it lists.
bool belongs(const std::string& file, const std::string& pair) {
  const std::size_t level = pair.find(" Level ");
  return level == std::string::npos || file.find(pair.substr(level + 1) + ".") != std::string::npos;
}

// A side's files alone, under their own folder's name, which may say the model; evalscope's reports
// beside them, which say what is a subset.
Result<RunRecords> side_of(const Json& side, const std::string& pair,
                           const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  for (const Json& file : side.at("files")) {
    if (!belongs(file.get<std::string>(), pair)) continue;
    const fs::path source = test::imports_dir() / file.get<std::string>();
    const fs::path reports = source.parent_path().parent_path().parent_path() / "reports";
    const fs::path below = folder / "reviews" / source.parent_path().filename();
    fs::create_directories(below);
    fs::create_symlink(source, below / source.filename());
    if (fs::exists(reports) && !fs::exists(folder / "reports"))
      fs::create_directory_symlink(reports, folder / "reports");
  }
  return read_any_run(folder / "reviews");
}

// A task may be there as a whole and by its subsets.
const MetricDifference* row_of(const Comparison& comparison, const std::string& metric, int n) {
  for (const RecordPair& pair : comparison.pairs)
    for (const MetricDifference& row : pair.metrics)
      if (row.name.ends_with("/" + metric) && row.counts && row.counts->n() == n) return &row;
  return nullptr;
}

TEST(ForeignPairs, CountsMeansAndExactPAreThoseComputedIndependently) {
  NB_NEEDS_IMPORTS();
  int compared = 0;
  for (const Json& entry : test::expected("pairs", "")) {
    const Json& facts = entry.contains("paired_by_text") ? entry.at("paired_by_text") : entry;
    if (!facts.contains("both_right")) continue;  // evalperf: no scores of right and wrong
    const auto name = entry.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const test::TempDir folder;
    const auto a = side_of(entry.at("a"), name, folder / "a"),
               b = side_of(entry.at("b"), name, folder / "b");
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    const Comparison comparison = compare_runs(*a, *b, PairAcross::kDevices);
    const MetricDifference* row =
        row_of(comparison, entry.at("metric").get<std::string>(), facts.at("paired").get<int>());
    ASSERT_NE(row, nullptr) << comparison_text(comparison);
    EXPECT_EQ(row->counts->both, facts.at("both_right").get<int>());
    EXPECT_EQ(row->counts->only_a, facts.at("only_a").get<int>());
    EXPECT_EQ(row->counts->only_b, facts.at("only_b").get<int>());
    EXPECT_EQ(row->counts->neither, facts.at("both_wrong").get<int>());
    EXPECT_NEAR(*row->a, facts.at("mean_a").get<double>(), 1e-12);
    EXPECT_NEAR(*row->b, facts.at("mean_b").get<double>(), 1e-12);
    const double p = exact_p_two_sided(row->counts->only_a, row->counts->only_b);
    const double expected = facts.at("mcnemar_exact_p").get<double>();
    EXPECT_NEAR(p, expected, 1e-9 * expected);
    ++compared;
  }
  EXPECT_EQ(compared, 15);
}

}  // namespace
}  // namespace nb
