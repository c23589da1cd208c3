// Chat stages on several cards, and what they learned there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "harness/base/hash.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb::test {

using RunStage =
    std::function<Result<TrainResult>(const std::filesystem::path&, const TrainHooks&)>;

class ChatRanks : public ChatTest {
 protected:
  // All of a row but the times and the memory of a card.
  static std::vector<std::vector<std::optional<double>>> learned(const TrainResult& result) {
    std::vector<std::vector<std::optional<double>>> rows;
    for (StepRow row : result.steps) {
      row.step_time_ns = row.throughput_tok_s = row.peak_memory_bytes = row.generate_time_ns = {};
      rows.push_back(step_values(row, result.stage));
    }
    return rows;
  }
  // Of the model, adapters too, and of the optimizers.
  static std::vector<std::vector<float>> tensors(const TrainResult& result) {
    const auto file = SafetensorsFile::open(result.checkpoint).value();
    std::vector<std::vector<float>> all;
    for (const auto& [name, tensor] : file.entries())
      if (!name.starts_with("progress."))
        all.push_back(file.read_floats(name, tensor.shape).value());
    return all;
  }
  Result<TrainResult> on(std::int64_t ranks, const RunStage& run,
                         const std::filesystem::path& folder, const TrainHooks& hooks = {}) {
    chat_.mesh.reset();
    if (ranks > 1) chat_.mesh = MeshSettings{.dp = ranks};
    return run(folder, hooks);
  }

  // As many ranks as a step has parts.
  void expect_one_card_that_accumulates(std::int64_t ranks, const RunStage& run) {
    const TempDir one, several;
    const auto alone = on(1, run, one.path()), together = on(ranks, run, several.path());
    ASSERT_TRUE(alone) << alone.error().message;
    ASSERT_TRUE(together) << together.error().message;
    EXPECT_EQ(learned(*together), learned(*alone));
    EXPECT_TRUE(tensors(*together) == tensors(*alone));
    EXPECT_FALSE(alone->replica_mismatch);
    EXPECT_EQ(together->replica_mismatch, 0);
    EXPECT_LT(together->train_time_ns, alone->train_time_ns);
  }

  void expect_same_bytes_after_kills(std::int64_t ranks, const RunStage& run) {
    const TempDir whole;
    const auto undisturbed = on(ranks, run, whole.path());
    ASSERT_TRUE(undisturbed) << undisturbed.error().message;
    for (const std::int64_t step : {0, 2, 3}) {
      SCOPED_TRACE(step);
      const TempDir folder;
      TrainHooks hooks;
      hooks.on_step = [&](const StepRow& row) {
        if (row.step == step) throw Killed{};
      };
      EXPECT_THROW((void)on(ranks, run, folder.path(), hooks), Killed);
      const auto resumed = on(ranks, run, folder.path());
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(*sha256_file(resumed->checkpoint), *sha256_file(undisturbed->checkpoint));
      EXPECT_EQ(resumed->train_time_ns, undisturbed->train_time_ns);
      EXPECT_EQ(resumed->peak_allocated_bytes, undisturbed->peak_allocated_bytes);
    }
  }

  RunStage mid(const MidSettings& settings) {
    return [this, settings](const auto& folder, const TrainHooks& hooks) {
      return chat_.mid(settings, folder, hooks);
    };
  }
  RunStage sft(const SftSettings& settings) {
    return [this, settings](const auto& folder, const TrainHooks& hooks) {
      return chat_.sft(settings, folder, hooks);
    };
  }
  RunStage dpo(const DpoSettings& settings) {
    return [this, settings](const auto& folder, const TrainHooks& hooks) {
      return chat_.dpo(settings, folder, hooks);
    };
  }
  RunStage rl(const RlSettings& settings) {
    return [this, settings](const auto& folder, const TrainHooks& hooks) {
      return chat_.rl(settings, folder, hooks);
    };
  }
  static SftSettings four_batches() {
    SftSettings settings = tiny_sft();
    settings.device_batch_size = 2;
    settings.target_examples_per_step = 8;
    return settings;
  }
  static SftSettings packed() {
    SftSettings settings;
    settings.device_batch_size = 2;
    settings.rates.init_lr_frac = 0.5;
    settings.eval_every = 2;
    settings.checkpoints.checkpoint_every = 2;
    settings.packed = PackedSettings{};
    settings.packed->sequence_len = 24;
    settings.packed->total_batch_tokens = 96;
    settings.packed->eval_tokens = 48;
    return settings;
  }
  static SftSettings with_dropout() {
    SftSettings settings = tiny_sft();
    settings.lora = AdapterSettings{};
    settings.lora->dropout = 0.25;
    settings.lora->adapter_lr = 0.01;
    return settings;
  }
  // RL from a model that answers "A" or "B" as often, so that rewards are mixed.
  void learn_the_coin() {
    chat_.train = chat_.validation = chat_.set(coin(24));
    SftSettings settings = tiny_sft();
    settings.iterations = 30;
    settings.rates.init_lr_frac = 1;
    const auto learned = on(1, sft(settings), coin_folder_.path());
    ASSERT_TRUE(learned) << learned.error().message;
    chat_.start_from(learned->checkpoint);
    chat_.asked = chat_.held_out =
        chat_.questions({coin(1)[0], coin(2)[1], coin(1)[0], coin(2)[1]});
  }
  static RlSettings one_pass_a_question() {
    RlSettings settings = tiny_rl();
    settings.device_batch_size = settings.num_samples = 8;
    settings.max_new_tokens = 1;
    return settings;
  }
  static bool has_learned(const TrainResult& result) {
    return std::ranges::any_of(result.steps,
                               [](const StepRow& row) { return row.grad_norm.value_or(0) > 0; });
  }
  static RlSettings clipped() {
    RlSettings settings = one_pass_a_question();
    settings.objective = RlObjective::kClipped;
    settings.has_reference = true;
    settings.kl_weight = 0.1;
    settings.updates_per_rollout = 2;
    return settings;
  }
  const TempDir coin_folder_;
};

}  // namespace nb::test
