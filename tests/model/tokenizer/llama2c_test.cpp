// llama2.c's tokenizer.bin: SentencePiece's merges by score with byte fallback.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "model/tokenizer/vocabulary_files.hpp"
#include "tests/model/tokenizer/tokenizer_support.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::string le32(std::uint32_t word) {
  std::string bytes;
  for (int i = 0; i < 4; ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(word >> (8 * i)));
  return bytes;
}
std::string entry(std::string_view piece, float score) {
  std::uint32_t word = 0;
  std::memcpy(&word, &score, sizeof(word));
  return le32(word) + le32(static_cast<std::uint32_t>(piece.size())) + std::string(piece);
}
std::string header() {
  std::string bytes = le32(27) + entry("<unk>", 0) + entry("\n<s>\n", 0) + entry("\n</s>\n", 0);
  for (int byte = 0; byte < 256; ++byte) {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(byte));
    bytes += entry(name.data(), 0);
  }
  return bytes;
}
// ids from 259: "ab", " a", " ", "a", "b"
std::string small() {
  return header() + entry("ab", 0) + entry(" a", -1) + entry(" ", -2) + entry("a", -3) +
         entry("b", -4);
}
std::string error_of(const std::string& bytes) {
  const auto vocabulary = parse_llama2c_tokenizer(bytes, "tokenizer.bin");
  return vocabulary ? "" : vocabulary.error().message;
}

TEST(Llama2cTokenizer, BestScoreMergesFirstAndBytesStandIn) {
  auto vocabulary = parse_llama2c_tokenizer(small(), "tokenizer.bin");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const Tokenizer tokenizer(std::move(*vocabulary));
  EXPECT_EQ(tokenizer.encode("ab"), (std::vector<int>{261, 259}));  // "ab" goes before " a"
  EXPECT_EQ(tokenizer.encode("aa"), (std::vector<int>{260, 262}));
  EXPECT_EQ(tokenizer.encode("é"), (std::vector<int>{261, 0xC3 + 3, 0xA9 + 3}));
  EXPECT_EQ(tokenizer.encode("\xFF"), (std::vector<int>{261, 0xFF + 3}));
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.bos(), 1);
}

TEST(Llama2cTokenizer, TheSpaceInFrontGoesAfterTheFirstTokenOnly) {
  const Tokenizer tokenizer(*parse_llama2c_tokenizer(small(), "tokenizer.bin"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab ab", tokenizer.bos())), "<s>ab ab");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab")), " ab");
}

TEST(Llama2cTokenizer, OwnJsonKeepsIt) {
  const test::TempDir folder;
  const Tokenizer tokenizer(*parse_llama2c_tokenizer(small(), "tokenizer.bin"));
  ASSERT_TRUE(tokenizer.save(folder / "tokenizer.json"));
  const auto loaded = Tokenizer::load(folder / "tokenizer.json");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->hash(), tokenizer.hash());
  EXPECT_EQ(loaded->encode("ab é"), tokenizer.encode("ab é"));
}

TEST(Llama2cTokenizer, BadFilesAreNamedWithPosition) {
  EXPECT_EQ(error_of(small()), "");
  const std::string whole = small();
  EXPECT_NE(error_of(whole.substr(0, whole.size() - 1)).find("token 263 at byte"),
            std::string::npos);
  EXPECT_NE(error_of(header() + entry("a", -1) + entry("b", -1)).find("is not below"),
            std::string::npos);
  EXPECT_NE(error_of(le32(5) + entry("<unk>", 0) + entry("\n<s>\n", 0) + entry("\n</s>\n", 0) +
                     entry("a", 0))
                .find("byte fallback"),
            std::string::npos);
}

TEST(Llama2cTokenizer, PublishedVocabularyEncodesAsTheReference) {
  NB_NEEDS_DATA();
  const auto tokenizer =
      Tokenizer::load(test::data_dir() / "models" / "stories260K" / "tok512.bin");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->vocab_size(), 512);
  const auto cases =
      read_json(fs::path(NB_SOURCE_DIR) / "tests" / "golden" / "llama2c_tokenizer.json");
  ASSERT_TRUE(cases) << cases.error().message;
  for (const Json& c : *cases) {
    const auto text = c["text"].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text), c["ids"].get<std::vector<int>>()) << text;
    const std::string back = tokenizer->decode(tokenizer->encode(text));
    EXPECT_EQ(text.empty() ? back : back.substr(1), text);
  }
}

}  // namespace
}  // namespace nb
