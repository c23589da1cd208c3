// BASE on the stages of a pipeline, against one card, through the stage that a suite runs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/train/pipeline_schedule.hpp"
#include "tests/model/train/chat_ranks.hpp"
#include "tests/model/train/mesh_volumes.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

class Pipeline : public test::MeshTest {
 protected:
  Pipeline() {
    settings_.depth = 4;
    settings_.iterations = 3;
    settings_.eval_every = 0;
    settings_.eval_tokens = 32;
    settings_.grad_clip = 1;
  }
  // All of a row but times and memory.
  static std::vector<std::vector<double>> rows(const TrainResult& result) {
    std::vector<std::vector<double>> all = learned(result);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].push_back(result.steps[i].grad_norm.value_or(0));
    return all;
  }
  void expect_one_card(const Ran& alone, const MeshSettings& mesh) {
    SCOPED_TRACE(print_struct(MeshSettings(mesh)).dump());
    const Ran stages = ran(mesh);
    EXPECT_EQ(rows(stages.result), rows(alone.result));
    EXPECT_TRUE(stages.tensors == alone.tensors);
    EXPECT_FALSE(alone.tensors.empty());
    EXPECT_EQ(stages.result.replica_mismatch, 0);
  }
};

TEST_F(Pipeline, IsOneCardBitForBit) {
  const Ran alone = ran(std::nullopt);
  for (const std::int64_t p : {2, 4})
    for (const char* schedule : {"gpipe", "1f1b"})
      expect_one_card(alone, {.pp = p, .schedule = schedule});
  expect_one_card(alone, {.pp = 2, .micro_batches = 2});
  settings_.recompute = true;
  expect_one_card(alone, {.pp = 2});
}

// What block 0 began with goes on with the residual stream, and what backout takes from behind
// block 3 to the last of six stages; lambdas are read by all.
TEST_F(Pipeline, ShipsWhatLaterBlocksRead) {
  settings_.model = "nanochat-2026-07";
  settings_.depth = 6;
  settings_.iterations = 2;
  const Ran alone = ran(std::nullopt);
  for (const std::int64_t p : {3, 6}) expect_one_card(alone, {.pp = p});
}

TEST_F(Pipeline, OfOtherArchitecturesIsOneCardBitForBit) {
  settings_.model = "llama";
  settings_.depth = 2;
  expect_one_card(ran(std::nullopt), {.pp = 2});
}

// A sum of squares, fp32 each in blocks, is exact in double unless some are 2^-29 of it: those of
// matrices whose output has hardly left zero. Its order then shows in the last bits.
TEST_F(Pipeline, NormIsAddedInTheOrderOfOneCard) {
  settings_.matrix_lr = 1e-4;
  settings_.unembedding_lr = .1;
  settings_.iterations = 4;
  expect_one_card(ran(std::nullopt), {.pp = 4});
}

// Two copies of a table: their gradients are each summed over micro-batches before they meet.
TEST_F(Pipeline, OfATiedTableIsOneCardWithOneMicroBatch) {
  settings_.model = "gpt2";
  settings_.depth = 3;
  settings_.device_batch_size = 4;
  expect_one_card(ran(std::nullopt), {.pp = 3});
  settings_.device_batch_size = 1;
  numerics_ = "cpu_ref";
  const Ran alone = ran(std::nullopt), stages = ran(MeshSettings{.pp = 3});
  EXPECT_EQ(stages.result.replica_mismatch, 0);
  for (std::size_t i = 0; i + 1 < alone.result.steps.size(); ++i)
    EXPECT_NEAR(*stages.result.steps[i].train_loss / *alone.result.steps[i].train_loss, 1, 1e-5);
}

TEST_F(Pipeline, OfCopiesIsDataParallelBitForBit) {
  const Ran copies = ran(MeshSettings{.dp = 2});
  expect_one_card(copies, {.dp = 2, .pp = 2});
  expect_one_card(copies, {.dp = 2, .pp = 4, .schedule = "gpipe"});
}

TEST_F(Pipeline, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills({.pp = 2}, {0, 2});
}

// m micro-batches of b rows × s tokens × h numbers of two bytes, to the rank behind and to the rank
// before; each rank's squares, three numbers per parameter, to all others; and the loss.
TEST_F(Pipeline, SentBytesAreTheFormulas) {
  settings_.iterations = 1;
  const double m = 4, activation = m * 32 * 256 * 2, steps = 1;
  for (const std::int64_t p : {2, 4})
    for (const char* schedule : {"gpipe", "1f1b"}) {
      SCOPED_TRACE(p);
      const TrainResult result = ran(MeshSettings{.pp = p, .schedule = schedule}).result;
      // Six matrices a block, and the tables of the first and the last stage.
      const double most = static_cast<double>(6 * 4 / p + 1);
      const double others = static_cast<double>(p - 1) * most * 12 + 4;
      EXPECT_EQ(result.sent_bytes, (SentBytes{{"send_receive", steps * activation},
                                              {"all_gather", steps * (others - 4)},
                                              {"broadcast", steps * 4}}));
      ASSERT_EQ(std::ssize(result.sent_bytes_of_ranks), p);
      for (std::int64_t stage = 0; stage < p; ++stage) {
        const double ways = (stage > 0 ? 1 : 0) + (stage + 1 < p ? 1 : 0);
        EXPECT_EQ(result.sent_bytes_of_ranks[static_cast<std::size_t>(stage)],
                  steps * (ways * activation + others));
      }
      const ActivationSize size = {.tokens = 32, .micro_batches = 4};
      const DecoderConfig& config = result.config;
      EXPECT_EQ(pipeline_bytes(config, size, p), (p > 2 ? 2 : 1) * activation);
    }
}

TEST_F(Pipeline, TakesTheTimeTheBytesAndTheMemoryOfADryStep) {
  settings_.iterations = 4;
  settings_.checkpoint_every = 0;
  for (const MeshSettings& mesh :
       {MeshSettings{.pp = 2}, MeshSettings{.pp = 4}, MeshSettings{.pp = 4, .schedule = "gpipe"},
        MeshSettings{.pp = 2, .micro_batches = 2}, MeshSettings{.dp = 2, .pp = 2}}) {
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
    EXPECT_EQ(dry.peak.allocated_bytes,
              static_cast<std::uint64_t>(*one.result.steps[3].peak_memory_bytes));
    EXPECT_EQ(dry.peaks_of_ranks, one.result.peaks_of_ranks);
  }
}

// The blocks of a d4 on four stages: what one card's weights come to, without the tables.
TEST_F(Pipeline, MemoryIsThatOfAStage) {
  const Ran alone = ran(std::nullopt), stages = ran(MeshSettings{.pp = 4});
  const CachingAllocator rounds(load_profile("ascend_910b3")->allocator_rules(), {1u << 30, 0});
  const std::uint64_t square = rounds.rounded(256 * 256 * 4), wide = rounds.rounded(256 * 1024 * 4);
  const auto held = [&](BlockUse use) { return stages.allocated[static_cast<std::size_t>(use)]; };
  EXPECT_EQ(held(BlockUse::kParameter), 4 * square + 2 * wide + rounds.rounded(265 * 256 * 2));
  EXPECT_EQ(held(BlockUse::kGradient), 0U);
  for (const std::uint64_t peak : stages.result.peaks_of_ranks)
    EXPECT_LT(peak, alone.result.peak_allocated_bytes / 2);
}

// GPipe's first stage keeps all micro-batches, the other schedule's two of them.
TEST_F(Pipeline, OneForwardOneBackwardKeepsFewerMicroBatches) {
  settings_.total_batch_tokens = 32 * 16;
  settings_.iterations = 2;
  settings_.depth = 2;
  const Ran gpipe = ran(MeshSettings{.pp = 2, .schedule = "gpipe"}),
            other = ran(MeshSettings{.pp = 2, .schedule = "1f1b"});
  const auto kept = [](const Ran& one) {
    return one.peak[static_cast<std::size_t>(BlockUse::kActivation)];
  };
  EXPECT_GT(kept(gpipe), 4 * kept(other));
  EXPECT_TRUE(gpipe.tensors == other.tensors);
}

// (p − 1) / m of stages that take equally long; the head and the transfers come on top.
TEST_F(Pipeline, BubbleIsThatOfTheFormula) {
  settings_.iterations = 1;
  for (const std::int64_t m : {4, 16}) {
    settings_.total_batch_tokens = 32 * m;
    const double ideal = pipeline_bubble(2, m), bubble = *ran(MeshSettings{.pp = 2}).result.bubble;
    EXPECT_GT(bubble, ideal);
    EXPECT_LT(bubble, ideal + 0.3);
  }
}

TEST_F(Pipeline, RefusesWithTheNumbers) {
  EXPECT_EQ(refusal({.pp = 3}),
            "mesh/pp: 3 stages cannot share the 4 blocks evenly; choose a divisor, or another "
            "depth");
  EXPECT_EQ(refusal({.pp = 8}),
            "mesh/pp: 8 stages of 4 blocks: each needs one or more; choose fewer stages, or "
            "another depth");
  EXPECT_EQ(refusal({.pp = 2, .micro_batches = 3}),
            "mesh/micro_batches: 3 do not divide the 4 micro-batches that a pipeline has in a "
            "step; choose a divisor, or another batch");
  EXPECT_EQ(refusal({.schedule = "gpipe"}),
            "mesh/schedule: decides nothing without pp of two stages or more; add it");
  EXPECT_EQ(refusal({.fsdp = 2, .pp = 2}),
            "mesh/pp: 2 stages beside fsdp 2: the weights of a stage are not cut here; leave one "
            "of the two out");
  EXPECT_EQ(refusal({.dp = 2, .zero = 1, .pp = 2}),
            "mesh/pp: 2 stages beside zero: copies of a stage do not share their optimizers here; "
            "leave one of the two out");
  EXPECT_EQ(refusal({.reduce = "bf16", .pp = 2}),
            "mesh/reduce: decides nothing without dp of two ranks or more; leave it out");
  EXPECT_EQ(refusal({.dp = 4, .pp = 4}),
            "mesh: 16 ranks of ascend_910b3, which has 8 cards in a node; ranks train within one "
            "node");
}

TEST(PipelineSchedules, KeepTheOrderOfMicroBatchesAndTheirLimit) {
  for (const auto schedule : {PipelineSchedule::kGpipe, PipelineSchedule::k1f1b})
    for (int stages = 1; stages <= 5; ++stages)
      for (int stage = 0; stage < stages; ++stage)
        for (std::int64_t m = 1; m <= 7; ++m) {
          std::int64_t forwards = 0, backwards = 0, most = 0;
          for (const PipelineAction& action : pipeline_actions(schedule, stage, stages, m)) {
            EXPECT_EQ(action.micro_batch, action.is_forward ? forwards++ : backwards++);
            most = std::max(most, forwards - backwards);
          }
          EXPECT_EQ(forwards, m);
          EXPECT_EQ(backwards, m);
          EXPECT_EQ(most, schedule == PipelineSchedule::kGpipe
                              ? m
                              : std::min<std::int64_t>(stages - stage, m));
        }
}

// The stages after BASE that train by the same loss.
class PipelineStages : public test::ChatRanks {
 protected:
  PipelineStages() {
    TrainSettings settings = test::tiny_settings();
    settings.depth = 2;
    settings.iterations = 2;
    settings.sample_every = 0;
    const auto base = test::run_tiny(test::tiny_data(), settings, base_folder_.path());
    EXPECT_TRUE(base) << base.error().message;
    chat_.start_from(base->checkpoint);
  }
  std::vector<std::vector<float>> on_mesh(const std::optional<MeshSettings>& mesh,
                                          const test::RunStage& run) {
    chat_.mesh = mesh;
    const test::TempDir folder;
    const Result<TrainResult> result = run(folder.path(), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? tensors(*result) : std::vector<std::vector<float>>();
  }
  const test::TempDir base_folder_;
};

TEST_F(PipelineStages, MidSftAndPackedSftAreOneCardBitForBit) {
  const auto check = [&](const test::RunStage& run) {
    const auto alone = on_mesh(std::nullopt, run);
    EXPECT_FALSE(alone.empty());
    EXPECT_TRUE(on_mesh(MeshSettings{.pp = 2}, run) == alone);
  };
  check(mid(test::tiny_mid()));
  check(sft(four_batches()));
  check(sft(packed()));
}

// Whole tensors by name: one card goes on with weights and moments of a pipeline, and another mesh.
TEST_F(PipelineStages, CheckpointsGoOnOnOneCardAndAnyMesh) {
  const test::TempDir folder;
  test::TinyChat chain;
  chain.start_from(chat_.parent());
  chain.mesh = MeshSettings{.pp = 2};
  const auto first = chain.sft(packed(), folder.path());
  ASSERT_TRUE(first) << first.error().message;
  const test::TempDir other;
  chain.mesh.reset();
  const auto alone = chain.sft(packed(), other.path());
  ASSERT_TRUE(alone) << alone.error().message;
  chat_.start_from(alone->checkpoint);
  const auto wanted = on_mesh(std::nullopt, sft(packed()));
  chat_.start_from(first->checkpoint);
  EXPECT_TRUE(on_mesh(std::nullopt, sft(packed())) == wanted);
  EXPECT_TRUE(on_mesh(MeshSettings{.pp = 2}, sft(packed())) == wanted);
}

TEST_F(PipelineStages, OthersAreRefusedByName) {
  chat_.mesh = MeshSettings{.pp = 2};
  EXPECT_EQ(refusal(chat_.dpo(test::tiny_dpo(), folder_.path())),
            "mesh/pp: dpo is not trained on 2 stages of a pipeline here, only base, mid and sft "
            "are; leave one of the two out");
  EXPECT_TRUE(refusal(chat_.rl(test::tiny_rl(), folder_.path())).starts_with("mesh/pp: rl is not"));
  EXPECT_EQ(refusal(chat_.sft(with_dropout(), folder_.path())),
            "mesh/pp: adapters (lora) are not trained on 2 stages of a pipeline here; leave one of "
            "the two out");
}

}  // namespace
}  // namespace nb
