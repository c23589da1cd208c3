#include "results/training/log_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nb {
namespace {

TEST(LogLines, NumbersOfAllSpellings) {
  EXPECT_EQ(leading_number(" 1,139,500 | bf16"), 1139500);
  EXPECT_EQ(leading_number("9.150E-06 |"), 9.15e-6);
  EXPECT_EQ(leading_number("460.10ms"), 460.10);
  EXPECT_EQ(leading_number("66.91GiB(37.51%)"), 66.91);
  EXPECT_EQ(leading_number("-0.5"), -.5);
  EXPECT_TRUE(std::isnan(*leading_number("nan |")));
  EXPECT_TRUE(std::isinf(*leading_number("inf")));
}

// Each piece once: what follows it was looked at again with every piece, 23 s of 131 KB.
TEST(LogLines, APieceThatAProgressBarWroteOverIsLookedAtOnce) {
  static std::vector<std::string> seen;
  seen.clear();
  EXPECT_FALSE(any_line("10 %\r20 %\r\nloss: 1\r\n\nend", [](std::string_view piece) {
    seen.emplace_back(piece);
    return false;
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"10 %", "20 %", "", "loss: 1", "", "", "end"}));
  EXPECT_TRUE(any_line("10 %\rlast", [](std::string_view piece) { return piece == "last"; }));
}

TEST(LogLines, WhatIsNoNumberIsNone) {
  for (const char* text : {"", "1,07x,308", "1,23", "12x4", "word", ",5", "1,2345", "--3"})
    EXPECT_FALSE(leading_number(text)) << text << " " << *leading_number(text);
}

TEST(LogLines, NumbersOfAFlatObject) {
  std::vector<std::pair<std::string, double>> seen;
  const auto collect = [&](std::string_view key, double value) { seen.emplace_back(key, value); };
  EXPECT_TRUE(for_each_json_number(
      R"({"loss": 1.5, "text": "a, \"b\": 2", "nested": {"loss": 9}, "list": [1, "]"], "lr": 1e-5,
          "none": null, "yes": true})",
      collect));
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, double>>{{"loss", 1.5}, {"lr", 1e-5}}));
  seen.clear();
  EXPECT_TRUE(for_each_json_number(R"({"loss": NaN, "grad_norm": "inf"})", collect));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(std::isnan(seen[0].second));
  EXPECT_TRUE(std::isinf(seen[1].second));
  for (const char* text : {"", "{", "{\"a\"", "{\"a\": }", "{\"a\": 1", "[1]", "{\"a\": 1} x",
                           "{\"a\": \"b}", "{\"a\": 1,}", "{\"a\": [1}"})
    EXPECT_FALSE(for_each_json_number(text, collect)) << text;
}

TEST(LogLines, CsvCellsLoseTheirQuotes) {
  EXPECT_EQ(csv_cells(R"("Step","a ""b"" - loss",3)"),
            (std::vector<std::string>{"Step", "a \"b\" - loss", "3"}));
}

}  // namespace
}  // namespace nb
