#include "harness/base/visible_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"

namespace nb {
namespace {

TEST(VisibleText, PlainTextsOfAnyScriptStay) {
  for (const char* text : {"", "step 1\n\ttab", "é 好 − → …", "✅️ 👩‍🔬 🇩🇪",
                           "می‌خواهم", "क्‍ष", "שלום", "\ufffd"}) {
    EXPECT_EQ(visible_text(text), text);
  }
}

// A name in a foreign file erased the line above it and wrote PASS in its place.
TEST(VisibleText, WhatMovesTheCursorIsShown) {
  EXPECT_EQ(visible_text("m\x1b[1A\x1b[2K\x1b[32mPASS\r\b\x07\x7f"),
            "m\\x1b[1A\\x1b[2K\\x1b[32mPASS\\x0d\\x08\\x07\\x7f");
  EXPECT_EQ(visible_text("\u009b31m\u0085"), "\\u009b31m\\u0085");  // ESC [ in one character
  EXPECT_EQ(visible_text(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(VisibleText, WhatTurnsOrHidesTextIsShown) {
  EXPECT_EQ(visible_text("0.9 \u202e4.0\u2066x\u2069\u200e\u061c"),
            "0.9 \\u202e4.0\\u2066x\\u2069\\u200e\\u061c");
  EXPECT_EQ(visible_text("ac\u200bc a\u200dc \u2060\ufeff\u00ad\u3164"),
            "ac\\u200bc a\\u200dc \\u2060\\ufeff\\u00ad\\u3164");
  EXPECT_EQ(visible_text("a\U000e0041\U000e0100"), "a\\U000e0041\\U000e0100");
  EXPECT_EQ(visible_text("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

TEST(VisibleText, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(visible_text("a\xff\xc3(\xe2\x82"), "a\\xff\\xc3(\\xe2\\x82");
  EXPECT_EQ(visible_text("\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80"),  // overlong, surrogate, too large
            "\\xc0\\xaf\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80");
}

TEST(VisibleText, ALineShowsItsBreaks) {
  EXPECT_EQ(visible_line("model\nPASS (exit 0)\tall"), "model\\nPASS (exit 0)\\tall");
  EXPECT_EQ(visible_line("plain"), "plain");
}

TEST(VisibleText, ASecondPassChangesNothing) {
  const std::string once = visible_line("\x1b\n\u202e\xff\u200d");
  EXPECT_EQ(visible_line(once), once);
  EXPECT_EQ(visible_text(once), once);
}

TEST(VisibleText, JsonReadsAsTheSameValues) {
  const nlohmann::json json = {{"a\u202e", "x\x1b\x7f\u009b\U000e0041\u2028\"\\ é 好"}};
  const std::string safe = visible_json(json.dump(2));
  EXPECT_EQ(nlohmann::json::parse(safe), json);
  EXPECT_EQ(visible_text(safe), safe);
  EXPECT_NE(safe.find("\\udb40\\udc41"), std::string::npos);
}

TEST(VisibleText, BytesOfOtherEncodingsAreShownWhereTextMustBeUtf8) {
  EXPECT_TRUE(is_utf8("é 好\x1b"));
  EXPECT_FALSE(is_utf8("caf\xe9"));
  EXPECT_EQ(utf8_text("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(utf8_text("é\x1b"), "é\x1b");
}

TEST(VisibleText, TablesCountTheColumnsOfWhatTheyShow) {
  const TextTable table = {{"model", "n"}, {{"a\x1b[2J", "1"}, {"b\n1  2", "2"}}};
  EXPECT_EQ(to_text(table),
            "model     n\n"
            "--------  -\n"
            "a\\x1b[2J  1\n"
            "b\\n1  2   2\n");
}

TEST(VisibleText, ProgressLinesHoldNoForeignEscapes) {
  testing::internal::CaptureStderr();
  say_on_stderr("train \x1b[31mx\n");
  redraw_line_on_stderr("12/20\x1b[1A\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "train \\x1b[31mx\n\r12/20\\x1b[1A\\n\x1b[K");  // our own redraw stays
}

TEST(VisibleText, WhatAnErrorQuotesForgesNoLine) {
  testing::internal::CaptureStderr();
  say_on_stderr("npubench: x\nPASS (exit 0)\n  is indented\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "npubench: x\n  PASS (exit 0)\n  is indented\n");
}

TEST(VisibleText, OneLineStaysOne) {
  testing::internal::CaptureStdout();
  say_line("! {}", "no such file: x\nPASS (exit 0)");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "! no such file: x\\nPASS (exit 0)\n");
}

}  // namespace
}  // namespace nb
