// Chat stages that train adapters in place of the weights.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/checkpoint.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

AdapterSettings fast_adapters() {
  AdapterSettings lora;
  lora.lora.rank = 4;
  lora.adapter_lr = 0.01;
  return lora;
}

class AdapterStage : public test::ChatTest {
 protected:
  static SftSettings with_adapters() {
    SftSettings settings = test::tiny_sft();
    settings.lora = fast_adapters();
    return settings;
  }
  // Losses of one sequence, in fp32.
  static std::vector<float> losses(const SafetensorsFile& file, bool is_merged) {
    DeviceProfile profile = *load_profile("ascend_910b3");
    profile.numerics.storage = DType::kFp32;
    profile.numerics.matmul_inputs = DType::kFp32;
    Device device(std::move(profile), ExecutionMode::kExecute);
    Decoder decoder(read_model_config(file).value(), device);
    if (is_merged) {
      EXPECT_TRUE(load_merged_weights(file, decoder).value());
      EXPECT_TRUE(decoder.adapters().parameters().empty());
    } else {
      EXPECT_TRUE(load_model(file, decoder));
      EXPECT_FALSE(decoder.adapters().parameters().empty());
    }
    std::vector<int> ids;
    for (int i = 0; i < 17; ++i) ids.push_back((37 * i + 11) % 250);
    return decoder.token_losses(std::span(ids).first(16), std::span(ids).subspan(1), 1, 16);
  }
};

// B is 0 at first.
TEST_F(AdapterStage, BeginsWithTheParentsBits) {
  const auto plain = chat_.sft(test::tiny_sft(), folder_.path());
  const auto adapted = chat_.sft(with_adapters(), other_.path());
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_TRUE(adapted) << adapted.error().message;
  EXPECT_EQ(adapted->steps[0].val_loss, plain->steps[0].val_loss);
  EXPECT_EQ(adapted->steps[0].train_loss, plain->steps[0].train_loss);
  EXPECT_NE(adapted->steps[1].train_loss, plain->steps[1].train_loss);
}

TEST_F(AdapterStage, LeavesTheWeightsAloneAndLearns) {
  // A model that says "A" or "B" learns to say "A".
  chat_.train = chat_.validation = chat_.set(test::coin(24));
  SftSettings settings = test::tiny_sft();
  settings.iterations = 20;
  settings.rates.init_lr_frac = 1;
  const auto before = chat_.sft(settings, other_.path());
  ASSERT_TRUE(before) << before.error().message;
  chat_.start_from(before->checkpoint);
  chat_.train = chat_.validation =
      chat_.set(std::vector<Conversation>(12, {{user_says("?"), assistant_says("A")}}));
  settings.lora = fast_adapters();
  const auto result = chat_.sft(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LT(*result->last_validation.val_loss, 0.5 * *result->steps[0].val_loss);
  // Six products of one block of width 64, hidden 256.
  EXPECT_EQ(result->adapter_param_count, 4 * (4 * 128 + 2 * 320));
  EXPECT_EQ(result->flops_per_token, lora_flops_per_token(result->config, settings.lora->lora));
  EXPECT_LT(result->flops_per_token, before->flops_per_token);
  const auto parent = SafetensorsFile::open(chat_.parent()).value();
  const auto trained = SafetensorsFile::open(result->checkpoint).value();
  std::size_t weights = 0;
  for (const auto& [name, entry] : parent.entries()) {
    if (!name.starts_with("transformer.") && !name.starts_with("lm_head.")) continue;
    ++weights;
    ASSERT_TRUE(trained.entries().contains(name)) << name;
    EXPECT_TRUE(std::ranges::equal(trained.entries().at(name).bytes, entry.bytes)) << name;
  }
  EXPECT_EQ(weights, 8U);
  for (const auto& [name, entry] : trained.entries())
    EXPECT_TRUE(!name.starts_with("optimizer.") || name.find(".lora_") != std::string::npos)
        << name;
}

TEST_F(AdapterStage, MergedWeightsComputeWhatTheAdaptersDid) {
  SftSettings settings = with_adapters();
  settings.num_epochs = 4;
  const auto result = chat_.sft(settings, folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  const auto file = SafetensorsFile::open(result->checkpoint).value();
  const std::vector<float> merged = losses(file, true), adapted = losses(file, false);
  for (std::size_t i = 0; i < merged.size(); ++i)
    EXPECT_NEAR(merged[i], adapted[i], 1e-4) << "position " << i;
}

TEST_F(AdapterStage, TheNextStageStartsFromTheMergedWeights) {
  const auto first = chat_.sft(with_adapters(), folder_.path());
  ASSERT_TRUE(first) << first.error().message;
  chat_.start_from(first->checkpoint);
  std::vector<std::string> notes;
  TrainHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  RlSettings settings = test::tiny_rl();
  settings.objective = RlObjective::kClipped;
  settings.has_reference = true;
  settings.kl_weight = 0.1;
  settings.lora = fast_adapters();  // fresh ones
  settings.iterations = 1;
  const auto next = chat_.rl(settings, other_.path(), hooks);
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0],
            "the adapters of " + first->checkpoint.string() + " are merged into its weights");
  EXPECT_EQ(*next->steps[0].kl, 0);  // so is the reference
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder merged(next->config, device);
  ASSERT_TRUE(load_merged_weights(SafetensorsFile::open(first->checkpoint).value(), merged));
  const auto file = SafetensorsFile::open(next->checkpoint).value();
  for (const Parameter& p : merged.parameters()) {
    const std::span<const float> expected = p.value.host();
    const std::vector<float> values =
        file.read_floats(p.name, {p.value.shape()[0], p.value.shape()[1]}).value();
    EXPECT_TRUE(std::ranges::equal(values, expected)) << p.name;
  }
}

TEST_F(AdapterStage, WritesTheAdaptersBesideTheCheckpoint) {
  const auto result = chat_.sft(with_adapters(), folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  const auto alone = SafetensorsFile::open(folder_ / kAdapterFile);
  ASSERT_TRUE(alone) << alone.error().message;
  const auto whole = SafetensorsFile::open(result->checkpoint).value();
  EXPECT_EQ(alone->text("lora").value(), whole.text("lora").value());
  EXPECT_EQ(alone->entries().size(), 12U);
  for (const auto& [name, entry] : alone->entries())
    EXPECT_TRUE(std::ranges::equal(whole.entries().at(name).bytes, entry.bytes)) << name;
}

TEST_F(AdapterStage, WithoutAdaptersAFileSaysNothingOfThem) {
  const auto result = chat_.sft(test::tiny_sft(), folder_.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(has_adapters(SafetensorsFile::open(result->checkpoint).value()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / kAdapterFile));
  SftSettings settings = test::tiny_sft();
  EXPECT_FALSE(hashed_fields(settings.fields()).contains("lora"));
  settings.lora = fast_adapters();
  EXPECT_EQ(hashed_fields(settings.fields()).at("lora").at("rank"), 4);
}

TEST_F(AdapterStage, TheSeedGivesTheFirstAdapters) {
  SftSettings settings = with_adapters();
  settings.lora->seed = 1;
  const auto one = chat_.sft(settings, folder_.path());
  settings.lora->seed = 2;
  const auto two = chat_.sft(settings, other_.path());
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->steps[0].train_loss, two->steps[0].train_loss);
  EXPECT_NE(one->final_loss, two->final_loss);
}

TEST_F(AdapterStage, DropoutIsOfTrainingAlone) {
  SftSettings settings = with_adapters();
  const auto without = chat_.sft(settings, folder_.path());
  settings.lora->dropout = 0.5;
  settings.lora->adapter_lr = 0;
  const test::TempDir still;
  const auto frozen = chat_.sft(settings, still.path());
  settings.lora->adapter_lr = 0.01;
  const auto dropped = chat_.sft(settings, other_.path());
  ASSERT_TRUE(without && frozen && dropped);
  // B is 0: what A reads does not matter yet.
  EXPECT_EQ(dropped->steps[0].train_loss, without->steps[0].train_loss);
  EXPECT_NE(dropped->steps[0].grad_norm, without->steps[0].grad_norm);
  EXPECT_NE(dropped->steps[2].train_loss, without->steps[2].train_loss);
  EXPECT_EQ(frozen->last_validation.val_loss, frozen->steps[0].val_loss);
}

TEST_F(AdapterStage, TargetsThatMatchNothingNameTheNearest) {
  SftSettings settings = with_adapters();
  settings.lora->lora.targets = {"q_proj", "attn.c_que"};
  const auto refused = chat_.sft(settings, folder_.path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "lora: /targets/1: no product \"attn.c_que\" in this model; did you mean "),
            std::string::npos)
      << refused.error().message;
  settings.lora->lora.targets = {"q_proj", "attn.c_q"};
  EXPECT_NE(chat_.sft(settings, folder_.path()).error().message.find("named twice"),
            std::string::npos);
}

}  // namespace
}  // namespace nb
