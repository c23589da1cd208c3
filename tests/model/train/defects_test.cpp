// Each defect of training changes what it says, and nothing when it is not there.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "model/data/chat/conversation_rows.hpp"
#include "model/decoder/presets.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/training_defects.hpp"
#include "tests/model/train/tiny_chat.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::TempDir;

PortDefects only(PortDefect defect) { return PortDefects({defect}); }

class BaseWithDefects : public ::testing::Test {
 protected:
  TrainResult run(const PortDefects& defects, const std::string& folder,
                  const TrainHooks& hooks = {}) {
    auto result =
        test::run_tiny(data_, settings_, folder_.path() / folder, hooks, "ascend_910b3", defects);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : TrainResult{};
  }

  test::TinyData data_ = test::tiny_data();
  TrainSettings settings_ = test::tiny_settings();
  TempDir folder_;
};

TEST_F(BaseWithDefects, EachTrainingDefectEndsInOtherWeights) {
  const TrainResult right = run({}, "right");
  const std::string right_bytes = *sha256_file(right.checkpoint);
  EXPECT_EQ(run({}, "again").steps.size(), right.steps.size());
  EXPECT_EQ(*sha256_file(folder_.path() / "again" / "checkpoints" / "step_000008.safetensors"),
            right_bytes);
  for (const PortDefectInfo& defect : all_port_defects()) {
    if ((defect.scope & defect_scope::kBase) == 0 || defect.changes_device()) continue;
    if (defect.defect == PortDefect::kSpNormNotReduced) continue;  // sequence_parallel_test.cpp
    const std::string name{defect.name};
    const TrainResult wrong = run(only(defect.defect), name);
    EXPECT_NE(wrong.last_validation.val_bpb, right.last_validation.val_bpb) << name;
    RecordProperty(name, std::to_string(*wrong.last_validation.val_bpb));
    const auto file = SafetensorsFile::open(wrong.checkpoint);
    ASSERT_TRUE(file) << file.error().message;
    const auto history = checkpoint_history(*file);
    ASSERT_TRUE(history) << history.error().message;
    EXPECT_EQ(history->at("settings").at("defects"), Json{name});
  }
}

TEST_F(BaseWithDefects, HalfStepsHalveTheScheduleToo) {
  settings_.warmdown_ratio = 0.5;
  const TrainResult half = run(only(PortDefect::kHalfSteps), "half");
  EXPECT_EQ(half.iterations, 4);
  EXPECT_LT(*half.steps[3].lr_multiplier, 1);
}

TEST_F(BaseWithDefects, HalfBatchKeepsTheNumberOfSteps) {
  settings_.iterations.reset();
  settings_.param_data_ratio = 0.01;
  const TrainResult whole = run({}, "whole"), half = run(only(PortDefect::kHalfBatch), "half");
  EXPECT_EQ(half.iterations, whole.iterations);
  EXPECT_EQ(2 * half.tokens, whole.tokens);
}

TEST_F(BaseWithDefects, ARunDoesNotGoOnWithoutItsDefect) {
  run(only(PortDefect::kAdamWBetas), "run");
  std::string said;
  TrainHooks hooks;
  hooks.on_damage = [&](const std::string& sentence) { said += sentence; };
  const auto other = test::run_tiny(data_, settings_, folder_.path() / "run", hooks);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->resumed_from_step, 0);
  EXPECT_NE(said.find("defects"), std::string::npos) << said;
}

TEST_F(BaseWithDefects, AKilledRunEndsWithTheSameBits) {
  const PortDefects defects({PortDefect::kAdamWBetas, PortDefect::kTargetsOffByOne,
                             PortDefect::kLowPrecisionGradients, PortDefect::kHalfBatch});
  const TrainResult whole = run(defects, "whole");
  struct Kill {};
  TrainHooks hooks;
  hooks.on_step = [](const StepRow& row) {
    if (row.step == 5) throw Kill{};
  };
  EXPECT_THROW(static_cast<void>(test::run_tiny(data_, settings_, folder_.path() / "killed", hooks,
                                                "ascend_910b3", defects)),
               Kill);
  const TrainResult resumed = run(defects, "killed");
  EXPECT_EQ(resumed.resumed_from_step, 4);
  EXPECT_EQ(*sha256_file(resumed.checkpoint), *sha256_file(whole.checkpoint));
}

TEST_F(BaseWithDefects, ReplicasWhoseEmbeddingsAreNotAveragedComeApartAtStepOne) {
  std::vector<std::string> notes;
  TrainHooks hooks;
  hooks.on_note = [&](const std::string& text) { notes.push_back(text); };
  const PortDefects defects = only(PortDefect::kUnsyncedEmbeddingGradients);
  const TrainResult whole = run(defects, "whole", hooks);
  EXPECT_EQ(whole.replica_mismatch, 2);
  EXPECT_EQ(whole.replica_mismatch_step, 1);
  // Before lm_head, which is zero at first, has learned something, wte has no gradient.
  const char* text = "step {}: the replicas differ in {}: their gradients are not averaged";
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                fmt::format(fmt::runtime(text), 1, "lm_head.weight"),
                fmt::format(fmt::runtime(text), 2, "transformer.wte.weight, lm_head.weight")}));
  EXPECT_FALSE(run({}, "right").replica_mismatch);
  struct Kill {};
  hooks.on_step = [](const StepRow& row) {
    if (row.step == 5) throw Kill{};
  };
  EXPECT_THROW(static_cast<void>(test::run_tiny(data_, settings_, folder_.path() / "killed", hooks,
                                                "ascend_910b3", defects)),
               Kill);
  const TrainResult resumed = run(defects, "killed");
  EXPECT_EQ(resumed.replica_mismatch_step, 1);
  EXPECT_EQ(resumed.resumed_from_step, 4);
  EXPECT_EQ(*sha256_file(resumed.checkpoint), *sha256_file(whole.checkpoint));
}

TEST_F(BaseWithDefects, AnOddNumberOfMicroBatchesIsNotShared) {
  settings_.device_batch_size = 4;
  const auto result = test::run_tiny(data_, settings_, folder_.path(), {}, "ascend_910b3",
                                     only(PortDefect::kUnsyncedEmbeddingGradients));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "unsynced_embedding_gradients: two replicas cannot share 1 micro-batch a step; choose "
            "an even number");
}

// Then they are one model: the check has nothing to say.
TEST_F(BaseWithDefects, ReplicasWhoseGradientsAreAllAveragedStayEqual) {
  for (const Averaged averaged : {Averaged::kAll, Averaged::kMatrices}) {
    auto loader = TokenLoader::create(data_.train);
    ASSERT_TRUE(loader);
    Device device(load_profile("ascend_910b3").value(), ExecutionMode::kExecute);
    TrainedModel model(decoder_config(settings_, data_.tokenizer.vocab_size()).value(), device);
    model.decoder.init(1);
    model.optimizers = make_optimizers(model.decoder, {});
    auto replica = std::make_unique<Replica>(model.decoder.config(), device, OptimizerRates{},
                                             OptimizerRules{}, /*seed=*/1, averaged);
    Replica& other = *replica;
    model.optimizers.push_back(std::move(replica));
    for (int step = 0; step < 3; ++step)
      run_step_with(other, model.decoder, model.optimizers, {.accumulation_steps = 4}, {step},
                    [&] { return loader->next(2, 32); });
    EXPECT_EQ(differing_parameters(model.decoder, other.decoder()).empty(),
              averaged == Averaged::kAll);
  }
}

// Both replicas keep their weights, as one model does.
TEST_F(BaseWithDefects, AStepOfReplicasWhoseNormIsNotFiniteChangesNoWeight) {
  auto loader = TokenLoader::create(data_.train);
  ASSERT_TRUE(loader);
  Device device(load_profile("ascend_910b3").value(), ExecutionMode::kExecute);
  TrainedModel model(decoder_config(settings_, data_.tokenizer.vocab_size()).value(), device);
  model.decoder.init(1);
  model.optimizers = make_optimizers(model.decoder, {});
  auto replica = std::make_unique<Replica>(model.decoder.config(), device, OptimizerRates{},
                                           OptimizerRules{}, /*seed=*/1, Averaged::kMatrices);
  Replica& other = *replica;
  model.optimizers.push_back(std::move(replica));
  // A NaN in one replica alone makes the norm NaN; the other stays as it was.
  other.decoder().parameters().front().value.host()[0] = std::numeric_limits<float>::quiet_NaN();
  for (Parameter& p : other.decoder().parameters())
    if (p.name == "lm_head.weight") p.value.host()[0] = std::numeric_limits<float>::quiet_NaN();
  const Decoder* trained = &model.decoder;
  std::vector<float> before;
  for (const Parameter& p : trained->parameters())
    before.insert(before.end(), p.value.host().begin(), p.value.host().end());
  const StepOutcome outcome =
      run_step_with(other, model.decoder, model.optimizers, {.accumulation_steps = 2}, {0},
                    [&] { return loader->next(2, 32); });
  EXPECT_FALSE(std::isfinite(outcome.grad_norm));
  EXPECT_NE(outcome.not_finite, "");
  std::vector<float> after;
  for (const Parameter& p : trained->parameters())
    after.insert(after.end(), p.value.host().begin(), p.value.host().end());
  EXPECT_EQ(before, after);
}

// What concerns DPO changes its weights; the others are refused by the suite.
TEST(TrainingDefects, EachOfDpoEndsInOtherWeights) {
  test::TinyChat chat;
  DpoSettings settings = test::tiny_dpo();
  const auto weights_with = [&](const PortDefects& defects) {
    const TempDir folder;
    chat.defects = defects;
    const auto result = chat.dpo(settings, folder.path());
    EXPECT_TRUE(result) << result.error().message;
    const auto file = SafetensorsFile::open(result->checkpoint).value();
    std::string bytes;
    for (const auto& [name, entry] : file.entries())
      if (name.starts_with("transformer.") || name.starts_with("lm_head."))
        for (const auto byte : entry.bytes) bytes.push_back(static_cast<char>(byte));
    return bytes;
  };
  const std::string right = weights_with({});
  EXPECT_TRUE(weights_with({}) == right);
  for (const PortDefectInfo& defect : all_port_defects())
    if ((defect.scope & defect_scope::kDpo) != 0 && !defect.changes_device()) {
      EXPECT_TRUE(weights_with(only(defect.defect)) != right) << defect.name;
    }
  EXPECT_TRUE(weights_with(only(PortDefect::kLossMaskIgnored)) == right);
}

TEST(TrainingDefects, OptimizerRulesAreTheOnesThatTheirNamesSay) {
  const OptimizerRules right = optimizer_rules({});
  EXPECT_EQ(right.adamw.beta1, 0.8);
  EXPECT_EQ(right.adamw.beta2, 0.95);
  EXPECT_TRUE(right.scales_with_width && right.uses_muon);
  EXPECT_EQ(optimizer_rules(only(PortDefect::kAdamWBetas)).adamw.beta2, 0.999);
  EXPECT_EQ(optimizer_rules(only(PortDefect::kAdamWBetas)).adamw.epsilon, 1e-8);
  EXPECT_FALSE(optimizer_rules(only(PortDefect::kNoLrScale)).scales_with_width);
  EXPECT_FALSE(optimizer_rules(only(PortDefect::kMuonAsAdamW)).uses_muon);
}

TEST(TrainingDefects, TargetsAreThoseOfTheNextPosition) {
  const Batch batch{2, 3, {1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, -1, 7}};
  EXPECT_EQ(as_ported(batch, {}).targets, batch.targets);
  EXPECT_EQ(as_ported(batch, only(PortDefect::kTargetsOffByOne)).targets,
            (std::vector<int>{3, 4, -1, -1, 7, -1}));
}

TEST(TrainingDefects, WithoutItsMaskAConversationIsTrainedOnWhole) {
  const ConversationSet set{{{{1, 2, 3}, {0, 0, 1}}}, 3, "digest"};
  EXPECT_FALSE(set_as_ported(set, only(PortDefect::kHalfSteps)));
  const auto whole = set_as_ported(set, only(PortDefect::kLossMaskIgnored));
  ASSERT_TRUE(whole);
  const RenderedConversation* const rows[] = {&whole->rendered[0]};
  EXPECT_EQ(padded_batch(rows, 0).targets, (std::vector<int>{2, 3}));
  EXPECT_EQ(whole->sha256, set.sha256);
}

TEST(TrainingDefects, ChatStagesHaveHalfOfTheirStepsOrBatch) {
  SftSettings sft;
  EXPECT_EQ(planned_steps(as_ported(sft, 640, only(PortDefect::kHalfSteps)), 640), 10);
  const SftSettings half = as_ported(sft, 640, only(PortDefect::kHalfBatch));
  EXPECT_EQ(planned_steps(half, 640), 20);
  EXPECT_EQ(half.target_examples_per_step, 16);
  RlSettings rl;
  EXPECT_EQ(planned_steps(as_ported(rl, 640, only(PortDefect::kHalfSteps)), 640), 20);
  EXPECT_EQ(as_ported(rl, 640, only(PortDefect::kHalfBatch)).examples_per_step, 8);
  EXPECT_EQ(as_ported(MidSettings{}, only(PortDefect::kHalfBatch)).total_batch_tokens, 262144);
  const DpoSettings dpo;
  EXPECT_EQ(planned_steps(as_ported(dpo, 640, only(PortDefect::kHalfSteps)), 640), 10);
  const DpoSettings half_dpo = as_ported(dpo, 640, only(PortDefect::kHalfBatch));
  EXPECT_EQ(half_dpo.target_examples_per_step, 16);
  EXPECT_EQ(planned_steps(half_dpo, 640), 20);
  SftSettings packed;
  packed.packed = PackedSettings{};
  const SftSettings ported = as_ported(packed, 640, only(PortDefect::kHalfBatch));
  EXPECT_EQ(ported.packed->total_batch_tokens, 262144);
  EXPECT_FALSE(as_ported(packed, 640, only(PortDefect::kHalfSteps)).iterations);
  const StreamPlan plan = as_ported(StreamPlan{{0.2, 0.4, 0.7, 1}}, only(PortDefect::kHalfSteps));
  EXPECT_EQ(plan.progress, (std::vector<double>{0.4, 0.8}));
}

TEST(PortDefects, UnknownNamesAreAnsweredWithTheNearest) {
  const std::string names[] = {"adamw_beta"};
  const auto parsed = parse_port_defects(names, "s.json: /devices/0/defects");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message,
            "s.json: /devices/0/defects/0: no defect \"adamw_beta\"; did you mean "
            "\"adamw_betas\"? (npubench list defects)");
}

TEST(PortDefects, TheTableIsInTheOrderOfItsEnumerators) {
  for (const PortDefectInfo& row : all_port_defects()) {
    EXPECT_EQ(info(row.defect).name, row.name);
    EXPECT_NE(row.scope, 0U) << row.name;
  }
}

}  // namespace
}  // namespace nb
