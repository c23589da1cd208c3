// What a training step asks of the host: its buffers are made once.
#include "model/train/step.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/decoder/presets.hpp"
#include "model/optim/groups.hpp"

namespace nb {
namespace {

TEST(RunStep, MakesNoHostBufferAfterTheFirstStep) {
  for (const char* profile : {"ascend_910b3", "h100_sxm", "cpu_ref"}) {
    SCOPED_TRACE(profile);
    Device device(*load_profile(profile), ExecutionMode::kExecute, {.trace_steps = 0});
    Decoder decoder(config_for_depth(2, 100, 24), device);
    decoder.init(1);
    const std::vector<std::unique_ptr<Optimizer>> optimizers = make_optimizers(decoder, {});
    Batch batch{.rows = 3, .length = 24, .inputs = {}, .targets = {}};
    for (int i = 0; i < 3 * 24; ++i) {
      batch.inputs.push_back(i * 7 % 100);
      batch.targets.push_back(i * 11 % 100);
    }
    const StepPlan plan{.accumulation_steps = 2};
    const auto step = [&] {
      return run_step(decoder, optimizers, plan, {}, [&] { return batch; });
    };
    step();
    const std::size_t made = device.host_mallocs();
    EXPECT_GT(made, 0u);
    for (int i = 0; i < 3; ++i) step();
    EXPECT_EQ(device.host_mallocs(), made);
  }
}

}  // namespace
}  // namespace nb
