// BASE on cards that share a model's heads, MLP and vocabulary (tensor parallelism), against one
// card, through the stage that a suite runs.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/rng.hpp"
#include "model/decoder/parameters.hpp"
#include "model/decoder/presets.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/schedules.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/tensor_cuts.hpp"
#include "tests/model/train/mesh_volumes.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

// llama d2: two heads of 64. The byte tokenizer's 265 tokens are 133 and 132.
class TensorRanks : public test::MeshTest {
 protected:
  TensorRanks() {
    settings_.depth = 2;
    settings_.model = "llama";
    settings_.grad_clip = 1;
    numerics_ = "cpu_ref";
  }
};

// Every part of an architecture that is cut, or is not: biases and a tied head (gpt2), value
// embeddings, gates, lambdas, smear and backout (nanochat-2026-07), a soft-capped head. The
// gradients of lambdas before a norm are rounding alone at first, of which AdamW makes whole steps.
TEST_F(TensorRanks, AreOneCardWithinRounding) {
  struct Case {
    const char* model;
    std::int64_t depth, steps;
    double rate;
  };
  for (const Case& one : {Case{"llama", 2, 20, 1}, Case{"gpt2", 2, 10, .01},
                          Case{"nanochat", 4, 5, 1}, Case{"nanochat-2026-07", 4, 3, .01}}) {
    SCOPED_TRACE(one.model);
    settings_.model = one.model;
    settings_.depth = one.depth;
    settings_.iterations = one.steps;
    // A tied head diverges at the rates of others, and differences with it.
    settings_.embedding_lr = .2 * one.rate;
    settings_.matrix_lr = .02 * std::sqrt(one.rate);
    settings_.unembedding_lr = .004 * std::sqrt(one.rate);
    const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.tp = 2});
    EXPECT_LT(test::worst(together.result, alone.result), 1e-5);
    EXPECT_EQ(together.result.replica_mismatch, 0);
    EXPECT_FALSE(together.tensors == alone.tensors);  // sums of parts do round differently
    EXPECT_EQ(together.tensors.size(), alone.tensors.size());
  }
}

// In the NPU's own formats a step of one is a step of two within what bf16 makes of a sum.
TEST_F(TensorRanks, TrainInTheFormatsOfTheDevice) {
  numerics_ = "ascend_910b3";
  const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.tp = 2});
  EXPECT_LT(test::worst(together.result, alone.result), 0.02);
  EXPECT_EQ(together.result.replica_mismatch, 0);
}

// Blocks again in backward, and their all-reduces: no bit changes.
TEST_F(TensorRanks, RecomputeBlocksWithTheSameBits) {
  const Ran kept = ran(MeshSettings{.tp = 2});
  settings_.recompute = true;
  const Ran again = ran(MeshSettings{.tp = 2});
  EXPECT_EQ(learned(again.result), learned(kept.result));
  EXPECT_TRUE(again.tensors == kept.tensors);
  EXPECT_GT(again.result.sent_bytes.at("all_reduce"), kept.result.sent_bytes.at("all_reduce"));
}

TEST_F(TensorRanks, WithCopiesAreOneCardWithinRounding) {
  for (const std::int64_t copies : {2, 4}) {
    SCOPED_TRACE(copies);
    const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.dp = copies, .tp = 2});
    EXPECT_LT(test::worst(together.result, alone.result), 1e-5);
    EXPECT_EQ(together.result.replica_mismatch, 0);
  }
}

// Our kernels' columns do not depend on how many there are: column-parallel weights give the bits
// of whole ones. OpenBLAS, which cpu_ref multiplies by, does not.
TEST(TensorColumns, HaveTheBitsOfTheWholeProduct) {
  for (const char* profile : {"ascend_910b3", "h100_sxm"}) {
    Device device(load_profile(profile).value(), ExecutionMode::kExecute);
    for (const auto& [rows, inner, cols] :
         {std::tuple{1, 64, 64}, std::tuple{33, 128, 384}, std::tuple{7, 320, 266}}) {
      SCOPED_TRACE(profile + std::to_string(cols));
      const auto filled = [&](const Shape& shape, const char* name, DType dtype) {
        Tensor tensor = device.allocate(shape, dtype, name);
        const Rng rng(1, name);
        ops::random_init(
            device, tensor,
            [&](std::int64_t i) {
              return static_cast<float>(rng.normal(static_cast<std::uint64_t>(i)));
            },
            name);
        return tensor;
      };
      const Tensor x = filled({rows, inner}, "x", device.numerics().storage);
      Parameter whole{.name = "whole", .value = filled({cols, inner}, "w", DType::kFp32)};
      const Tensor y = ops::linear(x, whole);
      for (int part = 0; part < 2; ++part) {
        Parameter half{.name = "half",
                       .value = device.allocate({cols / 2, inner}, DType::kFp32, "half")};
        const std::size_t size = half.value.host().size();
        std::ranges::copy(
            std::as_const(whole.value).host().subspan(static_cast<std::size_t>(part) * size, size),
            half.value.host().begin());
        const Tensor own = ops::linear(x, half);
        const ConstMatrix all = y.matrix(), some = own.matrix();
        for (std::int64_t i = 0; i < rows; ++i)
          EXPECT_TRUE(
              std::equal(some.row(i), some.row(i) + some.cols, all.row(i) + part * some.cols))
              << "row " << i;
      }
    }
  }
}

TEST_F(TensorRanks, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills({.dp = 2, .tp = 2}, {0, 3, 7});
}

// What two ranks left behind at step 4, weights and optimizers, is what one card goes on from.
TEST_F(TensorRanks, LeaveACheckpointThatOneCardGoesOnFrom) {
  settings_.keep_steps = {4};
  const test::TempDir folder;
  const auto together = run(MeshSettings{.tp = 2}, folder.path());
  ASSERT_TRUE(together) << together.error().message;
  const auto file = SafetensorsFile::open(checkpoint_path(folder.path(), 4));
  ASSERT_TRUE(file) << file.error().message;
  const auto profile =
      with_numerics(load_profile("ascend_910b3").value(), load_profile(numerics_).value());
  Device device(profile.value(), ExecutionMode::kExecute);
  TrainedModel model(together->result.config, device);
  prepare_optimizers(model,
                     {settings_.embedding_lr, settings_.unembedding_lr, settings_.matrix_lr,
                      settings_.weight_decay},
                     {.adamw = {.denominator = together->result.adamw_denominator}});
  ASSERT_TRUE(load_weights(*file, model.decoder));
  for (const auto& optimizer : model.optimizers) optimizer->allocate_state();
  const auto loaded = load_optimizers(*file, model.optimizers);
  ASSERT_TRUE(loaded) << loaded.error().message;
  TokenLoader data = TokenLoader::create(data_.train).value();
  const auto next = [&] { return data.next(1, settings_.sequence_len); };
  for (int micro = 0; micro < 4 * 4; ++micro) next();
  for (std::int64_t step = 4; step < 6; ++step) {
    const StepRow& row = together->result.steps[static_cast<std::size_t>(step)];
    const StepOutcome alone = run_step(model, {.accumulation_steps = 4, .grad_clip = 1},
                                       {step, *row.lr_multiplier, muon_momentum(step)}, next);
    EXPECT_NEAR(alone.loss / *row.train_loss, 1, 1e-5) << step;
    EXPECT_NEAR(alone.grad_norm / *row.grad_norm, 1, 1e-5) << step;
    EXPECT_EQ(alone.batch_hash, *row.batch_hash);
  }
}

// Bytes of every kind of collective are the formula's, and those of the same code without values;
// so is the peak, and the time where no rank has padding: five ranks of 53 tokens.
TEST_F(TensorRanks, SendTheBytesOfTheFormulaAndOfADryStep) {
  settings_.eval_every = settings_.checkpoint_every = 0;  // whose memory is another's
  settings_.iterations = 4;
  numerics_ = "ascend_910b3";
  settings_.model = "gpt2";
  for (const MeshSettings& mesh :
       {MeshSettings{.tp = 2}, MeshSettings{.dp = 2, .tp = 2}, MeshSettings{.tp = 5}}) {
    SCOPED_TRACE(print_struct(mesh).dump());
    settings_.depth = mesh.tp == 5 ? 5 : 2;
    const Ran one = ran(mesh);
    const MeshStep dry = dry_step(one, mesh);
    if (mesh.tp == 5) {
      EXPECT_EQ(static_cast<double>(dry.step_time_ns), *one.result.steps[3].step_time_ns);
    }
    EXPECT_EQ(dry.peak.allocated_bytes,
              static_cast<std::uint64_t>(*one.result.steps[3].peak_memory_bytes));
    if (mesh.tp == 5) continue;  // fifths are not exact
    SentBytes all = dry.sent;
    for (auto& [kind, bytes] : all) bytes *= 4;
    EXPECT_EQ(all, one.result.sent_bytes);
    if (mesh.dp == 1) {
      EXPECT_EQ(dry.sent,
                tensor_parallel_step(
                    one.result.config,
                    {.rows = 1, .tokens = settings_.sequence_len, .micro_batches = 4}, 2));
    }
  }
}

// Blocks of two layers, embedding, head, loss, norm and Muon, by hand: llama d2 on two ranks, in
// bf16.
TEST(TensorVolumes, OfASmallLlamaAreAddedUp) {
  const DecoderConfig config = preset_config("llama", 2, 265, 32).value();
  const double activation = 32 * 128 * 2, numbers = 3 * 32 * 4;
  const double square = 128 * 128, wide = 128 * 384;
  const double exchanged = 2 * 2 * (8 / 2 * square + 4 / 2 * wide + 2 / 2 * wide);
  EXPECT_EQ(tensor_parallel_step(config, {.tokens = 32}, 2),
            (SentBytes{{"all_reduce", (4 * 2 + 2) * activation + numbers},
                       {"all_gather", 12},
                       {"all_to_all", exchanged / 2}}));
}

// Weights and state of a rank: its part of what is cut, all of what is not.
TEST_F(TensorRanks, HoldTheirPartOfWeightsAndState) {
  settings_.iterations = 2;
  const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.tp = 2});
  const CachingAllocator rounds(load_profile("ascend_910b3")->allocator_rules(), {1u << 30, 0});
  std::uint64_t expected = 0;
  for (const ParameterSpec& spec : parameter_specs(alone.result.config)) {
    const std::int64_t count = weight_cut(spec.name) == WeightCut::kReplicated ? spec.shape.count()
                               : weight_cut(spec.name) == WeightCut::kVocabulary
                                   ? 133 * spec.shape[1]
                                   : spec.shape.count() / 2;
    expected += rounds.rounded(static_cast<std::uint64_t>(count) * 4);
  }
  EXPECT_EQ(together.allocated[static_cast<std::size_t>(BlockUse::kParameter)], expected);
  EXPECT_LT(together.result.peak_allocated_bytes, alone.result.peak_allocated_bytes);
}

TEST_F(TensorRanks, ThatCannotShareAModelAreRefusedWithTheNumbers) {
  EXPECT_EQ(refusal({.tp = 4}),
            "mesh/tp: 4 ranks cannot share 2 heads evenly; choose a divisor, or another model");
  EXPECT_EQ(refusal({.zero = 1, .tp = 2}),
            "mesh/zero: is not executed beside tp; leave one of the two out");
  EXPECT_EQ(refusal({.fsdp = 2, .tp = 2}),
            "mesh/fsdp: is not executed beside tp; leave one of the two out");
  EXPECT_EQ(refusal({.dp = 3, .tp = 2}),
            "mesh/dp: 3 ranks cannot share the 4 micro-batches of a step evenly; choose a divisor, "
            "or another batch");
  DecoderConfig config = preset_config("llama", 4, 9, 32).value();
  EXPECT_EQ(check_parts(config, 4).error().message,
            "mesh/tp: of 9 tokens on 4 ranks, 3 each, the last rank has none; choose fewer ranks");
  config.n_kv_head = 2;
  EXPECT_EQ(check_parts(config, 4).error().message,
            "mesh/tp: 4 ranks cannot share 2 key-value heads evenly; choose a divisor, or another "
            "model");
}

}  // namespace
}  // namespace nb
