// MID, SFT, DPO and RL on several cards against one that accumulates, through the stages that a
// suite runs.
#include <algorithm>
#include <functional>

#include "harness/base/hash.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "tests/model/train/tiny_chat.hpp"

namespace nb {
namespace {

using test::Killed;
using RunStage =
    std::function<Result<TrainResult>(const std::filesystem::path&, const TrainHooks&)>;

class ChatRanks : public test::ChatTest {
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
    const test::TempDir one, several;
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
    const test::TempDir whole;
    const auto undisturbed = on(ranks, run, whole.path());
    ASSERT_TRUE(undisturbed) << undisturbed.error().message;
    for (const std::int64_t step : {0, 2, 3}) {
      SCOPED_TRACE(step);
      const test::TempDir folder;
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
    SftSettings settings = test::tiny_sft();
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
    SftSettings settings = test::tiny_sft();
    settings.lora = AdapterSettings{};
    settings.lora->dropout = 0.25;
    settings.lora->adapter_lr = 0.01;
    return settings;
  }
  // RL from a model that answers "A" or "B" as often, so that rewards are mixed.
  void learn_the_coin() {
    chat_.train = chat_.validation = chat_.set(test::coin(24));
    SftSettings settings = test::tiny_sft();
    settings.iterations = 30;
    settings.rates.init_lr_frac = 1;
    const auto learned = on(1, sft(settings), coin_folder_.path());
    ASSERT_TRUE(learned) << learned.error().message;
    chat_.start_from(learned->checkpoint);
    chat_.asked = chat_.held_out =
        chat_.questions({test::coin(1)[0], test::coin(2)[1], test::coin(1)[0], test::coin(2)[1]});
  }
  static RlSettings one_pass_a_question() {
    RlSettings settings = test::tiny_rl();
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
  const test::TempDir coin_folder_;
};

TEST_F(ChatRanks, MidIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, mid(test::tiny_mid()));
}
TEST_F(ChatRanks, SftIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, sft(test::tiny_sft()));
  expect_one_card_that_accumulates(4, sft(four_batches()));
}
TEST_F(ChatRanks, PackedSftIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, sft(packed()));
}
TEST_F(ChatRanks, AdaptersWithDropoutAreThoseOfOneCardBitForBit) {
  expect_one_card_that_accumulates(2, sft(with_dropout()));
}
TEST_F(ChatRanks, DpoIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, dpo(test::tiny_dpo()));
}
TEST_F(ChatRanks, RlIsOneCardThatAccumulatesBitForBit) {
  learn_the_coin();
  const test::TempDir folder;
  const auto result = on(2, rl(one_pass_a_question()), folder.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(has_learned(*result));
  expect_one_card_that_accumulates(2, rl(one_pass_a_question()));
  expect_one_card_that_accumulates(2, rl(clipped()));
}

TEST_F(ChatRanks, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills(2, mid(test::tiny_mid()));
  expect_same_bytes_after_kills(4, sft(four_batches()));
  expect_same_bytes_after_kills(2, sft(packed()));
  expect_same_bytes_after_kills(2, sft(with_dropout()));
  expect_same_bytes_after_kills(2, dpo(test::tiny_dpo()));
  learn_the_coin();
  expect_same_bytes_after_kills(2, rl(test::tiny_rl()));
  expect_same_bytes_after_kills(2, rl(clipped()));
}

// Every trained gradient once an update: adapters alone where there are some.
TEST_F(ChatRanks, BytesAreThoseOfTheGradients) {
  const auto sent = [&](const RunStage& run) {
    const test::TempDir folder;
    const auto result = on(2, run, folder.path());
    EXPECT_TRUE(result) << result.error().message;
    return std::pair(result.value(), chat_.link_bytes);
  };
  const auto [sft_result, sft_bytes] = sent(sft(test::tiny_sft()));
  const std::int64_t embedding =
      sft_result.config.vocab_size * sft_result.config.n_embd;  // whose gradient is bf16
  EXPECT_EQ(sft_bytes, static_cast<std::uint64_t>((sft_result.param_count * 4 - embedding * 2) *
                                                  sft_result.iterations));
  const auto [tuned, adapter_bytes] = sent(sft(with_dropout()));
  EXPECT_EQ(adapter_bytes,
            static_cast<std::uint64_t>(tuned.adapter_param_count * 4 * tuned.iterations));
  const auto [learned, rl_bytes] = sent(rl(clipped()));
  EXPECT_EQ(rl_bytes, static_cast<std::uint64_t>((learned.param_count * 4 - embedding * 2) *
                                                 learned.iterations * 2));
}

TEST_F(ChatRanks, UnevenSharesAreRefused) {
  const auto refused = [&](const RunStage& run) {
    const test::TempDir folder;
    return refusal(on(3, run, folder.path()));
  };
  const std::string batches =
      "mesh/dp: 3 ranks cannot share the 2 micro-batches of a step evenly; choose a divisor, or "
      "another batch";
  EXPECT_EQ(refused(mid(test::tiny_mid())), batches);
  EXPECT_EQ(refused(sft(test::tiny_sft())), batches);
  EXPECT_EQ(refused(sft(packed())), batches);
  EXPECT_EQ(refused(dpo(test::tiny_dpo())), batches);
  EXPECT_EQ(refused(rl(test::tiny_rl())),
            "mesh/dp: 3 ranks cannot share the 2 questions of a step evenly; choose a divisor, or "
            "another batch");
}

}  // namespace
}  // namespace nb
