#include "harness/base/csv.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

using Row = std::vector<std::string>;

std::string csv_error(std::string_view text) {
  const auto table = parse_csv(text, "a.csv");
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
}

TEST(Csv, NamesTheLineOfABadQuote) {
  EXPECT_EQ(csv_error("a,b\n1,x\"y\n").substr(0, 15), "a.csv:2: unexpe");
  EXPECT_EQ(csv_error("a,b\n1,2\n3,\"open\n5,6\n"),
            "a.csv:3: the quoted cell that begins here is never closed");
}

TEST(Csv, RefusesAnEmptyFileAndATwiceNamedColumn) {
  EXPECT_EQ(csv_error(""), "a.csv:1: no header line");
  EXPECT_EQ(csv_error("a,b,a\n"), "a.csv:1: column \"a\" appears twice");
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

std::vector<Row> read_back(const std::vector<Row>& rows) {
  Row header;
  for (std::size_t i = 0; i < rows.front().size(); ++i) header.push_back("c" + std::to_string(i));
  std::string text = csv_line(header) + "\n";
  for (const Row& row : rows) text += csv_line(row) + "\n";
  return parse_csv(text, "a.csv", CsvFormulas::kUnquoted).value().rows;
}

TEST(Csv, WhatIsWrittenReadsBack) {
  const std::vector<Row> rows = {
      {"", "a,b", "\"", "\n"}, {" x ", "\r", "é", "'"}, {"", "", "", ""}};
  EXPECT_EQ(read_back(rows), rows);
  EXPECT_EQ(read_back({{""}}), std::vector<Row>{{""}});
}

// A spreadsheet computed the name of a model: =HYPERLINK(…), @SUM(1+1)*cmd|'…'!A0.
TEST(Csv, ACellThatASpreadsheetWouldComputeIsText) {
  EXPECT_EQ(csv_line({"=HYPERLINK(1)", "+1+cmd", "-x", "@SUM(1)", "\tx"}),
            "'=HYPERLINK(1),'+1+cmd,'-x,'@SUM(1),'\tx");
  EXPECT_EQ(csv_line({"\r=1", "\n=1", "\uff1d1"}), "\"'\r=1\",\"'\n=1\",'\uff1d1");
  EXPECT_EQ(csv_line({"-0.5", "+3", "-1e-7", "-inf", "1-2", "a=b", "−0.5"}),
            "-0.5,+3,-1e-7,-inf,1-2,a=b,−0.5");
  EXPECT_EQ(csv_line({"--5", "-5 x", "+", "=0.5"}), "'--5,'-5 x,'+,'=0.5");
}

TEST(Csv, FormulasReadBackAsTheyWere) {
  const std::vector<Row> rows = {{"=1", "'=1", "''=1", "'", "'x", "-0.5"},
                                 {"@", "-", "\t", "\r\n", "'-0.5", "it's"}};
  EXPECT_EQ(read_back(rows), rows);
  // Data sets keep what stands in them.
  EXPECT_EQ(parse_csv("a\n'=1\n", "a.csv").value().rows, std::vector<Row>{{"'=1"}});
}

TEST(Csv, MissingFileIsASentence) {
  EXPECT_EQ(read_csv("no/such.csv").error().message,
            "cannot read no/such.csv: No such file or directory");
}

}  // namespace
}  // namespace nb
