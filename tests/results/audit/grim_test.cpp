#include "results/audit/grim.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

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

// nanochat's core_eval.py averages scores in fp32 and prints six digits: 2147/7983, .26894651…, is
// held as .26894650 and printed as .268946. A real card with it failed.
TEST(Grim, AnAverageInFp32IsAShareOfItsItems) {
  const Json& coqa = audit_golden()["coqa"];
  const ReportedCell cell = printed_cell("coqa", coqa["value"].get<std::string>());
  EXPECT_EQ(right_answers(share_of(cell), coqa["n"]),
            coqa["right"].get<std::vector<std::int64_t>>());
  ASSERT_EQ(coqa["right"].size(), 1U);
}

TEST(Grim, NoHonestCardOfAHundredFails) {
  std::size_t cells = 0;
  for (const Json& card : audit_golden()["fp32_cards"]) {
    std::istringstream words(card.get<std::string>());
    for (std::string word; words >> word; ++cells) {
      const std::size_t slash = word.find('/'), equals = word.find('=');
      const std::int64_t k = std::stoll(word.substr(0, slash));
      const std::int64_t n = std::stoll(word.substr(slash + 1, equals - slash - 1));
      const auto right = right_answers(share_of(printed_cell("own", word.substr(equals + 1))), n);
      EXPECT_NE(std::ranges::find(right, k), right.end()) << word;
    }
  }
  EXPECT_EQ(cells, 1700U);
  // On exact fractions alone so many of the hundred were called impossible.
  EXPECT_EQ(audit_golden()["exact_fails"], 11);
}

TEST(Grim, NothingIsAllowedThatNoAverageGives) {
  for (const Json& row : audit_golden()["printable"]) {
    const int digits = row["digits"];
    const auto values = static_cast<std::int64_t>(std::llround(std::pow(10, digits)));
    std::int64_t possible = 0;
    for (std::int64_t value = 0; value <= values; ++value) {
      const double share = static_cast<double>(value) / static_cast<double>(values);
      possible +=
          right_answers({share, .5 / static_cast<double>(values), 0}, row["n"]).empty() ? 0 : 1;
    }
    EXPECT_EQ(possible, row["values"].get<std::int64_t>()) << row.dump();
  }
}

}  // namespace
}  // namespace nb::test
