// The stages after BASE with weights that cards share.
#include "tests/model/train/chat_ranks.hpp"

namespace nb {
namespace {

class FsdpStages : public test::ChatRanks {
 protected:
  std::vector<std::vector<float>> on_mesh(const MeshSettings& mesh, const test::RunStage& run) {
    chat_.mesh = mesh;
    const test::TempDir folder;
    const Result<TrainResult> result = run(folder.path(), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    if (!result) return {};
    EXPECT_EQ(result->replica_mismatch, 0);
    last_ = learned(*result);
    first_loss_ = *result->steps[0].train_loss;
    return tensors(*result);
  }
  // One of the rows is a norm, which is summed by shards.
  void expect_those_of_copies(std::int64_t ranks, const test::RunStage& run) {
    const auto copies = on_mesh({.dp = ranks}, run);
    const auto rows = last_;
    EXPECT_TRUE(on_mesh({.fsdp = ranks}, run) == copies);
    EXPECT_EQ(last_.back(), rows.back());
    EXPECT_FALSE(copies.empty());
  }
  static SftSettings one_conversation_each(std::int64_t ranks) {
    SftSettings settings = test::tiny_sft();
    settings.device_batch_size = 1;
    settings.target_examples_per_step = ranks;
    return settings;
  }

  void in_fp32() {
    chat_.change_profile = [](DeviceProfile& profile) {
      profile = with_numerics(profile, load_profile("cpu_ref").value()).value();
      profile.numerics.reduction_order = ReductionOrder::kMesh;
    };
  }

  std::vector<std::vector<std::optional<double>>> last_;
  double first_loss_ = 0;
};

TEST_F(FsdpStages, MidSftAndPackedSftAreThoseOfCopies) {
  expect_those_of_copies(2, mid(test::tiny_mid()));
  expect_those_of_copies(4, sft(four_batches()));
  expect_those_of_copies(2, sft(packed()));
}

// Adapters of rank 2 on four ranks: two have no row of them. The first block's input has no
// gradient.
TEST_F(FsdpStages, AdaptersBesideFrozenWeightsAreThoseOfCopies) {
  SftSettings settings = four_batches();
  settings.lora = AdapterSettings{};
  settings.lora->lora.rank = 2;
  settings.lora->dropout = 0.25;
  settings.lora->adapter_lr = 0.01;
  expect_those_of_copies(4, sft(settings));
}

TEST_F(FsdpStages, PairsWithAReferenceAreThoseOfCopies) {
  expect_those_of_copies(2, dpo(test::tiny_dpo()));
}

// Answers are generated with whole weights.
TEST_F(FsdpStages, AnswersAreThoseOfCopies) {
  learn_the_coin();
  expect_those_of_copies(2, rl(one_pass_a_question()));
  expect_those_of_copies(2, rl(clipped()));
}

// ((g0 + g1) + (g2 + g3)): two cards of two micro-batches each add (g0 + g2) + (g1 + g3), so that
// they get the second and third the other way round.
TEST_F(FsdpStages, HybridIsASumByGroupsBitForBit) {
  in_fp32();
  const test::RunStage run = sft(one_conversation_each(4));
  const auto hybrid = on_mesh({.dp = 2, .fsdp = 2, .shard = "hybrid"}, run);
  const auto full = on_mesh({.dp = 2, .fsdp = 2, .shard = "full"}, run);
  const auto copies = on_mesh({.dp = 4}, run);
  std::vector<Conversation> swapped = test::sums(0, 40);
  for (std::size_t i = 0; i + 3 < swapped.size(); i += 4) std::swap(swapped[i + 1], swapped[i + 2]);
  chat_.train = chat_.set(swapped);
  EXPECT_TRUE(hybrid == on_mesh({.dp = 2}, run));
  EXPECT_TRUE(full == copies);
  EXPECT_FALSE(hybrid == full);
}

// A card that rounds weights to bf16 where it multiplies them reads the same numbers.
TEST_F(FsdpStages, GatherInBf16WhatAMatmulReadsInBf16) {
  const test::RunStage run = sft(four_batches());
  const auto first_loss = [&](const MeshSettings& mesh) {
    on_mesh(mesh, run);
    return first_loss_;
  };
  const MeshSettings rounds = {.fsdp = 2, .param = "bf16", .reduce = "fp32"};
  EXPECT_EQ(first_loss(rounds), first_loss({.dp = 2}));
  in_fp32();  // where it does not
  const double exact = first_loss({.dp = 2});
  EXPECT_NE(first_loss(rounds), exact);
  EXPECT_NEAR(first_loss(rounds) / exact, 1, 1e-3);
}

// Whole tensors by name: the next stage takes weights and moments from any mesh to any other.
TEST_F(FsdpStages, CheckpointsOfAnyMeshGoOnOnAnyOther) {
  const test::RunStage run = sft(packed());
  std::vector<std::vector<std::vector<float>>> ends;
  for (const MeshSettings& before :
       {MeshSettings{.dp = 2}, MeshSettings{.fsdp = 2}, MeshSettings{.dp = 2, .zero = 1}}) {
    const test::TempDir folder;
    test::TinyChat chain;
    chain.mesh = before;
    const auto first = chain.sft(packed(), folder.path());
    ASSERT_TRUE(first) << first.error().message;
    chat_.start_from(first->checkpoint);
    for (const MeshSettings& after : {MeshSettings{.dp = 2}, MeshSettings{.fsdp = 2}})
      ends.push_back(on_mesh(after, run));
  }
  for (const auto& end : ends) EXPECT_TRUE(end == ends.front());
}

}  // namespace
}  // namespace nb
