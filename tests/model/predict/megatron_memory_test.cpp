#include "model/predict/megatron_memory.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "model/predict/dense_rows.hpp"
#include "model/predict/megatron_tensors.hpp"

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

// Ascend/MindSpeed at 2.3.0_core_r0.12.1, docs/features, reuse-fp32-param: 2 bytes a parameter
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

MegatronJob recorded(std::string_view name) {
  const auto rows = measured_memories("megatron_ci");
  for (const MeasuredMemory& row : rows.value())
    if (row.job.name.starts_with(name)) return row.job;
  ADD_FAILURE() << "no record " << name;
  return {};
}

// Above the static memory, of single ranks in the records' "memo info" (Ascend/MindSpeed-LLM 2.3.0,
// tests/pipeline/baseline): internlm3_8b_tp1_pp4_cp2_ptd.json, ranks 1 (stage 0, second shard), 3
// and 6; glm4_9b_8k_tp2_pp2_ptd.json, rank 4. llama2_tp1_pp8_patch_gloo_ptd.json of 2.1.0, rank 0.
TEST(MegatronTensors, TheLargestPieceIsThatOfTheRecords) {
  struct Rank {
    std::string_view record;
    std::int64_t stage;
    double mib;
  };
  for (const Rank& rank : {Rank{"internlm3", 0, 9188.115 - 7876.099},
                           {"internlm3", 1, 2032.136 - 1860.136},
                           {"internlm3", 3, 9196.178 - 7884.147},
                           {"glm4_9b_8k", 1, 5526.649 - 4740.118},
                           {"llama2_tp1_pp8_patch_gloo", 0, 16650.345 - 16150.603}}) {
    const MegatronJob job = recorded(rank.record);
    const double mib =
        4.0 * static_cast<double>(largest_updated_piece(job, rank.stage)) / (1 << 20);
    EXPECT_NEAR(mib, rank.mib, 0.5) << rank.record << " stage " << rank.stage;
  }
}

// Of glm4_9b_8k's stage 0 only the first shard is recorded (rank 0): its bucket holds norm, qkv and
// output of a layer before the table, whose rest is the other shard's.
TEST(MegatronTensors, OverlappedBucketsAreCutOneByOne) {
  MegatronJob job = recorded("glm4_9b_8k");
  const std::int64_t table = 151552 * 4096 / 2;
  const std::int64_t bucket = table + 4096 * (4096 + 4608) / 2 + 2 * 4096;
  EXPECT_EQ(largest_updated_piece(job, 0), bucket / 2);
  const double rank_0 = 4.0 * static_cast<double>(table - bucket / 2) / (1 << 20);
  EXPECT_NEAR(rank_0, 5291.010 - 4733.112, 0.5);
  job.run.overlap_grad_reduce = false;
  const std::int64_t all = bucket + 3 * 13696 * 4096 / 2;
  EXPECT_EQ(largest_updated_piece(job, 0), (all + 1) / 2);
}

// Where a step's pieces of one buffer are not shared, and of a later chunk, tensors stay whole.
TEST(MegatronTensors, OnlyTheDistributedOptimizerCutsAndOnlyTheFirstChunkHasBuckets) {
  MegatronJob job = llama2_on_one_card();
  job.run.ranks = job.run.global_batch = 4;
  job.run.overlap_grad_reduce = true;
  EXPECT_EQ(largest_updated_piece(job, 0), 32000 * 4096);
  job.run.distributed_optimizer = true;
  // The last bucket is cut in four: output, norm, table.
  EXPECT_EQ(largest_updated_piece(job, 0), (4096 + 1 + 32000) * 4096 / 4);
  // Two stages of two chunks: the second chunk of stage 0, 8 layers, is one buffer, whose quarters
  // are two layers each; in the first chunk's last bucket the table comes behind qkv and output.
  job.run.ranks = 8, job.run.pp = 2, job.run.vpp = 2;
  EXPECT_EQ(largest_updated_piece(job, 0), 2 * 11008 * 4096);
  job.run.overlap_grad_reduce = false;
  EXPECT_EQ(largest_updated_piece(job, 0), 32000 * 4096);
}

TEST(MegatronTensors, ATiedHeadOfAnotherStageIsACopy) {
  MegatronJob job = llama2_on_one_card();
  job.model.is_tied = true;
  EXPECT_EQ(stage_tensors(job, 0).front().back(), 4096);
  job.run.ranks = job.run.pp = 2;
  EXPECT_EQ(stage_tensors(job, 1).front().back(), 32000 * 4096);
}

TEST(MegatronTensors, StagesHoldEveryParameterOnce) {
  MegatronJob job = llama2_on_one_card();
  job.run.ranks = job.run.pp = 2, job.run.vpp = 4;
  std::int64_t elements = 0;
  for (std::int64_t stage = 0; stage < job.run.pp; ++stage)
    for (const auto& chunk : stage_tensors(job, stage))
      elements += std::accumulate(chunk.begin(), chunk.end(), std::int64_t{0});
  EXPECT_EQ(elements, job.model.parameter_count());
  EXPECT_EQ(stage_tensors(job, 0).size(), 4U);
}

}  // namespace
}  // namespace nb
