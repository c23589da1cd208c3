// BASE with weights that cards share, against plain data parallelism, through the stage that a
// suite runs.
#include <cmath>

#include "harness/base/hash.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

class Fsdp : public test::MeshTest {};

// 265 rows of the tables on four ranks: 67, 67, 67, 64.
TEST_F(Fsdp, IsDataParallelBitForBit) {
  settings_.depth = 2;
  for (const bool recomputes : {false, true}) {
    SCOPED_TRACE(recomputes);
    settings_.recompute = recomputes;
    const Ran copies = ran(MeshSettings{.dp = 4}), sharded = ran(MeshSettings{.fsdp = 4});
    EXPECT_EQ(learned(sharded.result), learned(copies.result));
    EXPECT_TRUE(sharded.tensors == copies.tensors);
    EXPECT_EQ(sharded.result.replica_mismatch, 0);
  }
}

TEST_F(Fsdp, EveryKillEndsWithTheSameBytes) {
  const test::TempDir whole;
  const MeshSettings mesh{.fsdp = 4};
  const auto undisturbed = run(mesh, whole.path());
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  for (const std::int64_t step : {0, 3, 7}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    TrainHooks hooks;
    hooks.on_step = [&](const StepRow& row) {
      if (row.step == step) throw test::Killed{};
    };
    EXPECT_THROW((void)run(mesh, folder.path(), hooks), test::Killed);
    const auto resumed = run(mesh, folder.path());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(*sha256_file(resumed->result.checkpoint),
              *sha256_file(undisturbed->result.checkpoint));
    EXPECT_EQ(resumed->result.train_time_ns, undisturbed->result.train_time_ns);
    EXPECT_EQ(resumed->result.peak_allocated_bytes, undisturbed->result.peak_allocated_bytes);
  }
}

// Every micro-batch's gradients are averaged before they are added to those before.
TEST_F(Fsdp, OfSeveralMicroBatchesIsClose) {
  numerics_ = "cpu_ref";
  const Ran copies = ran(MeshSettings{.dp = 2}), sharded = ran(MeshSettings{.fsdp = 2});
  ASSERT_EQ(sharded.result.steps.size(), copies.result.steps.size());
  for (std::size_t i = 0; i + 1 < copies.result.steps.size(); ++i)
    EXPECT_NEAR(*sharded.result.steps[i].train_loss / *copies.result.steps[i].train_loss, 1, 1e-5);
  EXPECT_NE(sharded.tensors, copies.tensors);
}

TEST_F(Fsdp, RefusesWhatDecidesNothingOrIsNotExecuted) {
  const auto refusal = [&](const MeshSettings& mesh) {
    const test::TempDir folder;
    const auto refused = run(mesh, folder.path());
    EXPECT_FALSE(refused);
    return refused ? "" : refused.error().message;
  };
  EXPECT_EQ(refusal({.dp = 2, .fsdp = 2}),
            "mesh/shard: weights of dp 2 × fsdp 2 may be cut over all 4 ranks (full) or within "
            "each 2 of them (hybrid); say which");
  EXPECT_EQ(refusal({.zero = 1, .fsdp = 2}),
            "mesh/zero: decides nothing beside fsdp, whose ranks share the optimizers' state "
            "already; leave one out");
  EXPECT_EQ(refusal({.dp = 2, .reduce = "bf16"}),
            "mesh/reduce: decides nothing without fsdp of two ranks or more; add it");
  EXPECT_EQ(refusal({.fsdp = 2, .shard = "hybrid"}),
            "mesh/shard: hybrid needs dp of two ranks or more; leave it out, or say full");
  EXPECT_EQ(refusal({.fsdp = 3}),
            "mesh/fsdp: 3 ranks cannot share the 4 micro-batches of a step evenly; choose a "
            "divisor, or another batch");
  EXPECT_EQ(refusal({.tp = 2}),
            "mesh/tp: tensor parallel training is not executed here, only dp, zero and fsdp are; "
            "`npubench predict --mesh` tells what tp and pp take");
  EXPECT_TRUE(refusal({.ep = 2}).starts_with("mesh/ep: expert parallel training is not executed"));
}

}  // namespace
}  // namespace nb
