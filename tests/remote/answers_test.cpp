// Answers as vLLM (serving.py @ cc139d8), sglang and OpenAI's reference write them, by hand.
#include "harness/remote/answers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb::test {
namespace {

const std::vector<int> kPrompt = {256, 65, 66};

Result<std::vector<TokenScore>> scores(Dialect dialect, const std::string& text) {
  static const Tokenizer kTokenizer = byte_tokenizer();
  const auto json = parse_answer(text);
  EXPECT_TRUE(json.has_value()) << json.error().message;
  return parse_scores(dialect, *json, kPrompt, kTokenizer);
}

TEST(Answers, PromptLogprobsAreFoundById) {
  const auto found = scores(Dialect::kPromptLogprobs, R"({"choices": [{"index": 0, "text": "x",
      "prompt_logprobs": [null, {"65": {"logprob": -2.5, "rank": 9}, "70": {"logprob": -0.5, "rank": 1}},
                          {"66": {"logprob": -0.25, "rank": 1, "decoded_token": "B"}}]}]})");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].log_prob, -2.5F);
  EXPECT_EQ((*found)[0].top, 70);
  EXPECT_EQ((*found)[0].top_log_prob, -0.5F);
  EXPECT_EQ(argmax_of((*found)[0], 65), 70);
  EXPECT_EQ(argmax_of((*found)[1], 66), 66);
}

TEST(Answers, OfEquallyLikelyTokensTheLowestIdIsTheLikeliest) {
  EXPECT_EQ(argmax_of({-1, -1, 40, false}, 66), 40);
  EXPECT_EQ(argmax_of({-1, -1, 70, false}, 66), 66);
  EXPECT_EQ(argmax_of({NAN, -1, 70, false}, 66), 70);
}

TEST(Answers, EchoIsFoundByText) {
  const auto found =
      scores(Dialect::kEcho, R"({"choices": [{"index": 0, "text": "ABx", "logprobs": {
      "tokens": ["<|bos|>", "A", "B", "x"], "token_logprobs": [null, -2.5, -0.25, -1],
      "top_logprobs": [null, {"F": -0.5, "A": -2.5}, {"B": -0.25}, {"x": -1}]}}]})");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ((*found)[0].top, 70);
  EXPECT_EQ((*found)[1].top, 66);
}

TEST(Answers, SglangNamesIdsInALine) {
  const auto found = scores(Dialect::kSglang, R"({"text": "", "meta_info": {
      "input_token_logprobs": [[null, 256, null], [-2.5, 65, null], [-0.25, 66, null]],
      "input_top_logprobs": [null, [[-0.5, 70, null]], [[-0.25, 66, null]]]}})");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ((*found)[0].top, 70);
  EXPECT_EQ((*found)[1].log_prob, -0.25F);
}

TEST(Answers, WhatIsNotOfThePromptIsNamed) {
  const auto error = [](Dialect dialect, const std::string& text) {
    const auto found = scores(dialect, text);
    return found ? "taken" : found.error().message;
  };
  // llama.cpp's server ignores echo: the one entry is of the new token.
  EXPECT_EQ(error(Dialect::kEcho, R"({"choices": [{"logprobs": {"tokens": ["x"],
              "token_logprobs": [-1], "top_logprobs": [{"x": -1}]}}]})"),
            "1 entry of prompt log-probabilities for 3 tokens");
  EXPECT_EQ(error(Dialect::kPromptLogprobs, R"({"choices": [{"text": "x"}]})"),
            "no \"prompt_logprobs\"");
  EXPECT_EQ(error(Dialect::kPromptLogprobs,
                  R"({"choices": [{"prompt_logprobs": [null, {"99": {"logprob": -1}}, {}]}]})"),
            "token 99 at position 1 of the prompt, where 65 was sent");
  EXPECT_EQ(error(Dialect::kSglang, R"({"meta_info": {"input_token_logprobs":
              [[null, 256], [-1, 65], [-1, 67]]}})"),
            "token 67 at position 2 of the prompt, where 66 was sent");
  EXPECT_EQ(error(Dialect::kEcho, R"({"error": "x"})"), "no \"choices\"");
}

TEST(Answers, NoNumbersAreNoScores) {
  const auto found = scores(Dialect::kPromptLogprobs,
                            R"({"choices": [{"prompt_logprobs": [null, {"65": {"logprob": NaN}},
                               {"66": {"logprob": -9999.0}}], "text": "a NaN \" -Infinity"}]})");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_TRUE(std::isnan((*found)[0].log_prob));
  EXPECT_FALSE((*found)[0].is_floor);
  EXPECT_TRUE(std::isnan((*found)[1].log_prob));
  EXPECT_TRUE((*found)[1].is_floor);
}

TEST(Answers, ChoicesAreFoundByIndex) {
  const auto generated = parse_generated(*parse_answer(
      R"({"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a", "token_ids": [97],
          "finish_reason": "length"}], "usage": {"prompt_tokens": 3}})"));
  ASSERT_TRUE(generated.has_value());
  EXPECT_EQ(generated->text, "a");
  EXPECT_EQ(generated->tokens, std::vector<int>{97});
  EXPECT_EQ(generated->prompt_tokens, 3);
}

TEST(Answers, HtmlAndBrokenJsonAreSaidToBeSo) {
  EXPECT_NE(parse_answer("<html>x</html>").error().message.find("HTML"), std::string::npos);
  EXPECT_EQ(parse_answer("{\"a\": ").error().message, "broken JSON");
  EXPECT_EQ(parse_answer("Internal Server Error").error().message, "a text that is not JSON");
  EXPECT_EQ(parse_answer(" ").error().message, "nothing");
}

// Behind a bracket or a quote servers quote what they were sent.
TEST(Answers, AMessageNeverQuotesWhatWasSent) {
  EXPECT_EQ(message_of(R"({"error": {"message": "too long: 9 tokens", "code": 400}})"),
            "too long: 9 tokens");
  EXPECT_EQ(message_of(R"({"error": {"message": "bad input {\"prompt\": [1, 2]}"}})"),
            "bad input ");
  EXPECT_EQ(message_of(R"({"detail": [{"msg": "field required", "input": {"prompt": [1]}}]})"),
            "field required");
  EXPECT_EQ(message_of("secret prompt"), "");
}

TEST(Answers, ModelsHaveNamesAndContexts) {
  const auto models = parse_models(*parse_answer(
      R"({"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 2048},
                   {"id": "b", "meta": {"n_ctx_train": 512}}, {"id": "c"}]})"));
  ASSERT_TRUE(models.has_value());
  EXPECT_EQ((*models)[0].max_model_len, 2048);
  EXPECT_EQ((*models)[1].max_model_len, 512);
  EXPECT_FALSE((*models)[2].max_model_len.has_value());
  EXPECT_FALSE(parse_models(*parse_answer(R"({"data": [{"id": 3}]})")).has_value());
}

}  // namespace
}  // namespace nb::test
