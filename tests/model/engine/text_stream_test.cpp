#include "model/engine/text_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "harness/base/rng.hpp"
#include "model/tokenizer/utf8.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

std::vector<std::string> pieces_of(std::string_view bytes) {
  TextStream stream(test::byte_tokenizer());
  std::vector<std::string> pieces;
  for (const char byte : bytes) pieces.push_back(stream.push(static_cast<unsigned char>(byte)));
  pieces.push_back(stream.finish());
  return pieces;
}

TEST(TextStream, HoldsBackACharacterUntilItIsWhole) {
  EXPECT_EQ(pieces_of("aé"), (std::vector<std::string>{"a", "", "é", ""}));
  EXPECT_EQ(pieces_of("😀!"), (std::vector<std::string>{"", "", "", "😀", "!", ""}));
}

TEST(TextStream, ShowsWhatCanBecomeNoCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(pieces_of("\xFFz"), (std::vector<std::string>{bad, "z", ""}));
  EXPECT_EQ(pieces_of("\xE2z"), (std::vector<std::string>{"", bad + "z", ""}));
  EXPECT_EQ(pieces_of("\xE2\x82"), (std::vector<std::string>{"", "", bad}));
  EXPECT_EQ(pieces_of("\xE0\x80"), (std::vector<std::string>{"", bad + bad, ""}));  // overlong
  EXPECT_EQ(pieces_of("\xED\xA0\x80").front(), "");    // a surrogate's beginning is held…
  EXPECT_EQ(pieces_of("\xED\xA0\x80")[1], bad + bad);  // … until it is none
}

TEST(TextStream, PiecesAreValidAndTogetherTheDecodedText) {
  const Rng rng(1, "test/bytes");
  // Leads, continuations, overlong and surrogate beginnings, ASCII: what borders are made of.
  const std::string_view alphabet =
      "a\x80\xBF\xC0\xC2\xC3\xA9\xE0\xA0\xE2\x82\xAC\xED\x9F\xEF\xF0\x90\xF0\x9F\x98\x80\xF4\x8F"
      "\xF5\xFF";
  std::uint64_t draw = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    for (std::uint64_t i = 0, n = rng.below(draw++, 12); i < n; ++i)
      bytes.push_back(alphabet[rng.below(draw++, alphabet.size())]);
    std::string all;
    for (const std::string& piece : pieces_of(bytes)) {
      ASSERT_EQ(utf8_valid_prefix(piece), piece.size());
      all += piece;
    }
    ASSERT_EQ(all, utf8_replace_invalid(bytes));
  }
}

TEST(TextStream, SpecialsShowTheirNames) {
  TextStream stream(test::byte_tokenizer());
  EXPECT_EQ(stream.push(test::byte_tokenizer().special("<|python_start|>")), "<|python_start|>");
}

}  // namespace
}  // namespace nb
