#include "model/engine/stop_strings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/check.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

struct Shown {
  std::string text;
  std::optional<std::size_t> hit;
  bool operator==(const Shown&) const = default;
};

// The text in pieces of so many bytes.
Shown shown(const std::vector<std::string>& stops, std::string_view text, std::size_t piece,
            bool includes = false) {
  StopStrings stop(stops, includes);
  Shown all;
  for (std::size_t at = 0; at < text.size(); at += piece)
    all.text += stop.push(text.substr(at, piece));
  all.text += stop.finish();
  all.hit = stop.hit();
  return all;
}

TEST(StopStrings, CutTheTextBeforeTheFirstThatIsComplete) {
  struct Case {
    std::vector<std::string> stops;
    std::string text;
    Shown expected;
  };
  const std::vector<Case> cases = {
      {{}, "all of it", {"all of it", {}}},
      {{"."}, "One. Two.", {"One", 0}},
      {{"\n\n"}, "a\nb\n\nc", {"a\nb", 0}},
      {{"xyz"}, "xyxyz!", {"xy", 0}},
      {{"aab"}, "aaaab", {"aa", 0}},
      {{"abab", "ba"}, "xxabab", {"xxa", 1}},  // "ba" is complete first
      {{"bc", "abc"}, "zabc", {"z", 1}},       // complete together: the longest
      {{"abc", "bc"}, "zabc", {"z", 0}},
      {{"abcd", "bc"}, "zabcd", {"za", 1}},
      {{"ab", "abc"}, "zabc", {"z", 0}},
      {{"User:", "Us"}, "I. User: hi", {"I. ", 1}},
      {{"never"}, "nev", {"nev", {}}},
      {{"\xE3\x80\x82"}, "\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82!", {"\xE4\xBD\xA0\xE5\xA5\xBD", 0}},
      {{"whole"}, "whole", {"", 0}}};
  for (const Case& one : cases) {
    for (std::size_t piece = 1; piece <= one.text.size(); ++piece)
      EXPECT_EQ(shown(one.stops, one.text, piece).text, one.expected.text) << one.text << piece;
    EXPECT_EQ(shown(one.stops, one.text, 1), one.expected) << one.text;
    EXPECT_EQ(shown(one.stops, one.text, 100), one.expected) << one.text;
  }
}

TEST(StopStrings, CanBeShownThemselves) {
  for (const std::size_t piece : {1U, 2U, 5U, 99U})
    EXPECT_EQ(shown({"END"}, "the END is near", piece, true), (Shown{"the END", 0}));
}

TEST(StopStrings, HoldBackOneCharacterFewerThanTheLongest) {
  StopStrings stop({"ab", "12345"});
  EXPECT_EQ(stop.push("xyz"), "");
  EXPECT_EQ(stop.push("w"), "");
  EXPECT_EQ(stop.push("v"), "x");
  EXPECT_EQ(stop.push("\xE2\x82\xAC\xC3\xA9"), "yz");  // characters, not bytes
  EXPECT_EQ(stop.finish(), "wv\xE2\x82\xAC\xC3\xA9");
  EXPECT_FALSE(stop.hit());
  StopStrings one({"."});
  EXPECT_EQ(one.push("abc"), "abc");
}

TEST(StopStrings, ShowNothingBehindTheirHit) {
  StopStrings stop({"."});
  EXPECT_EQ(stop.push("a.b"), "a");
  EXPECT_EQ(stop.push("c"), "");
  EXPECT_EQ(stop.finish(), "");
  EXPECT_EQ(stop.hit(), 0U);
}

TEST(StopStrings, NoCharacterIsCut) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\xE4\xBD\xA0\xE5\xA5\xBD.";
  for (const std::vector<std::string>& stops :
       {std::vector<std::string>{}, {"\xE2\x82\xAC!"}, {"\xF0\x9F\x98\x80zz"}, {"."}}) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      StopStrings stop(stops);
      for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string part = stop.push(std::string_view(text).substr(at, piece));
        EXPECT_EQ(utf8_replace_invalid(part), part) << piece << " at " << at;
      }
    }
  }
}

TEST(StopStrings, AnEmptyOneIsRefused) { EXPECT_THROW(StopStrings({"a", ""}), CheckFailure); }

}  // namespace
}  // namespace nb
