#include "harness/base/markdown.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

TEST(Markdown, NothingOfATextIsMarkup) {
  EXPECT_EQ(markdown_text("a*b_c`d`[x](y)<img>&~\\"),
            "a\\*b\\_c\\`d\\`\\[x\\](y)&lt;img&gt;&amp;\\~\\\\");
  EXPECT_EQ(markdown_text("0.5 − 0.25, 12 %"), "0.5 − 0.25, 12 %");
}

TEST(Markdown, AddressesAreNoLinks) {
  EXPECT_EQ(markdown_text("see https://evil.example/x or www.evil.example"),
            "see https\\://evil.example/x or www\\.evil.example");
}

TEST(Markdown, ALineBeginsNothing) {
  EXPECT_EQ(markdown_line("# title"), "\\# title");
  EXPECT_EQ(markdown_line("- item"), "\\- item");
  EXPECT_EQ(markdown_line("12. item"), "12\\. item");
  EXPECT_EQ(markdown_line("> quoted"), "&gt; quoted");
  EXPECT_EQ(markdown_line("| a | b |"), "\\| a | b |");
  EXPECT_EQ(markdown_line("0.5 is a number"), "0.5 is a number");
  EXPECT_EQ(markdown_line("plain"), "plain");
}

TEST(Markdown, BreaksAndControlsAreShown) {
  EXPECT_EQ(markdown_text("a\n# b\x1b[2J\u202e"), "a\\\\n# b\\\\x1b\\[2J\\\\u202e");
}

}  // namespace
}  // namespace nb
