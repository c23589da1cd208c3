#include "harness/base/csv.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

using Row = std::vector<std::string>;

std::string csv_error(std::string_view text, CsvHeader header = CsvHeader::kFirstRow) {
  const auto table = parse_csv(text, "a.csv", header);
  return table ? "no error" : table.error().message;
}

TEST(Csv, ReadsHeaderAndRows) {
  const auto table = parse_csv("a,b\n1,2\n3,4\n", "a.csv").value();
  EXPECT_EQ(table.header, (Row{"a", "b"}));
  EXPECT_EQ(table.rows, (std::vector<Row>{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(table.column("b").value(), 1U);
}

TEST(Csv, AcceptsByteOrderMarkCrlfAndAMissingLastNewline) {
  const auto table = parse_csv(
                         "\xef\xbb\xbf"
                         "a,b\r\n1,2\r\n\r\n3,",
                         "a.csv")
                         .value();
  EXPECT_EQ(table.header, (Row{"a", "b"}));
  EXPECT_EQ(table.rows, (std::vector<Row>{{"1", "2"}, {"3", ""}}));
}

TEST(Csv, KeepsQuotedNewlinesQuotesCommasAndSpaces) {
  const auto table =
      parse_csv("a,b\n\"x\n\ny\",\"say \"\"hi\"\", now\"\n  p ,q \n", "a.csv").value();
  EXPECT_EQ(table.rows, (std::vector<Row>{{"x\n\ny", "say \"hi\", now"}, {"  p ", "q "}}));
}

TEST(Csv, NamesTheLineOfARowOfAnotherWidth) {
  EXPECT_EQ(csv_error("a,b\n\"1\n1\",2\n\n3\n"), "a.csv:5: 1 cells, but the header has 2");
  EXPECT_EQ(csv_error("1,2\n3,4,5\n", CsvHeader::kNone),
            "a.csv:2: 3 cells, but the first row has 2");
}

TEST(Csv, NamesTheLineOfABadQuote) {
  EXPECT_EQ(csv_error("a,b\n1,x\"y\n").substr(0, 15), "a.csv:2: unexpe");
  EXPECT_EQ(csv_error("a,b\n1,2\n3,\"open\n5,6\n"),
            "a.csv:3: the quoted cell that begins here is never closed");
}

TEST(Csv, RefusesAnEmptyFileAndATwiceNamedColumn) {
  EXPECT_EQ(csv_error(""), "a.csv:1: no header line");
  EXPECT_EQ(csv_error("a,b,a\n"), "a.csv:1: column \"a\" appears twice");
  EXPECT_EQ(csv_error("", CsvHeader::kNone), "no error");
}

TEST(Csv, UnknownColumnNamesTheNearestAndAll) {
  const auto table = parse_csv("loss,step\n1,2\n", "a.csv").value();
  EXPECT_EQ(table.column("los").error().message,
            "a.csv: no column \"los\"; did you mean \"loss\"?; the columns are loss, step");
}

TEST(Csv, LineQuotesOnlyWhereNeeded) {
  EXPECT_EQ(csv_line({"a", "b c", ""}), "a,b c,");
  EXPECT_EQ(csv_line({"a,b", "say \"hi\"", "x\ny"}), "\"a,b\",\"say \"\"hi\"\"\",\"x\ny\"");
}

TEST(Csv, WhatIsWrittenReadsBack) {
  const std::vector<Row> rows = {
      {"", "a,b", "\"", "\n"}, {" x ", "\r", "é", "'"}, {"", "", "", ""}};
  std::string text;
  for (const Row& row : rows) text += csv_line(row) + "\n";
  EXPECT_EQ(parse_csv(text, "a.csv", CsvHeader::kNone).value().rows, rows);
  EXPECT_EQ(parse_csv(csv_line({""}) + "\n", "a.csv", CsvHeader::kNone).value().rows,
            std::vector<Row>{{""}});
}

TEST(Csv, MissingFileIsASentence) {
  EXPECT_EQ(read_csv("no/such.csv").error().message,
            "cannot read no/such.csv: No such file or directory");
}

}  // namespace
}  // namespace nb
