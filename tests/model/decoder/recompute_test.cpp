// Activation checkpointing: the same bits, less simulated memory, more simulated time.
#include <gtest/gtest.h>

#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

struct Outcome {
  std::vector<float> values;  // losses and gradients
  std::uint64_t peak_bytes = 0;
  std::int64_t time_ns = 0;
};

Outcome outcome(const std::string& profile, ExecutionMode mode, const DecoderConfig& config,
                bool recomputes) {
  Device device(*load_profile(profile), mode);
  Decoder decoder(config, device);
  test::set_golden_weights(decoder);
  decoder.set_recompute(recomputes);
  device.reset_memory_peaks();
  const std::int64_t start_ns = device.time_ns();
  Outcome result;
  for (const int first : {0, 5}) {
    const test::GoldenTokens tokens =
        test::golden_tokens(first, 4, config.sequence_len, config.vocab_size, 7);
    result.values.push_back(
        decoder.loss_and_backward(tokens.inputs, tokens.targets, 4, config.sequence_len, 0.5));
  }
  device.synchronize();
  result.time_ns = device.time_ns() - start_ns;
  result.peak_bytes = device.memory().peak_allocated_bytes;
  for (const Parameter& p : decoder.parameters())
    result.values.insert(result.values.end(), p.grad.host().begin(), p.grad.host().end());
  return result;
}

TEST(Recompute, ChangesNoBitTakesLessMemoryAndMoreTime) {
  const DecoderConfig config = {.sequence_len = 32,
                                .vocab_size = 40,
                                .n_layer = 3,
                                .n_head = 2,
                                .n_kv_head = 2,
                                .n_embd = 64};
  for (const char* profile : {"ascend_910b3", "h100_sxm", "tiny"}) {
    const Outcome kept = outcome(profile, ExecutionMode::kExecute, config, false);
    const Outcome again = outcome(profile, ExecutionMode::kExecute, config, true);
    EXPECT_EQ(kept.values, again.values) << profile;
    EXPECT_LT(again.peak_bytes, kept.peak_bytes) << profile;
    EXPECT_GT(again.time_ns, kept.time_ns) << profile;
    const Outcome dry = outcome(profile, ExecutionMode::kDry, config, true);
    EXPECT_EQ(dry.peak_bytes, again.peak_bytes) << profile;
    EXPECT_EQ(dry.time_ns, again.time_ns) << profile;
  }
}

}  // namespace
}  // namespace nb
