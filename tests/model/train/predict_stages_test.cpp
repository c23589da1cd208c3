// Predictions of MID, SFT and RL: the same simulated time as the executed stage, and what they
// refuse.
#include "model/device/profile.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/predict.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

// As the stages of tiny_chat.hpp train.
PredictSettings tiny_prediction(TrainingStage stage, const Tokenizer& tokenizer) {
  PredictSettings settings;
  settings.depth = 1;
  settings.vocab_size = tokenizer.vocab_size();
  settings.sequence_len = 32;
  settings.cards = 1;
  settings.stage = stage;
  return settings;
}

class PredictStages : public test::ChatTest {
 protected:
  static Prediction predicted(const PredictSettings& settings) {
    const auto prediction = predict(settings, *load_profile("ascend_910b3"));
    EXPECT_TRUE(prediction) << prediction.error().message;
    return prediction.value_or(Prediction{});
  }
  static std::string refused(const PredictSettings& settings) {
    const auto prediction = predict(settings, *load_profile("ascend_910b3"));
    EXPECT_FALSE(prediction);
    return prediction ? "" : prediction.error().message;
  }
};

TEST_F(PredictStages, MidTakesTheTimeOfTheExecutedStage) {
  MidSettings asked = test::tiny_mid();
  const auto executed = chat_.mid(asked, folder_.path());
  ASSERT_TRUE(executed) << executed.error().message;
  PredictSettings settings = tiny_prediction(TrainingStage::kMid, chat_.tokenizer());
  settings.sequence_len = *asked.sequence_len;
  settings.device_batch_size = asked.device_batch_size;
  settings.total_batch_tokens = asked.total_batch_tokens;
  const Prediction prediction = predicted(settings);
  EXPECT_EQ(prediction.step_time_ns, executed->step_time_ns);
  EXPECT_EQ(prediction.accumulation_steps, 2);
}

TEST_F(PredictStages, SftTakesTheTimeOfTheExecutedStage) {
  const SftSettings asked = test::tiny_sft();
  const auto executed = chat_.sft(asked, folder_.path());
  ASSERT_TRUE(executed) << executed.error().message;
  PredictSettings settings = tiny_prediction(TrainingStage::kSft, chat_.tokenizer());
  settings.device_batch_size = asked.device_batch_size;
  settings.examples_per_step = asked.target_examples_per_step;
  // All rows of sums have one length; the last token is a target only.
  settings.row_tokens = std::ssize(chat_.train.rendered[0].ids) - 1;
  const Prediction prediction = predicted(settings);
  EXPECT_EQ(prediction.step_time_ns, executed->step_time_ns);
  EXPECT_DOUBLE_EQ(prediction.throughput_tok_s * prediction.step_time_ns / 1e9,
                   static_cast<double>(6 * *settings.row_tokens));
}

TEST_F(PredictStages, RlTakesTheTimeOfAnExecutedStepWhoseAnswersAreNotCut) {
  RlSettings asked = test::tiny_rl();
  asked.rollout_batch_size = asked.device_batch_size;
  const auto executed = chat_.rl(asked, folder_.path());
  ASSERT_TRUE(executed) << executed.error().message;
  PredictSettings settings = tiny_prediction(TrainingStage::kRl, chat_.tokenizer());
  settings.device_batch_size = asked.device_batch_size;
  settings.examples_per_step = asked.examples_per_step;
  settings.num_samples = asked.num_samples;
  settings.prompt_tokens = std::ssize(chat_.asked.questions[0].prompt);
  settings.answer_tokens = asked.max_new_tokens;
  const Prediction prediction = predicted(settings);
  EXPECT_EQ(prediction.accumulation_steps, 4);  // two questions, four samples, two a pass
  int compared = 0;
  for (const StepRow& row : executed->steps) {
    // Without a validation before it, which leaves the device's caches in another state.
    if (row.step == 0 || !row.sample_tokens ||
        *row.sample_tokens != static_cast<double>(asked.max_new_tokens))
      continue;
    EXPECT_EQ(prediction.generate_time_ns, *row.generate_time_ns) << row.step;
    EXPECT_EQ(prediction.step_time_ns, *row.step_time_ns) << row.step;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// One question, two answers: the step's tokens tell the longer, their mean the other.
TEST_F(PredictStages, RlTakesTheTimeOfAnExecutedStepWithAnswersOfTwoLengths) {
  RlSettings asked = test::tiny_rl();
  asked.examples_per_step = 1;
  asked.num_samples = asked.device_batch_size = asked.rollout_batch_size = 2;
  asked.max_new_tokens = 6;
  asked.iterations = 40;
  asked.eval_every = 0;
  const auto executed = chat_.rl(asked, folder_.path());
  ASSERT_TRUE(executed) << executed.error().message;
  PredictSettings settings = tiny_prediction(TrainingStage::kRl, chat_.tokenizer());
  settings.device_batch_size = 2;
  settings.examples_per_step = 1;
  settings.num_samples = 2;
  settings.prompt_tokens = std::ssize(chat_.asked.questions[0].prompt);
  int compared = 0;
  for (const StepRow& row : executed->steps) {
    if (row.step == 0 || !row.sample_tokens || !row.tokens) continue;
    const auto longer = static_cast<std::int64_t>(*row.tokens) / 2 + 1 - *settings.prompt_tokens;
    const auto other = static_cast<std::int64_t>(2 * *row.sample_tokens) - longer;
    if (longer != asked.max_new_tokens || other < 1 || other == longer) continue;
    settings.answer_lengths = {longer, other};
    const Prediction prediction = predicted(settings);
    EXPECT_EQ(prediction.generate_time_ns, *row.generate_time_ns) << row.step << " " << other;
    EXPECT_EQ(prediction.step_time_ns, *row.step_time_ns) << row.step << " " << other;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_F(PredictStages, AnswersOfSeveralLengthsStandInTurnAndPassesArePaddedToTheLongest) {
  const DryRollout rollout = {
      .requests = 3, .samples = 2, .prompt_tokens = 10, .answer_tokens = {4, 9, 20}};
  EXPECT_EQ(rollout.limit(), 20);
  // 4 9, 20 4, 9 20.
  EXPECT_EQ(rollout.row_tokens_of(0), 10 + 9 - 1);
  EXPECT_EQ(rollout.row_tokens_of(1), 10 + 20 - 1);
  EXPECT_EQ(rollout.row_tokens_of(2), 10 + 20 - 1);
  EXPECT_EQ(rollout.row_tokens(), 18 + 29 + 29);
  PredictSettings settings = tiny_prediction(TrainingStage::kRl, chat_.tokenizer());
  settings.sequence_len = 256;
  settings.prompt_tokens = 10;
  settings.device_batch_size = 8;
  settings.answer_tokens = 40;
  const Prediction longest = predicted(settings);
  settings.answer_tokens = 20;
  const Prediction shortest = predicted(settings);
  settings.answer_tokens.reset();
  settings.answer_lengths = {40};
  EXPECT_EQ(predicted(settings).step_time_ns, longest.step_time_ns);
  EXPECT_EQ(predicted(settings).throughput_tok_s, longest.throughput_tok_s);
  settings.answer_lengths = {20, 30, 40};
  const Prediction mixed = predicted(settings);
  EXPECT_LT(mixed.generate_time_ns, longest.generate_time_ns);
  EXPECT_GT(mixed.generate_time_ns, shortest.generate_time_ns);
  EXPECT_EQ(mixed.peak_allocated_bytes, longest.peak_allocated_bytes);
  // One answer a pass: each is as long as its own answer. Without the host's time, which hides it.
  DeviceProfile quick = *load_profile("ascend_910b3");
  LaunchProfile& launch = quick.launch;
  for (Quantity* cost : {&launch.host_dispatch, &launch.host_dispatch_backward, &launch.submit,
                         &launch.collective_dispatch, &launch.synchronize})
    cost->value = 0;
  settings.device_batch_size = 1;
  settings.num_samples = 2;
  settings.examples_per_step = 2;
  const auto step = [&](std::vector<std::int64_t> lengths) {
    settings.answer_lengths = std::move(lengths);
    return *predict(settings, quick);
  };
  const Prediction apart = step({20, 240}), both_long = step({240}), both_short = step({20});
  const auto trained = [](const Prediction& p) { return p.step_time_ns - p.generate_time_ns; };
  EXPECT_LT(trained(apart), trained(both_long));
  EXPECT_GT(trained(apart), trained(both_short));
  EXPECT_EQ(apart.first_peak, both_long.first_peak);
  EXPECT_DOUBLE_EQ(apart.throughput_tok_s * apart.step_time_ns / 1e9, 2 * (29 + 249));
  settings.cards = 2;
  const Prediction two = step({20, 240});
  EXPECT_DOUBLE_EQ(two.throughput_tok_s * two.step_time_ns / 1e9, 2 * (29 + 249));
  settings.num_samples.reset();
  settings.cards = 1;
  settings.answer_tokens = 40;
  EXPECT_EQ(refused(settings),
            "answer_tokens: decides nothing beside answer_lengths; leave one out");
  settings.answer_tokens.reset();
  settings.answer_lengths = {20, 300};
  EXPECT_NE(refused(settings).find("are longer than sequence_len 256"), std::string::npos);
  settings.stage = TrainingStage::kSft;
  settings.prompt_tokens.reset();
  settings.row_tokens = 20;
  EXPECT_EQ(refused(settings), "answer_lengths: decides nothing: the stage is sft");
}

TEST_F(PredictStages, LongerAnswersTakeLongerToGenerate) {
  PredictSettings settings = tiny_prediction(TrainingStage::kRl, chat_.tokenizer());
  settings.sequence_len = 256;
  settings.prompt_tokens = 10;
  settings.answer_tokens = 20;
  settings.device_batch_size = 8;
  const Prediction shorter = predicted(settings);
  settings.answer_tokens = 40;
  const Prediction longer = predicted(settings);
  // The first token comes with the prompt.
  EXPECT_NEAR(longer.generate_time_ns / shorter.generate_time_ns, 40. / 20., .1);
  EXPECT_GT(longer.peak_allocated_bytes, shorter.peak_allocated_bytes);
}

TEST_F(PredictStages, SftIsNotCompiledWhereMidIs) {
  PredictSettings mid = tiny_prediction(TrainingStage::kMid, chat_.tokenizer());
  mid.device_batch_size = 2;
  mid.total_batch_tokens = 64;
  PredictSettings sft = tiny_prediction(TrainingStage::kSft, chat_.tokenizer());
  sft.device_batch_size = sft.examples_per_step = 2;
  sft.row_tokens = 32;
  const DeviceProfile h100 = *load_profile("h100_sxm");
  const auto compiled = predict(mid, h100), eager = predict(sft, h100);
  ASSERT_TRUE(compiled && eager);
  EXPECT_LT(compiled->step_time_ns, eager->step_time_ns);
}

TEST_F(PredictStages, RefuseWhatTheStageDoesNotHaveOrMustBeTold) {
  PredictSettings settings = tiny_prediction(TrainingStage::kSft, chat_.tokenizer());
  EXPECT_NE(refused(settings).find("row_tokens: missing: sft depends on the length of the data"),
            std::string::npos);
  settings.row_tokens = 33;
  EXPECT_NE(refused(settings).find("longer than sequence_len 32"), std::string::npos);
  settings.row_tokens = 32;
  settings.answer_tokens = 3;
  EXPECT_NE(refused(settings).find("answer_tokens: decides nothing: the stage is sft"),
            std::string::npos);
  settings.answer_tokens.reset();
  settings.device_batch_size = 5;
  EXPECT_NE(
      refused(settings).find("the 32 examples of a card do not fill whole micro-batches of 5"),
      std::string::npos);
  settings.device_batch_size = 4;
  settings.cards = 3;
  EXPECT_NE(refused(settings).find("examples_per_step 32 is not a multiple of 3 cards"),
            std::string::npos);
  settings.stage = TrainingStage::kDpo;
  EXPECT_NE(refused(settings).find("DPO is not predicted"), std::string::npos);
}

// The run guide's SFT on eight cards: 8 rows per card and 32 examples.
TEST_F(PredictStages, RefuseTheGuidesBatchThatDoesNotDivide) {
  PredictSettings settings = {.depth = 12, .cards = 8, .device_batch_size = 8};
  settings.stage = TrainingStage::kSft;
  settings.row_tokens = 512;
  EXPECT_NE(refused(settings).find("the 4 examples of a card do not fill whole micro-batches of 8"),
            std::string::npos);
}

}  // namespace
}  // namespace nb
