// The stages after BASE on tensor parallel ranks, and checkpoints that go on on meshes of another
// kind.
#include <nlohmann/json.hpp>

#include "tests/model/train/chat_ranks.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

// llama d2 in fp32.
class MeshStages : public test::ChatRanks {
 protected:
  MeshStages() {
    chat_.change_profile = [](DeviceProfile& profile) {
      profile = with_numerics(profile, load_profile("cpu_ref").value()).value();
      profile.numerics.reduction_order = ReductionOrder::kMesh;
    };
    chat_.start_from(base_on(std::nullopt, base_folder_.path()));
  }
  std::filesystem::path base_on(const std::optional<MeshSettings>& mesh,
                                const std::filesystem::path& folder) const {
    const test::TinyData data = test::tiny_data();
    TrainSettings settings = test::tiny_settings();
    settings.model = "llama";
    settings.depth = 2;
    settings.device_batch_size = 1;
    settings.iterations = 4;
    settings.sample_every = settings.eval_every = 0;
    DeviceProfile profile = load_profile("ascend_910b3").value();
    chat_.change_profile(profile);
    Device device(std::move(profile), ExecutionMode::kExecute,
                  {.ranks = static_cast<int>(mesh ? mesh->ranks() : 1)});
    TokenLoader training = TokenLoader::create(data.train).value(),
                validation = TokenLoader::create(data.validation).value();
    const auto base =
        train(settings, device, {training, validation, data.tokenizer}, folder, {}, {}, mesh);
    EXPECT_TRUE(base) << (base ? "" : base.error().message);
    return base ? base->checkpoint : std::filesystem::path();
  }
  TrainResult on_mesh(const std::optional<MeshSettings>& mesh, const test::RunStage& run) {
    chat_.mesh = mesh;
    const test::TempDir folder;
    const Result<TrainResult> result = run(folder.path(), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : TrainResult();
  }
  void expect_one_card(const test::RunStage& run) {
    const TrainResult alone = on_mesh(std::nullopt, run);
    EXPECT_GT(alone.steps.size(), 1U);
    for (const MeshSettings& mesh :
         {MeshSettings{.tp = 2}, MeshSettings{.dp = 2, .tp = 2}, MeshSettings{.tp = 2, .pp = 2}}) {
      SCOPED_TRACE(print_struct(MeshSettings(mesh)).dump());
      const TrainResult together = on_mesh(mesh, run);
      EXPECT_LT(test::worst(together, alone), 1e-5);
      EXPECT_EQ(together.replica_mismatch, 0);
      EXPECT_GT(together.sent_bytes.at("all_reduce"), 0);
    }
  }
  const test::TempDir base_folder_;
};

TEST_F(MeshStages, MidIsOneCardWithinRounding) { expect_one_card(mid(test::tiny_mid())); }
TEST_F(MeshStages, SftIsOneCardWithinRounding) { expect_one_card(sft(four_batches())); }
TEST_F(MeshStages, PackedSftIsOneCardWithinRounding) { expect_one_card(sft(packed())); }

// Weights and moments, whole and by name, of a run on one kind of mesh are what another goes on
// from: packed SFT begins with the optimizers of BASE.
TEST_F(MeshStages, CheckpointsOfAnyMeshGoOnOnAnyOther) {
  const TrainResult alone = on_mesh(std::nullopt, sft(packed()));
  const MeshSettings tp{.tp = 2}, pp{.pp = 2}, fsdp{.fsdp = 2}, zero{.dp = 2, .zero = 1},
      both{.tp = 2, .pp = 2}, all{.dp = 2, .tp = 2, .pp = 2},
      rows{.tp = 2, .sequence_parallel = true};
  const std::pair<MeshSettings, std::vector<MeshSettings>> chains[] = {
      {tp, {pp, fsdp}}, {pp, {tp}},     {fsdp, {tp, both}}, {both, {zero, MeshSettings{.dp = 2}}},
      {all, {fsdp}},    {zero, {both}}, {rows, {pp}}};
  for (const auto& [from, others] : chains) {
    const test::TempDir folder;
    chat_.start_from(base_on(from, folder.path()));
    for (const MeshSettings& to : others) {
      SCOPED_TRACE(print_struct(MeshSettings(from)).dump() + " to " +
                   print_struct(MeshSettings(to)).dump());
      const TrainResult other = on_mesh(to, sft(packed()));
      EXPECT_LT(test::worst(other, alone), 1e-5);
      EXPECT_EQ(other.replica_mismatch, 0);
    }
  }
}

TEST_F(MeshStages, OthersAreRefusedByName) {
  chat_.mesh = MeshSettings{.tp = 2};
  EXPECT_EQ(refusal(chat_.dpo(test::tiny_dpo(), folder_.path())),
            "mesh/tp: dpo is not trained on 2 tensor parallel ranks here, only base, mid and sft "
            "are; leave one of the two out");
  EXPECT_TRUE(refusal(chat_.rl(test::tiny_rl(), folder_.path())).starts_with("mesh/tp: rl is not"));
  EXPECT_EQ(refusal(chat_.sft(with_dropout(), folder_.path())),
            "mesh/tp: adapters (lora) are not trained on 2 tensor parallel ranks here; leave one "
            "of the two out");
  chat_.mesh->sequence_parallel = true;
  EXPECT_EQ(refusal(chat_.sft(four_batches(), folder_.path())),
            "mesh/sequence_parallel: sft is not trained so here, whose rows have any length; leave "
            "one of the two out");
}

}  // namespace
}  // namespace nb
