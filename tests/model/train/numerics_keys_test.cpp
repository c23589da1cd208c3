// Every key of the numerics policy that a profile may set decides bits, and a run that is killed
// and resumed ends with them whatever its value is. The keys are walked as the profile's file has
// them, so that a new one cannot be forgotten.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/fs.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/rng.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/profile.hpp"
#include "model/train/safetensors.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::Killed;

using Values = std::map<std::string, Json>;  // key of the policy → value

// Every word and number that some key takes; a profile that does not parse with it is not legal.
const std::vector<Json> kCandidates = {"fp32",
                                       "bf16",
                                       "fp16",
                                       "tf32",
                                       "hf32",
                                       "chain",
                                       "block16",
                                       "split_k",
                                       "eager",
                                       "fused",
                                       "host_blas",
                                       "none",
                                       "static",
                                       "dynamic",
                                       "saturate",
                                       "inf_nan",
                                       "precise",
                                       "approximate_rsqrt",
                                       "ring",
                                       "mesh",
                                       "unordered",
                                       2,
                                       3};

// What a value needs beside it, in the run that it is compared with too.
Values needed_by(const std::string& key, const Json& value) {
  if (key == "split_k") return {{"accumulation", "split_k"}};
  if (value == "host_blas")
    return {{"matmul_inputs", "fp32"},
            {"matmul_output", "fp32"},
            {"weight_gradient", "fp32"},
            {"muon_matmul", "fp32"}};
  if (key == "accumulation" && value == "split_k") return {{"split_k", 3}};
  return {};
}

// What a training on one card cannot show; the tests of the others are named.
const std::map<std::string, std::string> kElsewhere = {
    {"score_pointwise", "ScoresAndTextsFollowTheirOwnKeys"},
    {"generate_pointwise", "ScoresAndTextsFollowTheirOwnKeys"},
    {"tune_pointwise", "ScoresAndTextsFollowTheirOwnKeys"},
    {"loss_scaling", "only fp16 loses what it saves: loss_scaler_test.cpp"},
    {"fp16_overflow", "a sum above 65504: MatMul and PointwisePolicy in tests/model/kernels"},
    {"collective", "several cards: tests/model/collectives/world_test.cpp"},
    {"reduction_order", "several cards: tests/model/collectives/world_test.cpp"},
};

class NumericsKeys : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }

  static Json profile_with(const Values& values) {
    Json json = *parse_json(profile_text("ascend_910b3"), "ascend_910b3");
    for (const auto& [key, value] : values) json["numerics"][key]["value"] = value;
    return json;
  }
  static bool is_legal(const Values& values) {
    return parse_profile(profile_with(values), "p.json").has_value();
  }

  TrainSettings settings() const {
    TrainSettings settings = test::tiny_settings();
    settings.sequence_len = 24;  // more than one block of 16
    settings.total_batch_tokens = 96;
    settings.iterations = 4;
    settings.eval_every = 0;
    settings.eval_tokens = 48;
    settings.sample_every = 0;
    settings.checkpoint_every = 2;
    return settings;
  }

  Result<TrainResult> train(const Values& values, const test::TempDir& folder,
                            const TrainHooks& hooks = {}) const {
    const auto file = folder / "profile.json";
    EXPECT_TRUE(write_json(file, profile_with(values)));
    return test::run_tiny(data_, settings(), folder / "run", hooks, file.string());
  }

  // The weights that a run ends with, and its losses; not its simulated clock.
  std::string bits(const Values& values) const {
    const test::TempDir folder;
    const auto result = train(values, folder);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return "";
    std::string bytes;
    const auto add = [&](double value) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    add(result->final_loss);
    add(*result->last_validation.val_bpb);
    const auto file = SafetensorsFile::open(result->checkpoint);
    for (const auto& [name, entry] : file->entries()) {
      if (name.starts_with("optimizer.") || name.starts_with("progress.")) continue;
      const std::vector<float> floats = file->read_floats(name, entry.shape).value();
      for (const float value : floats) add(value);
    }
    return bytes;
  }

  // The whole last checkpoint: optimizers and clock too.
  std::string checkpoint(const Values& values, std::optional<std::int64_t> killed_at) const {
    const test::TempDir folder;
    if (killed_at) {
      TrainHooks hooks;
      hooks.on_checkpoint = [&](std::int64_t step) {
        if (step == *killed_at) throw Killed{};
      };
      EXPECT_THROW(static_cast<void>(train(values, folder, hooks)), Killed);
    }
    const auto result = train(values, folder);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return "";
    EXPECT_EQ(result->resumed_from_step, killed_at.value_or(0));
    return read_file(result->checkpoint).value_or("");
  }

  const test::TinyData data_ = test::tiny_data();
};

TEST_F(NumericsKeys, EachDecidesBitsAndResumesToThem) {
  const Json policy = profile_with({}).at("numerics");
  std::map<Values, std::string> plain;  // bits of what each value is compared with
  for (const auto& [key, entry] : policy.items()) {
    if (kElsewhere.contains(key)) continue;
    int legal = 0;
    for (const Json& value : kCandidates) {
      Values before = needed_by(key, value);
      if (value == entry.at("value") || before.contains(key)) continue;
      Values after = before;
      after[key] = value;
      if (!is_legal(after)) continue;
      if (key == "accumulation" && value == "split_k") before.erase("split_k");
      SCOPED_TRACE(key + " " + value.dump());
      ++legal;
      if (!plain.contains(before)) plain[before] = bits(before);
      // OpenBLAS's order is its own: on some processors it is ours for such small products.
      if (value != "host_blas") {
        EXPECT_TRUE(bits(after) != plain[before]) << "the key decides nothing";
      }
      const std::string whole = checkpoint(after, {});
      EXPECT_TRUE(whole == checkpoint(after, 2)) << "resumed to other bits";
    }
    EXPECT_GT(legal, 0) << key;
  }
  for (const auto& [key, where] : kElsewhere) EXPECT_TRUE(policy.contains(key)) << key;
}

TEST_F(NumericsKeys, ScoresAndTextsFollowTheirOwnKeys) {
  const auto logits = [](const Values& values, Use use) {
    Device device(*parse_profile(profile_with(values), "p.json"), ExecutionMode::kExecute);
    Decoder decoder(config_for_depth(1, 64, 16), device);
    for (Parameter& p : decoder.parameters()) {
      const Rng rng(7, p.name);
      std::uint64_t i = 0;
      for (float& value : p.value.host())
        value = round_to(DType::kBf16, static_cast<float>(0.3 * rng.normal(i++)));
    }
    const UseScope scope(device, use);
    const std::vector<int> tokens = {1, 5, 9, 2, 33, 60, 7, 8};
    std::vector<float> all;
    decoder.forward_logits(tokens, 1, 8, {}, [&](std::int64_t, ConstMatrix block) {
      for (std::int64_t i = 0; i < block.rows; ++i)
        all.insert(all.end(), block.row(i), block.row(i) + block.cols);
    });
    return all;
  };
  for (const auto& [key, own] :
       {std::pair{"pointwise", Use::kTrain}, std::pair{"score_pointwise", Use::kScore},
        std::pair{"generate_pointwise", Use::kGenerate}, std::pair{"tune_pointwise", Use::kTune}})
    for (const Use use : kUses)
      EXPECT_EQ(logits({{key, "fused"}}, use) == logits({}, use), use != own)
          << key << " in " << name(use);
}

}  // namespace
}  // namespace nb
