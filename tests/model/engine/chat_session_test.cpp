#include "model/engine/chat_session.hpp"

#include <gtest/gtest.h>

#include "harness/base/check.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/fake_language_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;

// Answers with the number of tokens in the prompt, and keeps every request.
struct Counting {
  explicit Counting(const Tokenizer& tokenizer = byte_tokenizer(), std::int64_t context = 60)
      : model(
            tokenizer, context, [](std::span<const int>, int) { return FakeScore{}; },
            [this](const GenerateRequest& request, int) {
              requests.push_back(request);
              std::vector<int> answer;
              for (const char c : std::to_string(request.prompt.size())) answer.push_back(c);
              return answer;
            }) {}
  std::vector<GenerateRequest> requests;
  FakeLanguageModel model;
};

std::string shown(std::span<const int> tokens) { return byte_tokenizer().decode(tokens); }

TEST(ChatSession, PromptIsTheConversationSoFar) {
  Counting counting;
  ChatSession session(counting.model, {});
  ASSERT_TRUE(session.say("hi"));
  const auto second = session.say("you");
  ASSERT_TRUE(second);
  EXPECT_EQ(shown(counting.requests[0].prompt),
            "<|bos|><|user_start|>hi<|user_end|><|assistant_start|>");
  EXPECT_EQ(shown(counting.requests[1].prompt),
            "<|bos|><|user_start|>hi<|user_end|><|assistant_start|>6<|assistant_end|>"
            "<|user_start|>you<|user_end|><|assistant_start|>");
  EXPECT_EQ(second->text, "14");
  EXPECT_EQ(second->prompt_tokens, 14);
  EXPECT_EQ(second->stop, StopReason::kStopToken);
  session.clear();
  ASSERT_TRUE(session.say("hi"));
  EXPECT_EQ(counting.requests[2].prompt, counting.requests[0].prompt);
}

TEST(ChatSession, SettingsReachTheRequest) {
  Counting counting;
  ChatSession session(counting.model,
                      {.temperature = 0.25, .top_k = 7, .max_tokens = 1, .seed = 9});
  const auto reply = session.say("a");
  ASSERT_TRUE(reply);
  const GenerateRequest& request = counting.requests[0];
  EXPECT_EQ(request.temperature, 0.25);
  EXPECT_EQ(request.top_k, 7);
  EXPECT_EQ(request.max_tokens, 1);
  EXPECT_EQ(request.seed, 9U);
  EXPECT_TRUE(request.tools);
  EXPECT_EQ(request.num_samples, 1);
}

TEST(ChatSession, CompletesEachTextByItself) {
  Counting counting;
  ChatSession session(counting.model, {.completes = true});
  ASSERT_TRUE(session.say("once"));
  ASSERT_TRUE(session.say("upon a"));
  EXPECT_EQ(shown(counting.requests[0].prompt), "<|bos|>once");
  EXPECT_EQ(shown(counting.requests[1].prompt), "<|bos|>upon a");
  EXPECT_FALSE(counting.requests[0].tools);
}

// Four tokens around the text; a prompt of the whole context still has one token behind it.
TEST(ChatSession, AConversationMayFillTheContext) {
  Counting counting;
  ChatSession session(counting.model, {});
  const auto reply = session.say(std::string(55, 'x'));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->prompt_tokens, 59);
  session.clear();
  const auto full = session.say(std::string(56, 'x'));
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->prompt_tokens, 60);
  session.clear();
  EXPECT_FALSE(session.say(std::string(57, 'x')));
}

TEST(ChatSession, TooMuchIsRefusedAndChangesNothing) {
  Counting counting;
  ChatSession session(counting.model, {});
  EXPECT_FALSE(session.say(""));
  const auto refused = session.say(std::string(70, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("74 tokens"), std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(session.say("hi"));
  EXPECT_EQ(counting.requests.back().prompt.size(), 6U);
}

TEST(ChatSession, TokenizerWithoutChatTokensCanOnlyComplete) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.specials.push_back({"<|endoftext|>", 256});
  vocabulary.tokens.emplace_back();
  const Tokenizer tokenizer(std::move(vocabulary));
  EXPECT_FALSE(has_chat_tokens(tokenizer));
  EXPECT_TRUE(has_chat_tokens(byte_tokenizer()));
  Counting counting(tokenizer);
  EXPECT_THROW(ChatSession(counting.model, {}), CheckFailure);
  ChatSession session(counting.model, {.completes = true});
  EXPECT_TRUE(session.say("a"));
}

// What is heard piece by piece is the text of the reply.
TEST(ChatSession, StreamsWhatItReplies) {
  test::SmallDecoder small("tiny");
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  ChatSession session(model, {.temperature = 2.0, .top_k = {}, .max_tokens = 60, .seed = 3});
  std::string heard;
  int pieces = 0;
  const auto reply = session.say("hello", [&](std::string_view piece) {
    heard += piece;
    ++pieces;
  });
  ASSERT_TRUE(reply);
  EXPECT_EQ(heard, reply->text);
  EXPECT_FALSE(reply->text.empty());
  EXPECT_GT(pieces, 3);
}

}  // namespace
}  // namespace nb
