#include "model/predict/megatron_step.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

// Kernels cost their FLOP in ns over a thousand, nothing else does: a job's time is its arithmetic.
MegatronMachine counting_machine() {
  MegatronMachine machine;
  machine.kernel_ns = [](const Kernel& kernel) {
    return kernel.unit == KernelUnit::kVector ? 0.0 : kernel.flops / 1000;
  };
  machine.links.devices.value = 8;
  machine.links.bandwidth.value = 1e9;
  machine.links.algorithm.value = CollectiveAlgorithm::kMesh;
  return machine;
}

MegatronJob small_job() {
  MegatronJob job;
  job.model = {4, 256, 512, 4, 4, 64, 1024, true, false, 0};
  job.run.sequence_len = 128;
  job.run.global_batch = 8;
  return job;
}

double product_flops(const MegatronJob& job) {
  return 6 * (4.0 * (4 * 256 * 256 + 3 * 256 * 512) + 1024.0 * 256) * job.tokens_per_step();
}
// Forward 1, backward 2.5 times two products over the visible pairs.
double attention_flops(const MegatronJob& job) {
  return 3.5 * 4 * 256 * 64.5 * 4 * job.tokens_per_step();
}

TEST(MegatronStep, OneCardDoesAllTheArithmetic) {
  const MegatronJob job = small_job();
  const auto step = megatron_step(job, counting_machine());
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_NEAR(step->product_ns, product_flops(job) / 1000, 1e-6 * step->product_ns);
  EXPECT_NEAR(step->attention_ns, attention_flops(job) / 1000, 1e-6 * step->attention_ns);
  EXPECT_EQ(step->bubble_ns, 0);
  EXPECT_EQ(step->data_parallel_ns, 0);
}

TEST(MegatronStep, TensorParallelCardsShareIt) {
  MegatronJob job = small_job();
  job.run.tp = job.run.ranks = 4;
  const auto step = megatron_step(job, counting_machine());
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_NEAR(step->product_ns, product_flops(job) / 4000, 1e-6 * step->product_ns);
  EXPECT_NEAR(step->attention_ns, attention_flops(job) / 4000, 1e-6 * step->attention_ns);
}

// T = (m − 1) max t + Σ t: with equal stages m + p − 1 of them; interleaved, (p − 1) / v less.
TEST(MegatronStep, APipelineWaitsForItsFirstAndLastMicroBatch) {
  MegatronJob job = small_job();
  job.model.vocab = 4;  // a head that hardly counts
  job.run.pp = job.run.ranks = 2;
  const MegatronMachine machine = counting_machine();
  const auto step = megatron_step(job, machine);
  ASSERT_TRUE(step.has_value()) << step.error().message;
  const double stage = (step->step_ns - step->bubble_ns) / 8;
  EXPECT_NEAR(step->bubble_ns, stage, 0.01 * stage);
  job.run.vpp = 2;
  const auto interleaved = megatron_step(job, machine);
  ASSERT_TRUE(interleaved.has_value());
  EXPECT_NEAR(interleaved->bubble_ns, stage / 2, 0.01 * stage);
}

TEST(MegatronStep, RecomputationAddsTheForwardPassOfTheLayers) {
  MegatronJob job = small_job();
  const MegatronMachine machine = counting_machine();
  const double without = megatron_step(job, machine)->product_ns;
  job.run.recompute = MegatronRecompute::kFull;
  const double layers = 2 * 4.0 * (4 * 256 * 256 + 3 * 256 * 512) * job.tokens_per_step() / 1000;
  EXPECT_NEAR(megatron_step(job, machine)->product_ns, without + layers, 1e-6 * without);
}

// Per layer 4 collectives forward and 6 backward of rows × width × 2 bytes, of which a mesh moves a
// part over each link; embedding 1, head 3. mc2 hides a share of the layers'.
TEST(MegatronStep, SequenceParallelCollectivesAreCounted) {
  MegatronJob job = small_job();
  job.run.tp = job.run.ranks = 4;
  MegatronMachine machine = counting_machine();
  machine.links.bandwidth.value = 1;
  machine.hidden_share = 0.5;
  const double one = 128 * 256 * 2 / 4.0;
  EXPECT_DOUBLE_EQ(megatron_step(job, machine)->communication_ns, 8 * (4 * 10 + 4) * one);
  job.run.mc2 = true;
  EXPECT_DOUBLE_EQ(megatron_step(job, machine)->communication_ns, 8 * (2 * 10 + 4) * one);
  job.run.mc2 = false;
  machine.hides_backward = true;  // 4 of 6
  EXPECT_DOUBLE_EQ(megatron_step(job, machine)->communication_ns, 8 * (4 * 8 + 4) * one);
}

// 10 collectives a layer, embedding 1, head 3, each with one copy of its vector.
TEST(MegatronStep, CopiesThroughTheLibrarysBuffersAreItsTime) {
  MegatronJob job = small_job();
  job.run.tp = job.run.ranks = 4;
  MegatronMachine machine = counting_machine();
  const double without = megatron_step(job, machine)->communication_ns;
  machine.kernel_ns = [](const Kernel& kernel) {
    return kernel.unit == KernelUnit::kVector ? static_cast<double>(kernel.read_bytes) : 0.0;
  };
  machine.copies_through_buffers = true;
  EXPECT_DOUBLE_EQ(megatron_step(job, machine)->communication_ns - without,
                   8 * (4 * 10 + 4) * 128.0 * 256 * 2);
}

TEST(MegatronStep, SomeLayersOfAStageMayBeComputedAgain) {
  MegatronJob job = small_job();
  const MegatronMachine machine = counting_machine();
  const double none = megatron_step(job, machine)->product_ns;
  job.run.recompute = MegatronRecompute::kFull;
  const double all = megatron_step(job, machine)->product_ns;
  job.run.recompute_layers = 1;
  EXPECT_NEAR(megatron_step(job, machine)->product_ns, none + (all - none) / 4, 1e-6 * all);
  job.run.recompute_layers = 5;
  EXPECT_EQ(check_job(job).error().message,
            "recompute_layers 5 is not one of the 4 layers of a stage");
}

TEST(MegatronStep, AHostThatIsSlowerDecides) {
  const MegatronJob job = small_job();
  MegatronMachine machine = counting_machine();
  machine.host_dispatch_ns = 1e9;
  const auto step = megatron_step(job, machine);
  EXPECT_GT(step->host_ns, 0.99 * (step->step_ns - step->optimizer_ns));
}

TEST(MegatronStep, MoreNodesNeedANetwork) {
  MegatronJob job = small_job();
  job.run.ranks = 16, job.run.global_batch = 16;
  const auto step = megatron_step(job, counting_machine());
  ASSERT_FALSE(step.has_value());
  EXPECT_EQ(step.error().message,
            "16 ranks need 2 nodes, but the device has no network between nodes; ask for at most 8 "
            "ranks");
  job.run.nodes = 1;
  EXPECT_EQ(megatron_step(job, counting_machine()).error().message,
            "16 ranks do not fill 1 nodes of up to 8 evenly");
}

}  // namespace
}  // namespace nb
