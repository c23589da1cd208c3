// What RL rewards and learns from, and every sentence with which it refuses or warns.
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/engine/fake_language_model.hpp"
#include "model/train/rl_rollout.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

class RlStage : public test::ChatTest {
 protected:
  static std::vector<float> weights(const std::filesystem::path& checkpoint, const char* name,
                                    std::int64_t rows) {
    return SafetensorsFile::open(checkpoint)->read_floats(name, {rows, 64}).value();
  }
  // A model that answers "A" or "B" as often.
  void learn_the_coin() {
    chat_.train = chat_.validation = chat_.set(test::coin(24));
    SftSettings settings = test::tiny_sft();
    settings.iterations = 30;
    settings.rates.init_lr_frac = 1;
    const auto learned = chat_.sft(settings, coin_folder_.path());
    ASSERT_TRUE(learned) << learned.error().message;
    chat_.start_from(learned->checkpoint);
    chat_.asked = chat_.held_out =
        chat_.questions({{{user_says("?"), assistant_says("A")}}, test::coin(1)[0]});
  }
  static RlSettings coin_settings() {
    RlSettings settings = test::tiny_rl();
    settings.device_batch_size = 8;
    settings.num_samples = 16;
    settings.max_new_tokens = 1;
    settings.iterations = 1;
    return settings;
  }
  TrainHooks noting() {
    TrainHooks hooks;
    hooks.on_note = [this](const std::string& note) { notes_.push_back(note); };
    return hooks;
  }
  const test::TempDir coin_folder_;
  std::vector<std::string> notes_;
};

TEST_F(RlStage, RewardsRightNumbersWithOne) {
  const QuestionSet set = chat_.questions({{{user_says("1+2?"), assistant_says("#### 3")}},
                                           {{user_says("which?"), assistant_says("B")}}});
  const std::vector<std::string> answers = {"#### 3", "it is #### 3", "#### 4", "3"};
  FakeLanguageModel model(chat_.tokenizer(), 64, {}, [&](const GenerateRequest&, int sample) {
    return chat_.tokenizer().encode(answers[static_cast<std::size_t>(sample)]);
  });
  const std::vector<std::size_t> first = {0};
  RolloutPlan plan;
  plan.num_samples = plan.samples_a_seed = 4;
  const std::vector<Rollout> rollouts = roll_out(model, set, first, 0, plan);
  ASSERT_EQ(rollouts.size(), 4U);
  const std::vector<double> expected = {1, 1, 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rollouts[i].reward, expected[i]) << answers[i];
    const std::size_t prompt = set.questions[0].prompt.size();
    ASSERT_EQ(rollouts[i].ids.size(), rollouts[i].mask.size());
    EXPECT_EQ(rollouts[i].ids.size(), prompt + chat_.tokenizer().encode(answers[i]).size());
    for (std::size_t t = 0; t < rollouts[i].mask.size(); ++t)
      EXPECT_EQ(rollouts[i].mask[t], t < prompt ? 0 : 1) << t;
  }
}

// Nothing that the model says is right: all rewards are equal, no gradient, a note once.
TEST_F(RlStage, GroupsOfEqualRewardsTeachNothing) {
  chat_.asked = chat_.questions({{{user_says("a?"), assistant_says(std::string(9, '~'))}},
                                 {{user_says("b?"), assistant_says(std::string(9, '~'))}}});
  for (const RlObjective objective : {RlObjective::kPolicyGradient, RlObjective::kClipped}) {
    const test::TempDir folder;
    notes_.clear();
    RlSettings settings = test::tiny_rl();
    settings.objective = objective;
    settings.iterations = 3;
    const auto result = chat_.rl(settings, folder.path(), noting());
    ASSERT_TRUE(result) << result.error().message;
    for (const StepRow& row : result->steps) {
      if (!row.reward) continue;
      EXPECT_EQ(*row.reward, 0);
      EXPECT_EQ(*row.reward_spread, 0);
      EXPECT_EQ(*row.equal_rewards, 1);
      EXPECT_EQ(*row.grad_norm, 0);
    }
    EXPECT_EQ(notes_,
              std::vector<std::string>{
                  "step 0: in every group all rewards are equal: this step teaches nothing"});
    EXPECT_EQ(weights(result->checkpoint, "transformer.wte.weight", 265),
              weights(chat_.parent(), "transformer.wte.weight", 265));
    EXPECT_EQ(weights(result->checkpoint, "transformer.h.0.attn.c_q.weight", 64),
              weights(chat_.parent(), "transformer.h.0.attn.c_q.weight", 64));
  }
}

// Sample 0 of a question is the same however many are drawn.
TEST_F(RlStage, AccuracyIsOfTheFirstAnswerAlone) {
  learn_the_coin();
  chat_.held_out = chat_.questions(test::coin(24));
  std::vector<double> accuracy, any;
  for (const std::int64_t samples : {1, 5}) {
    const test::TempDir folder;
    RlSettings settings = coin_settings();
    settings.eval_examples = 24;
    settings.eval_samples = samples;
    const auto result = chat_.rl(settings, folder.path());
    ASSERT_TRUE(result) << result.error().message;
    accuracy.push_back(*result->steps.front().val_accuracy);
    any.push_back(*result->steps.front().val_pass_at_k);
  }
  EXPECT_GT(accuracy[0], 0);
  EXPECT_EQ(accuracy[0], accuracy[1]);
  EXPECT_EQ(any[0], accuracy[0]);
  EXPECT_GT(any[1], any[0]);
}

TEST_F(RlStage, RightAnswersBecomeLikelier) {
  learn_the_coin();
  RlSettings settings = coin_settings();
  settings.iterations = 8;
  settings.eval_samples = 8;
  const auto result = chat_.rl(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  const StepRow& first = result->steps.front();
  EXPECT_GT(*first.reward, 0.2);
  EXPECT_LT(*first.reward, 0.8);
  EXPECT_GT(*first.reward_spread, 0.3);
  EXPECT_EQ(*first.equal_rewards, 0);
  EXPECT_EQ(*first.sample_tokens, 1);
  EXPECT_EQ(*first.sampler_age, 0);
  EXPECT_GT(*result->steps[7].reward, 0.95);
  EXPECT_EQ(*result->last_validation.val_accuracy, 1);
  EXPECT_GE(*result->last_validation.val_pass_at_k, *result->last_validation.val_accuracy);
}

// Every answer has one token, so the two means over tokens agree, and the ratio of the first update
// is 1: the same gradient.
TEST_F(RlStage, TheFirstUpdateOfTheClippedObjectiveIsThePolicyGradients) {
  learn_the_coin();
  RlSettings settings = coin_settings();
  settings.eval_every = 0;
  const auto plain = chat_.rl(settings, folder_.path());
  settings.objective = RlObjective::kClipped;
  const auto clipped = chat_.rl(settings, other_.path());
  ASSERT_TRUE(plain && clipped);
  const StepRow &a = plain->steps.front(), &b = clipped->steps.front();
  EXPECT_EQ(*a.reward, *b.reward);
  ASSERT_GT(*a.grad_norm, 0.01);
  EXPECT_NEAR(*b.grad_norm / *a.grad_norm, 1, 1e-3);
  EXPECT_FALSE(a.clip_fraction);
  EXPECT_EQ(*b.clip_fraction, 0);
  EXPECT_EQ(*b.ratio_spread, 0);
  const auto moved = [&](const std::filesystem::path& checkpoint) {
    std::vector<float> after = weights(checkpoint, "lm_head.weight", 265);
    const std::vector<float> before = weights(chat_.parent(), "lm_head.weight", 265);
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
    return after;
  };
  const std::vector<float> u = moved(plain->checkpoint), v = moved(clipped->checkpoint);
  double uv = 0, uu = 0, vv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    uv += static_cast<double>(u[i]) * v[i];
    uu += static_cast<double>(u[i]) * u[i];
    vv += static_cast<double>(v[i]) * v[i];
  }
  EXPECT_GT(uv, 0.99 * std::sqrt(uu * vv));
}

TEST_F(RlStage, TheSecondUpdateOfARolloutMovesTheRatio) {
  learn_the_coin();
  RlSettings settings = coin_settings();
  settings.objective = RlObjective::kClipped;
  settings.updates_per_rollout = 3;
  settings.has_reference = true;
  settings.kl_weight = 0.05;
  settings.iterations = 2;
  const auto result = chat_.rl(settings, folder_.path(), noting());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GT(*result->steps[0].ratio_spread, 0);
  EXPECT_EQ(*result->steps[0].sampler_age, 2);
  EXPECT_GT(*result->steps[1].kl, 0);
  EXPECT_TRUE(notes_.empty()) << notes_.front();
}

TEST_F(RlStage, ARateOfZeroLeavesTheRatioStuckAndSaysSo) {
  learn_the_coin();
  RlSettings settings = coin_settings();
  settings.objective = RlObjective::kClipped;
  settings.updates_per_rollout = 2;
  settings.rates.init_lr_frac = 0;
  ASSERT_TRUE(chat_.rl(settings, folder_.path(), noting()));
  EXPECT_EQ(notes_, std::vector<std::string>{
                        "step 0: the ratio does not move after an update: the clip does nothing"});
}

TEST_F(RlStage, AReferenceThatNothingReadsIsNoted) {
  RlSettings settings = test::tiny_rl();
  settings.has_reference = true;
  const auto with = chat_.rl(settings, folder_.path(), noting());
  ASSERT_TRUE(with) << with.error().message;
  ASSERT_FALSE(notes_.empty());
  EXPECT_EQ(notes_[0],
            "has_reference: the first weights take memory and time, and change nothing: kl_weight "
            "is 0");
  settings.has_reference = false;
  const auto without = chat_.rl(settings, other_.path());
  ASSERT_TRUE(without);
  EXPECT_EQ(with->final_loss, without->final_loss);
  EXPECT_GT(with->peak_allocated_bytes, without->peak_allocated_bytes);
}

// On "A" or "B" each of them learns to say what is right.
TEST_F(RlStage, EveryObjectiveMakesRightAnswersLikelier) {
  learn_the_coin();
  for (const RlObjective objective :
       {RlObjective::kClipped, RlObjective::kGspo, RlObjective::kSapo, RlObjective::kCispo,
        RlObjective::kBnpo, RlObjective::kDrGrpo}) {
    const test::TempDir folder;
    notes_.clear();
    RlSettings settings = coin_settings();
    settings.objective = objective;
    settings.iterations = 4;
    settings.updates_per_rollout = 2;
    settings.eval_every = 0;
    const auto result = chat_.rl(settings, folder.path(), noting());
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_GT(*result->steps[3].reward, *result->steps[0].reward) << static_cast<int>(objective);
    EXPECT_GT(*result->steps[0].ratio_spread, 0);
    EXPECT_EQ(result->steps[0].clip_fraction.has_value(), objective != RlObjective::kSapo);
    EXPECT_TRUE(notes_.empty()) << notes_.front();
  }
}

TEST(RlObjectives, ALimitThatNothingReadsIsRefused) {
  const auto refusal = [](const char* json) {
    const auto settings = parse_struct<RlSettings>(Json::parse(json), "rl");
    EXPECT_TRUE(settings) << settings.error().message;
    const auto checked = passes_per_example(*settings);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal(R"({"clip_high": 0.3})"),
            "clip_low and clip_high: the policy gradient has no ratio to clip; leave it out");
  EXPECT_EQ(refusal(R"({"objective": "sapo", "clip_low": 0.1})"),
            "clip_low and clip_high: objective \"sapo\" has a gate in place of the clip (gate_up, "
            "gate_down); leave it out");
  EXPECT_EQ(refusal(R"({"objective": "cispo", "clip_low": 0.1})"),
            "clip_low: objective \"cispo\" caps the ratio from above alone; leave it out");
  EXPECT_EQ(refusal(R"({"objective": "gspo", "gate_down": 1.05})"),
            "gate_down: objective \"sapo\" alone has a gate; leave it out");
  EXPECT_EQ(refusal(R"({"objective": "dr_grpo", "kl_weight": 0.1})"),
            "kl_weight: needs the first weights beside it; set has_reference to true");
  EXPECT_EQ(refusal(R"({"objective": "clipped", "pass_weights": "tokens"})"),
            "pass_weights: objectives \"cispo\" and \"bnpo\" alone are means over tokens; leave it "
            "out");
  EXPECT_EQ(refusal(R"({"objective": "bnpo", "pass_weights": "tokens"})"), "");
  EXPECT_EQ(refusal(R"({"objective": "cispo", "clip_high": 3})"), "");
  EXPECT_EQ(refusal(R"({"objective": "sapo", "gate_down": 1.05})"), "");
  const auto unknown = parse_struct<RlSettings>(Json::parse(R"({"objective": "gpso"})"), "rl");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean \"gspo\""), std::string::npos)
      << unknown.error().message;
}

TEST_F(RlStage, TheSeedChangesTheSamples) {
  RlSettings settings = test::tiny_rl();
  const auto a = chat_.rl(settings, folder_.path());
  settings.seed = 43;
  const auto b = chat_.rl(settings, other_.path());
  ASSERT_TRUE(a && b);
  EXPECT_NE(
      a->steps[0].sample_tokens.value() + a->steps[4].sample_tokens.value() + a->train_time_ns,
      b->steps[0].sample_tokens.value() + b->steps[4].sample_tokens.value() + b->train_time_ns);
}

TEST_F(RlStage, SettingsThatDoNotFitAreRefused) {
  const auto refused = [&](auto change) {
    RlSettings settings = test::tiny_rl();
    change(settings);
    return refusal(chat_.rl(settings, folder_.path()));
  };
  EXPECT_EQ(refused([](RlSettings& s) { s.num_samples = 3; }),
            "num_samples 3 is not a multiple of device_batch_size 2; the nearest valid "
            "num_samples: 2 or 4");
  EXPECT_EQ(refused([](RlSettings& s) { s.num_samples = s.device_batch_size = 1; }),
            "num_samples 1: a group of one has nothing to compare its reward with; use 2 or more, "
            "or advantage \"none\"");
  EXPECT_EQ(refused([](RlSettings& s) { s.kl_weight = 0.1; }),
            "kl_weight: needs the first weights beside it; set has_reference to true");
  EXPECT_EQ(refused([](RlSettings& s) {
              s.kl_weight = 0.1;
              s.has_reference = true;
            }),
            "kl_weight: the policy gradient has none; use objective \"clipped\"");
  EXPECT_EQ(refused([](RlSettings& s) { s.updates_per_rollout = 2; }),
            "updates_per_rollout: the policy gradient is right for the first update alone; use "
            "objective \"clipped\"");
  EXPECT_EQ(refused([](RlSettings& s) {
              s.iterations.reset();
              s.examples_per_step = 13;
            }),
            "12 questions are fewer than the 13 of one step; give more or a smaller "
            "examples_per_step");
  EXPECT_EQ(refused([](RlSettings& s) { s.checkpoints.keep_steps = {6}; }),
            "keep_steps: 6: the stage has the steps 0 to 5; give some of these");
}

// It was a failed check in the middle of training.
TEST_F(RlStage, RefusesAPromptThatFillsAllPositions) {
  chat_.held_out = chat_.questions({{{user_says(std::string(315, 'a')), assistant_says("b")}}});
  ASSERT_EQ(chat_.held_out.questions[0].prompt.size(), 319U);
  RlSettings settings = test::tiny_rl();
  settings.iterations = 1;
  EXPECT_TRUE(chat_.rl(settings, folder_.path()));
  chat_.held_out = chat_.questions({{{user_says(std::string(316, 'a')), assistant_says("b")}}});
  EXPECT_EQ(refusal(chat_.rl(settings, other_.path())),
            "validation question 1 has 320 tokens, which leave none of the model's 320 positions "
            "to an answer; leave it out, or train BASE with a longer sequence_len");
}

}  // namespace
}  // namespace nb
