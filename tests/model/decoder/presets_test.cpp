// What holds for nanochat's decoder holds for every preset: caches, dry runs, fusion,
// recomputation, adapters. Parity with PyTorch is in architecture_parity_test.cpp.
#include "model/decoder/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/decoder/incremental.hpp"
#include "model/host/program.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"
#include "tests/model/decoder/small_decoder.hpp"

namespace nb::test {
namespace {

constexpr std::int64_t kVocab = 61, kTime = 24;

// Four layers, with windows that are narrower than the rows.
DecoderConfig small_config(const std::string& preset) {
  DecoderConfig config = preset_config(preset, 4, kVocab, kTime).value();
  if (config.architecture.windows.size() > 1) config.architecture.windows = {3, 5, 4, kTime};
  return config;
}

void set_random_weights(std::vector<Parameter>& parameters) {
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    Parameter& p = parameters[k];
    const bool is_gain = p.name.find("ln_") != p.name.npos && p.name.ends_with(".weight");
    const std::span<float> values = p.value.host();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = round_to(p.value.dtype(), (is_gain ? 1.0F : 0.0F) +
                                                golden_uniform(k + 1, i, is_gain ? 0.25F : 0.125F));
  }
}

struct OnDevice {
  OnDevice(const std::string& profile, const std::string& preset,
           ExecutionMode mode = ExecutionMode::kExecute)
      : OnDevice(profile, small_config(preset), mode) {}
  OnDevice(const std::string& profile, const DecoderConfig& config,
           ExecutionMode mode = ExecutionMode::kExecute)
      : device(load_profile(profile).value(), mode), decoder(config, device) {
    set_random_weights(decoder.parameters());
  }
  float backward(std::int64_t step) {
    const GoldenTokens tokens = golden_tokens(step, 2, kTime, kVocab, 7);
    return decoder.loss_and_backward(tokens.inputs, tokens.targets, 2, kTime, 0.5);
  }
  Device device;
  Decoder decoder;
};

class Presets : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  std::string profile() const { return std::get<0>(GetParam()); }
  std::string preset() const { return std::get<1>(GetParam()); }
};

// Losses and gradients of two micro-batches, and what the device took for them.
struct Outcome {
  std::vector<float> values;
  std::uint64_t peak_bytes = 0;
  std::int64_t time_ns = 0;
  DeviceCounters counters;
};
Outcome outcome_of(OnDevice& on) {
  on.device.reset_memory_peaks();
  const std::int64_t start_ns = on.device.time_ns();
  Outcome outcome;
  for (const std::int64_t step : {0, 5}) outcome.values.push_back(on.backward(step));
  on.device.synchronize();
  outcome.time_ns = on.device.time_ns() - start_ns;
  outcome.peak_bytes = on.device.memory().peak_allocated_bytes;
  outcome.counters = on.device.counters();
  for (const Parameter* p : on.decoder.trained_parameters())
    outcome.values.insert(outcome.values.end(), p->grad.host().begin(), p->grad.host().end());
  return outcome;
}

TEST_P(Presets, ChunksBehindASharedPrefixGiveTheBitsOfOnePass) {
  OnDevice on(profile(), preset());
  // Where positions allow it, past the length of the training rows: long windows end there.
  const std::size_t count = on.decoder.config().max_positions() > kTime ? 40 : kTime;
  const std::vector<int> tokens = random_tokens(count, kVocab, 1);
  const Logits expected = one_pass(on.decoder, tokens);
  IncrementalDecoder incremental(on.decoder);
  const std::shared_ptr<KeyValueCache> prefix = incremental.new_cache(0, 7);
  Logits logits;
  const Chunk first = {.tokens = std::span(tokens).first(7), .own = prefix.get()};
  incremental.forward({&first, 1}, all_rows(7), append_to(logits));
  const auto own = incremental.new_cache(7, static_cast<std::int64_t>(count));
  for (std::size_t at = 7; at < count;) {
    const std::size_t size = at == 7 ? 9 : at == 16 ? 1 : count - at;
    const Chunk chunk = {.tokens = std::span(tokens).subspan(at, size),
                         .first_position = static_cast<std::int64_t>(at),
                         .prefix = {prefix},
                         .own = own.get()};
    const std::int64_t before = std::ssize(logits);
    incremental.forward({&chunk, 1}, all_rows(size), [&](std::int64_t from, ConstMatrix rows) {
      append_to(logits)(before + from, rows);
    });
    at += size;
  }
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(same_bits(logits[i], expected[i])) << "position " << i;
}

TEST_P(Presets, ScoresThatLeaveRowsOutHaveTheBitsOfAllRows) {
  OnDevice on(profile(), preset());
  const std::vector<int> tokens = random_tokens(kTime, kVocab, 2);
  const Logits expected = one_pass(on.decoder, tokens);
  IncrementalDecoder incremental(on.decoder);
  const Chunk chunk = {.tokens = tokens};
  const std::vector<std::int64_t> wanted = {3, 4, 20};
  Logits logits;
  incremental.forward_for_scores({&chunk, 1}, wanted, append_to(logits));
  ASSERT_EQ(logits.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(same_bits(logits[i], expected[static_cast<std::size_t>(wanted[i])])) << wanted[i];
}

TEST_P(Presets, AStepOnADryDeviceTakesTheSameTimeAndMemory) {
  const auto run = [&](ExecutionMode mode) {
    OnDevice on(profile(), preset(), mode);
    const auto optimizers = make_optimizers(on.decoder, {});
    const StepPlan plan = {.accumulation_steps = 2};
    const auto next = [&] {
      Batch batch{.rows = 2, .length = kTime, .inputs = {}, .targets = {}};
      if (mode == ExecutionMode::kDry) return batch;
      const GoldenTokens tokens = golden_tokens(0, 2, kTime, kVocab, 0);
      batch.inputs = tokens.inputs;
      batch.targets = tokens.targets;
      return batch;
    };
    std::vector<std::int64_t> times;
    for (std::int64_t step = 0; step < 2; ++step)
      times.push_back(run_step(on.decoder, optimizers, plan, {.step = step}, next).time_ns);
    return std::tuple(times, on.device.memory(), on.device.counters());
  };
  EXPECT_TRUE(run(ExecutionMode::kDry) == run(ExecutionMode::kExecute));
}

TEST_P(Presets, OpByOpAndFusedGiveTheSameBits) {
  OnDevice fused(profile(), preset()), alone(profile(), preset());
  const Outcome expected = outcome_of(fused);
  host::set_fusion(false);
  const Outcome plain = outcome_of(alone);
  host::set_fusion(true);
  EXPECT_TRUE(same_bits(expected.values, plain.values));
}

TEST_P(Presets, RecomputationChangesNoBitTakesLessMemoryAndMoreTime) {
  OnDevice keeping(profile(), preset()), again(profile(), preset());
  again.decoder.set_recompute(true);
  const Outcome kept = outcome_of(keeping), recomputed = outcome_of(again);
  EXPECT_TRUE(same_bits(kept.values, recomputed.values));
  EXPECT_LT(recomputed.peak_bytes, kept.peak_bytes);
  EXPECT_GT(recomputed.time_ns, kept.time_ns);
}

// Two layers of half the width: an eighth of the products of small_config.
TEST_P(Presets, TwentyStepsOnOneBatchLearnIt) {
  OnDevice on(profile(), preset_config(preset(), 2, kVocab, kTime).value());
  on.decoder.init(3);
  const auto optimizers = make_optimizers(on.decoder, {.embedding_lr = 0.05});
  const auto loss = [&] {
    const GoldenTokens tokens = golden_tokens(0, 2, kTime, kVocab, 0);
    return on.decoder.loss_and_backward(tokens.inputs, tokens.targets, 2, kTime, 1.0);
  };
  const float first = loss();
  for (std::int64_t step = 0; step < 20; ++step) {
    for (const auto& optimizer : optimizers)
      optimizer->step({.step = step, .lr_multiplier = 1, .momentum = 0.85});
    on.decoder.zero_grad();
    static_cast<void>(loss());
  }
  on.decoder.zero_grad();
  EXPECT_LT(loss(), 0.7F * first);
}

TEST_P(Presets, NewAdaptersChangeNoBit) {
  OnDevice plain(profile(), preset()), adapted(profile(), preset());
  adapted.decoder.adapters().add({.rank = 3, .alpha = 6, .targets = {"all"}}, 5);
  const std::vector<int> tokens = random_tokens(kTime, kVocab, 4);
  const Logits expected = one_pass(plain.decoder, tokens),
               logits = one_pass(adapted.decoder, tokens);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(same_bits(logits[i], expected[i])) << "position " << i;
}

TEST_P(Presets, OnlyAdaptersAreTrainedAndTheyTakeLessMemory) {
  OnDevice plain(profile(), preset()), adapted(profile(), preset());
  adapted.decoder.adapters().add({.targets = {"attn.c_q", "mlp.c_fc"}}, 5);
  EXPECT_EQ(adapted.decoder.trained_parameters().size(), 2U * 2 * 4);
  const Outcome all = outcome_of(plain), low = outcome_of(adapted);
  EXPECT_LT(low.peak_bytes, all.peak_bytes);
  for (const Parameter& p : adapted.decoder.parameters()) EXPECT_TRUE(p.grad.empty()) << p.name;
  for (const Parameter& p : adapted.decoder.adapters().parameters()) {
    EXPECT_FALSE(p.grad.empty()) << p.name;
  }
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const DecoderPreset& preset : decoder_presets()) names.emplace_back(preset.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Everywhere, Presets,
                         testing::Combine(testing::Values("ascend_910b3", "h100_sxm"),
                                          testing::ValuesIn(preset_names())),
                         [](const auto& which) {
                           std::string name =
                               std::get<0>(which.param) + "_" + std::get<1>(which.param);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

// In fp32, where the two differ by rounding alone.
TEST(Lora, MergedWeightsGiveWhatAdaptersGave) {
  for (const std::string& preset : preset_names()) {
    Device device(fp32_profile(), ExecutionMode::kExecute);
    Decoder decoder(small_config(preset), device);
    set_random_weights(decoder.parameters());
    decoder.adapters().add({.rank = 2, .alpha = 3, .targets = {"all"}}, 5);
    set_random_weights(decoder.adapters().parameters());
    const std::vector<int> tokens = random_tokens(kTime, kVocab, 4);
    const Logits adapted = one_pass(decoder, tokens);
    decoder.adapters().merge();
    EXPECT_TRUE(decoder.adapters().parameters().empty());
    EXPECT_EQ(decoder.trained_parameters().size(), decoder.parameters().size());
    const Logits merged = one_pass(decoder, tokens);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < merged.size(); ++i)
      for (std::size_t v = 0; v < merged[i].size(); ++v) {
        const double delta = static_cast<double>(merged[i][v]) - adapted[i][v];
        difference += delta * delta;
        norm += static_cast<double>(adapted[i][v]) * adapted[i][v];
      }
    EXPECT_GT(norm, 0) << preset;
    EXPECT_LT(std::sqrt(difference / norm), 1e-5) << preset;  // sums of 256 terms, four layers
  }
}

TEST(Lora, TargetsThatMatchNothingAreRefusedWithTheNearest) {
  const DecoderConfig config = small_config("nanochat");
  const auto error = [&](std::vector<std::string> targets) {
    const auto checked = check_lora({.targets = std::move(targets)}, config, "suite a: /lora");
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(error({"attn.c_q", "mlp.c_proj"}), "");
  EXPECT_EQ(error({"all"}), "");
  EXPECT_EQ(error({"all-linear"}), "");
  EXPECT_EQ(error({"q_proj", "o_proj", "up_proj", "down_proj"}), "");
  EXPECT_EQ(lora_specs({.targets = {"o_proj"}}, config)[0].name,
            "transformer.h.0.attn.c_proj.lora_a");
  EXPECT_NE(error({"attn.c_q", "q_proj"}).find("named twice"), std::string::npos);
  EXPECT_EQ(error({"attn.q"}),
            "suite a: /lora: /targets/0: no product \"attn.q\" in this model; did you mean "
            "\"attn.c_q\"?; there are attn.c_q, attn.c_k, attn.c_v, attn.c_proj, mlp.c_fc, "
            "mlp.c_proj, all");
  EXPECT_NE(error({"mlp.c_gate"}).find("no product \"mlp.c_gate\""), std::string::npos);
  EXPECT_NE(error({"attn.c_q", "attn.c_q"}).find("named twice"), std::string::npos);
  EXPECT_NE(error({}).find("names no product"), std::string::npos);
}

TEST(Presets, AreKnownByNameAndTheNearestIsNamed) {
  const auto wrong = preset_config("nanochat-2026-7", 4, 64, 64);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("did you mean \"nanochat-2026-07\"?"), std::string::npos)
      << wrong.error().message;
  EXPECT_EQ(preset_config("nanochat", 20, 65536, 2048), config_for_depth(20, 65536, 2048));
}

struct Spread {
  double mean = 0, deviation = 0, smallest = 0, largest = 0;
};
Spread spread_of(Decoder& decoder, const std::string& name) {
  for (const Parameter& p : decoder.parameters()) {
    if (p.name != name) continue;
    const std::span<const float> values = p.value.host();
    Spread s = {.smallest = values[0], .largest = values[0]};
    double squares = 0;
    for (const double v : values) {
      s.mean += v / static_cast<double>(values.size());
      squares += v * v / static_cast<double>(values.size());
      s.smallest = std::min(s.smallest, v);
      s.largest = std::max(s.largest, v);
    }
    s.deviation = std::sqrt(std::max(squares - s.mean * s.mean, 0.0));
    return s;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

// nanochat's gpt.py @ 92d63d4, init_weights: uniform ±√3/√C for q, 0.4 of it for c_fc, wte N(0,
// 0.8²), gates in [0, 0.02], lambdas that fall with the layer. Tolerances: 4 standard errors of a
// deviation over at least 15,000 values are 2.3 %.
TEST(Presets, TheNewestNanochatBeginsWithItsOwnValues) {
  Device device(fp32_profile(), ExecutionMode::kExecute);
  Decoder decoder(preset_config("nanochat-2026-07", 4, kVocab * 10, kTime).value(), device);
  decoder.init(1);
  const double bound = std::sqrt(3.0 / 256);
  const Spread q = spread_of(decoder, "transformer.h.1.attn.c_q.weight");
  EXPECT_NEAR(q.deviation, 1.0 / 16, 0.023 / 16);
  EXPECT_NEAR(q.largest, bound, 0.01 * bound);
  EXPECT_NEAR(q.smallest, -bound, 0.01 * bound);
  EXPECT_NEAR(spread_of(decoder, "transformer.h.1.mlp.c_fc.weight").largest, 0.4 * bound,
              0.01 * bound);
  EXPECT_NEAR(spread_of(decoder, "value_embeds.1.weight").largest, bound, 0.01 * bound);
  EXPECT_NEAR(spread_of(decoder, "transformer.wte.weight").deviation, 0.8, 0.023 * 0.8);
  EXPECT_NEAR(spread_of(decoder, "lm_head.weight").deviation, 0.001, 0.023 * 0.001);
  EXPECT_EQ(spread_of(decoder, "transformer.h.1.attn.c_proj.weight").largest, 0);
  const Spread gate = spread_of(decoder, "transformer.h.1.attn.ve_gate.weight");
  EXPECT_GE(gate.smallest, 0);
  EXPECT_NEAR(gate.mean, 0.01, 0.006);
  EXPECT_FLOAT_EQ(static_cast<float>(spread_of(decoder, "resid_lambdas").largest), 1.15F);
  EXPECT_FLOAT_EQ(static_cast<float>(spread_of(decoder, "resid_lambdas").smallest), 1.05F);
  EXPECT_FLOAT_EQ(static_cast<float>(spread_of(decoder, "x0_lambdas").largest), 0.20F);
  EXPECT_FLOAT_EQ(static_cast<float>(spread_of(decoder, "x0_lambdas").smallest), 0.05F);
  EXPECT_EQ(spread_of(decoder, "smear_lambda").largest, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(spread_of(decoder, "backout_lambda").largest), 0.2F);
}

// openai/gpt-2: N(0, 0.02²), divided by √(2 layers) where a branch ends; gains 1, biases 0.
TEST(Presets, Gpt2BeginsWithItsOwnValues) {
  Device device(fp32_profile(), ExecutionMode::kExecute);
  Decoder decoder(preset_config("gpt2", 4, kVocab * 10, kTime).value(), device);
  decoder.init(1);
  EXPECT_NEAR(spread_of(decoder, "transformer.h.0.attn.c_q.weight").deviation, 0.02, 0.023 * 0.02);
  EXPECT_NEAR(spread_of(decoder, "transformer.h.0.mlp.c_proj.weight").deviation,
              0.02 / std::sqrt(8.0), 0.023 * 0.02);
  EXPECT_EQ(spread_of(decoder, "transformer.h.0.ln_1.weight").smallest, 1);
  EXPECT_EQ(spread_of(decoder, "transformer.ln_f.bias").largest, 0);
}

// karpathy/nanochat @ 124f49b and 92d63d4 print these; GPT-2's are the published sizes.
TEST(Presets, HaveTheSizesOfTheCodeThatTheyFollow) {
  const DecoderConfig d20 = preset_config("nanochat-2026-02", 20, 32768, 2048).value();
  EXPECT_EQ(param_count(d20), 896'535'720);
  EXPECT_EQ(flops_per_token(d20), 3'240'119'040);
  const DecoderConfig d12 = preset_config("nanochat-2026-07", 12, 32768, 2048).value();
  EXPECT_EQ(matrix_param_count(d12), 12 * 12 * 768 * 768);
  EXPECT_EQ(d12.window(0), 512);
  EXPECT_EQ(d12.window(3), 2048);
  EXPECT_EQ(d12.window(11), 2048);
  const DecoderConfig gpt2_small = preset_config("gpt2", 12, 50257, 1024).value();
  EXPECT_EQ(param_count(gpt2_small), 124'439'808);
}

}  // namespace
}  // namespace nb::test
