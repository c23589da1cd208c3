#include <gtest/gtest.h>

#include <map>

#include "harness/base/parallel.hpp"
#include "model/tokenizer/pair_trainer.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "tests/model/tokenizer/tokenizer_support.hpp"

namespace nb {
namespace {

using Merges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Every pair counted anew before every merge.
Merges naive_merges(const std::vector<CountedPiece>& pieces, std::size_t merges) {
  std::vector<std::vector<std::uint32_t>> words;
  for (const CountedPiece& piece : pieces) {
    words.emplace_back();
    for (const char c : piece.bytes) words.back().push_back(static_cast<unsigned char>(c));
  }
  Merges made;
  while (made.size() < merges) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> counts;
    for (std::size_t w = 0; w < words.size(); ++w)
      for (std::size_t i = 0; i + 1 < words[w].size(); ++i)
        counts[{words[w][i], words[w][i + 1]}] += pieces[w].count;
    auto best = counts.end();
    for (auto it = counts.begin(); it != counts.end(); ++it)  // the map is in tie order
      if (best == counts.end() || it->second > best->second) best = it;
    if (best == counts.end()) break;
    const auto [left, right] = best->first;
    const auto fresh = static_cast<std::uint32_t>(256 + made.size());
    made.push_back(best->first);
    for (auto& word : words) {
      std::vector<std::uint32_t> next;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool hit = i + 1 < word.size() && word[i] == left && word[i + 1] == right;
        next.push_back(hit ? fresh : word[i]);
        if (hit) ++i;
      }
      word = next;
    }
  }
  return made;
}

TEST(PairTrainer, EqualsTheNaiveRuleOnRandomPieces) {
  test::Dice dice(11, "pair_trainer");
  for (int round = 0; round < 150; ++round) {
    const std::size_t letters = 1 + dice.below(4);  // few letters: ties and overlaps everywhere
    std::vector<std::string> texts;
    for (std::size_t w = 0, n = 1 + dice.below(12); w < n; ++w) {
      texts.emplace_back();
      for (std::size_t i = 0, length = 1 + dice.below(14); i < length; ++i)
        texts.back() += static_cast<char>('a' + static_cast<int>(dice.below(letters)));
    }
    std::vector<CountedPiece> pieces;
    for (const std::string& text : texts)
      pieces.push_back({text, static_cast<std::int64_t>(1 + dice.below(3))});
    ASSERT_EQ(train_merges(pieces, 40), naive_merges(pieces, 40)) << "round " << round;
  }
}

TEST(PairTrainer, TakesTheSmallestPairOnATie) {
  EXPECT_EQ(train_merges({{"cd", 1}, {"ba", 1}, {"ab", 1}}, 3),
            (Merges{{97, 98}, {98, 97}, {99, 100}}));
}

TEST(PairTrainer, CountsOverlapsButReplacesWithoutThem) {
  // aaa holds (a,a) twice, against one (b,c) and one (c,b); then it is [256, a].
  EXPECT_EQ(train_merges({{"aaa", 1}, {"bcb", 1}}, 4),
            (Merges{{97, 97}, {98, 99}, {256, 97}, {257, 98}}));
}

TEST(PairTrainer, StopsWhenEveryPieceIsOneToken) {
  EXPECT_EQ(train_merges({{"abc", 2}, {"x", 9}}, 100).size(), 2U);
  EXPECT_TRUE(train_merges({}, 5).empty());
}

TEST(TrainTokenizer, DoesNotDependOnDocumentOrderOrThreads) {
  test::Dice dice(3, "order");
  std::vector<std::string> documents;
  for (int i = 0; i < 600; ++i) documents.push_back(test::nasty_text(dice, 20, false));
  const std::vector<std::string> reversed(documents.rbegin(), documents.rend());
  const auto one = train_tokenizer(documents, 350);
  set_threads(1);
  const auto two = train_tokenizer(reversed, 350);
  set_threads(0);
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(one->hash(), two->hash());
}

TEST(TrainTokenizer, LaysSpecialsAfterTheMerges) {
  const auto tokenizer = train_tokenizer(std::vector<std::string>{"hello hello help"}, 268);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocab_size(), 268);
  EXPECT_EQ(tokenizer->bos(), 259);
  EXPECT_EQ(tokenizer->special("<|user_start|>"), 260);
  EXPECT_EQ(tokenizer->special("<|output_end|>"), 267);
  EXPECT_EQ(tokenizer->special("<|nothing|>"), -1);
  EXPECT_TRUE(tokenizer->is_special(259));
  EXPECT_FALSE(tokenizer->is_special(258));
}

TEST(TrainTokenizer, SaysHowManyTokensTheTextHasPairsFor) {
  const auto few = train_tokenizer(std::vector<std::string>{"abc"}, 1000);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kBadInput);
  EXPECT_NE(few.error().message.find("267 only, not 1000"), std::string::npos)
      << few.error().message;
  const auto small = train_tokenizer(std::vector<std::string>{"abc"}, 100);
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message.find("265"), std::string::npos) << small.error().message;
}

TEST(TrainTokenizer, StopsOnlyWhenTheSumExceedsMaxChars) {
  const std::vector<std::string> documents = {"abab", "cdcdcdcd"};
  TokenizerSettings settings;
  settings.vocab_size = 266;
  settings.max_chars = 4;  // reached by the first document, exceeded by the second
  EXPECT_EQ(train_tokenizer(documents, settings)->vocabulary().tokens[256], "cd");
  settings.max_chars = 3;
  EXPECT_EQ(train_tokenizer(documents, settings)->vocabulary().tokens[256], "ab");
}

TEST(TrainTokenizer, TrainsOnTextThatIsNotUtf8) {
  const auto tokenizer =
      train_tokenizer(std::vector<std::string>{"\xFF\xFE\xFF\xFE ok \xFF\xFE"}, 266);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabulary().tokens[256], "\xFF\xFE");
}

}  // namespace
}  // namespace nb
