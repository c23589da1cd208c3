// The table of sentences: both languages, the same places, and a row for whatever tables name.
#include "harness/profiler/sentences.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/profiler/verdicts.hpp"

namespace nb::profiler {
namespace {

std::set<char> places(std::string_view text) {
  std::set<char> found;
  for (std::size_t i = 0; i + 2 < text.size(); ++i)
    if (text[i] == '{' && text[i + 2] == '}') found.insert(text[i + 1]);
  return found;
}

TEST(ProfilerSentences, BothLanguagesHaveTheSamePlaces) {
  std::set<std::string_view> keys;
  for (const SentenceRow& row : sentence_rows()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key << " is there twice";
    EXPECT_FALSE(row.en.empty()) << row.key;
    EXPECT_FALSE(row.zh.empty()) << row.key;
    EXPECT_EQ(places(row.en), places(row.zh)) << row.key;
  }
  for (const Threshold& one : thresholds()) {
    EXPECT_TRUE(keys.contains("verdict." + std::string(one.verdict))) << one.verdict;
    EXPECT_FALSE(one.source.empty()) << one.verdict;
  }
}

TEST(ProfilerSentences, ArgumentsAreFilledInOnce) {
  EXPECT_EQ(text_of(Said{"note.untimed", {"{1}", "7"}}), "{1}: 7 rows without a time are left out");
  EXPECT_EQ(word("a name of a file", Language::kZh), "a name of a file");
}

}  // namespace
}  // namespace nb::profiler
