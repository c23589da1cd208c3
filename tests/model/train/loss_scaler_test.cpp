// Scales of a loss, and what they change of a training: nothing but what fp16 cannot hold.
#include "model/train/loss_scaler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/device/profile.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

TEST(LossScaler, HalvesBehindAnOverflowAndDoublesBehindTwoThousandSteps) {
  LossScaler scaler;
  EXPECT_EQ(scaler.scale(), 65536);
  EXPECT_TRUE(scaler.update(true));
  EXPECT_TRUE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_EQ(scaler.skipped(), 1);
  for (int step = 0; step < 1999; ++step) EXPECT_TRUE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_TRUE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 65536);
  EXPECT_EQ(scaler.scale_at(1), 65536);
  EXPECT_EQ(scaler.scale_at(2), 32768);
  EXPECT_EQ(scaler.scale_at(2001), 32768);
  EXPECT_EQ(scaler.scale_at(2002), 65536);
  LossScaler other;
  ASSERT_TRUE(other.restore(scaler.state()));
  EXPECT_EQ(other.state(), scaler.state());
  EXPECT_FALSE(other.restore(Json::object()));
}

TEST(LossScaler, GivesUpBelowOne) {
  LossScaler scaler;
  for (int step = 0; step < 16; ++step) EXPECT_TRUE(scaler.update(false)) << step;
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_FALSE(scaler.update(false));
}

class ScaledTraining : public testing::Test {
 protected:
  Result<TrainResult> train(const Json& numerics, const test::TempDir& folder,
                            std::int64_t iterations = 4) const {
    Json profile = *parse_json(profile_text("ascend_910b3"), "ascend_910b3");
    for (const auto& [key, value] : numerics.items()) profile["numerics"][key]["value"] = value;
    const auto file = folder / "profile.json";
    EXPECT_TRUE(write_json(file, profile));
    TrainSettings settings = test::tiny_settings();
    settings.iterations = iterations;
    settings.checkpoint_every = 2;
    return test::run_tiny(data_, settings, folder / "run", {}, file.string());
  }
  static std::string weights(const TrainResult& result) {
    return read_file(result.checkpoint).value_or("");
  }
  test::TinyData data_ = test::tiny_data();
};

const Json kFp32 = {{"storage", "fp32"},          {"matmul_inputs", "fp32"},
                    {"matmul_output", "fp32"},    {"weight_gradient", "fp32"},
                    {"embedding_weight", "fp32"}, {"muon_matmul", "fp32"}};
const Json kFp16 = {{"storage", "fp16"},          {"matmul_inputs", "fp16"},
                    {"matmul_output", "fp16"},    {"weight_gradient", "fp16"},
                    {"embedding_weight", "fp32"}, {"muon_matmul", "fp16"}};

Json with_scaling(Json numerics) {
  numerics["loss_scaling"] = "dynamic";
  return numerics;
}

// A power of two changes no bit of a number that neither overflows nor vanishes.
TEST_F(ScaledTraining, HasTheLossesOfAnUnscaledOneInFp32) {
  const test::TempDir plain_folder, scaled_folder;
  const auto plain = train(kFp32, plain_folder), scaled = train(with_scaling(kFp32), scaled_folder);
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_TRUE(scaled) << scaled.error().message;
  ASSERT_EQ(plain->steps.size(), scaled->steps.size());
  for (std::size_t i = 0; i < plain->steps.size(); ++i) {
    EXPECT_EQ(plain->steps[i].train_loss, scaled->steps[i].train_loss) << i;
    EXPECT_EQ(plain->steps[i].grad_norm, scaled->steps[i].grad_norm) << i;
    EXPECT_EQ(plain->steps[i].val_bpb, scaled->steps[i].val_bpb) << i;
    EXPECT_FALSE(plain->steps[i].grad_scale);
  }
  EXPECT_EQ(scaled->steps.front().grad_scale, 65536);
  EXPECT_GT(scaled->train_time_ns, plain->train_time_ns);  // gradients are divided
}

TEST_F(ScaledTraining, InFp16HasGradientsThatVanishWithout) {
  const test::TempDir plain_folder, scaled_folder;
  const auto plain = train(kFp16, plain_folder), scaled = train(with_scaling(kFp16), scaled_folder);
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_TRUE(scaled) << scaled.error().message;
  EXPECT_TRUE(std::isfinite(scaled->final_loss));
  EXPECT_NE(plain->steps[0].grad_norm, scaled->steps[0].grad_norm);
}

TEST_F(ScaledTraining, GoesOnWithItsScale) {
  const test::TempDir whole_folder, folder;
  const auto whole = train(with_scaling(kFp16), whole_folder);
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_TRUE(train(with_scaling(kFp16), folder));
  ASSERT_TRUE(std::filesystem::remove(folder / "run/checkpoints/step_000004.safetensors"));
  const auto resumed = train(with_scaling(kFp16), folder);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->resumed_from_step, 2);
  EXPECT_TRUE(weights(*resumed) == weights(*whole));
  for (std::size_t i = 0; i < whole->steps.size(); ++i)
    EXPECT_EQ(resumed->steps[i].grad_scale, whole->steps[i].grad_scale) << i;
}

TEST_F(ScaledTraining, IsRefusedWhereAnOverflowCannotBeSeen) {
  const test::TempDir folder;
  Json saturating = with_scaling(kFp16);
  saturating["fp16_overflow"] = "saturate";
  const auto refused = train(saturating, folder);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("saturate"), std::string::npos);
  Json constant = kFp16;
  constant["loss_scaling"] = "static";
  const auto not_there = train(constant, folder);
  ASSERT_FALSE(not_there);
  EXPECT_NE(not_there.error().message.find("static"), std::string::npos);
}

}  // namespace
}  // namespace nb
