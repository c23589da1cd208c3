// How many elements a card updates in one piece: against single ranks of published records.
#include "model/predict/megatron_tensors.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "model/predict/dense_rows.hpp"

namespace nb {
namespace {

MegatronJob llama2_to_cut() {
  return {"llama2-7b", *find_megatron_model("llama2-7b"), {.global_batch = 1, .ranks = 1}};
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
  MegatronJob job = llama2_to_cut();
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
  MegatronJob job = llama2_to_cut();
  job.model.is_tied = true;
  EXPECT_EQ(stage_tensors(job, 0).front().back(), 4096);
  job.run.ranks = job.run.pp = 2;
  EXPECT_EQ(stage_tensors(job, 1).front().back(), 32000 * 4096);
}

TEST(MegatronTensors, StagesHoldEveryParameterOnce) {
  MegatronJob job = llama2_to_cut();
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
