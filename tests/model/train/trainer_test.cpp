#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/presets.hpp"
#include "model/train/adamw_choice.hpp"
#include "model/train/base_stage.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/samples.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class Training : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  const test::TinyData data_ = test::tiny_data();
};

TEST_F(Training, LearnsAndTellsEveryStep) {
  const test::TempDir folder;
  TrainSettings settings = test::tiny_settings();
  settings.iterations = 30;
  settings.checkpoint_every = 0;
  settings.eval_every = 10;
  std::vector<std::int64_t> told;
  std::vector<std::int64_t> saved;
  TrainHooks hooks;
  hooks.on_step = [&](const StepRow& row) { told.push_back(row.step); };
  hooks.on_checkpoint = [&](std::int64_t step) { saved.push_back(step); };
  const auto result = test::run_tiny(data_, settings, folder.path(), hooks);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->steps.size(), 31U);
  EXPECT_EQ(told.size(), 31U);
  EXPECT_EQ(told.back(), 30);
  EXPECT_EQ(saved, std::vector<std::int64_t>{30});
  const StepRow& first = result->steps.front();
  EXPECT_NEAR(*first.train_loss, 5.58, 0.01);  // ln 265
  EXPECT_EQ(*first.lr_multiplier, 1);
  ASSERT_TRUE(first.val_bpb);
  EXPECT_NEAR(*first.val_bpb, 8.05, 0.01);  // log2 265
  EXPECT_FALSE(result->steps[1].val_bpb);
  EXPECT_TRUE(result->steps[20].val_bpb);
  EXPECT_FALSE(result->steps.back().train_loss);
  EXPECT_LT(*result->last_validation.val_bpb, 6);
  EXPECT_LT(result->final_loss, 4.5);
  EXPECT_EQ(result->tokens, 30 * 128);
  EXPECT_GT(result->mfu, 0);
  EXPECT_GT(result->step_time_ns, 0);
  EXPECT_GE(result->peak_reserved_bytes, result->peak_allocated_bytes);
  EXPECT_EQ(result->samples.size(), 7U * 6);  // steps 5, 10, … 30
  EXPECT_EQ(result->samples.front().text.rfind("The capital of France is", 0), 0U);
}

TEST_F(Training, RecomputationChangesNoLossAndTakesLessMemory) {
  TrainSettings settings = test::tiny_settings();
  settings.iterations = 3;
  const test::TempDir kept_folder, again_folder;
  const auto kept = test::run_tiny(data_, settings, kept_folder.path());
  settings.recompute = true;
  const auto again = test::run_tiny(data_, settings, again_folder.path());
  ASSERT_TRUE(kept && again);
  EXPECT_EQ(again->final_loss, kept->final_loss);
  EXPECT_EQ(again->last_validation.val_bpb, kept->last_validation.val_bpb);
  EXPECT_LT(again->peak_allocated_bytes, kept->peak_allocated_bytes);
  EXPECT_GT(again->step_time_ns, kept->step_time_ns);
}

// A checkpoint says which decoder it is of; one of 2025-10's says no more than it ever did.
TEST_F(Training, ACheckpointCarriesItsArchitecture) {
  TrainSettings settings = test::tiny_settings();
  settings.iterations = 1;
  for (const char* model : {"", "gpt2", "nanochat-2026-02"}) {
    const test::TempDir folder;
    if (*model != 0) settings.model = model;
    const auto result = test::run_tiny(data_, settings, folder.path());
    ASSERT_TRUE(result) << result.error().message;
    const auto file = SafetensorsFile::open(result->checkpoint);
    ASSERT_TRUE(file);
    const auto config = read_model_config(*file);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(*config, result->config) << model;
    EXPECT_EQ(file->text("model_config")->find("architecture") == std::string::npos, *model == 0);
    const Json identity = parse_json(*file->text("identity"), "identity").value();
    EXPECT_EQ(identity.at("settings").contains("model"), *model != 0) << model;
  }
}

// Absent, the preset decides, and the stage after takes what the checkpoint says; asked for, that.
TEST_F(Training, AdamWsDenominatorIsThePresetsOrTheOneAskedFor) {
  using enum AdamWDenominator;
  struct Case {
    const char *model, *asked;
    AdamWDenominator denominator;
  };
  for (const Case& one : {Case{"", "", kScaledStep}, Case{"gpt2", "", kScaledStep},
                          Case{"nanochat-2026-02", "", kBiasCorrected},
                          Case{"nanochat-2026-07", "scaled_step", kScaledStep},
                          Case{"", "bias_corrected", kBiasCorrected}}) {
    SCOPED_TRACE(std::string(one.model) + " " + one.asked);
    TrainSettings settings = test::tiny_settings();
    settings.iterations = 1;
    if (*one.model != 0) settings.model = one.model;
    if (*one.asked != 0) settings.adamw_denominator = one.asked;
    const test::TempDir folder;
    const auto result = test::run_tiny(data_, settings, folder.path());
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->adamw_denominator, one.denominator);
    const auto file = SafetensorsFile::open(result->checkpoint);
    ASSERT_TRUE(file);
    EXPECT_EQ(stage_adamw(std::nullopt, *file).value(), one.denominator);
    EXPECT_EQ(stage_adamw("scaled_step", *file).value(), kScaledStep);
    // What was there before there was a choice says what it said.
    EXPECT_EQ(file->text("identity")->find("adamw") == std::string::npos,
              *one.asked == 0 && one.denominator == kScaledStep)
        << *file->text("identity");
  }
}

TEST_F(Training, AnUnknownDenominatorOfAdamWIsRefusedInASentence) {
  const auto parsed =
      parse_struct<TrainSettings>({{"adamw_denominator", "bias_correct"}}, "suite: /stages/base");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message,
            "suite: /stages/base/adamw_denominator: \"bias_correct\" is not one of scaled_step, "
            "bias_corrected; did you mean \"bias_corrected\"?");
  TrainSettings settings = test::tiny_settings();
  settings.adamw_denominator = "torch";
  const test::TempDir folder;
  const auto result = test::run_tiny(data_, settings, folder.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "adamw_denominator: \"torch\" is neither scaled_step nor bias_corrected");
}

// What a training's arithmetic gave, and the simulated time, which the machine decides.
struct Trained {
  std::map<std::string, std::vector<std::byte>>
      tensors;  // of the last checkpoint, moments included
  std::vector<std::optional<double>> losses, bits_per_byte;
  double step_time_ns = 0;
};

Trained train_on(const test::TinyData& data, const DeviceProfile& profile) {
  const test::TempDir folder;
  TokenLoader train_loader = *TokenLoader::create(data.train);
  TokenLoader validation_loader = *TokenLoader::create(data.validation);
  Device device(profile, ExecutionMode::kExecute);
  const auto result = train(test::tiny_settings(), device,
                            {train_loader, validation_loader, data.tokenizer}, folder.path(), {});
  Trained trained;
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return trained;
  for (const StepRow& row : result->steps) {
    trained.losses.push_back(row.train_loss);
    trained.bits_per_byte.push_back(row.val_bpb);
  }
  trained.step_time_ns = result->step_time_ns;
  const auto file = SafetensorsFile::open(result->checkpoint);
  EXPECT_TRUE(file) << file.error().message;
  if (!file) return trained;
  for (const auto& [name, entry] : file->entries())
    trained.tensors[name].assign(entry.bytes.begin(), entry.bytes.end());
  return trained;
}

TEST_F(Training, EqualPoliciesGiveEqualBitsAndOthersDoNot) {
  const DeviceProfile ascend = *load_profile("ascend_910b3"), hopper = *load_profile("h100_sxm");
  const DeviceProfile hopper_with_ascends_policy = *with_numerics(hopper, ascend);
  const Trained a = train_on(data_, ascend), h = train_on(data_, hopper),
                same = train_on(data_, hopper_with_ascends_policy);
  ASSERT_EQ(a.losses.size(), 9U);
  ASSERT_GT(a.tensors.size(), 10U);
  EXPECT_EQ(a.losses, same.losses);
  EXPECT_EQ(a.bits_per_byte, same.bits_per_byte);
  // The rows of steps.csv so far hold simulated times, which are the machine's.
  for (const auto& [name, bytes] : a.tensors) {
    if (name != "progress.rows") {
      EXPECT_EQ(bytes, same.tensors.at(name)) << name;
    }
  }
  EXPECT_NE(a.step_time_ns, same.step_time_ns);  // another machine all the same
  EXPECT_NE(a.losses, h.losses);
  EXPECT_NE(a.bits_per_byte, h.bits_per_byte);
  EXPECT_NE(a.tensors, h.tensors);
}

TEST_F(Training, ACheckpointCarriesNanochatsNamesAndServesAnEvaluation) {
  const test::TempDir folder;
  const auto result = test::run_tiny(data_, test::tiny_settings(), folder.path());
  ASSERT_TRUE(result) << result.error().message;
  const auto file = SafetensorsFile::open(result->checkpoint);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().at("transformer.wte.weight").type, StoredType::kBf16);
  EXPECT_EQ(file->entries().at("transformer.h.0.mlp.c_fc.weight").shape,
            (std::vector<std::int64_t>{256, 64}));
  EXPECT_EQ(file->entries().at("lm_head.weight").type, StoredType::kF32);

  const auto config = read_model_config(SafetensorsFile::open(result->checkpoint).value());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, result->config);
  Device device(*load_profile("h100_sxm"), ExecutionMode::kExecute);
  Decoder decoder(*config, device);
  ASSERT_TRUE(load_weights(SafetensorsFile::open(result->checkpoint).value(), decoder));
  std::vector<float> stored(file->entries().at("lm_head.weight").bytes.size() / 4);
  ASSERT_TRUE(file->read("lm_head.weight", DType::kFp32, {265, 64}, stored));
  EXPECT_TRUE(
      std::equal(stored.begin(), stored.end(), decoder.parameters().back().value.host().begin()));
}

TEST_F(Training, ACheckpointTellsItsHistory) {
  const test::TempDir folder;
  const TrainSettings settings = test::tiny_settings();
  const auto result = test::run_tiny(data_, settings, folder.path());
  ASSERT_TRUE(result) << result.error().message;
  const auto history = checkpoint_history(SafetensorsFile::open(result->checkpoint).value());
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->at("settings").at("matrix_lr"), settings.matrix_lr);
  EXPECT_EQ(history->at("model"), print_struct(result->config));
  EXPECT_EQ(history->at("seed"), 7);
  EXPECT_EQ(history->at("steps"), 8);
  EXPECT_EQ(history->at("tokenizer"), data_.tokenizer.hash());
  EXPECT_EQ(history->at("device"), "ascend_910b3");
  EXPECT_EQ(history->at("numerics").at("storage"), "bf16");
  EXPECT_EQ(history->at("data"), sha256_json(Json::array({data_.train[0].sha256()})));
}

TEST_F(Training, AForeignFileHasNoHistory) {
  const test::TempDir folder;
  SafetensorsWriter writer;
  writer.add_text("identity", R"("Jane Doe")");
  ASSERT_TRUE(writer.write(folder / "foreign.safetensors"));
  const auto history =
      checkpoint_history(SafetensorsFile::open(folder / "foreign.safetensors").value());
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_TRUE(history->is_null());
}

TEST_F(Training, ACheckpointOfAnotherShapeIsNamed) {
  const test::TempDir folder;
  const auto result = test::run_tiny(data_, test::tiny_settings(), folder.path());
  ASSERT_TRUE(result) << result.error().message;
  Device device(*load_profile("tiny"), ExecutionMode::kExecute);
  DecoderConfig twice_as_wide = config_for_depth(2, 265, 32);
  twice_as_wide.n_layer = 1;
  Decoder wider(twice_as_wide, device);
  const auto loaded = load_weights(SafetensorsFile::open(result->checkpoint).value(), wider);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
  EXPECT_NE(loaded.error().message.find("has shape [265, 64], this model needs [265, 128]"),
            std::string::npos)
      << loaded.error().message;
}

TEST_F(Training, BatchThatDoesNotDivideIsRefusedBeforeAnythingRuns) {
  const test::TempDir folder;
  TrainSettings settings = test::tiny_settings();
  settings.total_batch_tokens = 100;
  const auto result = test::run_tiny(data_, settings, folder.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(Training, OutOfMemorySpeaksTheDevicesWordsAndNamesTheLargestBatch) {
  const test::TempDir folder;
  TrainSettings settings = test::tiny_settings();
  settings.device_batch_size = 64;
  settings.total_batch_tokens = 64 * 32;
  auto train_loader = TokenLoader::create(data_.train);
  auto validation_loader = TokenLoader::create(data_.validation);
  DeviceProfile small = *load_profile("ascend_910b3");
  small.memory.usable.value = (small.software.driver_reserve.value + 24) / 1024;  // GiB
  Device device(small, ExecutionMode::kExecute);
  const auto result =
      train(settings, device, {*train_loader, *validation_loader, data_.tokenizer}, folder.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
  EXPECT_NE(result.error().message.find("NPU out of memory"), std::string::npos)
      << result.error().message;
  EXPECT_NE(result.error().message.find("largest device_batch_size that fits is"),
            std::string::npos)
      << result.error().message;
}

TEST_F(Training, DivergenceEndsTheRunWithItsStep) {
  const test::TempDir folder;
  TrainSettings settings = test::tiny_settings();
  settings.matrix_lr = 1e38;
  settings.unembedding_lr = 1e38;
  const auto result = test::run_tiny(data_, settings, folder.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
  EXPECT_NE(result.error().message.find("is not finite"), std::string::npos)
      << result.error().message;
  EXPECT_NE(result.error().message.find(", first in the output of "), std::string::npos)
      << result.error().message;
}

TEST(ContinueGreedily, AppendsTheMostLikelyToken) {
  Device device(*load_profile("tiny"), ExecutionMode::kExecute);
  Decoder decoder(config_for_depth(1, 16, 8), device);
  decoder.init(1);
  // A fresh head gives equal logits: the lowest id wins.
  EXPECT_EQ(continue_greedily(decoder, {3, 4}, 3), (std::vector<int>{3, 4, 0, 0, 0}));
}

}  // namespace
}  // namespace nb
