#include "evals/generate_texts.hpp"

#include <gtest/gtest.h>

#include "model/engine/fake_language_model.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb {
namespace {

using Texts = std::vector<std::vector<std::string>>;

// The requests that a model gets for two prompts; it answers each with its prompt's first token and
// the sample's number.
std::vector<GenerateRequest> asked(const EvalSettings& settings, Texts* texts = nullptr) {
  std::vector<GenerateRequest> requests;
  FakeLanguageModel model(
      test::byte_tokenizer(), 100, [](auto, int) { return FakeScore{}; },
      [&](const GenerateRequest& request, int sample) {
        if (sample == 0) requests.push_back(request);
        return std::vector<int>{request.prompt[0], '0' + sample};
      });
  const std::vector<std::vector<int>> prompts = {{'a', 'b'}, {'c'}};
  for (const GeneratedTexts& one : generate_texts(model, prompts, settings)) {
    EXPECT_TRUE(one.is_finite);
    if (texts != nullptr) texts->push_back(one.texts);
  }
  return requests;
}

TEST(GenerateTexts, SettingsAreWhatEachPromptIsAskedWith) {
  EvalSettings settings;
  settings.num_samples = 3;
  settings.max_new_tokens = 17;
  settings.temperature = 0.75;
  settings.top_k = 1;
  settings.sample_seed = 99;
  Texts texts;
  const auto requests = asked(settings, &texts);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].prompt, (std::vector<int>{'a', 'b'}));
  EXPECT_EQ(requests[1].prompt, std::vector<int>{'c'});
  for (const GenerateRequest& request : requests) {
    EXPECT_EQ(request.num_samples, 3);
    EXPECT_EQ(request.max_tokens, 17);
    EXPECT_EQ(request.temperature, 0.75);
    EXPECT_EQ(request.top_k, 1);
    EXPECT_EQ(request.seed, 99u);
  }
  EXPECT_EQ(texts, (Texts{{"a0", "a1", "a2"}, {"c0", "c1", "c2"}}));
}

TEST(GenerateTexts, TopKOfZeroIsAllTokens) {
  EvalSettings settings;
  settings.top_k = 0;
  EXPECT_EQ(asked(settings).at(0).top_k, std::nullopt);
}

}  // namespace
}  // namespace nb
