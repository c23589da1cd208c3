// A dry run shows exactly the simulated time, memory and counts of the executed one.
#include <gtest/gtest.h>

#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/device/profile_layers.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

struct Trail {
  std::vector<std::int64_t> step_times;
  std::int64_t time_ns;
  MemoryStats memory;
  DeviceCounters counters;
  TimeAccount account;
  BytesByUse held, held_at_peak;
};

struct Case {
  std::string profile;
  std::string stack;  // empty: its own
  std::string model = std::string(kDefaultPreset);
};

Trail run_d2(const Case& c, ExecutionMode mode) {
  Device device(*load_profile(c.profile, c.stack.empty() ? std::nullopt : std::optional(c.stack)),
                mode);
  Decoder decoder(*preset_config(c.model, 2, 64, 16), device);
  decoder.init(1);
  const auto optimizers = make_optimizers(decoder, {});
  Trail trail{};
  const auto next = [&] {
    Batch batch{.rows = 2, .length = 16, .inputs = {}, .targets = {}};
    if (mode == ExecutionMode::kDry) return batch;
    const test::GoldenTokens tokens = test::golden_tokens(0, 2, 16, 64, 0);
    batch.inputs = tokens.inputs;
    batch.targets = tokens.targets;
    return batch;
  };
  const StepPlan plan = {.accumulation_steps = 2};
  for (std::int64_t step = 0; step < 3; ++step) {
    trail.step_times.push_back(run_step(decoder, optimizers, plan, {.step = step}, next).time_ns);
    const Batch batch = next();
    decoder.token_losses(batch.inputs, batch.targets, 2, 16);
  }
  trail.time_ns = device.time_ns();
  trail.memory = device.memory();
  trail.counters = device.counters();
  trail.account = device.account();
  trail.held = device.allocator().allocated_by_use();
  trail.held_at_peak = device.allocator().peak_by_use();
  return trail;
}

class DryD2 : public testing::TestWithParam<Case> {};

TEST_P(DryD2, HasTheTimeAndMemoryOfTheExecutedOne) {
  const Trail executed = run_d2(GetParam(), ExecutionMode::kExecute);
  const Trail dry = run_d2(GetParam(), ExecutionMode::kDry);
  EXPECT_EQ(dry.step_times, executed.step_times);
  EXPECT_EQ(dry.time_ns, executed.time_ns);
  EXPECT_TRUE(dry.memory == executed.memory)
      << dry.memory.peak_allocated_bytes << " " << executed.memory.peak_allocated_bytes;
  EXPECT_TRUE(dry.counters == executed.counters);
  EXPECT_TRUE(dry.account == executed.account);
  EXPECT_EQ(dry.account.launch_count(), dry.counters.kernels);
  EXPECT_EQ(dry.held, executed.held);
  EXPECT_EQ(dry.held_at_peak, executed.held_at_peak);
  EXPECT_GT(executed.memory.peak_allocated_bytes, 0U);
  EXPECT_GT(executed.step_times[2], 0);
}

TEST_P(DryD2, StepsBecomeSteady) {
  const Trail dry = run_d2(GetParam(), ExecutionMode::kDry);
  EXPECT_EQ(dry.step_times[1], dry.step_times[2]);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* profile : {"tiny", "ascend_910b3", "h100_sxm", "cpu_ref"})
    all.push_back({profile, ""});
  for (const std::string& stack : stack_names())
    for (const DecoderPreset& preset : decoder_presets())
      if (preset.name.starts_with("nanochat"))
        all.push_back({stack.ends_with("_cuda") ? "h100_sxm" : "ascend_910c", stack,
                       std::string(preset.name)});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Profiles, DryD2, testing::ValuesIn(cases()), [](const auto& instance) {
  const Case& c = instance.param;
  std::string name = c.profile + c.stack + (c.stack.empty() ? "" : c.model);
  std::erase_if(name, [](char letter) { return letter == '-'; });
  return name;
});

}  // namespace
}  // namespace nb
