#include "model/data/token_shards.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/rng.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

const std::string kTokenizer(64, 'a');

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TokenShard sample(std::int64_t vocab_size) {
  std::vector<int> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  ids[99] = static_cast<int>(vocab_size) - 1;
  return TokenShard::from_ids(ids, {0, 10, 10, 100}, vocab_size, kTokenizer);
}

std::vector<int> ids_of(const TokenShard& shard) {
  std::vector<int> ids(shard.tokens());
  shard.copy(0, ids);
  return ids;
}

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}
// A file with that content and the checksum that fits it.
std::string sealed(const std::string& content) { return content + unhex(sha256_hex(content)); }

// Written plainly: a thousand fsyncs would be what the test takes its time for.
std::string open_error(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  const auto shard = TokenShard::open(path);
  return shard ? "" : shard.error().message;
}

TEST(TokenShard, ComesBackFromItsFile) {
  const test::TempDir folder;
  for (const std::int64_t vocab_size : {100LL, 65536LL, 65537LL, 200000LL}) {
    const TokenShard shard = sample(vocab_size);
    ASSERT_TRUE(shard.write(folder / "s.tokens"));
    const auto opened = TokenShard::open(folder / "s.tokens");
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(ids_of(*opened), ids_of(shard));
    EXPECT_EQ(opened->documents(), 3U);
    EXPECT_EQ(opened->document_start(1), 10U);
    EXPECT_EQ(opened->document_start(2), 10U);
    EXPECT_EQ(opened->document_start(3), 100U);
    EXPECT_EQ(opened->vocab_size(), vocab_size);
    EXPECT_EQ(opened->tokenizer_hash(), kTokenizer);
    EXPECT_EQ(opened->sha256(), shard.sha256());
  }
}

TEST(TokenShard, LayoutIsTheDocumentedOne) {
  const test::TempDir folder;
  ASSERT_TRUE(TokenShard::from_ids({1, 258}, {0, 2}, 300, kTokenizer).write(folder / "s"));
  const std::string file = *read_file(folder / "s");
  std::string expected = "NBTOKENS";
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      expected += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  };
  put(1, 4), put(2, 4), put(300, 8), put(1, 8), put(2, 8);
  expected += unhex(kTokenizer);
  put(0, 8), put(2, 8), put(1, 2), put(258, 2);
  EXPECT_EQ(file, sealed(expected));
}

TEST(TokenShard, IdsTakeTwoBytesUpTo65536Tokens) {
  const test::TempDir folder;
  ASSERT_TRUE(sample(65536).write(folder / "two"));
  ASSERT_TRUE(sample(65537).write(folder / "four"));
  EXPECT_EQ(read_file(folder / "four")->size() - read_file(folder / "two")->size(), 200U);
}

TEST(TokenShard, EncodesDocumentsWithBosInFront) {
  const auto tokenizer = train_tokenizer(std::vector<std::string>{"abab abab"}, 266);
  ASSERT_TRUE(tokenizer);
  const TokenShard shard = TokenShard::encode(std::vector<std::string>{"ab", "", "c"}, *tokenizer);
  const int bos = tokenizer->bos();
  EXPECT_EQ(ids_of(shard), (std::vector<int>{bos, 256, bos, bos, 'c'}));
  EXPECT_EQ(shard.document_start(2), 3U);
  EXPECT_EQ(shard.tokenizer_hash(), tokenizer->hash());
}

TEST(TokenShard, EveryCutIsNamed) {
  const test::TempDir folder;
  ASSERT_TRUE(sample(300).write(folder / "s"));
  const std::string good = *read_file(folder / "s");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string message = open_error(folder / "cut", good.substr(0, size));
    ASSERT_NE(message, "") << size;
    if (size >= 12) {
      EXPECT_SAYS(message, "SHA-256");
    }
  }
  EXPECT_SAYS(open_error(folder / "long", good + "x"), "SHA-256");
}

TEST(TokenShard, EveryAlteredByteIsNamed) {
  const test::TempDir folder;
  ASSERT_TRUE(sample(300).write(folder / "s"));
  const std::string good = *read_file(folder / "s");
  const Rng rng(1, "shard/flip");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ static_cast<char>(1 + rng.below(i, 255)));
    ASSERT_NE(open_error(folder / "bad", bad), "") << i;
  }
}

TEST(TokenShard, AFittingChecksumDoesNotExcuseBadContent) {
  const test::TempDir folder;
  ASSERT_TRUE(sample(300).write(folder / "s"));
  std::string content = *read_file(folder / "s");
  content.resize(content.size() - 32);
  ASSERT_EQ(open_error(folder / "t", sealed(content)), "");
  const Rng rng(2, "shard/sealed");
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string changed = content;
    std::memcpy(changed.data() + at, &value, bytes);
    return open_error(folder / "t", sealed(changed));
  };
  EXPECT_SAYS(with(8, 2, 4), "version 2");
  EXPECT_SAYS(with(12, 3, 4), "another program");
  EXPECT_SAYS(with(16, 99, 8), "another program");           // vocabulary smaller than an id
  EXPECT_SAYS(with(16, 1ULL << 31U, 8), "another program");  // ids would be negative numbers
  EXPECT_SAYS(with(24, ~0ULL, 8), "another program");        // documents
  EXPECT_SAYS(with(32, 1ULL << 61U, 8), "another program");  // ids: 2 × 2^61 wraps
  EXPECT_SAYS(with(72 + 8, 11, 8), "another program");       // starts 0, 11, 10: falling
  EXPECT_SAYS(with(72 + 24, 99, 8), "another program");      // last start is not the number of ids
  EXPECT_SAYS(open_error(folder / "t",
                         "something else entirely, longer than a header of seventy-two bytes ..."),
              "not a token shard");
}

TEST(TokenShard, AFullDiskLeavesNoFile) {
  const test::TempDir folder;
  fail_writes_after(1, ENOSPC);
  const auto written = sample(300).write(folder / "s");
  fail_writes_after(0, 0);
  EXPECT_FALSE(written);
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
}

TEST(TokenShard, RefusesWhatItCannotHold) {
  EXPECT_THROW((void)TokenShard::from_ids({5}, {0, 1}, 5, kTokenizer), CheckFailure);
  EXPECT_THROW((void)TokenShard::from_ids({-1}, {0, 1}, 5, kTokenizer), CheckFailure);
  EXPECT_THROW((void)TokenShard::from_ids({1}, {0, 2}, 5, kTokenizer), CheckFailure);
  EXPECT_THROW((void)TokenShard::from_ids({1}, {0, 1}, 5, "short"), CheckFailure);
  std::vector<int> out(101);
  EXPECT_THROW(sample(300).copy(0, out), CheckFailure);
}

}  // namespace
}  // namespace nb
