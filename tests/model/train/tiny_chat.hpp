// Chat stages of seconds: a byte-level tokenizer, arithmetic of one digit, a d1 model that BASE has
// trained for a few steps.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/base/progress.hpp"
#include "model/train/dpo_stage.hpp"
#include "model/train/mid_stage.hpp"
#include "model/train/rl_stage.hpp"
#include "model/train/sft_stage.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

// "1+3?" → "4".
inline std::vector<Conversation> sums(int first, int count) {
  std::vector<Conversation> all;
  for (int i = first; i < first + count; ++i) {
    const int a = i % 4, b = i / 4 % 5;
    all.push_back({{user_says(std::to_string(a) + "+" + std::to_string(b) + "?"),
                    assistant_says(std::to_string(a + b))}});
  }
  return all;
}

// The same with a wrong answer beside each.
inline std::vector<Preference> wrong_sums(int first, int count) {
  std::vector<Preference> pairs;
  for (const Conversation& right : sums(first, count)) {
    Preference pair{right, right};
    std::string& digit = pair.rejected.messages.back().parts.front().text;
    digit = std::to_string((std::stoi(digit) + 1) % 9);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

// One question that is answered "A" and "B" in turn: what is right is a matter of chance.
inline std::vector<Conversation> coin(int count) {
  std::vector<Conversation> all;
  for (int i = 0; i < count; ++i)
    all.push_back({{user_says("?"), assistant_says(i % 2 == 0 ? "A" : "B")}});
  return all;
}

// The weights that the stages start from, and the conversations.
class TinyChat {
 public:
  TinyChat() {
    TrainSettings settings = tiny_settings();
    settings.iterations = 4;
    settings.sample_every = 0;
    auto base = run_tiny(data_, settings, folder_.path());
    EXPECT_TRUE(base) << base.error().message;
    parent_ = base->checkpoint;
  }

  const Tokenizer& tokenizer() const { return data_.tokenizer; }
  const std::filesystem::path& parent() const { return parent_; }
  // The next stage starts from this checkpoint.
  void start_from(const std::filesystem::path& checkpoint) { parent_ = checkpoint; }

  ConversationSet set(const std::vector<Conversation>& conversations) const {
    auto rendered = render_conversations(tokenizer(), conversations, kMaxConversationTokens, "set");
    EXPECT_TRUE(rendered) << rendered.error().message;
    return std::move(*rendered);
  }
  QuestionSet questions(const std::vector<Conversation>& conversations) const {
    auto made = questions_of(tokenizer(), conversations, kMaxConversationTokens, "set");
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  Result<TrainResult> mid(const MidSettings& settings, const std::filesystem::path& folder,
                          const TrainHooks& hooks = {}) const {
    return on_device([&](Device& device, const ParentCheckpoint& parent) {
      return train_mid(settings, device, {train, validation, tokenizer()}, parent, folder, hooks,
                       {}, mesh);
    });
  }
  Result<TrainResult> sft(const SftSettings& settings, const std::filesystem::path& folder,
                          const TrainHooks& hooks = {}) const {
    return on_device([&](Device& device, const ParentCheckpoint& parent) {
      return train_sft(settings, device, {train, validation, tokenizer()}, parent, folder, hooks,
                       {}, mesh);
    });
  }
  Result<TrainResult> rl(const RlSettings& settings, const std::filesystem::path& folder,
                         const TrainHooks& hooks = {}) const {
    return on_device([&](Device& device, const ParentCheckpoint& parent) {
      return train_rl(settings, device, {asked, held_out, tokenizer()}, parent, folder, hooks, {},
                      mesh);
    });
  }
  Result<TrainResult> dpo(const DpoSettings& settings, const std::filesystem::path& folder,
                          const TrainHooks& hooks = {}) const {
    return on_device([&](Device& device, const ParentCheckpoint& parent) {
      return train_dpo(settings, device, {pairs, held_out_pairs, tokenizer()}, parent, folder,
                       hooks, defects, mesh);
    });
  }
  PreferenceSet pair_set(const std::vector<Preference>& preferences) const {
    auto made = render_preferences(tokenizer(), preferences, kMaxConversationTokens, "set");
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

 private:
  template <class Train>
  Result<TrainResult> on_device(const Train& train_it) const {
    NB_TRY(const SafetensorsFile file, SafetensorsFile::open(parent_));
    NB_TRY(DeviceProfile profile, load_profile("ascend_910b3"));
    if (change_profile) change_profile(profile);
    Device device(std::move(profile), ExecutionMode::kExecute,
                  {.ranks = static_cast<int>(mesh ? mesh->ranks() : 1)});
    auto result =
        train_it(device, ParentCheckpoint{file, "digest of " + parent_.filename().string()});
    link_bytes = device.counters().link_bytes;
    return result;
  }

  TempDir folder_;
  TinyData data_ = tiny_data();
  std::filesystem::path parent_;

 public:
  std::function<void(DeviceProfile&)> change_profile;
  PortDefects defects;  // of DPO
  std::optional<MeshSettings> mesh;
  mutable std::uint64_t link_bytes = 0;  // of the last stage
  ConversationSet train = set(sums(0, 40)), validation = set(sums(3, 8));
  PreferenceSet pairs = pair_set(wrong_sums(0, 40)), held_out_pairs = pair_set(wrong_sums(3, 8));
  QuestionSet asked = questions(sums(0, 12)), held_out = questions(sums(3, 4));
};

// A quiet test of chat stages, with folders for their checkpoints.
class ChatTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  // The sentence that says what is wrong with the input.
  static std::string refusal(const Result<TrainResult>& result) {
    EXPECT_FALSE(result);
    if (result) return "";
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
    return result.error().message;
  }
  TinyChat chat_;
  const TempDir folder_, other_;
};

inline MidSettings tiny_mid() {
  MidSettings settings;
  settings.sequence_len = 24;
  settings.device_batch_size = 2;
  settings.total_batch_tokens = 96;  // two micro-batches
  settings.eval_every = 2;
  settings.eval_tokens = 100;
  settings.checkpoints.checkpoint_every = 2;
  return settings;
}

inline SftSettings tiny_sft() {
  SftSettings settings;
  settings.device_batch_size = 3;
  settings.target_examples_per_step = 6;
  settings.rates.init_lr_frac = 0.5;
  settings.eval_every = 2;
  settings.eval_batches = 2;
  settings.checkpoints.checkpoint_every = 2;
  return settings;
}

inline DpoSettings tiny_dpo() {
  DpoSettings settings;
  settings.device_batch_size = 3;
  settings.target_examples_per_step = 6;
  settings.rates.init_lr_frac = 0.2;
  settings.eval_every = 2;
  settings.eval_batches = 2;
  settings.checkpoints.checkpoint_every = 2;
  return settings;
}

inline RlSettings tiny_rl() {
  RlSettings settings;
  settings.device_batch_size = 2;
  settings.examples_per_step = 2;
  settings.num_samples = 4;
  settings.iterations = 5;
  settings.max_new_tokens = 3;
  settings.rollout_batch_size = 5;
  settings.rates.init_lr_frac = 0.5;
  settings.eval_every = 2;
  settings.eval_examples = 3;
  settings.eval_samples = 2;
  settings.checkpoints.checkpoint_every = 2;
  return settings;
}

}  // namespace nb::test
