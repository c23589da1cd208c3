#include "results/audit/grim.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/audit/read_parts.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

ReportedCell printed_cell(const std::string& task, const std::string& text) {
  return cell_of(task, parse_printed(text, "t").value(), 0);
}

TEST(Grim, EveryCellOfTheSeedsHasTheRightAnswersOfBruteForce) {
  for (const Json& row : audit_golden()["grim"]) {
    const ReportedCell cell =
        printed_cell(row["task"].get<std::string>(), row["value"].get<std::string>());
    const auto n = row["n"].get<std::int64_t>();
    EXPECT_EQ(right_answers(share_of(cell), n), row["right"].get<std::vector<std::int64_t>>())
        << row.dump();
    EXPECT_NEAR(wanted_answers(share_of(cell), n), row["wanted"].get<double>(), 1e-9);
  }
}

TEST(Grim, SizesThatGiveAValueAreThoseOfBruteForce) {
  for (const auto& [text, sizes] : audit_golden()["sizes"].items())
    EXPECT_EQ(possible_sizes(share_of(printed_cell("HumanEval", text)), 164, 1000),
              sizes.get<std::vector<std::int64_t>>())
        << text;
}

TEST(Grim, AllSharesOfTwoHundredItemsArePossibleAndFewOthers) {
  int possible = 0;
  for (int k = 0; k <= 200; ++k)
    EXPECT_EQ(right_answers({std::round(k / 200. * 1e4) / 1e4, .00005, 0}, 200),
              std::vector<std::int64_t>{k});
  for (int value = 0; value <= 10000; ++value)
    possible += right_answers({value / 1e4, .00005, 0}, 200).empty() ? 0 : 1;
  EXPECT_EQ(possible, 201);
  EXPECT_DOUBLE_EQ(chance_of_share({.5, .00005, 0}, 200), 201 / 1e4);
}

TEST(Grim, CentredScoresGoBackToTheirAccuracy) {
  ReportedCell cell = printed_cell("boolq", "-0.4172");
  cell.scale = Scale::kCentred;  // acc .461464: 1509 of 3270
  EXPECT_EQ(right_answers(share_of(cell), 3270), std::vector<std::int64_t>{1509});
}

}  // namespace
}  // namespace nb::test
