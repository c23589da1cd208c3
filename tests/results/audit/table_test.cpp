#include "results/audit/table.hpp"

#include <gtest/gtest.h>

#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"

namespace nb::test {
namespace {

struct PrintedCase {
  const char* text;
  double value;
  int decimals;
  double half_unit;
};

TEST(Printed, NumbersKeepTheirDigits) {
  for (const PrintedCase& expected : {
           PrintedCase{"0.2874", .2874, 4, .00005},
           PrintedCase{".2219", .2219, 4, .00005},
           PrintedCase{"560,988,160", 560988160, 0, .5},
           PrintedCase{"28.75%", .2875, 4, .00005},
           PrintedCase{"28.75 %", .2875, 4, .00005},
           PrintedCase{"3.491758e+09", 3.491758e9, -3, 500},
           PrintedCase{"-0.0111", -.0111, 4, .00005},
           PrintedCase{"\u22120.0111", -.0111, 4, .00005},
           PrintedCase{"**0.31**", .31, 2, .005},
           PrintedCase{"172.57m", 172.57, 2, .005},
           PrintedCase{" 21400 ", 21400, 0, .5},
       }) {
    const auto printed = parse_printed(expected.text, "t:1");
    ASSERT_TRUE(printed) << expected.text << ": " << printed.error().message;
    EXPECT_DOUBLE_EQ(printed->value, expected.value) << expected.text;
    EXPECT_EQ(printed->decimals, expected.decimals) << expected.text;
    EXPECT_NEAR(printed->half_unit, expected.half_unit, 1e-12 * expected.half_unit + 1e-18)
        << expected.text;
  }
}

TEST(Printed, ApproximationsSaySo) {
  for (const char* text : {"~5 h", "85 %+", "\u2248 300"})
    EXPECT_TRUE(parse_printed(text, "t").value().is_rough) << text;
  EXPECT_FALSE(parse_printed("5 h", "t").value().is_rough);
}

TEST(Printed, WhatIsNoNumberIsRefusedInOneSentence) {
  const auto message = [](const char* text) {
    return parse_printed(text, "f.csv:3").error().message;
  };
  EXPECT_EQ(
      message("NaN"),
      "f.csv:3: \"NaN\" is not a finite number; leave the cell empty where nothing was measured");
  EXPECT_EQ(message("inf").find("f.csv:3: \"inf\" is not a finite number"), 0U);
  EXPECT_EQ(message("1e999"), "f.csv:3: \"1e999\" is not a finite number");
  EXPECT_EQ(message("good"), "f.csv:3: \"good\" is not a number");
  EXPECT_EQ(
      message("0,2875"),
      "f.csv:3: \"0,2875\" has a comma that separates no thousands; write the decimal point as "
      "a point");
  EXPECT_EQ(message("1,23"), message("1,23"));
  for (const char* text : {"1,23", "12,34,567", "1,2345", "", ".", "-", "e5"})
    EXPECT_FALSE(parse_printed(text, "t")) << text;
  EXPECT_FALSE(parse_printed(std::string(100, '1'), "t"));
}

TEST(Facts, UnitsAreConvertedAndForeignOnesRefused) {
  const auto value = [](std::string_view name, const char* text) {
    return parse_fact(*fact_named(name), text, "t");
  };
  EXPECT_DOUBLE_EQ(value(fact::kMinutes, "8 h")->value, 480);
  EXPECT_DOUBLE_EQ(value(fact::kMemory, "1.5GiB")->value, 1.5 * (1 << 30));
  EXPECT_DOUBLE_EQ(value(fact::kMemory, "24 GB")->value, 24e9);
  EXPECT_EQ(value(fact::kMinutes, "8 GB").error().message,
            "t: minutes is \"8 GB\", but \"GB\" is no unit of it");
}

TEST(KnownTasks, NamesAreUnderstoodInEverySpelling) {
  EXPECT_EQ(known_task_named("ARC-Easy")->id, "chat_arc_easy");
  EXPECT_EQ(known_task_named("arc_easy")->id, "arc_easy");
  EXPECT_EQ(known_task_named("HumanEval")->id, "humaneval");
  EXPECT_EQ(known_task_named("human_eval")->id, "humaneval");
  EXPECT_EQ(known_task_named("ARC-C")->id, "chat_arc_challenge");
  EXPECT_EQ(known_task_named("sst2"), nullptr);
  EXPECT_EQ(composite_named("ChatCORE metric"), kChatCoreCell);
  EXPECT_EQ(composite_named("CORE metric estimate"), kCoreEstimateCell);
  EXPECT_TRUE(composite_named("corecode").empty());
}

}  // namespace
}  // namespace nb::test
