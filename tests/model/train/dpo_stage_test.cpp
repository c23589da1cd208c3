// What DPO does with pairs of answers, and every sentence with which it refuses.
#include "harness/base/portable_math.hpp"
#include "model/train/checkpoint.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

using DpoStage = test::ChatTest;

TEST_F(DpoStage, BeginsAtTheReferenceAndPrefersTheChosenAnswers) {
  DpoSettings settings = test::tiny_dpo();
  settings.num_epochs = 6;
  const auto result = chat_.dpo(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iterations, 6 * (40 / 6));
  const StepRow& first = result->steps.front();
  EXPECT_EQ(*first.margin, 0);  // the model is its reference
  EXPECT_EQ(*first.pair_accuracy, 0);
  EXPECT_NEAR(*first.train_loss, 0.6931472, 1e-6);
  EXPECT_NEAR(*first.val_loss, 0.6931472, 1e-6);
  EXPECT_GT(*first.grad_norm, 0);
  EXPECT_EQ(*first.lr_multiplier, 1);
  const StepRow& last = result->last_validation;
  EXPECT_LT(*last.val_loss, 0.6);
  EXPECT_GT(*last.val_margin, 0);
  EXPECT_GT(*last.val_pair_accuracy, 0.7);
  const StepRow& row = result->steps[result->steps.size() - 2];
  EXPECT_NEAR(*row.margin, *row.chosen_reward - *row.rejected_reward, 1e-9);
}

// The prompt is in both answers of a pair and counts in neither.
TEST_F(DpoStage, EarlierAnswersOfAConversationCountForNothing) {
  const auto pair = [](const char* last) {
    return Conversation{
        {user_says("a"), assistant_says("b"), user_says("c"), assistant_says(last)}};
  };
  const std::vector<Preference> one = {{pair("d"), pair("e")}};
  const auto set = render_preferences(chat_.tokenizer(), one, 2048, "p").value();
  int counted = 0;
  for (const std::uint8_t mask : set.pairs[0].chosen.mask) counted += mask;
  EXPECT_EQ(counted, 2);  // "d" and the end
}

TEST_F(DpoStage, LabelSmoothingHoldsTheMarginBack) {
  DpoSettings settings = test::tiny_dpo();
  settings.num_epochs = 4;
  const auto plain = chat_.dpo(settings, folder_.path());
  settings.label_smoothing = 0.4;
  const auto smoothed = chat_.dpo(settings, other_.path());
  ASSERT_TRUE(plain && smoothed);
  EXPECT_LT(*smoothed->last_validation.val_margin, *plain->last_validation.val_margin);
}

TEST_F(DpoStage, AdaptersBeginAtTheReferenceToo) {
  DpoSettings settings = test::tiny_dpo();
  settings.lora = AdapterSettings{};
  settings.lora->adapter_lr = 0.01;
  const auto result = chat_.dpo(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result->steps.front().margin, 0);
  EXPECT_NE(*result->steps[2].margin, 0);
  EXPECT_GT(result->adapter_param_count, 0);
}

TEST_F(DpoStage, WhatDoesNotFitIsRefused) {
  DpoSettings settings = test::tiny_dpo();
  settings.target_examples_per_step = 4;
  EXPECT_EQ(refusal(chat_.dpo(settings, folder_.path())),
            "target_examples_per_step 4 is not a multiple of device_batch_size 3; the nearest "
            "valid target_examples_per_step: 3 or 6");
  settings.target_examples_per_step = 42;
  EXPECT_EQ(refusal(chat_.dpo(settings, folder_.path())),
            "40 pairs are fewer than the 42 of one step; give more or a smaller "
            "target_examples_per_step");
  settings = test::tiny_dpo();
  settings.checkpoints.keep_steps = {7};
  EXPECT_EQ(refusal(chat_.dpo(settings, folder_.path())),
            "keep_steps: 7: the stage has the steps 0 to 6; give some of these");
  const std::vector<Preference> beyond = {
      {{{user_says("?"), assistant_says(std::string(316, 'a'))}},
       {{user_says("?"), assistant_says("b")}}}};
  chat_.held_out_pairs = render_preferences(chat_.tokenizer(), beyond, 2048, "p").value();
  EXPECT_EQ(refusal(chat_.dpo(test::tiny_dpo(), folder_.path())),
            "validation pair 1 has 322 tokens, beyond the model's 320 positions; leave it out, or "
            "train BASE with a longer sequence_len");
  EXPECT_EQ(render_preferences(chat_.tokenizer(), beyond, 4, "p").error().message,
            "p: pair 1: its prompt leaves none of 4 tokens to the answer");
}

}  // namespace
}  // namespace nb
