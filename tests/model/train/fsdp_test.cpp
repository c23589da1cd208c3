// BASE with weights that cards share, against plain data parallelism, through the stage that a
// suite runs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/decoder/parameters.hpp"
#include "model/decoder/presets.hpp"
#include "model/train/frozen_weights.hpp"
#include "model/train/mesh_step.hpp"
#include "model/train/pipeline_schedule.hpp"
#include "tests/model/train/mesh_volumes.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

class Fsdp : public test::MeshTest {};

// 265 rows of the tables on four ranks: 67, 67, 67, 64.
TEST_F(Fsdp, IsDataParallelBitForBit) {
  settings_.depth = 2;
  settings_.iterations = 4;
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
  expect_same_bytes_after_kills({.fsdp = 4}, {0, 3, 7});
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
  EXPECT_EQ(refusal({.dp = 2, .param = "bf16"}),
            "mesh/param: decides nothing without fsdp of two ranks or more; add it");
  EXPECT_EQ(refusal({.dp = 2, .zero = 1, .reduce = "bf16"}),
            "mesh/reduce: ZeRO-1 reduces gradients in their own type; leave it out");
  EXPECT_EQ(refusal({.fsdp = 2, .shard = "hybrid"}),
            "mesh/shard: hybrid needs dp of two ranks or more; leave it out, or say full");
  EXPECT_EQ(refusal({.fsdp = 3}),
            "mesh/fsdp: 3 ranks cannot share the 4 micro-batches of a step evenly; choose a "
            "divisor, or another batch");
  EXPECT_TRUE(refusal({.ep = 2}).starts_with("mesh/ep: expert parallel training is not executed"));
}

// What each part of a d2 has on the wire, in bytes: elements × size, rows padded to the ranks.
struct Elements {
  double blocks = 0, tables = 0;  // padded

  Elements(const DecoderConfig& config, std::int64_t pieces) {
    for (const ParameterSpec& spec : parameter_specs(config)) {
      const std::int64_t rows = (spec.shape[0] + pieces - 1) / pieces * pieces;
      const bool is_block = spec.name.starts_with("transformer.h.");
      (is_block ? blocks : tables) +=
          static_cast<double>(rows * (spec.shape.count() / spec.shape[0]));
    }
  }
};

// Every kind of collective, as the formulas have it: sharded weights are gathered for forward and
// for backward, but the tables once; gradients are scattered once. wte is bf16, all else fp32.
TEST_F(Fsdp, SentBytesAreTheFormulas) {
  settings_.depth = 2;
  settings_.iterations = 3;
  settings_.eval_every = 0;
  settings_.grad_clip = 1;
  const double norm = 12;  // of a rank: three numbers
  const auto check = [&](const MeshSettings& mesh, const SentBytes& a_step) {
    const Ran one = ran(mesh);
    SentBytes expected;
    for (const auto& [kind, bytes] : a_step) expected[kind] = bytes * 3;
    EXPECT_EQ(one.result.sent_bytes, expected);
  };
  const DecoderConfig config = ran(MeshSettings{.fsdp = 2}).result.config;
  for (const std::int64_t p : {2, 4}) {
    SCOPED_TRACE(p);
    const Elements n(config, p), exact(config, 1);
    const auto ranks = static_cast<double>(p), share = (ranks - 1) / ranks;
    const double table = n.tables / 2, all = table * 6 + n.blocks * 4;
    const double micro_batches = 4 / ranks;
    check({.dp = p}, {{"all_reduce", 2 * share * (exact.tables * 3 + exact.blocks * 4)}});
    // Of as many matrices of a shape as ranks a rank has rows of the size of one; d2 has eight
    // square ones and two of each other. Updates go to their owners and back in bf16.
    const double square = 128 * 128, wide = 128 * 512;
    const double exchanged = (8 / ranks * square + 2 * std::max(1.0, 2 / ranks) * wide) * 2;
    check({.fsdp = p},
          {{"all_gather", micro_batches * share * (all + n.blocks * 4) + norm * (ranks - 1)},
           {"reduce_scatter", micro_batches * share * all},
           {"all_to_all", 2 * share * exchanged}});
  }
  const Elements n(config, 2);
  const double table = n.tables / 2, all = table * 6 + n.blocks * 4;
  const double exchanged = (4 * 128 * 128 + 2 * 128 * 512) * 2;
  check({.dp = 2, .fsdp = 2, .shard = "hybrid"},
        {{"all_gather", .5 * (all + n.blocks * 4) + norm * 3},
         {"reduce_scatter", .5 * all},
         {"all_reduce", all / 2},
         {"all_to_all", 2 * .5 * exchanged}});
  // In bf16 all of it.
  const double half = (n.tables + n.blocks) * 2;
  check({.fsdp = 2, .param = "bf16", .reduce = "bf16"},
        {{"all_gather", 2 * (.5 * (half + n.blocks * 2)) + norm},
         {"reduce_scatter", 2 * .5 * half},
         {"all_to_all", 2 * .5 * exchanged}});
}

// The same code without values: rank 0 is the one that has most to do.
TEST_F(Fsdp, TakesTheTimeTheBytesAndTheMemoryOfADryStep) {
  settings_.depth = 2;
  settings_.iterations = 4;
  settings_.grad_clip = 1;
  settings_.eval_every = settings_.checkpoint_every = 0;  // whose memory is another's
  for (const MeshSettings& mesh :
       {MeshSettings{.dp = 2}, MeshSettings{.dp = 2, .zero = 1}, MeshSettings{.fsdp = 2},
        MeshSettings{.fsdp = 4}, MeshSettings{.dp = 2, .fsdp = 2, .shard = "hybrid"},
        MeshSettings{.fsdp = 2, .param = "bf16", .reduce = "bf16"}}) {
    SCOPED_TRACE(print_struct(mesh).dump());
    const Ran one = ran(mesh);
    const MeshStep dry = dry_step(one, mesh);
    EXPECT_EQ(static_cast<double>(dry.step_time_ns), *one.result.steps[3].step_time_ns);
    SentBytes all = dry.sent;
    for (auto& [kind, bytes] : all) bytes *= 4;
    EXPECT_EQ(all, one.result.sent_bytes);
    EXPECT_EQ(dry.peak.allocated_bytes,
              static_cast<std::uint64_t>(*one.result.steps[3].peak_memory_bytes));
  }
}

// The d20 of nanochat in fp32 and bf16: GB that a rank sends in a step of one micro-batch.
TEST(FsdpVolumes, OfD20AreTheFormulas) {
  DeviceProfile profile =
      with_numerics(load_profile("ascend_910b3").value(), load_profile("cpu_ref").value()).value();
  const double blocks = 393216000, root = 167772160, all = blocks + root;
  const auto sent = [&](const MeshSettings& mesh) {
    return run_mesh_step({.config = config_for_depth(20, 65536, 1024), .mesh = mesh}, profile).sent;
  };
  const double norm = 3 * 12;
  EXPECT_EQ(sent({.dp = 4}), (SentBytes{{"all_reduce", 1.5 * all * 4}}));  // 3.366 GB
  EXPECT_EQ(sent({.dp = 4, .reduce = "bf16"}),
            (SentBytes{{"all_reduce", 1.5 * all * 2}}));  // 1.683 GB
  SentBytes zero = sent({.dp = 4, .zero = 1});
  EXPECT_EQ(zero,
            (SentBytes{{"all_gather", .75 * all * 4 + norm}, {"reduce_scatter", .75 * all * 4}}));
  SentBytes full = sent({.fsdp = 4, .param = "bf16", .reduce = "bf16"});
  EXPECT_EQ(full.at("all_gather"), .75 * (2 * blocks + root) * 2 + norm);  // 1.431 GB
  EXPECT_EQ(full.at("reduce_scatter"), .75 * all * 2);                     // 0.841 GB
  EXPECT_EQ(sent({.fsdp = 4, .param = "bf16", .reduce = "fp32"}).at("reduce_scatter"),
            .75 * all * 4);  // 1.683 GB
  SentBytes hybrid =
      sent({.dp = 2, .fsdp = 2, .shard = "hybrid", .param = "bf16", .reduce = "bf16"});
  EXPECT_EQ(hybrid.at("all_gather"), .5 * (2 * blocks + root) * 2 + norm);  // 0.954 GB
  EXPECT_EQ(hybrid.at("reduce_scatter"), .5 * all * 2);                     // 0.561 GB
  EXPECT_EQ(hybrid.at("all_reduce"), 2 * .5 * all / 2 * 2);                 // 0.561 GB
}

// Shards and their state are a p-th of all; what is gathered comes on top for a while.
TEST_F(Fsdp, MemoryIsThatOfTheShards) {
  settings_.depth = 2;
  settings_.iterations = 2;
  for (const std::int64_t p : {2, 4}) {
    SCOPED_TRACE(p);
    const Ran one = ran(MeshSettings{.fsdp = p});
    const CachingAllocator rounds(load_profile("ascend_910b3")->allocator_rules(), {1u << 30, 0});
    std::uint64_t weights = 0, state = 0;
    for (const ParameterSpec& spec : parameter_specs(one.result.config)) {
      const auto count = static_cast<std::uint64_t>((spec.shape[0] + p - 1) / p * spec.shape[1]);
      const bool is_table = spec.role == ParameterRole::kEmbedding;
      const bool has_two = spec.role != ParameterRole::kMatrix;  // moments, else a buffer
      weights += rounds.rounded(count * (is_table ? 2 : 4));
      state += (has_two ? 2 : 1) * rounds.rounded(count * (is_table ? 2 : 4));
    }
    const auto held = [&](BlockUse use) { return one.allocated[static_cast<std::size_t>(use)]; };
    EXPECT_EQ(held(BlockUse::kParameter), weights);
    EXPECT_EQ(held(BlockUse::kOptimizer), state);
    EXPECT_EQ(held(BlockUse::kGradient), 0U);
    EXPECT_LT(one.result.peak_allocated_bytes,
              ran(MeshSettings{.dp = p}).result.peak_allocated_bytes);
  }
}

// Megatron's: four all-reduces a block, a transfer each way between stages.
TEST(FsdpVolumes, OfTensorAndPipelineParallelAreTheFormulas) {
  const DecoderConfig d20 = config_for_depth(20, 65536, 1024);
  EXPECT_EQ(tensor_parallel_bytes(d20, {.rows = 8, .tokens = 1024}, 2), 20 * 83886080.0);
  EXPECT_EQ(tensor_parallel_bytes(d20, {.rows = 8, .tokens = 1024}, 4), 20 * 125829120.0);
  EXPECT_EQ(pipeline_bytes(d20, {.tokens = 1024}, 2), 2621440.0);
  EXPECT_EQ(pipeline_bytes(d20, {.tokens = 1024, .micro_batches = 8}, 4), 2 * 8 * 2621440.0);
  EXPECT_EQ(pipeline_bubble(4, 8), .375);
}

// Twinkle's recipe: Qwen2.5-7B, adapters of rank 8, 16 micro-batches of 2 rows per rank.
TEST(FsdpVolumes, OfFrozenWeightsThatFitAreFoundNeedless) {
  DecoderConfig config = preset_config("llama", 2, 152064, 300).value();
  config.n_layer = 28;
  config.n_embd = 3584;
  config.n_head = 28;
  config.n_kv_head = 4;
  config.architecture.hidden = 18944;
  const MeshStepRequest request = {
      .config = config,
      .mesh = {.dp = 2, .fsdp = 2, .shard = "full", .param = "bf16", .reduce = "bf16"},
      .device_batch_size = 2,
      .accumulation_steps = 16,
      .grad_clip = std::nullopt,
      .lora = LoraSettings{.rank = 8, .alpha = 8, .targets = {"all"}}};
  const DeviceProfile profile = load_profile("ascend_910b3").value();
  const MeshStep step = run_mesh_step(request, profile);
  EXPECT_NEAR(step.sent.at("all_gather") / 339e9, 1, .01);
  const std::string finding = frozen_weights_finding(request, step, profile);
  EXPECT_NE(finding.find("dp 4 sends 5,600 × less here"), std::string::npos) << finding;
  MeshStepRequest trained = request;
  trained.lora.reset();
  EXPECT_EQ(frozen_weights_finding(trained, step, profile), "");
}

}  // namespace
}  // namespace nb
