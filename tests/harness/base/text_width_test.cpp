#include "harness/base/text_width.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace nb {
namespace {

using Lines = std::vector<std::string>;

TEST(TextWidth, LinesBreakAtBlanks) {
  EXPECT_EQ(broken_lines("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(broken_lines("one two", 80), (Lines{"one two"}));
  EXPECT_EQ(broken_lines("", 5), (Lines{""}));
  EXPECT_EQ(broken_lines("  indented", 20), (Lines{"  indented"}));
}

TEST(TextWidth, AWordIsNeverBroken) {
  EXPECT_EQ(broken_lines("results/runs/smoke", 13), (Lines{"results/runs/smoke"}));
  EXPECT_EQ(broken_lines("a ascend_910b3 b", 5), (Lines{"a", "ascend_910b3", "b"}));
  EXPECT_EQ(broken_lines("{tiny,ascend_910b3,h100}", 14),
            (Lines{"{tiny,", "ascend_910b3,", "h100}"}));
  EXPECT_EQ(broken_lines("(clipped|dr_grpo)", 10), (Lines{"(clipped|", "dr_grpo)"}));
  EXPECT_EQ(broken_lines("one 1,204 two", 7), (Lines{"one", "1,204", "two"}));
}

TEST(TextWidth, TheWidestWordIsWhatCannotBeBroken) {
  EXPECT_EQ(widest_word("a ascend_910b3 b"), 12U);
  EXPECT_EQ(widest_word("东京ascend东"), 8U);
  EXPECT_EQ(widest_word(""), 0U);
}

TEST(TextWidth, ColumnsCountsBeforeTheTerminal) {
  ::setenv("COLUMNS", "60", 1);
  EXPECT_EQ(output_width(), 60U);
  EXPECT_EQ(sentence_width(), 60U);
  ::setenv("COLUMNS", "200", 1);
  EXPECT_EQ(output_width(), 200U);
  EXPECT_EQ(sentence_width(), kTextWidth);
  ::unsetenv("COLUMNS");
}

TEST(TextWidth, CharactersAreNeverCutInHalf) {
  EXPECT_EQ(broken_lines("µµµ", 2), (Lines{"µµµ"}));
  EXPECT_EQ(broken_lines("東京都", 4), (Lines{"東京", "都"}));
  EXPECT_EQ(broken_lines("東京", 1), (Lines{"東", "京"}));  // wider than the line, still one each
}

TEST(TextWidth, HelpIsBrokenUnderItsDescription) {
  EXPECT_EQ(wrapped_help("  --flag TEXT   one two three four\n", 32),
            "  --flag TEXT   one two three\n"
            "                four\n");
  EXPECT_EQ(wrapped_help("short\n\nlong line of plain words", 12),
            "short\n\nlong line of\nplain words");
  EXPECT_EQ(wrapped_help("  --a-very-long-flag   doc of it", 20),
            "  --a-very-long-flag\ndoc of it");
}

TEST(TextWidth, AFlagThatFillsItsColumnStillHangs) {
  EXPECT_EQ(wrapped_help("  --baselines TEXT:{v1,v2}=v1 accuracies of guessing in CORE: v1", 61),
            "  --baselines TEXT:{v1,v2}=v1 accuracies of guessing in CORE:\n"
            "                              v1");
}

TEST(TextWidth, ShortenedTextsEndInAnEllipsis) {
  EXPECT_EQ(shortened("ascend_910b3", 12), "ascend_910b3");
  EXPECT_EQ(shortened("ascend_910b3", 7), "ascend…");
  EXPECT_EQ(shortened("ascend_910b3", 1), "…");
}

}  // namespace
}  // namespace nb
