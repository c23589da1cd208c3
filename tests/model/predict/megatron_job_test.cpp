#include "model/predict/megatron_job.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/device/calibration.hpp"
#include "model/predict/dense_rows.hpp"

namespace nb {
namespace {

MegatronJob llama2_7b() {
  MegatronJob job{"llama2-7b", *find_megatron_model("llama2-7b"), {}};
  job.run.global_batch = 256;
  job.run.ranks = 8;
  job.run.pp = 2;
  return job;
}

// meta-llama/Llama-2-7b: 6,738,415,616 parameters; Llama-2-70b: 68,976,648,192.
TEST(MegatronModel, ParametersAreThoseOfTheCheckpoints) {
  EXPECT_EQ(find_megatron_model("llama2-7b")->parameter_count(), 6738415616);
  EXPECT_EQ(find_megatron_model("llama2-70b")->parameter_count(), 68976648192);
  EXPECT_EQ(find_megatron_model("llama3-8b")->parameter_count(), 8030261248);
  EXPECT_EQ(find_megatron_model("mistral-7b")->parameter_count(), 7241732096);
  EXPECT_EQ(find_megatron_model("gemma-7b")->parameter_count(), 8537680896);
  EXPECT_EQ(find_megatron_model("nanochat"), nullptr);
}

TEST(MegatronModel, AWindowLimitsTheVisibleKeys) {
  MegatronModel model = *find_megatron_model("mistral-7b");
  EXPECT_DOUBLE_EQ(model.visible_keys(4096), 2048.5);
  EXPECT_DOUBLE_EQ(model.visible_keys(32768), (4096 * 2048.5 + 28672.0 * 4096) / 32768);
}

TEST(MegatronModel, AFileWithoutASizeIsAnError) {
  const auto model = parse_struct<MegatronModel>(
      Json{{"layers", 2}, {"width", 64}, {"heads", 2}, {"vocab", 100}}, "m.json");
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("/hidden"), std::string::npos) << model.error().message;
}

TEST(MegatronJob, WhatDoesNotDivideIsNamed) {
  const auto refusal = [](auto change) {
    MegatronJob job = llama2_7b();
    change(job.run);
    const auto checked = check_job(job);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(refusal([](MegatronRun&) {}), "");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.tp = 3; }),
            "ranks 8 is not divisible by tp × pp × cp = 6");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.tp = 64, r.ranks = 128; }),
            "heads 32 is not divisible by tp 64");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.vpp = 3; }),
            "layers 32 is not divisible by pp × vpp = 6");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.global_batch = 255; }),
            "global batch 255 is not divisible by micro-batch × dp = 4");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.pp = 1, r.vpp = 2; }),
            "vpp 2 interleaves stages of a pipeline, but pp is 1");
  EXPECT_EQ(refusal([](MegatronRun& r) { r.tp = 0; }), "tp 0 is not at least 1");
}

TEST(MegatronJob, FlopsFollowTheConvention) {
  const MegatronJob job = llama2_7b();
  const double weights = 32.0 * (4 * 4096 * 4096 + 3.0 * 4096 * 11008) + 32000.0 * 4096;
  EXPECT_DOUBLE_EQ(megatron_flops_per_token(job, FlopConvention::kFull),
                   6 * weights + 12.0 * 32 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(megatron_flops_per_token(job, FlopConvention::kCausal),
                   6 * weights + 12.0 * 32 * 4096 * 2048.5);
}

TEST(MegatronJob, NamedModelsAreThoseOfTheRows) {
  const auto rows = calibration_rows("megatron_readme");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  int compared = 0;
  for (const CalibrationRow& row : *rows) {
    if (row.use == RowUse::kExclude) continue;
    const auto job = job_of(row);
    ASSERT_TRUE(job.has_value()) << job.error().message;
    const MegatronModel* named = find_megatron_model(row.text("model"));
    ASSERT_NE(named, nullptr) << row.text("model");
    EXPECT_EQ(named->parameter_count(), job->model.parameter_count()) << row.where;
    EXPECT_EQ(named->window, job->model.window) << row.where;
    ++compared;
  }
  EXPECT_GE(compared, 12);
}

}  // namespace
}  // namespace nb
