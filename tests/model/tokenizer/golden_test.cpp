// Against tests/golden/tokenizer.json: an independent implementation in Python (regex module, naive
// counts).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "model/tokenizer/split_pattern.hpp"
#include "model/tokenizer/train_tokenizer.hpp"

namespace nb {
namespace {

Json golden() {
  auto json = read_json(NB_SOURCE_DIR "/tests/golden/tokenizer.json");
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : Json::object();
}

Tokenizer train_case(const Json& row) {
  TokenizerSettings settings;
  settings.vocab_size = 256 + static_cast<std::int64_t>(row["merges"].size()) + 9;
  settings.doc_cap = row.value("doc_cap", std::int64_t{10'000});
  settings.max_chars = row.value("max_chars", std::int64_t{10'000'000'000});
  auto tokenizer = train_tokenizer(row["documents"].get<std::vector<std::string>>(), settings);
  EXPECT_TRUE(tokenizer) << row["name"] << (tokenizer ? "" : tokenizer.error().message);
  return std::move(tokenizer).value();
}

TEST(SplitPattern, AgreesWithTheRegexModule) {
  const Json json = golden();
  ASSERT_GE(json["split"].size(), 40U);
  for (const Json& row : json["split"]) {
    const auto rule = parse_split_rule(row["rule"].get<std::string>());
    ASSERT_TRUE(rule);
    const std::string text = row["text"].get<std::string>();
    std::vector<std::string> pieces;
    for (const auto piece : SplitPattern(*rule).split(text)) pieces.emplace_back(piece);
    EXPECT_EQ(pieces, row["pieces"].get<std::vector<std::string>>()) << row["rule"] << row["text"];
  }
}

TEST(TrainTokenizer, MakesTheMergesOfTheNaiveRule) {
  const Json json = golden();
  for (const Json& row : json["train"]) {
    const Tokenizer tokenizer = train_case(row);
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
      tokens.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte)));
    for (const Json& merge : row["merges"])
      tokens.push_back(tokens[merge[0].get<std::size_t>()] + tokens[merge[1].get<std::size_t>()]);
    const std::vector<std::string>& ours = tokenizer.vocabulary().tokens;
    ASSERT_EQ(ours.size(), tokens.size() + 9);
    for (std::size_t id = 0; id < tokens.size(); ++id)
      ASSERT_EQ(ours[id], tokens[id]) << row["name"] << ", token " << id;
  }
}

TEST(TrainTokenizer, EncodesLikeTheNaiveEncoder) {
  const Json json = golden();
  const Tokenizer prose = train_case(json["train"][0]);
  const Tokenizer mixed = train_case(json["train"][2]);
  for (const Json& row : json["encode"]) {
    const std::string text = row["text"].get<std::string>();
    EXPECT_EQ(prose.encode(text), row["prose"].get<std::vector<int>>()) << row["text"];
    EXPECT_EQ(mixed.encode(text), row["mixed scripts"].get<std::vector<int>>()) << row["text"];
  }
}

}  // namespace
}  // namespace nb
