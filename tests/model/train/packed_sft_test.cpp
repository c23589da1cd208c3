// SFT on packed rows, and every sentence with which its settings are refused.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/hash.hpp"
#include "model/data/chat/conversation_packs.hpp"
#include "model/optim/groups.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/step.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

// Conversations of 10 tokens: three fill a row of 30 + 1 but for one token of padding.
SftSettings tiny_packed() {
  SftSettings settings;
  settings.device_batch_size = 2;
  settings.rates.init_lr_frac = 0.5;
  settings.eval_every = 2;
  settings.checkpoints.checkpoint_every = 2;
  settings.packed = PackedSettings{};
  settings.packed->sequence_len = 30;
  settings.packed->total_batch_tokens = 120;  // two micro-batches
  settings.packed->eval_tokens = 130;
  return settings;
}

using PackedSft = test::ChatTest;

// 40 conversations, six a batch. One batch is fetched before the first update, two in each: shares
// of 18, 30 and 42 of 40. The rate falls from one half on.
TEST_F(PackedSft, RatesFollowTheShareOfTheConversations) {
  const auto result = chat_.sft(tiny_packed(), folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->iterations, 3);
  EXPECT_EQ(*result->steps[0].lr_multiplier, 1);
  EXPECT_NEAR(*result->steps[1].lr_multiplier, 0.5, 1e-12);
  EXPECT_EQ(*result->steps[2].lr_multiplier, 0);
  EXPECT_EQ(*result->steps[0].tokens, 120);
  EXPECT_TRUE(result->last_validation.val_loss);
}

// The same steps, made by hand: batches of the packs in turn, the moments of BASE's four steps,
// whose count goes on, Muon's momentum from .85 up, no clipping.
TEST_F(PackedSft, IsItsStepsOverThePacksWithTheMomentsOfBase) {
  for (const bool keeps : {true, false}) {
    SftSettings settings = tiny_packed();
    settings.packed->keeps_optimizer = keeps;
    const test::TempDir folder;
    const auto result = chat_.sft(settings, folder.path());
    ASSERT_TRUE(result) << result.error().message;
    const auto parent = SafetensorsFile::open(chat_.parent());
    ASSERT_TRUE(parent);
    Device device(load_profile("ascend_910b3").value(), ExecutionMode::kExecute);
    Decoder decoder(read_model_config(*parent).value(), device);
    const OptimizerRates rates;
    const auto optimizers = make_optimizers(decoder, {.embedding_lr = rates.embedding_lr / 2,
                                                      .unembedding_lr = rates.unembedding_lr / 2,
                                                      .matrix_lr = rates.matrix_lr / 2});
    ASSERT_TRUE(load_weights(*parent, decoder));
    EXPECT_EQ(trained_steps(*parent).value(), 4);
    if (keeps) {
      ASSERT_TRUE(load_optimizers(*parent, optimizers));
    }
    auto packs =
        ConversationPacks::create(chat_.train, {.length = 30, .pad = chat_.tokenizer().bos()})
            .value();
    for (std::int64_t step = 0; step < result->iterations; ++step) {
      const double rate = *result->steps[static_cast<std::size_t>(step)].lr_multiplier;
      const SchedulePoint point = {step + (keeps ? 4 : 0), rate,
                                   0.85 + 0.1 * static_cast<double>(step) / 300};
      run_step(decoder, optimizers, {.accumulation_steps = 2, .grad_clip = {}}, point,
               [&] { return packs.next(2); });
    }
    const auto trained = SafetensorsFile::open(result->checkpoint);
    ASSERT_TRUE(trained);
    for (const Parameter& p : decoder.parameters()) {
      const Shape& shape = p.value.shape();
      const auto values = trained->read_floats(p.name, {shape[0], shape[1]});
      ASSERT_TRUE(values) << values.error().message;
      double largest = 0;
      for (std::size_t i = 0; i < values->size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>((*values)[i]) -
                                             static_cast<double>(p.value.host()[i])));
      EXPECT_LT(largest, 1e-7) << p.name << " "
                               << keeps;  // .85 + .1 step / 300 is rounded differently
    }
  }
}

// Only the assistant's tokens count.
TEST_F(PackedSft, MasksCount) {
  const auto right = chat_.sft(tiny_packed(), folder_.path());
  for (RenderedConversation& one : chat_.train.rendered)
    std::ranges::fill(one.mask, std::uint8_t{1});
  const auto wrong = chat_.sft(tiny_packed(), other_.path());
  ASSERT_TRUE(right && wrong);
  EXPECT_NE(right->steps[0].train_loss, wrong->steps[0].train_loss);
}

TEST_F(PackedSft, WhatPackedRowsDoNotReadIsRefused) {
  const auto refused = [&](auto change) {
    SftSettings settings = tiny_packed();
    change(settings);
    return refusal(chat_.sft(settings, folder_.path()));
  };
  EXPECT_EQ(refused([](SftSettings& s) { s.target_examples_per_step = 8; }),
            "target_examples_per_step: packed rows do not read it; leave it out "
            "(packed/total_batch_tokens says the batch)");
  EXPECT_EQ(refused([](SftSettings& s) { s.iterations = 8; }),
            "iterations: packed rows do not read it; leave it out (they are one pass over the "
            "conversations)");
  EXPECT_EQ(refused([](SftSettings& s) { s.eval_batches = 8; }),
            "eval_batches: packed rows do not read it; leave it out (packed/eval_tokens says the "
            "validation)");
  EXPECT_EQ(refused([](SftSettings& s) { s.packed->total_batch_tokens = 100; }),
            "total_batch_tokens 100 is not a multiple of 60 = device_batch_size 2 × sequence_len "
            "30; the nearest valid total_batch_tokens: 60 or 120");
  EXPECT_EQ(refused([](SftSettings& s) { s.lora = AdapterSettings{}; }),
            "packed/keeps_optimizer: the stage before has no moments of adapters; set it to false");
  EXPECT_EQ(
      refused([](SftSettings& s) {
        s.packed->sequence_len = 8;
        s.packed->total_batch_tokens = 16;
      }),
      "training: 40 of 40 conversations have more than the 9 tokens of a packed row, and they "
      "fill the buffer of 100; choose a larger sequence_len, or leave them out");
  EXPECT_EQ(refused([](SftSettings& s) {
              s.device_batch_size = 16;
              s.packed->total_batch_tokens = 480;
            }),
            "the 40 conversations fill no more than one batch of 16 rows of 30; give more "
            "conversations or a smaller device_batch_size");
}

// As in nanochat it waits among the hundred for ever; the log says so.
TEST_F(PackedSft, AConversationLongerThanARowIsNotTrainedOn) {
  std::vector<Conversation> some = test::sums(0, 40);
  some[7].messages.back() = assistant_says(std::string(40, 'x'));
  chat_.train = chat_.set(some);
  std::set<int> trained;
  StageObserver observer;
  observer.on_batch = [&](const Batch& batch) {
    trained.insert(batch.targets.begin(), batch.targets.end());
  };
  std::vector<std::string> notes;
  TrainHooks hooks;
  hooks.observer = &observer;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  const auto result = chat_.sft(tiny_packed(), folder_.path(), hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(trained.contains('1'));
  EXPECT_FALSE(trained.contains('x'));
  EXPECT_EQ(notes, std::vector<std::string>{
                       "1 of 40 conversations have more than the 31 tokens of a packed row: they "
                       "are never trained on and hold their places in the buffer, as in nanochat"});
}

TEST_F(PackedSft, EndsWithTheSameBytesAfterAKill) {
  const auto whole = chat_.sft(tiny_packed(), folder_.path());
  ASSERT_TRUE(whole) << whole.error().message;
  TrainHooks hooks;
  hooks.on_checkpoint = [](std::int64_t step) {
    if (step == 2) throw test::Killed{};
  };
  EXPECT_THROW((void)chat_.sft(tiny_packed(), other_.path(), hooks), test::Killed);
  const auto resumed = chat_.sft(tiny_packed(), other_.path());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->resumed_from_step, 2);
  EXPECT_EQ(*sha256_file(resumed->checkpoint), *sha256_file(whole->checkpoint));
}

TEST(PackedSftSettings, TheRateFallsInTheLastShareAndStaysAtZero) {
  EXPECT_EQ(packed_multiplier(0.5, 0.5), 1);
  EXPECT_EQ(packed_multiplier(0.5, 0.75), 0.5);
  EXPECT_EQ(packed_multiplier(0.5, 1.2), 0);
  EXPECT_EQ(packed_multiplier(0, 0.99), 1);
  EXPECT_EQ(packed_multiplier(0, 1.01), 0);
}

}  // namespace
}  // namespace nb
