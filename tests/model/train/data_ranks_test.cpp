// BASE on several cards against one that accumulates, through the stage that a suite runs.
#include "model/train/data_ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "model/collectives/cost.hpp"
#include "model/train/safetensors.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class BaseOnRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  BaseOnRanks() {
    settings_.device_batch_size = 1;  // four micro-batches
    settings_.sample_every = 0;
  }

  Result<TrainResult> run(std::int64_t ranks, const std::filesystem::path& folder,
                          ReductionOrder order = ReductionOrder::kMesh,
                          const TrainHooks& hooks = {},
                          const std::string& numerics = "ascend_910b3") {
    NB_TRY(TokenLoader train_loader, TokenLoader::create(data_.train));
    NB_TRY(TokenLoader validation_loader, TokenLoader::create(data_.validation));
    NB_TRY(DeviceProfile machine, load_profile("ascend_910b3"));
    NB_TRY(const DeviceProfile policy, load_profile(numerics));
    NB_TRY(DeviceProfile profile, with_numerics(std::move(machine), policy));
    profile.numerics.reduction_order = order;
    Device device(std::move(profile), ExecutionMode::kExecute, {.ranks = static_cast<int>(ranks)});
    std::optional<MeshSettings> mesh;
    if (ranks > 1) mesh = MeshSettings{.dp = ranks};
    if (mesh && is_shared_) mesh->zero = 1;
    auto result = train(settings_, device, {train_loader, validation_loader, data_.tokenizer},
                        folder, hooks, {}, mesh);
    link_bytes_ = device.counters().link_bytes;
    optimizer_bytes_ =
        device.allocator().peak_by_use()[static_cast<std::size_t>(BlockUse::kOptimizer)];
    return result;
  }
  // Loss, gradient norm, tokens and what was read; not times.
  static std::vector<std::vector<double>> learned(const TrainResult& result) {
    std::vector<std::vector<double>> rows;
    for (const StepRow& row : result.steps)
      rows.push_back({row.train_loss.value_or(0), row.grad_norm.value_or(0), row.tokens.value_or(0),
                      row.batch_hash.value_or(0), row.val_bpb.value_or(0)});
    return rows;
  }
  static double worst_loss(const TrainResult& a, const TrainResult& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.steps.size(); ++i)
      worst = std::max(
          worst,
          std::abs(a.steps[i].train_loss.value_or(1) / b.steps[i].train_loss.value_or(1) - 1));
    return worst;
  }

  const test::TinyData data_ = test::tiny_data();
  TrainSettings settings_ = test::tiny_settings();
  bool is_shared_ = false;  // ZeRO-1
  std::uint64_t link_bytes_ = 0, optimizer_bytes_ = 0;
};

TEST_F(BaseOnRanks, AreOneCardThatAccumulatesBitForBit) {
  for (const std::int64_t ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    settings_.device_batch_size = 4 / ranks;  // a micro-batch a rank
    const test::TempDir one, several;
    const auto alone = run(1, one.path()), together = run(ranks, several.path());
    ASSERT_TRUE(alone) << alone.error().message;
    ASSERT_TRUE(together) << together.error().message;
    EXPECT_EQ(learned(*together), learned(*alone));
    EXPECT_FALSE(alone->replica_mismatch);
    EXPECT_EQ(together->replica_mismatch, 0);
    EXPECT_FALSE(together->replica_mismatch_step);
    EXPECT_LT(together->step_time_ns, alone->step_time_ns);
  }
}

// Two ranks of two micro-batches each add (g0 + g2) + (g1 + g3); a ring of four begins elsewhere in
// each piece. In fp32 the losses are within 1e-5.
TEST_F(BaseOnRanks, InAnotherOrderAreClose) {
  const auto in_fp32 = [&](std::int64_t ranks, ReductionOrder order) {
    const test::TempDir folder;
    return run(ranks, folder.path(), order, {}, "cpu_ref");
  };
  const auto alone = in_fp32(1, ReductionOrder::kMesh), two = in_fp32(2, ReductionOrder::kMesh),
             four = in_fp32(4, ReductionOrder::kRing), again = in_fp32(4, ReductionOrder::kRing);
  ASSERT_TRUE(alone && two && four && again) << (alone ? "" : alone.error().message);
  EXPECT_NE(learned(*two), learned(*alone));
  EXPECT_LT(worst_loss(*two, *alone), 1e-5);
  EXPECT_NE(learned(*four), learned(*alone));
  EXPECT_LT(worst_loss(*four, *alone), 1e-5);
  EXPECT_EQ(learned(*again), learned(*four));
}

TEST_F(BaseOnRanks, RingOrderOfTwoIsTheSame) {
  settings_.device_batch_size = 2;
  const test::TempDir one, several;
  const auto alone = run(1, one.path()), two = run(2, several.path(), ReductionOrder::kRing);
  ASSERT_TRUE(alone && two);
  EXPECT_EQ(learned(*two), learned(*alone));
}

TEST_F(BaseOnRanks, EveryKillEndsWithTheSameBytes) {
  const test::TempDir whole;
  const auto undisturbed = run(2, whole.path());
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  for (const std::int64_t step : {0, 1, 3, 4, 7}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    TrainHooks hooks;
    hooks.on_step = [&](const StepRow& row) {
      if (row.step == step) throw test::Killed{};
    };
    EXPECT_THROW((void)run(2, folder.path(), ReductionOrder::kMesh, hooks), test::Killed);
    const auto resumed = run(2, folder.path());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(*sha256_file(resumed->checkpoint), *sha256_file(undisturbed->checkpoint));
    EXPECT_EQ(resumed->train_time_ns, undisturbed->train_time_ns);
    EXPECT_EQ(resumed->peak_allocated_bytes, undisturbed->peak_allocated_bytes);
  }
}

// A checkpoint of two cards is none of a run on one: they are other trainings.
TEST_F(BaseOnRanks, AnotherMeshDoesNotResumeIt) {
  const test::TempDir folder;
  TrainHooks hooks;
  hooks.on_step = [](const StepRow& row) {
    if (row.step == 5) throw test::Killed{};
  };
  EXPECT_THROW((void)run(2, folder.path(), ReductionOrder::kMesh, hooks), test::Killed);
  std::vector<std::string> said;
  TrainHooks listening;
  listening.on_damage = [&](const std::string& sentence) { said.push_back(sentence); };
  const auto alone = run(1, folder.path(), ReductionOrder::kMesh, listening);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->resumed_from_step, 0);
  EXPECT_FALSE(said.empty());
}

// Every gradient once per step, in fp32 but the embedding's, which is bf16 as nanochat's.
TEST_F(BaseOnRanks, BytesAreThoseOfTheGradients) {
  const test::TempDir folder;
  const auto together = run(4, folder.path());
  ASSERT_TRUE(together) << together.error().message;
  const std::int64_t embedding = together->config.vocab_size * together->config.n_embd;
  EXPECT_EQ(link_bytes_, static_cast<std::uint64_t>((together->param_count * 4 - embedding * 2) *
                                                    together->iterations));
}

// Of five ranks: 265 rows of the tables divide by them, six matrices do not. Of two the tables do
// not, so that each keeps their state whole.
class SharedOptimizers : public BaseOnRanks {
 protected:
  struct Ran {
    TrainResult result;
    std::string weights;
    std::uint64_t link_bytes, optimizer_bytes;
  };
  Ran ran(std::int64_t ranks, bool is_shared, ReductionOrder order = ReductionOrder::kMesh,
          const std::string& numerics = "ascend_910b3") {
    settings_.total_batch_tokens = 32 * ranks;
    is_shared_ = is_shared;
    const test::TempDir folder;
    const auto result = run(ranks, folder.path(), order, {}, numerics);
    EXPECT_TRUE(result) << result.error().message;
    std::string tensors;  // weights, and the state of the optimizers
    const auto file = SafetensorsFile::open(result->checkpoint).value();
    for (const auto& [name, entry] : file.entries())
      if (!name.starts_with("progress."))
        tensors += name + std::string(reinterpret_cast<const char*>(entry.bytes.data()),
                                      entry.bytes.size());
    return {*result, tensors, link_bytes_, optimizer_bytes_};
  }
};

TEST_F(SharedOptimizers, AreThoseOfEveryRankBitForBit) {
  settings_.grad_clip = 0;
  for (const std::int64_t ranks : {2, 5}) {
    SCOPED_TRACE(ranks);
    const Ran whole = ran(ranks, false), shared = ran(ranks, true);
    EXPECT_TRUE(shared.weights == whole.weights);
    EXPECT_EQ(shared.result.replica_mismatch, 0);
    EXPECT_EQ(worst_loss(shared.result, whole.result), 0);
    EXPECT_LT(shared.optimizer_bytes, whole.optimizer_bytes);
  }
}

// A norm is summed by chunks of 4096 elements, which begin elsewhere in a slice.
TEST_F(SharedOptimizers, AreLimitedByTheSameNorm) {
  settings_.grad_clip = 0.1;
  const auto in_fp32 = [&](bool is_shared) {
    return ran(5, is_shared, ReductionOrder::kMesh, "cpu_ref").result;
  };
  const TrainResult whole = in_fp32(false), shared = in_fp32(true);
  EXPECT_NEAR(*shared.steps[0].grad_norm / *whole.steps[0].grad_norm, 1, 1e-7);
  EXPECT_LT(worst_loss(shared, whole), 1e-5);
  settings_.grad_clip = 0;
  EXPECT_GT(worst_loss(in_fp32(true), whole), 1e-4);  // the limit tells
}

// In a ring's order whole matrices are added elsewhere than their pieces, but of two ranks.
TEST_F(SharedOptimizers, InARingDifferFromFiveRanksOnButNotOfTwo) {
  EXPECT_TRUE(ran(2, true, ReductionOrder::kRing).weights ==
              ran(2, false, ReductionOrder::kRing).weights);
  const Ran whole = ran(5, false, ReductionOrder::kRing),
            shared = ran(5, true, ReductionOrder::kRing);
  EXPECT_FALSE(shared.weights == whole.weights);
  EXPECT_LT(worst_loss(shared.result, whole.result), 1e-3);
}

// Tables are scattered in the gradient's type and gathered in the weights'; matrices go in blocks
// of as many as ranks, four of one shape and two of others here; and each rank's squares.
TEST_F(SharedOptimizers, BytesAndMemoryAreThoseOfTheShares) {
  const Ran shared = ran(5, true), whole = ran(5, false);
  const std::uint64_t table = 265 * 64, matrices = 64 * 64 * 5 + 2 * 64 * 256 * 5;
  const std::uint64_t step = table * (4 + 4) + table * (2 + 2) + matrices * (4 + 4) + 5 * 12;
  EXPECT_EQ(shared.link_bytes, step * 8);
  // Moments of both tables, and one buffer of each block on the first rank.
  const std::uint64_t moments = 2 * table * (4 + 2), own = 64 * 64 * 4 + 2 * 64 * 256 * 4;
  EXPECT_NEAR(static_cast<double>(shared.optimizer_bytes), static_cast<double>(moments / 5 + own),
              4096);
  EXPECT_NEAR(static_cast<double>(whole.optimizer_bytes),
              static_cast<double>(moments + 4 * 64 * 64 * 4 + 2 * 64 * 256 * 4), 5120);
}

TEST_F(SharedOptimizers, EveryKillEndsWithTheSameBytes) {
  settings_.total_batch_tokens = 32 * 5;
  is_shared_ = true;
  const test::TempDir whole;
  const auto undisturbed = run(5, whole.path());
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  for (const std::int64_t step : {0, 3, 7}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    TrainHooks hooks;
    hooks.on_step = [&](const StepRow& row) {
      if (row.step == step) throw test::Killed{};
    };
    EXPECT_THROW((void)run(5, folder.path(), ReductionOrder::kMesh, hooks), test::Killed);
    const auto resumed = run(5, folder.path());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(*sha256_file(resumed->checkpoint), *sha256_file(undisturbed->checkpoint));
    EXPECT_EQ(resumed->train_time_ns, undisturbed->train_time_ns);
    EXPECT_EQ(resumed->peak_allocated_bytes, undisturbed->peak_allocated_bytes);
  }
}

TEST_F(SharedOptimizers, SayWhatTheyCannotShare) {
  std::vector<std::string> notes;
  TrainHooks hooks;
  hooks.on_note = [&](const std::string& text) { notes.push_back(text); };
  is_shared_ = true;
  const test::TempDir folder;
  ASSERT_TRUE(run(2, folder.path(), ReductionOrder::kMesh, hooks));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "mesh/zero: 2 ranks cannot share the rows of transformer.wte.weight (265 rows), "
            "lm_head.weight (265 rows): each keeps the whole optimizer state and updates all of "
            "it, where nanochat stops");
}

TEST_F(BaseOnRanks, UnevenSharesAreRefused) {
  const test::TempDir folder;
  const auto refused = run(3, folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "mesh/dp: 3 ranks cannot share the 4 micro-batches of a step evenly; choose a divisor, "
            "or another batch");
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  settings_.total_batch_tokens = 32 * 32;
  const auto many = run(32, folder.path());
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "mesh/dp: 32 ranks of ascend_910b3, which has 8 cards in a node; ranks train within "
            "one node");
}

}  // namespace
}  // namespace nb
