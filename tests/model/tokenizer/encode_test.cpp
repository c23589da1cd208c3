#include <gtest/gtest.h>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "model/tokenizer/utf8.hpp"
#include "tests/model/tokenizer/tokenizer_support.hpp"

namespace nb {
namespace {

using test::Dice;
using test::naive_encode;
using test::nasty_text;
using test::with_tokens;

Tokenizer nasty_tokenizer() {
  Dice dice(1, "encode/train");
  std::vector<std::string> documents;
  for (int i = 0; i < 200; ++i) documents.push_back(nasty_text(dice, 40, i % 2 == 0));
  auto tokenizer = train_tokenizer(documents, 500);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return std::move(tokenizer).value();
}

TEST(Tokenizer, EqualsTheNaiveEncoderAndComesBack) {
  const Tokenizer tokenizer = nasty_tokenizer();
  Dice dice(2, "encode/texts");
  for (int round = 0; round < 300; ++round) {
    const std::string text = nasty_text(dice, dice.below(60), round % 3 == 0);
    const std::vector<int> ids = tokenizer.encode(text);
    ASSERT_EQ(ids, naive_encode(tokenizer.vocabulary(), text)) << "round " << round << ": " << text;
    ASSERT_EQ(tokenizer.decode_bytes(ids), text) << "round " << round;
    ASSERT_EQ(tokenizer.decode(ids), utf8_replace_invalid(text)) << "round " << round;
  }
}

TEST(Tokenizer, LongPiecesEqualTheNaiveEncoder) {
  const Tokenizer tokenizer =
      with_tokens({"aa", "aaa", "ab", "ba", "aab", "abab", "aaaa", "bb", "bba"});
  Dice dice(4, "encode/long");
  for (const std::size_t length : {63U, 64U, 65U, 66U, 127U, 400U, 1001U}) {
    for (std::size_t round = 1; round < 7; ++round) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += dice.below(round) == 0 ? 'a' : 'b';
      ASSERT_EQ(tokenizer.encode(text), naive_encode(tokenizer.vocabulary(), text)) << text;
    }
  }
}

TEST(Tokenizer, MergesLongPiecesInBoundedTime) {
  // Quadratic merging of one piece of 4 MB would take hours.
  const Tokenizer tokenizer = with_tokens({"aa", "aaaa", "aaaaaaaa"});
  const std::string text(std::size_t{4} << 20, 'a');
  EXPECT_EQ(tokenizer.encode(text).size(), text.size() / 8);
  const std::string spaces = std::string(std::size_t{1} << 20, ' ') + "x";
  EXPECT_EQ(tokenizer.decode_bytes(tokenizer.encode(spaces)), spaces);
}

TEST(Tokenizer, MergesByConcatenatedBytesNotByTrainedPair) {
  const Tokenizer tokenizer = with_tokens({"cd", "bcd", "abcd"});  // a + bcd, never ab + cd
  EXPECT_EQ(tokenizer.encode("xabcdx"), (std::vector<int>{'x', 258, 'x'}));
}

TEST(Tokenizer, TakesAWholePieceThatNoMergeReaches) {
  const Tokenizer tokenizer = with_tokens({"wxyz"});
  EXPECT_EQ(tokenizer.encode("wxyz"), std::vector<int>{256});
  EXPECT_EQ(tokenizer.encode("awxyz"), (std::vector<int>{'a', 'w', 'x', 'y', 'z'}));
}

TEST(Tokenizer, MergesTheLeftmostOfEqualRanks) {
  const Tokenizer tokenizer = with_tokens({"aa"});
  EXPECT_EQ(tokenizer.encode("aaaaa"), (std::vector<int>{256, 256, 'a'}));
}

TEST(Tokenizer, NeverMakesSpecialsFromText) {
  const Tokenizer tokenizer = with_tokens({});
  const std::string text = "<|bos|>";
  EXPECT_EQ(tokenizer.encode(text).size(), text.size());
  EXPECT_EQ(tokenizer.encode(text, tokenizer.bos()).front(), tokenizer.bos());
  EXPECT_EQ(tokenizer.decode(std::vector<int>{tokenizer.bos(), 'x'}), "<|bos|>x");
}

TEST(Tokenizer, InvalidUtf8IsOnePieceOfItsOwn) {
  const SplitPattern pattern(SplitRule::kNanochat);
  EXPECT_EQ(pattern.split("ab\xFF\xC3(cd\xF0\x9F"),
            (std::vector<std::string_view>{"ab", "\xFF\xC3", "(cd", "\xF0\x9F"}));
}

TEST(Tokenizer, DecodeReplacesAndDecodeBytesDoesNot) {
  const Tokenizer tokenizer = with_tokens({});
  EXPECT_EQ(tokenizer.decode(std::vector<int>{'a', 0xE2, 0x82, 'z'}), "a\uFFFDz");
  EXPECT_EQ(tokenizer.decode_bytes(std::vector<int>{'a', 0xE2, 0x82}), "a\xE2\x82");
}

TEST(Tokenizer, CountsBytesByBothRules) {
  const Tokenizer tokenizer = with_tokens({"ab", "\xE2\x82", "\xFF\xFE", "\xC3\xA9", "<|bos|>"});
  const std::vector<int>& exact = tokenizer.token_bytes();
  const std::vector<int>& nanochat = tokenizer.token_bytes(TokenBytesRule::kNanochat);
  ASSERT_EQ(exact.size(), static_cast<std::size_t>(tokenizer.vocab_size()));
  const auto both = [&](std::size_t id) { return std::pair(exact[id], nanochat[id]); };
  EXPECT_EQ(both('a'), std::pair(1, 1));
  EXPECT_EQ(both(0x80), std::pair(1, 3));  // one U+FFFD
  EXPECT_EQ(both(256), std::pair(2, 2));
  EXPECT_EQ(both(257), std::pair(2, 3));  // one maximal subpart
  EXPECT_EQ(both(258), std::pair(2, 6));  // two
  EXPECT_EQ(both(259), std::pair(2, 2));
  EXPECT_EQ(both(260), std::pair(7, 0));  // an ordinary token that spells a special
  EXPECT_EQ(both(static_cast<std::size_t>(tokenizer.bos())), std::pair(0, 0));
}

TEST(Tokenizer, BatchEqualsOneByOneOnEveryThreadCount) {
  const Tokenizer tokenizer = nasty_tokenizer();
  Dice dice(5, "encode/batch");
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(nasty_text(dice, 30, true));
  std::vector<std::vector<int>> expected;
  for (const std::string& text : texts) expected.push_back(tokenizer.encode(text, tokenizer.bos()));
  for (const int count : {1, 4}) {
    set_threads(count);
    EXPECT_EQ(tokenizer.encode_batch(texts, tokenizer.bos()), expected);
  }
  set_threads(0);
}

TEST(Tokenizer, RefusesIdsThatItDoesNotHave) {
  const Tokenizer tokenizer = with_tokens({});
  EXPECT_THROW((void)tokenizer.decode(std::vector<int>{tokenizer.vocab_size()}), CheckFailure);
  EXPECT_THROW((void)tokenizer.decode(std::vector<int>{-1}), CheckFailure);
}

TEST(Tokenizer, HashNamesTheContent) {
  EXPECT_EQ(with_tokens({"ab"}).hash(), with_tokens({"ab"}).hash());
  EXPECT_NE(with_tokens({"ab"}).hash(), with_tokens({"ac"}).hash());
  EXPECT_NE(with_tokens({"ab", "cd"}).hash(), with_tokens({"cd", "ab"}).hash());
  EXPECT_EQ(with_tokens({"ab"}).hash().size(), 64U);
}

TEST(Utf8, FollowsTable37) {
  // Edges of what is well-formed, then overlong, surrogates, beyond U+10FFFF, cut short.
  for (const std::string_view text : {"\x7F", "\u0080", "\u07FF", "\u0800", "\uD7FF", "\uE000",
                                      "\uFFFF", "\U00010000", "\U0010FFFF"})
    EXPECT_EQ(utf8_sequence_length(text), text.size()) << text;
  for (const std::string_view text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", ""})
    EXPECT_EQ(utf8_sequence_length(text), 0U) << text;
}

TEST(Utf8, ReplacesMaximalSubparts) {
  // Unicode 15, tables 3-8 and 3-11.
  const auto replacements = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "\uFFFD";
    return text;
  };
  EXPECT_EQ(utf8_replace_invalid("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), replacements(8) + "A");
  EXPECT_EQ(utf8_replace_invalid("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), replacements(4) + "A");
}

}  // namespace
}  // namespace nb
