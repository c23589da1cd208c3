#include "report/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "report/document.hpp"

namespace nb {
namespace {

// The values that a phrase takes: "{}" by its place, "{1}" by its number.
std::multiset<int> placeholders(std::string_view text) {
  std::multiset<int> found;
  int next = 0;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1))
    found.insert(text[at + 1] == '}' ? next++ : text[at + 1] - '0');
  return found;
}

TEST(Words, EveryKeyHasBothLanguagesAndTheSamePlaceholders) {
  std::set<std::string_view> keys;
  for (const PhraseRow& row : kPhrases) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key << " stands there twice";
    EXPECT_FALSE(row.en.empty()) << row.key;
    EXPECT_FALSE(row.zh.empty()) << row.key;
    const std::size_t bar = row.en.find('|');
    const bool counted = bar != std::string_view::npos && row.key != "sides_short";
    EXPECT_EQ(placeholders(counted ? row.en.substr(bar + 1) : row.en), placeholders(row.zh))
        << row.key;
    if (counted) {
      EXPECT_EQ(placeholders(row.en.substr(0, bar)), placeholders(row.zh)) << row.key;
    }
  }
}

// A sentence that was left in English: only names may look the same in both languages.
TEST(Words, ChineseIsChinese) {
  const auto is_ascii = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  for (const PhraseRow& row : kPhrases)
    EXPECT_FALSE(is_ascii(row.zh) && row.key != "sides_short") << row.key;
}

TEST(Words, FillInOrderAndByNumber) {
  const Words en(Language::kEn), zh(Language::kZh);
  EXPECT_EQ(en("paired_items", 3, 1, 40, "0.5"), "3 lost, 1 won of 40; p 0.5");
  EXPECT_EQ(zh("paired_items", 3, 1, 40, "0.5"), "40 题中失 3、得 1；p 0.5");
  EXPECT_EQ(en.count("n_records", 1), "1 record");
  EXPECT_EQ(en.count("n_records", 1204), "1,204 records");
  EXPECT_EQ(zh.count("n_records", 1204), "1,204 条记录");
}

TEST(Words, LanguagesAreParsed) {
  EXPECT_EQ(parse_language("zh").value(), Language::kZh);
  const auto unknown = parse_language("fr");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("there are en and zh"), std::string::npos);
}

TEST(Tone, VerdictsHaveTheirColourInEveryLanguage) {
  EXPECT_EQ(tone_of("REGRESSED"), Tone::kBad);
  EXPECT_EQ(tone_of("INCOMPARABLE"), Tone::kUnsure);
  EXPECT_EQ(tone_of(Words(Language::kZh)("shown_worse")), Tone::kBad);
  EXPECT_EQ(tone_of(Words(Language::kEn)("cell_better")), Tone::kGood);
  EXPECT_EQ(tone_of("passed"), Tone::kPlain);
}

}  // namespace
}  // namespace nb
