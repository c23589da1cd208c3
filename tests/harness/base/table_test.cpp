#include "harness/base/table.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace nb {
namespace {

TEST(TextTable, AlignsByDisplayWidthAndPutsNumbersRight) {
  const TextTable table = {{"name", "time", "note"},
                           {{"mätmul", "1.5 µs", "a"}, {"昇騰", "12 ms"}, {"x", "—", "3d-mesh"}}};
  EXPECT_EQ(to_text(table),
            "name      time  note\n"
            "------  ------  -------\n"
            "mätmul  1.5 µs  a\n"
            "昇騰     12 ms\n"
            "x            —  3d-mesh\n");
}

TEST(TextTable, MarkdownEscapesBarsAndMarksNumberColumns) {
  const TextTable table = {{"a|b", "n"}, {{"x\ny", "1"}, {"", "-20"}}};
  EXPECT_EQ(to_markdown(table),
            "| a\\|b   |   n |\n"
            "| ------ | --: |\n"
            "| x<br>y |   1 |\n"
            "|        | -20 |\n");
}

TEST(TextTable, DatesAndVersionsAreText) {
  const TextTable table = {{"when", "v"}, {{"2026-11-21T17", "1.2b"}}};
  EXPECT_EQ(to_text(table), "when           v\n-------------  ----\n2026-11-21T17  1.2b\n");
}

TEST(HumanText, TimesHaveThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(human_time_ns(0), "0.00 ns");
  EXPECT_EQ(human_time_ns(999.4), "999 ns");
  EXPECT_EQ(human_time_ns(999.6), "1.00 µs");
  EXPECT_EQ(human_time_ns(1'234'567), "1.23 ms");
  EXPECT_EQ(human_time_ns(45.6e9), "45.6 s");
  EXPECT_EQ(human_time_ns(125e9), "2 min 05 s");
  EXPECT_EQ(human_time_ns(3.5 * 3600e9), "3 h 30 min");
  EXPECT_EQ(human_time_ns(100 * 3600e9), "4 d 04 h");
  EXPECT_EQ(human_time_ns(-2e3), "-2.00 µs");
}

TEST(HumanText, BytesAndRates) {
  EXPECT_EQ(human_bytes(12), "12 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(64.0 * 1024 * 1024 * 1024), "64.0 GiB");
  EXPECT_EQ(human_rate(1.07e6, "tok/s"), "1.07 Mtok/s");
  EXPECT_EQ(human_rate(12'345, ""), "12.3 k");
  EXPECT_EQ(human_rate(7, ""), "7.00");
}

TEST(HumanText, CommasGroupDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(-3'491'758'080), "-3,491,758,080");
  EXPECT_EQ(with_commas(std::numeric_limits<long long>::min()), "-9,223,372,036,854,775,808");
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(64), "64");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Table, OneOfAThingIsSingular) {
  EXPECT_EQ(count_text(1, "record"), "1 record");
  EXPECT_EQ(count_text(0, "record"), "0 records");
  EXPECT_EQ(count_text(1204, "record"), "1,204 records");
  EXPECT_EQ(count_text(2, "micro-batch", "micro-batches"), "2 micro-batches");
}

TEST(Table, WideCellsOfTextAreBrokenSoThatRowsFit) {
  const TextTable table{{"suite", "what", "rows"},
                        {{"suites/a.json", "trains a model and asks it everything there is", "12"},
                         {"suites/b.json", "short", "1,204"}}};
  EXPECT_EQ(to_text(table, 40),
            "suite          what                 rows\n"
            "-------------  ------------------  -----\n"
            "suites/a.json  trains a model and     12\n"
            "               asks it everything\n"
            "               there is\n"
            "suites/b.json  short               1,204\n");
  EXPECT_EQ(to_text(table, 200), to_text(table));
}

TEST(Table, NamesInTheFirstColumnAreNeverBroken) {
  const TextTable table{{"name", "what"}, {{"core/eval_data/language", "twelve words in a row"}}};
  EXPECT_EQ(to_text(table, 10),
            "name                     what\n"
            "-----------------------  ----------\n"
            "core/eval_data/language  twelve\n"
            "                         words in a\n"
            "                         row\n");
  EXPECT_EQ(to_text(table, 40),
            "name                     what\n"
            "-----------------------  ---------------\n"
            "core/eval_data/language  twelve words in\n"
            "                         a row\n");
}

TEST(Table, WordsAreNeverBroken) {
  const TextTable table{{"a", "b"}, {{"x", "see results/runs/smoke/report there"}}};
  EXPECT_EQ(to_text(table, 10),
            "a  b\n"
            "-  -------------------------\n"
            "x  see\n"
            "   results/runs/smoke/report\n"
            "   there\n");
}

TEST(Table, ColumnsOfNumbersAreNeverBroken) {
  const TextTable table{{"a", "b"}, {{"123456789012345", "223456789012345"}}};
  EXPECT_EQ(to_text(table, 20), to_text(table));
}

}  // namespace
}  // namespace nb
