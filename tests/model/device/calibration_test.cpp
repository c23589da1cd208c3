#include "model/device/calibration.hpp"

#include <gtest/gtest.h>

#include <set>

namespace nb {
namespace {

constexpr std::string_view kHeader = "id,use,reason,source,script,unit,value,ranks\n";

std::string error_in(const std::string& row) {
  const auto rows = parse_calibration(std::string(kHeader) + row, "x.csv");
  return rows ? "" : rows.error().message;
}

TEST(Calibration, ARowIsReadWithItsCells) {
  const auto rows = parse_calibration(
      std::string(kHeader) + "a,fit,\"whole steps, known chip\",repo @ 1,s.sh,tok/s,12.5,8\n",
      "x.csv");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  const CalibrationRow& row = rows->front();
  EXPECT_EQ(row.use, RowUse::kFit);
  EXPECT_EQ(row.reason, "whole steps, known chip");
  EXPECT_EQ(row.value, 12.5);
  EXPECT_EQ(row.whole("ranks").value(), 8);
  EXPECT_EQ(row.where, "x.csv:2");
}

TEST(Calibration, WhatIsMissingIsNamedWithItsLine) {
  EXPECT_EQ(error_in("a,fit,why,repo,s.sh,,1,8\n"),
            "x.csv:2: a row without unit; none where only memory was measured");
  EXPECT_EQ(error_in("a,fit,why,,s.sh,us,1,8\n"),
            "x.csv:2: a row without source; name the repository, file and commit it is from");
  EXPECT_EQ(error_in("a,fit,,repo,s.sh,us,1,8\n"), "x.csv:2: a row without reason");
  EXPECT_EQ(error_in("a,report,why,repo,,us,1,8\n"), "x.csv:2: a row without script");
}

TEST(Calibration, AnUnknownUseNamesTheNearest) {
  EXPECT_EQ(error_in("a,fits,why,repo,s.sh,us,1,8\n"),
            "x.csv:2: unknown use \"fits\"; did you mean \"fit\"? (fit, report or exclude)");
}

TEST(Calibration, AValueIsAPositiveNumber) {
  for (const char* value : {"0", "-1", "nan", "inf", "1e999", "12 us", ""})
    EXPECT_EQ(error_in(std::string("a,fit,why,repo,s.sh,us,") + value + ",8\n"),
              std::string("x.csv:2: value \"") + value + "\" is not a positive number of us");
  EXPECT_EQ(error_in("a,fit,why,repo,s.sh,fits,0,8\n"), "");
  EXPECT_EQ(error_in("a,fit,why,repo,s.sh,none,,8\n"), "");
  EXPECT_EQ(error_in("a,fit,why,repo,s.sh,none,3,8\n"),
            "x.csv:2: a value, 3, of unit none: name what was measured");
}

TEST(Calibration, IdsAreUnique) {
  EXPECT_EQ(error_in("a,fit,why,repo,s.sh,us,1,8\na,fit,why,repo,s.sh,us,1,8\n"),
            "x.csv:3: id \"a\" came before: ids are unique");
}

TEST(Calibration, ACellOfAnotherKindIsAnError) {
  const auto rows =
      parse_calibration(std::string(kHeader) + "a,fit,why,repo,s.sh,us,1,eight\n", "x.csv");
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->front().number("ranks").error().message,
            "x.csv:2: column ranks: \"eight\" is not a number");
}

TEST(Calibration, BuiltInFilesLoadAndIdsDifferOverAllOfThem) {
  std::set<std::string> ids;
  std::size_t fitted = 0;
  for (const std::string& file : calibration_files()) {
    const auto rows = calibration_rows(file);
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    for (const CalibrationRow& row : *rows) {
      EXPECT_TRUE(ids.insert(row.id).second) << row.where << ": " << row.id;
      fitted += row.use == RowUse::kFit ? 1 : 0;
    }
  }
  EXPECT_EQ(fitted, 20U);  // 12 dense steps, 3 products, 5 runs of nanochat
}

}  // namespace
}  // namespace nb
