// npubench tokenizer: train, encode, decode, eval.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

class TokenizerVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += "The baker bakes bread and the farmer farms the field.\n\n";
    ASSERT_TRUE(write_file(folder_.path() / "text.txt", text));
    const auto trained = bench_({"tokenizer", "train", "--text", path("text.txt"), "--vocab-size",
                                 "280", "--out", path("own.json")});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_NE(trained.out.find("280 tokens from"), std::string::npos) << trained.out;
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  Bench bench_;
  TempDir folder_;
};

TEST_F(TokenizerVerb, DecodesWhatItEncodes) {
  const std::string text = "the baker farms <|bos|>";
  const auto ids = bench_({"tokenizer", "encode", "--tokenizer", path("own.json"), text});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_LT(std::ranges::count(ids.out, ' '), std::ssize(text));  // it has merges
  const auto back = bench_({"tokenizer", "decode", "--tokenizer", path("own.json"), ids.out});
  EXPECT_EQ(back.out, text + "\n") << back.err;
}

TEST_F(TokenizerVerb, SaysWhatItComparesWith) {
  const auto result = bench_({"tokenizer", "eval", "--tokenizer", path("own.json"), "--text",
                              path("text.txt"), "--data-dir", path("none")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("own.json"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("not in the data folder: GPT-2, GPT-4"), std::string::npos)
      << result.out;
}

TEST_F(TokenizerVerb, RefusesWhatIsNoIdNoTextAndNoSize) {
  expect_sentence(bench_({"tokenizer", "decode", "--tokenizer", path("own.json"), "1 280"}), 64,
                  {"\"280\" is not an id from 0 to 279"});
  expect_sentence(bench_({"tokenizer", "train", "--text", path("none.txt")}), 64, {"none.txt"});
  expect_sentence(bench_({"tokenizer", "train", "--text", path("text.txt"), "--vocab-size", "9"}),
                  64, {"265"});
  expect_sentence(bench_({"tokenizer", "encode", "--tokenizer", path("text.txt"), "x"}), 64,
                  {"text.txt"});
}

}  // namespace
}  // namespace nb::test
