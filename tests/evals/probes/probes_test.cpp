// Every probe is right on a healthy program, whatever the device, and wrong where what it looks at
// is broken. The evaluators' own lines are broken by hand (evals/probes/README.md); the engine's
// here, by models that answer as a broken engine would.
#include "evals/probes/probes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/rng.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb::test {
namespace {

class Models {
 public:
  explicit Models(const std::string& profile)
      : device_(load_profile(profile).value(), ExecutionMode::kExecute),
        filled_(config(), device_),
        fresh_(config(), device_) {
    filled_.init(1);
    fresh_.init(1);
    for (Parameter& parameter : filled_.parameters()) {
      const Rng rng(7, parameter.name);
      std::uint64_t i = 0;
      for (float& value : parameter.value.host())
        value = round_to(DType::kBf16, static_cast<float>(.3 * rng.normal(i++)));
    }
  }
  ProbedModels all() { return {cached, plain, flat}; }

  static DecoderConfig config() {
    DecoderConfig config;
    config.sequence_len = kProbeContext;
    config.vocab_size = kProbeVocab;
    config.n_layer = 2;
    config.n_head = config.n_kv_head = 2;
    config.n_embd = 32;
    return config;
  }

 private:
  Tokenizer tokenizer_ = byte_tokenizer();
  Device device_;
  Decoder filled_, fresh_;

 public:
  DecoderLanguageModel cached{filled_, tokenizer_};
  DecoderLanguageModel plain{filled_, tokenizer_, {.share_prefixes = false}};
  DecoderLanguageModel flat{fresh_, tokenizer_};
};

std::int64_t wrong(const EvalResult& result) {
  return std::ranges::count_if(result.items, [](const ItemRecord& item) { return !item.ok; });
}

TEST(Probes, AreRightOnEveryDevice) {
  for (const char* profile : {"ascend_910b3", "h100_sxm"}) {
    Models models(profile);
    for (const ProbeInfo& probe : probes()) {
      const auto result = run_probe(probe.name, models.all());
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->task, "probe/" + std::string(probe.name));
      EXPECT_GE(result->items.size(), 4U) << probe.name;
      for (const ItemRecord& item : result->items)
        EXPECT_TRUE(item.ok) << profile << " " << probe.name << ": " << item.prediction
                             << " in place of " << item.gold;
      EXPECT_EQ(result->metrics.front().name, result->task + "/accuracy");
      EXPECT_EQ(result->metrics.front().value, 1);
    }
  }
}

// Passes everything on; a test overrides what it breaks.
class Passed : public LanguageModel {
 public:
  explicit Passed(LanguageModel& whole) : whole_(whole) {}
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override {
    return whole_.score(requests);
  }
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override {
    return whole_.generate(requests);
  }
  const Tokenizer& tokenizer() const override { return whole_.tokenizer(); }
  std::int64_t context_length() const override { return whole_.context_length(); }

 protected:
  LanguageModel& whole_;
};

// Sees at most the last 128 tokens, as a cache that was cut.
class Forgetful : public Passed {
 public:
  using Passed::Passed;
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override {
    std::vector<ScoreResult> results;
    for (const ScoreRequest& request : requests) {
      ScoreResult& result = results.emplace_back();
      for (std::size_t at = request.start; at < request.end; ++at) {
        const std::size_t first = at > kSeen ? at - kSeen : 0;
        ScoreRequest one;
        one.tokens.assign(request.tokens.begin() + static_cast<std::ptrdiff_t>(first),
                          request.tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        one.end = one.tokens.size();
        one.start = one.end - 1;
        const ScoreResult scored = whole_.score(std::span(&one, 1)).front();
        result.log_probs.push_back(scored.log_probs.front());
        result.argmax.push_back(scored.argmax.front());
      }
    }
    return results;
  }
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override {
    std::vector<GenerateResult> results;
    for (const GenerateRequest& request : requests) {
      std::vector<int> tokens = request.prompt;
      GeneratedSample& sample = results.emplace_back().samples.emplace_back();
      for (std::int64_t i = 0; i < request.max_tokens; ++i) {
        tokens.push_back(0);
        const ScoreRequest next{tokens, tokens.size() - 1, tokens.size()};
        tokens.back() = score(std::span(&next, 1)).front().argmax.front();
        sample.tokens.push_back(tokens.back());
      }
    }
    return results;
  }

 private:
  static constexpr std::size_t kSeen = 128;
};

TEST(Probes, ACacheThatForgetsBeyond128TokensIsSeen) {
  Models models("ascend_910b3");
  Forgetful forgetful(models.plain);
  const auto result = run_probe("long_cache", {forgetful, models.plain, models.flat});
  ASSERT_TRUE(result);
  // Right are the one that reaches over 120 tokens, and what chance gives.
  EXPECT_GE(wrong(*result), std::ssize(result->items) - 3);
}

// Of equal logits another than the lowest id.
class LastOfEqual : public Passed {
 public:
  using Passed::Passed;
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override {
    auto results = whole_.score(requests);
    for (ScoreResult& result : results)
      std::ranges::fill(result.argmax, static_cast<int>(kProbeVocab) - 1);
    return results;
  }
};

TEST(Probes, AnotherChoiceAmongEqualLogitsIsSeen) {
  Models models("h100_sxm");
  LastOfEqual last(models.flat);
  const auto result = run_probe("logit_tie", {models.cached, models.plain, last});
  ASSERT_TRUE(result);
  EXPECT_EQ(wrong(*result), 3);
}

}  // namespace
}  // namespace nb::test
