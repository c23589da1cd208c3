#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "model/tokenizer/vocabulary_files.hpp"
#include "tests/model/tokenizer/print_ranks.hpp"
#include "tests/model/tokenizer/tokenizer_support.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::print_ranks;
using test::TempDir;
using test::with_tokens;

Tokenizer sample() { return with_tokens({"ab", "\xFF\xFE", "abab", " the"}); }

std::string ranks_text() { return print_ranks(sample().vocabulary()); }

// The message of a text that must not parse.
std::string ranks_error(std::string_view text) {
  const auto vocabulary = parse_ranks(text, "v.ranks");
  return vocabulary ? "" : vocabulary.error().message;
}
std::string json_error(std::string_view text) {
  const auto vocabulary = parse_vocabulary_json(text, "t.json");
  return vocabulary ? "" : vocabulary.error().message;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(TokenizerFiles, EveryFormComesBackTheSame) {
  const TempDir folder;
  const Tokenizer tokenizer = sample();
  ASSERT_TRUE(tokenizer.save(folder / "tokenizer.json"));
  ASSERT_TRUE(write_file(folder / "ranks", print_ranks(tokenizer.vocabulary())));
  for (const char* name : {"tokenizer.json", "ranks", ""}) {  // "": the folder itself
    const auto loaded = Tokenizer::load(folder / name);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->hash(), tokenizer.hash()) << name;
    EXPECT_EQ(loaded->bos(), tokenizer.bos());
    EXPECT_EQ(loaded->encode("ab the abab\xFF\xFE"), tokenizer.encode("ab the abab\xFF\xFE"));
  }
}

TEST(TokenizerFiles, RanksMayStandInAnyOrderWithCrlf) {
  const std::string text = ranks_text();
  std::string reversed;
  std::size_t end = text.size() - 1;
  for (;;) {
    const std::size_t begin = text.rfind('\n', end - 1);
    reversed += text.substr(begin == std::string::npos ? 0 : begin + 1,
                            end - (begin == std::string::npos ? 0 : begin + 1)) +
                "\r\n";
    if (begin == std::string::npos) break;
    end = begin;
  }
  const auto vocabulary = parse_ranks(reversed, "v");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary_hash(*vocabulary), sample().hash());
}

TEST(TokenizerFiles, BadRanksAreNamedWithTheirLine) {
  const std::string good = ranks_text();  // line 258: token 257
  EXPECT_SAYS(ranks_error(good.substr(0, good.size() - 4)), "v.ranks:260: ");
  EXPECT_SAYS(ranks_error(good.substr(0, good.rfind(' '))), "is the file truncated?");
  EXPECT_SAYS(ranks_error(replaced(good, " 257\n", " 12\n")),
              "v.ranks:258: rank 12 is already used in line 13");
  EXPECT_SAYS(ranks_error(replaced(good, " 257\n", " 999\n")), "rank 257 is missing");
  EXPECT_SAYS(ranks_error(replaced(good, "AA== 0\n", "AQ== 0\n")),
              "tokens 0 and 1 have the same bytes");
  EXPECT_SAYS(ranks_error(replaced(good, "AA== 0\n", "QUJD 0\n")), "no token for byte 0x00");
  EXPECT_SAYS(ranks_error(replaced(good, "AA== 0\n", "A*== 0\n")), "v.ranks:1: ");
  EXPECT_SAYS(ranks_error(replaced(good, " 257\n", " -1\n")), "v.ranks:258: ");
  EXPECT_SAYS(ranks_error(replaced(good, " 257\n", " 4294967297\n")), "v.ranks:258: ");
  EXPECT_SAYS(ranks_error("\n\n"), "no token");
}

TEST(TokenizerFiles, APublishedNameWithOtherContentIsRefused) {
  const auto vocabulary = parse_ranks(ranks_text(), "x/cl100k_base.tiktoken");
  ASSERT_FALSE(vocabulary);
  EXPECT_SAYS(vocabulary.error().message, "published cl100k_base");
}

TEST(TokenizerFiles, BadJsonIsNamed) {
  const std::string good = *print_vocabulary_json(sample().vocabulary());
  ASSERT_TRUE(parse_vocabulary_json(good, "t.json"));
  EXPECT_SAYS(json_error(good.substr(0, good.size() / 2)), "t.json");
  EXPECT_SAYS(json_error(replaced(good, "\"YWI=\"", "\"YWM=\"")), "t.json: /sha256: the file says");
  EXPECT_SAYS(json_error(replaced(good, "\"YWI=\"", "7")), "t.json: /tokens/256: ");
  EXPECT_SAYS(json_error(replaced(good, "\"YWI=\"", "\"\"")), "t.json: /tokens/256: ");
  EXPECT_SAYS(json_error(replaced(good, "\"version\": 1", "\"version\": 2")), "/version");
  EXPECT_SAYS(json_error(replaced(good, "\"nanochat\"", "\"nanochut\"")),
              "did you mean \"nanochat\"");
  EXPECT_SAYS(json_error(replaced(good, "\"rule\"", "\"rool\"")), "rool");
  EXPECT_SAYS(json_error(replaced(good, "\"<|bos|>\": 260", "\"<|bos|>\": 3")), "<|bos|>");
  EXPECT_SAYS(json_error(replaced(good, "\"<|bos|>\": 260", "\"<|bos|>\": 1e9")),
              "/specials/<|bos|>");
  EXPECT_SAYS(json_error("[]"), "tokens");
}

TEST(TokenizerFiles, MissingAndEmptyFilesAreNamed) {
  const TempDir folder;
  const auto none = Tokenizer::load(folder / "none.json");
  ASSERT_FALSE(none);
  EXPECT_SAYS(none.error().message, "none.json");
  ASSERT_TRUE(write_file(folder / "empty", ""));
  const auto empty = Tokenizer::load(folder / "empty");
  ASSERT_FALSE(empty);
  EXPECT_SAYS(empty.error().message, "empty; expected a tokenizer file");
  const auto bare = Tokenizer::load(folder.path());
  ASSERT_FALSE(bare);
  EXPECT_SAYS(bare.error().message, "a folder without tokenizer.json");
}

TEST(TokenizerFiles, AFullDiskLeavesTheOldFile) {
  const TempDir folder;
  ASSERT_TRUE(with_tokens({}).save(folder / "t.json"));
  fail_writes_after(1, ENOSPC);
  const auto saved = sample().save(folder / "t.json");
  fail_writes_after(0, 0);
  EXPECT_FALSE(saved);
  const auto loaded = Tokenizer::load(folder / "t.json");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->hash(), with_tokens({}).hash());
}

TEST(TokenizerFiles, DamagedFilesNeverCrash) {
  // Bounded fuzzing: one to four bytes changed, or the end cut off. A parse is an error or a valid
  // vocabulary.
  const std::string json = *print_vocabulary_json(sample().vocabulary());
  const std::string ranks = ranks_text();
  test::Dice dice(9, "files/fuzz");
  int accepted = 0;
  for (int round = 0; round < 600; ++round) {
    const bool is_json = round % 2 == 0;
    std::string text = is_json ? json : ranks;
    if (dice.below(3) == 0) text.resize(dice.below(text.size()));
    for (std::size_t i = 0, n = 1 + dice.below(4); i < n && !text.empty(); ++i)
      text[dice.below(text.size())] =
          static_cast<char>(static_cast<unsigned char>(dice.below(256)));
    const auto vocabulary = is_json ? parse_vocabulary_json(text, "f") : parse_ranks(text, "f");
    if (!vocabulary) {
      EXPECT_FALSE(vocabulary.error().message.empty());
      continue;
    }
    ++accepted;
    EXPECT_TRUE(check_vocabulary(*vocabulary, "f"));
    EXPECT_TRUE(!is_json || vocabulary_hash(*vocabulary) == sample().hash());
  }
  EXPECT_LT(accepted, 100);
}

}  // namespace
}  // namespace nb
