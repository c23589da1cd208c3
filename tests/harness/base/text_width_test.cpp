#include "harness/base/text_width.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

using Lines = std::vector<std::string>;

TEST(TextWidth, LinesBreakAtBlanks) {
  EXPECT_EQ(broken_lines("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(broken_lines("one two", 80), (Lines{"one two"}));
  EXPECT_EQ(broken_lines("", 5), (Lines{""}));
  EXPECT_EQ(broken_lines("  indented", 20), (Lines{"  indented"}));
}

TEST(TextWidth, AWordThatIsTooWideBreaksAtItsJoints) {
  EXPECT_EQ(broken_lines("results/runs/smoke", 13), (Lines{"results/runs/", "smoke"}));
  EXPECT_EQ(broken_lines("abcdefgh", 3), (Lines{"abc", "def", "gh"}));
}

TEST(TextWidth, CharactersAreNeverCutInHalf) {
  EXPECT_EQ(broken_lines("µµµ", 2), (Lines{"µµ", "µ"}));
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
