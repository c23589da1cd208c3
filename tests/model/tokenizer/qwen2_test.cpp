// Qwen2's form of tokenizer.json: NFC, digits one by one. Goldens: tests/golden/qwen2_tokenizer.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/tokenizer/nfc.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

Json golden() { return read_json(NB_SOURCE_DIR "/tests/golden/qwen2_tokenizer.json").value(); }

Result<Tokenizer> load(const Json& json) {
  const TempDir folder;
  EXPECT_TRUE(write_file(folder / "tokenizer.json", json.dump()).has_value());
  return Tokenizer::load(folder / "tokenizer.json");
}

TEST(Qwen2, TextsAreNormalisedSplitAndMergedAsThere) {
  const Json all = golden();
  const auto tokenizer = load(all.at("tokenizer"));
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->vocabulary().rule, SplitRule::kQwen2);
  const SplitPattern pattern(SplitRule::kQwen2);
  for (const Json& one : all.at("cases")) {
    const auto text = one.at("text").get<std::string>();
    const std::string normal = nfc(text);
    EXPECT_EQ(normal, one.at("nfc").get<std::string>()) << text;
    std::vector<std::string> pieces;
    for (const std::string_view piece : pattern.split(normal)) pieces.emplace_back(piece);
    EXPECT_EQ(pieces, one.at("pieces").get<std::vector<std::string>>()) << text;
    const std::vector<int> ids = tokenizer->encode(text);
    EXPECT_EQ(ids, one.at("ids").get<std::vector<int>>()) << text;
    EXPECT_EQ(tokenizer->decode(ids), normal);
  }
}

TEST(Qwen2, SavedInOurFormItStaysTheSame) {
  const auto tokenizer = load(golden().at("tokenizer"));
  ASSERT_TRUE(tokenizer.has_value());
  const TempDir folder;
  ASSERT_TRUE(tokenizer->save(folder / "ours.json").has_value());
  const auto again = Tokenizer::load(folder / "ours.json");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->hash(), tokenizer->hash());
  EXPECT_EQ(again->encode("cafe\u0301 12"), tokenizer->encode("caf\u00e9 12"));
}

TEST(Qwen2, AnotherNormaliserIsRefused) {
  Json json = golden().at("tokenizer");
  json["normalizer"] = {{"type", "NFKC"}};
  EXPECT_FALSE(load(json).has_value());
  json["normalizer"] = nullptr;
  const auto without = load(json);
  ASSERT_FALSE(without.has_value());
  EXPECT_NE(without.error().message.find("/normalizer"), std::string::npos)
      << without.error().message;
}

TEST(Qwen2, BytesThatAreNoTextStay) {
  const std::string text = "e\xCC\x81\xff\xfe \xC3";
  EXPECT_EQ(nfc(text), "\xC3\xA9\xff\xfe \xC3");
  const auto tokenizer = load(golden().at("tokenizer"));
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text)), nfc(text));
}

}  // namespace
}  // namespace nb::test
