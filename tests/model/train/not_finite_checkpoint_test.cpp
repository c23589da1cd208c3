// What is not finite survives a checkpoint, and is not mistaken for what is absent.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/train/checkpoint.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

RunProgress through_a_file(const RunProgress& progress) {
  const test::TempDir folder;
  const auto profile = load_profile("tiny");
  Device device(*profile, ExecutionMode::kExecute);
  const auto config = decoder_config(test::tiny_settings(), 300);
  Decoder decoder(*config, device);
  decoder.init(1);
  const std::filesystem::path path = checkpoint_path(folder.path(), progress.step);
  const auto saved = save_checkpoint(path, decoder, {}, progress, Json::object(), Json::object());
  EXPECT_TRUE(saved.has_value()) << (saved ? "" : saved.error().message);
  const auto file = SafetensorsFile::open(path);
  EXPECT_TRUE(file.has_value());
  auto loaded = load_checkpoint(*file, decoder, {}, progress.stage);
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  return loaded ? std::move(loaded->progress) : RunProgress();
}

TEST(NotFiniteCheckpoint, AverageOfTheLossComesBack) {
  RunProgress progress;
  for (const double average : {kNan, kInf, -kInf, 2.5, 0.1}) {
    progress.loss_average = average;
    const double back = through_a_file(progress).loss_average;
    EXPECT_TRUE(back == average || (std::isnan(back) && std::isnan(average))) << average;
  }
}

TEST(NotFiniteCheckpoint, NanOfARowIsThereAndWhatIsAbsentIsNot) {
  RunProgress progress;
  StepRow row;
  row.step = 3;
  row.train_loss = kNan;
  row.grad_norm = -kNan;
  row.lr_multiplier = kInf;
  row.tokens = std::nullopt;
  row.step_time_ns = 5;
  progress.rows = {row};
  const RunProgress back = through_a_file(progress);
  ASSERT_EQ(back.rows.size(), 1U);
  const StepRow& same = back.rows.front();
  ASSERT_TRUE(same.train_loss && same.grad_norm);
  EXPECT_TRUE(std::isnan(*same.train_loss));
  EXPECT_TRUE(std::isnan(*same.grad_norm));
  EXPECT_EQ(same.lr_multiplier, kInf);
  EXPECT_EQ(same.val_bpb, std::nullopt);
  EXPECT_EQ(same.throughput_tok_s, std::nullopt);
  EXPECT_EQ(same.step_time_ns, 5);
}

}  // namespace
}  // namespace nb
