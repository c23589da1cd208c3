// What flags take for a number.
#include <gtest/gtest.h>

#include <string>

#include "harness/cli/common.hpp"

namespace nb::cli {
namespace {

// Empty: taken.
std::string said(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(Whole, TakesItsRangeAndNothingBeside) {
  const CLI::Validator three_to_five = whole(3, 5);
  for (const char* text : {"3", "4", "5", "05"}) EXPECT_EQ(said(three_to_five, text), "");
  for (const char* text : {"2", "6", "-4", "99999999999999999999", "-99999999999999999999"})
    EXPECT_EQ(said(three_to_five, text), text + std::string(" is not from 3 to 5"));
  for (const char* text : {"", " 4", "4 ", "+4", "4.0", "0x4", "4e0", "four", "nan"})
    EXPECT_EQ(said(three_to_five, text), "\"" + std::string(text) + "\" is not a whole number");
}

TEST(Whole, WithoutALimitSaysWhatIsTooLittle) {
  EXPECT_EQ(said(whole(1), "0"), "0 is less than 1");
  EXPECT_EQ(said(whole(1), "9223372036854775807"), "");
  EXPECT_EQ(said(whole(1), "9223372036854775808"),
            "9223372036854775808 is not from 1 to 9223372036854775807");
}

TEST(WholeSeed, TakesEveryUnsignedNumber) {
  for (const char* text : {"0", "42", "18446744073709551615"})
    EXPECT_EQ(said(whole_seed(), text), "");
  for (const char* text : {"-1", "-0", "", "x"})
    EXPECT_EQ(said(whole_seed(), text),
              "\"" + std::string(text) + "\" is not a whole number from 0 up");
  EXPECT_EQ(said(whole_seed(), "18446744073709551616"),
            "18446744073709551616 is not from 0 to 18446744073709551615");
}

TEST(Within, TakesItsEndsAndNoNan) {
  for (const char* text : {"0", "0.5", "100", "1e2", "-0"})
    EXPECT_EQ(said(within(0, 100), text), "");
  for (const char* text : {"-0.001", "100.001", "nan", "-nan", "inf", "-inf", "1e400"})
    EXPECT_EQ(said(within(0, 100), text), text + std::string(" is not from 0 to 100"));
  for (const char* text : {"", "x"})
    EXPECT_EQ(said(within(0, 100), text), text + std::string(" is not a number"));
}

}  // namespace
}  // namespace nb::cli
