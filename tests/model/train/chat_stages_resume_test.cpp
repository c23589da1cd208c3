// MID, SFT, DPO and RL, killed and resumed or with other threads, end with the same bytes.
#include <functional>

#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "tests/model/train/tiny_chat.hpp"
#include "tests/model/train/tiny_run.hpp"

namespace nb {
namespace {

using test::Killed;
using RunStage =
    std::function<Result<TrainResult>(const std::filesystem::path&, const TrainHooks&)>;

class ChatResume : public test::ChatTest {
 protected:
  static void expect_same(const TrainResult& a, const TrainResult& b) {
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i)
      EXPECT_EQ(step_values(a.steps[i], a.stage), step_values(b.steps[i], b.stage)) << "row " << i;
    EXPECT_EQ(a.smoothed_loss, b.smoothed_loss);
    EXPECT_EQ(a.train_time_ns, b.train_time_ns);
    EXPECT_EQ(a.peak_reserved_bytes, b.peak_reserved_bytes);
    EXPECT_EQ(*sha256_file(a.checkpoint), *sha256_file(b.checkpoint));
  }

  // Dies after rows and after checkpoints, and with other threads.
  static void expect_same_after_kills(const RunStage& run) {
    const test::TempDir whole;
    set_threads(1);
    const auto undisturbed = run(whole.path(), {});
    set_threads(2);
    ASSERT_TRUE(undisturbed) << undisturbed.error().message;
    ASSERT_GE(undisturbed->iterations, 4);
    const test::TempDir threaded;
    const auto with_two = run(threaded.path(), {});
    ASSERT_TRUE(with_two) << with_two.error().message;
    expect_same(*undisturbed, *with_two);
    for (const auto& [step, after_checkpoint] : std::vector<std::pair<std::int64_t, bool>>{
             {1, false}, {2, true}, {3, false}, {undisturbed->iterations, true}}) {
      SCOPED_TRACE(testing::Message()
                   << "killed at " << step << (after_checkpoint ? " saved" : ""));
      const test::TempDir folder;
      TrainHooks hooks;
      const auto die_at = [step = step](std::int64_t at) {
        if (at == step) throw Killed{};
      };
      if (after_checkpoint)
        hooks.on_checkpoint = die_at;
      else
        hooks.on_step = [die_at](const StepRow& row) { die_at(row.step); };
      EXPECT_THROW((void)run(folder.path(), hooks), Killed);
      const auto resumed = run(folder.path(), {});
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(resumed->resumed_from_step, step == 1 ? 0 : after_checkpoint ? step : 2);
      expect_same(*undisturbed, *resumed);
    }
    set_threads(0);
  }
};

TEST_F(ChatResume, MidEndsWithTheSameBytes) {
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.mid(test::tiny_mid(), folder, hooks);
  });
}

TEST_F(ChatResume, SftEndsWithTheSameBytes) {
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.sft(test::tiny_sft(), folder, hooks);
  });
}

TEST_F(ChatResume, RlEndsWithTheSameBytes) {
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.rl(test::tiny_rl(), folder, hooks);
  });
}

TEST_F(ChatResume, RlWithAReferenceAndSeveralUpdatesEndsWithTheSameBytes) {
  RlSettings settings = test::tiny_rl();
  settings.objective = RlObjective::kClipped;
  settings.has_reference = true;
  settings.kl_weight = 0.1;
  settings.updates_per_rollout = 2;
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.rl(settings, folder, hooks);
  });
}

TEST_F(ChatResume, DpoEndsWithTheSameBytes) {
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.dpo(test::tiny_dpo(), folder, hooks);
  });
}

TEST_F(ChatResume, AdaptersWithDropoutEndWithTheSameBytes) {
  SftSettings settings = test::tiny_sft();
  settings.lora = AdapterSettings{};
  settings.lora->dropout = 0.25;
  settings.lora->adapter_lr = 0.01;
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.sft(settings, folder, hooks);
  });
}

TEST_F(ChatResume, AdaptersBesideAReferenceEndWithTheSameBytes) {
  RlSettings settings = test::tiny_rl();
  settings.objective = RlObjective::kClipped;
  settings.has_reference = true;
  settings.kl_weight = 0.1;
  settings.lora = AdapterSettings{};
  expect_same_after_kills([&](const auto& folder, const TrainHooks& hooks) {
    return chat_.rl(settings, folder, hooks);
  });
}

}  // namespace
}  // namespace nb
