#include "model/predict/megatron_memory.hpp"

#include <gtest/gtest.h>

#include "model/predict/dense_rows.hpp"

namespace nb {
namespace {

MegatronJob llama2_on_one_card() {
  MegatronJob job{"llama2-7b", *find_megatron_model("llama2-7b"), {}};
  job.run.global_batch = job.run.ranks = 1;
  return job;
}

TEST(MegatronMemory, ADistributedOptimizerSharesTwelveBytes) {
  MegatronJob job = llama2_on_one_card();
  const auto parameters = static_cast<double>(job.model.parameter_count());
  EXPECT_NEAR(megatron_memory(job).static_bytes, 18 * parameters, 1);
  job.run.ranks = 4, job.run.global_batch = 4, job.run.distributed_optimizer = true;
  EXPECT_NEAR(megatron_memory(job).static_bytes, 9 * parameters, 1);
}

// Megatron-LM's table of the distributed optimizer: fp16 gradients 20 and 4 + 16 / d bytes.
TEST(MegatronMemory, HalfPrecisionGradientsHaveACopyInTheOptimizer) {
  MegatronJob job = llama2_on_one_card();
  job.run.is_fp16 = true;
  const auto parameters = static_cast<double>(job.model.parameter_count());
  EXPECT_NEAR(megatron_memory(job).static_bytes, 20 * parameters, 1);
  job.run.ranks = 4, job.run.global_batch = 4, job.run.distributed_optimizer = true;
  EXPECT_NEAR(megatron_memory(job).static_bytes, 8 * parameters, 1);
}

// zero_grad drops the fp32 copies before the forward pass, so that activations never meet them.
TEST(MegatronMemory, HalfPrecisionsGradientCopiesAreGoneWhenActivationsPeak) {
  MegatronJob job = llama2_on_one_card();
  job.run.global_batch = 8, job.run.micro_batch = 8;
  const auto parameters = static_cast<double>(job.model.parameter_count());
  const MegatronMemory bf16 = megatron_memory(job);
  job.run.is_fp16 = true;
  const MegatronMemory fp16 = megatron_memory(job);
  // 16 bytes beside them, 18 of bf16, which has its fp32 gradients always.
  EXPECT_NEAR(fp16.steady_peak_bytes, bf16.steady_peak_bytes - 2 * parameters, 1);
  EXPECT_NEAR(fp16.first_peak_bytes, bf16.first_peak_bytes - 2 * parameters, 1);
  EXPECT_GT(fp16.steady_peak_bytes, fp16.static_bytes);
}

// With hardly any activations the first step's peak is Adam's work on the table of 32000 x 4096.
TEST(MegatronMemory, AdamOfOldCopiesTheLargestGradient) {
  MegatronJob job = llama2_on_one_card();
  job.run.sequence_len = 16;
  EXPECT_EQ(megatron_memory(job).first_peak_bytes, megatron_memory(job).static_bytes);
  job.run.adam_copies_gradient = true;
  const MegatronMemory memory = megatron_memory(job);
  EXPECT_NEAR(memory.first_peak_bytes - memory.static_bytes, 4.0 * 32000 * 4096, 1);
  EXPECT_EQ(memory.steady_peak_bytes, memory.first_peak_bytes);
  job.run.is_fp16 = true;  // has an fp32 copy of every gradient already
  EXPECT_EQ(megatron_memory(job).first_peak_bytes, megatron_memory(job).static_bytes);
}

// Two rows of the table whose configuration has nothing that the closed form lacks.
TEST(MegatronMemory, StaticMemoryIsThatOfTheRecords) {
  const auto rows = measured_memories("megatron_ci");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  int seen = 0;
  for (const MeasuredMemory& row : *rows) {
    if (!row.job.name.starts_with("llama2_tp1_pp8_patch_gloo") &&
        !row.job.name.starts_with("llama2_tp2_pp1_ha_save"))
      continue;
    EXPECT_NEAR(megatron_memory(row.job).static_bytes / row.static_bytes, 1, 0.012) << row.job.name;
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

// Ascend/MindSpeed at 2.3.0_core_r0.12.1, docs/features, reuse-fp32-param: 2 bytes per parameter
// less, or 2 / d.
TEST(MegatronMemory, AReusedMasterSavesTwoBytes) {
  MegatronJob job = llama2_on_one_card();
  job.run.reuse_fp32_param = true;
  const auto parameters = static_cast<double>(job.model.parameter_count());
  EXPECT_NEAR(megatron_memory(job).static_bytes, 16 * parameters, 1);
  job.run.ranks = 4, job.run.global_batch = 4, job.run.distributed_optimizer = true;
  EXPECT_NEAR(megatron_memory(job).static_bytes, 8.5 * parameters, 1);
}

// A micro-batch of a 2-layer model with a huge vocabulary peaks at its loss: 10 bytes a logit.
TEST(MegatronMemory, TheLossHoldsTenBytesALogit) {
  MegatronJob job = llama2_on_one_card();
  job.model.layers = 1, job.run.sequence_len = 65536;
  const double small = megatron_memory(job).steady_peak_bytes;
  job.model.vocab *= 2;
  const double more_weights = 2.0 * 32000 * 4096 * 18, more_logits = 65536.0 * 32000 * 10;
  EXPECT_NEAR(megatron_memory(job).steady_peak_bytes - small, more_weights + more_logits, 1);
}

TEST(MegatronMemory, AnActivationApartIsKept) {
  MegatronJob job = llama2_on_one_card();
  job.run.sequence_len = 65536;
  const double fused = megatron_memory(job).steady_peak_bytes;
  job.run.fused_swiglu = false;
  EXPECT_NEAR(megatron_memory(job).steady_peak_bytes - fused, 32 * 65536.0 * 11008 * 2, 1);
}

}  // namespace
}  // namespace nb
