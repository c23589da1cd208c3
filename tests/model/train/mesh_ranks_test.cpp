// BASE on meshes of several kinds at once: copies of stages, whose ranks share the stage's blocks
// (dp × tp × pp), against one card, through the stage that a suite runs.
#include <nlohmann/json.hpp>

#include "model/decoder/parameters.hpp"
#include "model/decoder/part.hpp"
#include "model/train/port_defects.hpp"
#include "model/train/tensor_cuts.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

// llama d2 in fp32: two heads of 64, a block a stage.
class MeshRanks : public test::MeshTest {
 protected:
  MeshRanks() {
    settings_.depth = 2;
    settings_.model = "llama";
    settings_.iterations = 5;
    settings_.grad_clip = 1;
    numerics_ = "cpu_ref";
  }
  // Per tensor ||a - b|| / ||b|| of what the gradients come to (moments, momentum) and of weights.
  // Of weights one element in 10,000 is left out: AdamW's first step is g / (|g| + 4.5e-10), rate
  // by rate, so that of a gradient that happens to be near zero it is made of rounding. Of llama's
  // head that is one element of 33,920: its g is -6.3e-10, of a root mean square of 2e-3, and
  // differs by 2.8e-11; its step by 1.1 %. Alone it makes 1.4e-5 of the head's norm (2e-7 to 3e-5
  // with seven seeds), where the gradients are within 1.2e-7, fp32's unit. A key's bias changes no
  // probability: its gradient is rounding alone, in every element.
  static double largest_distance(const Ran& a, const Ran& b) {
    double largest = 0;
    for (const auto& [name, distance] : distances(a, b, 10000))
      if (!name.ends_with("attn.c_k.bias")) largest = std::max(largest, distance);
    return largest;
  }
  void expect_one_card(const Ran& alone, const MeshSettings& mesh, bool compares_tensors = true) {
    SCOPED_TRACE(print_struct(MeshSettings(mesh)).dump());
    const Ran together = ran(mesh);
    EXPECT_LT(test::worst(together.result, alone.result), 1e-5);
    EXPECT_EQ(together.values.size(), alone.values.size());
    if (compares_tensors) {
      EXPECT_LT(largest_distance(together, alone), 1e-5);
    }
    EXPECT_EQ(together.result.replica_mismatch, 0);
    EXPECT_FALSE(together.tensors == alone.tensors);  // sums of parts do round differently
  }
};

TEST_F(MeshRanks, OfCopiesStagesAndPartsAreOneCardWithinRounding) {
  const Ran alone = ran(std::nullopt);
  expect_one_card(alone, {.tp = 2, .pp = 2});
  expect_one_card(alone, {.dp = 2, .tp = 2, .pp = 2});
  expect_one_card(alone, {.dp = 2, .tp = 2, .pp = 2, .schedule = "gpipe"});
}

// A tied table in parts on the first and the last stage, positions, biases (gpt2); what later
// blocks read, lambdas that all stages have (nanochat-2026-07). Low rates, as in
// tensor_ranks_test.cpp. Of the latter half the weights begin at zero, and consist of Muon's
// updates alone, whose iteration takes what is small 3.4445^5 = 485 times: after one step its
// gradients are within 1.3e-6 (but the lambdas', which are rounding alone), these weights
// within 1.7e-5.
TEST_F(MeshRanks, OfOtherArchitecturesAreOneCardWithinRounding) {
  settings_.iterations = 3;
  settings_.embedding_lr = settings_.matrix_lr = .002;
  settings_.unembedding_lr = .0004;
  settings_.model = "gpt2";
  expect_one_card(ran(std::nullopt), {.tp = 2, .pp = 2});
  settings_.model = "nanochat-2026-07";
  settings_.depth = 4;
  expect_one_card(ran(std::nullopt), {.tp = 2, .pp = 4}, false);
}

// What the port's forgotten all-reduce of the norms' gradients makes, at the same measure: 1. Of
// mistakes in the code the smallest, a norm that counts what is replicated twice, makes 7e-3.
TEST_F(MeshRanks, AForgottenSumIsFarOutsideOfTheTolerance) {
  settings_.iterations = 2;
  const Ran alone = ran(std::nullopt);
  const MeshSettings mesh{.tp = 2, .sequence_parallel = true};
  const Ran right = ran(mesh);
  defects_ = PortDefects({PortDefect::kSpNormNotReduced});
  const Ran wrong = ran(mesh);
  EXPECT_LT(largest_distance(right, alone), 1e-5);
  EXPECT_GT(largest_distance(wrong, alone), 1e-2);
}

TEST_F(MeshRanks, OfAnyScheduleHaveTheSameBits) {
  const Ran kept = ran(MeshSettings{.tp = 2, .pp = 2});
  for (const MeshSettings& mesh : {MeshSettings{.tp = 2, .pp = 2, .schedule = "gpipe"},
                                   MeshSettings{.tp = 2, .pp = 2, .micro_batches = 2}})
    EXPECT_TRUE(ran(mesh).tensors == kept.tensors);
  settings_.recompute = true;
  EXPECT_TRUE(ran(MeshSettings{.tp = 2, .pp = 2}).tensors == kept.tensors);
}

TEST_F(MeshRanks, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills({.dp = 2, .tp = 2, .pp = 2}, {0, 3});
}

// What a rank of each stage sends in a step of 2 × 2 × 2 in fp32, by hand: activations of 32 × 128
// numbers, two micro-batches of a copy, a block a stage.
TEST_F(MeshRanks, SendTheBytesOfTheFormula) {
  settings_.iterations = 1;
  settings_.eval_every = settings_.checkpoint_every = 0;
  const MeshSettings mesh{.dp = 2, .tp = 2, .pp = 2};
  const Ran one = ran(mesh);
  const double m = 2, activation = 32 * 128 * 4, numbers = 3 * 32 * 4;
  const double square = 128 * 128 * 4, wide = 128 * 384 * 4;
  double total[2] = {};
  for (int stage = 0; stage < 2; ++stage) {
    double gradients = 0;  // of a rank's part of its stage
    for (const ParameterSpec& spec : parameter_specs(one.result.config))
      if (reads(one.result.config, part_of(one.result.config, stage, 2), spec.name))
        gradients += static_cast<double>(4 * part_shape(spec.name, spec.shape, 2).count());
    // Four all-reduces a block, one for the embedding or the head, and the loss's numbers, of two
    // ranks each: all of a tensor. The gradients' are of two copies.
    const SentBytes sent = {
        {"all_reduce", m * (5 * activation + (stage == 1 ? numbers : 0)) + gradients},
        {"send_receive", m * activation},
        {"all_gather", 7 * 12},
        // Two exchanges a group of two matrices of a shape, half of each sent: four squares, gate
        // and fc, and proj alone.
        {"all_to_all", 2 * (2 * square + wide + wide) / 2},
        {"broadcast", 4}};
    if (stage == 0) {
      EXPECT_EQ(one.result.sent_bytes, sent);
    }
    for (const auto& [kind, bytes] : sent) total[stage] += bytes;
  }
  ASSERT_EQ(one.result.sent_bytes_of_ranks.size(), 8U);
  for (std::size_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(one.result.sent_bytes_of_ranks[rank], total[rank / 4]) << rank;
}

// Time, bytes and peak of every rank, also of those whose part of the table has padding.
TEST_F(MeshRanks, TakeTheTimeTheBytesAndTheMemoryOfADryStep) {
  settings_.iterations = 4;
  settings_.eval_every = settings_.checkpoint_every = 0;
  numerics_ = "ascend_910b3";
  for (const MeshSettings& mesh :
       {MeshSettings{.tp = 2, .pp = 2}, MeshSettings{.tp = 2, .pp = 2, .schedule = "gpipe"},
        MeshSettings{.dp = 2, .tp = 2, .pp = 2}}) {
    SCOPED_TRACE(print_struct(MeshSettings(mesh)).dump());
    const Ran one = ran(mesh);
    const MeshStep dry = dry_step(one, mesh);
    EXPECT_EQ(static_cast<double>(dry.step_time_ns), *one.result.steps[3].step_time_ns);
    SentBytes all = dry.sent;
    for (auto& [kind, bytes] : all) bytes *= 4;
    EXPECT_EQ(all, one.result.sent_bytes);
    std::vector<double> of_ranks = dry.sent_bytes_of_ranks;
    for (double& bytes : of_ranks) bytes *= 4;
    EXPECT_EQ(of_ranks, one.result.sent_bytes_of_ranks);
    EXPECT_EQ(dry.peaks_of_ranks, one.result.peaks_of_ranks);
    EXPECT_EQ(dry.peaks_of_ranks.size(), static_cast<std::size_t>(mesh.ranks()));
  }
}

// Each rank has its part of its stage, in weights and in state.
TEST_F(MeshRanks, HoldTheirPartOfTheirStage) {
  settings_.iterations = 2;
  const Ran one = ran(MeshSettings{.tp = 2, .pp = 2});
  const CachingAllocator rounds(load_profile("ascend_910b3")->allocator_rules(), {1u << 30, 0});
  std::uint64_t expected = 0;
  for (const ParameterSpec& spec : parameter_specs(one.result.config))
    if (reads(one.result.config, part_of(one.result.config, 0, 2), spec.name))
      expected += rounds.rounded(
          static_cast<std::uint64_t>(4 * part_shape(spec.name, spec.shape, 2).count()));
  EXPECT_EQ(one.allocated[static_cast<std::size_t>(BlockUse::kParameter)], expected);
}

TEST_F(MeshRanks, ThatCannotShareAreRefusedWithTheNumbers) {
  EXPECT_EQ(refusal({.tp = 4, .pp = 2}),
            "mesh/tp: 4 ranks cannot share 2 heads evenly; choose a divisor, or another model");
  EXPECT_EQ(refusal({.tp = 2, .pp = 3}),
            "mesh/pp: 3 stages of 2 blocks: each needs one or more; choose fewer stages, or "
            "another depth");
  EXPECT_EQ(refusal({.dp = 4, .tp = 2, .pp = 2}),
            "mesh: 16 ranks of ascend_910b3, which has 8 cards in a node; ranks train within one "
            "node");
}

}  // namespace
}  // namespace nb
