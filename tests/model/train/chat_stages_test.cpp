// What MID and SFT do of nanochat's scripts, and every sentence with which they refuse.
#include <algorithm>
#include <cmath>

#include "harness/base/hash.hpp"
#include "model/data/chat/conversation_stream.hpp"
#include "model/optim/groups.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/step.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

class ChatStages : public test::ChatTest {
 protected:
  static std::vector<double> multipliers(const Result<TrainResult>& result) {
    std::vector<double> all;
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return all;
    for (const StepRow& row : result->steps)
      if (row.lr_multiplier) all.push_back(*row.lr_multiplier);
    return all;
  }
};

// 40 conversations of 10 tokens; a batch takes 2 × 24 + 1 of them. A step is two batches, and one
// is fetched before the first: shares 15, 25, 35 and 35 of 40 (the fourth step passes the end).
TEST_F(ChatStages, MidsRatesFollowTheShareOfTheConversations) {
  for (const RenderedConversation& one : chat_.train.rendered) ASSERT_EQ(one.ids.size(), 10U);
  MidSettings settings = test::tiny_mid();
  const auto falling = multipliers(chat_.mid(settings, folder_.path()));
  ASSERT_EQ(falling.size(), 4U);
  EXPECT_EQ(falling[0], 1);
  EXPECT_EQ(falling[1], 1);
  EXPECT_NEAR(falling[2], 0.625, 1e-12);
  EXPECT_NEAR(falling[3], 0.625, 1e-12);
  settings.lr_schedule = ProgressRule::kRising;
  EXPECT_EQ(multipliers(chat_.mid(settings, other_.path())),
            (std::vector<double>{0.375, 0.625, 0.875, 0.875}));
}

// The same steps, made by hand: batches of the stream in turn, fresh optimizers, rates by progress,
// Muon's momentum from .85 up, no clipping.
TEST_F(ChatStages, MidIsItsStepsOverTheStream) {
  const MidSettings settings = test::tiny_mid();
  const auto result = chat_.mid(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  const auto parent = SafetensorsFile::open(chat_.parent());
  ASSERT_TRUE(parent);
  Device device(load_profile("ascend_910b3").value(), ExecutionMode::kExecute);
  Decoder decoder(read_model_config(*parent).value(), device);
  const auto optimizers = make_optimizers(decoder, {});
  ASSERT_TRUE(load_weights(*parent, decoder));
  auto stream = ConversationStream::create(chat_.train).value();
  for (std::int64_t step = 0; step < result->iterations; ++step) {
    const double rate = *result->steps[static_cast<std::size_t>(step)].lr_multiplier;
    const SchedulePoint point = {step, rate, 0.85 + 0.1 * static_cast<double>(step) / 300};
    run_step(decoder, optimizers, {.accumulation_steps = 2, .grad_clip = {}}, point,
             [&] { return stream.next(2, 24); });
  }
  const auto trained = SafetensorsFile::open(result->checkpoint);
  ASSERT_TRUE(trained);
  for (const Parameter& p : decoder.parameters()) {
    const Shape& shape = p.value.shape();
    const auto values = trained->read_floats(p.name, {shape[0], shape[1]});
    ASSERT_TRUE(values) << values.error().message;
    const auto host = p.value.host();
    double largest = 0;
    for (std::size_t i = 0; i < values->size(); ++i)
      largest = std::max(
          largest, std::abs(static_cast<double>((*values)[i]) - static_cast<double>(host[i])));
    EXPECT_LT(largest, 1e-7) << p.name;  // .85 + .1 step / 300 is rounded differently
  }
}

// The reference compiles the model in BASE and MID alone: the others follow the profile's `tune`.
TEST_F(ChatStages, SftDpoAndRlRunOnTheStackOfTuning) {
  const auto step_time = [&](int stage, bool tunes_compiled, bool trains_compiled) {
    chat_.change_profile = [=](DeviceProfile& profile) {
      if (tunes_compiled) profile.software.tune_mode.value = SoftwareMode::kCompiled;
      if (trains_compiled) profile.software.mode.value = SoftwareMode::kCompiled;
    };
    const test::TempDir folder;
    const auto result = stage == 0   ? chat_.mid(test::tiny_mid(), folder.path())
                        : stage == 1 ? chat_.sft(test::tiny_sft(), folder.path())
                        : stage == 2 ? chat_.dpo(test::tiny_dpo(), folder.path())
                                     : chat_.rl(test::tiny_rl(), folder.path());
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->train_time_ns : 0;
  };
  for (int stage = 0; stage < 4; ++stage) {
    const double plain = step_time(stage, false, false);
    EXPECT_EQ(step_time(stage, true, false) < plain, stage > 0) << stage;
    EXPECT_EQ(step_time(stage, false, true) < plain, stage == 0) << stage;
  }
}

TEST_F(ChatStages, MidLearnsTheUsersTokensToo) {
  const auto with_user = chat_.mid(test::tiny_mid(), folder_.path());
  for (RenderedConversation& one : chat_.train.rendered)
    std::ranges::fill(one.mask, std::uint8_t{0});
  const auto masked = chat_.mid(test::tiny_mid(), other_.path());
  ASSERT_TRUE(with_user && masked);
  EXPECT_EQ(with_user->final_loss, masked->final_loss);
  EXPECT_TRUE(with_user->last_validation.val_bpb);
}

// floor(40 / 6) steps, the last of which trains nothing.
TEST_F(ChatStages, SftMakesOneUpdateLessThanItsSteps) {
  const auto once = chat_.sft(test::tiny_sft(), folder_.path());
  const std::vector<double> rates = multipliers(once);
  ASSERT_EQ(rates.size(), 5U);
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_EQ(rates[i], 1 - static_cast<double>(i) / 6) << i;
  EXPECT_EQ(once->iterations, 5);
  SftSettings settings = test::tiny_sft();
  settings.num_epochs = 2;
  settings.iterations = 4;  // wins
  EXPECT_EQ(multipliers(chat_.sft(settings, other_.path())).size(), 3U);
}

// What follows the last answer is read by nobody; a mask that lets it count is seen.
TEST_F(ChatStages, SftCountsTheAssistantsTokensAlone) {
  const auto weights_after = [&](int last_token, std::uint8_t mask) {
    test::TinyChat changed;
    for (RenderedConversation& one : changed.train.rendered) {
      one.ids.push_back(last_token);
      one.mask.push_back(mask);
    }
    const test::TempDir folder;
    const auto result = changed.sft(test::tiny_sft(), folder.path());
    EXPECT_TRUE(result) << result.error().message;
    const auto file = SafetensorsFile::open(result->checkpoint).value();
    return file.read_floats("transformer.wte.weight", {265, 64}).value();
  };
  const std::vector<float> plain = weights_after('x', 0);
  EXPECT_EQ(weights_after('y', 0), plain);
  EXPECT_NE(weights_after('y', 1), plain);
}

// Answers behind the cut leave a batch without targets: it teaches nothing, and nothing breaks.
TEST_F(ChatStages, SftPassesOverABatchWithoutAnswers) {
  for (RenderedConversation& one : chat_.train.rendered)
    std::ranges::fill(one.mask, std::uint8_t{0});
  const auto result = chat_.sft(test::tiny_sft(), folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->final_loss, 0);
  EXPECT_EQ(*result->steps.front().grad_norm, 0);
}

TEST_F(ChatStages, SftLearnsToAnswer) {
  SftSettings settings = test::tiny_sft();
  settings.num_epochs = 10;
  settings.rates.init_lr_frac = 1;
  const auto result = chat_.sft(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LT(*result->last_validation.val_loss, 0.5 * *result->steps.front().val_loss);
}

// A row of one conversation was a failed check in the middle of training.
TEST_F(ChatStages, SftRefusesAConversationBeyondTheModelsPositions) {
  const std::vector<Conversation> fits = {
      {{user_says("?"), assistant_says(std::string(315, 'a'))}}};
  const std::vector<Conversation> beyond = {
      {{user_says("?"), assistant_says(std::string(316, 'a'))}}};
  SftSettings settings = test::tiny_sft();
  settings.iterations = 2;
  chat_.validation = chat_.set(fits);
  ASSERT_EQ(chat_.validation.rendered[0].ids.size(), 321U);  // 320 inputs
  EXPECT_TRUE(chat_.sft(settings, folder_.path()));
  chat_.validation = chat_.set(beyond);
  EXPECT_EQ(refusal(chat_.sft(settings, other_.path())),
            "validation conversation 1 has 322 tokens, beyond the model's 320 positions; leave it "
            "out, or train BASE with a longer sequence_len");
}

TEST_F(ChatStages, ACheckpointOfAnotherTokenizerIsRefused) {
  const std::vector<std::string> text = {"aaaa bbbb aaaa bbbb"};
  const Tokenizer other = train_tokenizer(text, 266).value();
  const auto file = SafetensorsFile::open(chat_.parent()).value();
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  const auto refused = train_sft(test::tiny_sft(), device, {chat_.train, chat_.validation, other},
                                 {file, "digest"}, folder_.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, chat_.parent().string() +
                                         ": trained with another tokenizer than " +
                                         tokenizer_name(other) + "; give its own");
}

TEST_F(ChatStages, WhatIsNoModelsCheckpointIsRefused) {
  SafetensorsWriter writer;
  writer.add_text("x", "y");
  ASSERT_TRUE(writer.write(folder_ / "x.safetensors"));
  chat_.start_from(folder_ / "x.safetensors");
  EXPECT_NE(refusal(chat_.mid(test::tiny_mid(), other_.path())).find("model_config"),
            std::string::npos);
}

TEST_F(ChatStages, BatchesThatDoNotDivideNameTheNearestThatDo) {
  MidSettings mid = test::tiny_mid();
  mid.total_batch_tokens = 100;
  EXPECT_EQ(refusal(chat_.mid(mid, folder_.path())),
            "total_batch_tokens 100 is not a multiple of 48 = device_batch_size 2 × sequence_len "
            "24; the nearest valid total_batch_tokens: 96 or 144");
  mid.sequence_len = 321;
  EXPECT_EQ(refusal(chat_.mid(mid, folder_.path())),
            "sequence_len 321 is beyond the model's 320 positions");
  SftSettings sft = test::tiny_sft();
  sft.target_examples_per_step = 4;
  EXPECT_EQ(refusal(chat_.sft(sft, folder_.path())),
            "target_examples_per_step 4 is not a multiple of device_batch_size 3; the nearest "
            "valid target_examples_per_step: 3 or 6");
}

TEST_F(ChatStages, TooFewConversationsAreCounted) {
  chat_.train = chat_.set(test::sums(0, 4));
  EXPECT_EQ(refusal(chat_.mid(test::tiny_mid(), folder_.path())),
            "the 4 conversations hold 40 tokens, no more than one batch of 48; give more "
            "conversations or a smaller device_batch_size");
  chat_.train = chat_.set(test::sums(0, 11));
  EXPECT_EQ(refusal(chat_.sft(test::tiny_sft(), folder_.path())),
            "11 conversations make 1 steps of 6; at least two are needed, as the last one trains "
            "nothing: give more conversations or a smaller target_examples_per_step");
}

TEST_F(ChatStages, AKeptStepBeyondTheEndIsRefused) {
  SftSettings settings = test::tiny_sft();
  settings.checkpoints.keep_steps = {0, 6};
  EXPECT_EQ(refusal(chat_.sft(settings, folder_.path())),
            "keep_steps: 6: the stage has the steps 0 to 5; give some of these");
  settings.checkpoints.keep_steps = {0, 5};
  ASSERT_TRUE(chat_.sft(settings, folder_.path()));
  EXPECT_TRUE(std::filesystem::exists(checkpoint_path(folder_.path(), 0)));
}

// A folder with the checkpoint of another stage or of other conversations is not gone on with.
TEST_F(ChatStages, ACheckpointOfOtherConversationsGivesWay) {
  ASSERT_TRUE(chat_.sft(test::tiny_sft(), folder_.path()));
  std::string said;
  TrainHooks hooks;
  hooks.on_damage = [&](const std::string& sentence) { said += sentence + "\n"; };
  const auto mid = chat_.mid(test::tiny_mid(), folder_.path(), hooks);
  ASSERT_TRUE(mid) << mid.error().message;
  EXPECT_EQ(mid->resumed_from_step, 0);
  EXPECT_NE(said.find("a checkpoint of another run"), std::string::npos) << said;
  ASSERT_TRUE(chat_.sft(test::tiny_sft(), folder_.path()));
  said.clear();
  chat_.train = chat_.set(test::sums(1, 40));
  const auto sft = chat_.sft(test::tiny_sft(), folder_.path(), hooks);
  ASSERT_TRUE(sft) << sft.error().message;
  EXPECT_EQ(sft->resumed_from_step, 0);
  EXPECT_NE(said.find("/data is"), std::string::npos) << said;
  EXPECT_NE(said.find("; the training begins again\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace nb
