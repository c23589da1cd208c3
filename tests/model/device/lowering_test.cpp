#include "model/device/lowering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/device/cost_model.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;
using test::sample_op;

Lowering lower_on(const OpDesc& desc, const std::string& device) {
  const DeviceProfile p = profile(device);
  return lower(desc, p.software, p.numerics);
}

std::vector<std::string> kernel_names(const Lowering& lowering) {
  std::vector<std::string> names;
  for (const Kernel& kernel : lowering.kernels) names.emplace_back(kernel.name);
  return names;
}

std::uint64_t saved_bytes(const Lowering& lowering) {
  std::uint64_t total = 0;
  for (const LoweredBlock& block : lowering.blocks) total += block.saved ? block.size_bytes : 0;
  return total;
}

const LoweredBlock* find_block(const Lowering& lowering, std::string_view name) {
  for (const LoweredBlock& block : lowering.blocks) {
    if (block.name == name) return &block;
  }
  return nullptr;
}

TEST(Lowering, EveryKindHasKernelsThatMoveBytesOnEveryProfile) {
  for (const std::string& name : profile_names()) {
    const DeviceProfile p = profile(name);
    for (const SoftwareMode mode : {SoftwareMode::kEager, SoftwareMode::kCompiled}) {
      SoftwareProfile software = p.software;
      software.mode.value = mode;
      for (const bool fused : {false, true}) {
        if (!fused) software.fused_operators.value.clear();
        for (const OpDesc& desc : test::sample_ops()) {
          const Lowering lowering = lower(desc, software, p.numerics);
          ASSERT_FALSE(lowering.kernels.empty()) << name << " " << nb::name(desc.kind);
          for (const Kernel& kernel : lowering.kernels) {
            const bool moves = kernel.read_bytes + kernel.write_bytes > 0;
            EXPECT_TRUE(moves || desc.kind == OpKind::kBarrier)
                << name << " " << nb::name(desc.kind) << ": " << kernel.name << " is free";
            EXPECT_FALSE(kernel.name.empty());
          }
          for (const LoweredBlock& block : lowering.blocks) {
            EXPECT_LE(block.first, block.last) << nb::name(desc.kind) << " " << block.name;
            EXPECT_LT(block.last, lowering.kernels.size())
                << nb::name(desc.kind) << " " << block.name;
            EXPECT_GT(block.size_bytes, 0u) << nb::name(desc.kind) << " " << block.name;
          }
        }
      }
    }
  }
}

TEST(Lowering, EveryKindCostsTimeOnTheAccelerators) {
  for (const char* name : {"ascend_910b3", "h100_sxm", "cpu_ref"}) {
    const DeviceProfile p = profile(name);
    for (const OpDesc& desc : test::sample_ops()) {
      if (test::is_collective(desc.kind)) continue;  // tests/model/collectives
      for (const Kernel& kernel : lower(desc, p.software, p.numerics).kernels) {
        EXPECT_GT(kernel_cost(kernel, p).time_ns, 0) << name << " " << nb::name(desc.kind);
      }
    }
  }
}

TEST(Lowering, NamesOfKindsAreUniqueAndInOrder) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const OpKindInfo& info : op_kinds()) {
    EXPECT_EQ(static_cast<std::size_t>(info.kind), index++);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.meaning.empty());
  }
}

TEST(Lowering, AMissingSizeIsNamedByItsKind) {
  for (const OpKindInfo& info : op_kinds()) {
    if (info.kind == OpKind::kBarrier) continue;
    OpDesc desc;
    desc.kind = info.kind;
    try {
      lower_on(desc, "tiny");
      ADD_FAILURE() << info.name << " accepts no sizes";
    } catch (const CheckFailure& e) {
      EXPECT_NE(std::string(e.what()).find(info.name), std::string::npos) << e.what();
    }
  }
}

// F.rms_norm on bf16 in eager mode: float(), pow, mean, + eps, rsqrt, mul, to(bf16); autograd keeps
// the fp32 copy and rstd (torch derivatives.yaml: pow_backward needs self, mul needs both
// operands).
TEST(Lowering, EagerRmsNormIsSevenKernelsAndKeepsTheUpcast) {
  const OpDesc desc = sample_op(OpKind::kRmsNorm);
  const Lowering lowering = lower_on(desc, "ascend_910b3");
  EXPECT_EQ(kernel_names(lowering),
            (std::vector<std::string>{"cast", "pow", "mean", "add", "rsqrt", "mul", "cast"}));
  EXPECT_EQ(saved_bytes(lowering), 16u * 64 * 4 + 16 * 4);
  EXPECT_EQ(lowering.saved_inputs, 0);
}

TEST(Lowering, CompiledRmsNormIsOneKernelAndKeepsItsInput) {
  const Lowering lowering = lower_on(sample_op(OpKind::kRmsNorm), "h100_sxm");
  EXPECT_EQ(lowering.kernels.size(), 1u);
  EXPECT_EQ(lowering.kernels[0].read_bytes, 16u * 64 * 2);
  EXPECT_EQ(lowering.kernels[0].write_bytes, 16u * 64 * 2 + 16 * 4);
  EXPECT_EQ(saved_bytes(lowering), 16u * 4);
  EXPECT_EQ(lowering.saved_inputs, 1);
}

// Autocast: the fp32 master weight is cast at every call and the copy is kept; an embedding-like
// bf16 weight is not.
TEST(Lowering, LinearCastsItsMasterWeightUnderAutocast) {
  OpDesc desc = sample_op(OpKind::kLinear);
  const Lowering fp32 = lower_on(desc, "h100_sxm");
  EXPECT_EQ(kernel_names(fp32), (std::vector<std::string>{"cast", "mm"}));
  ASSERT_NE(find_block(fp32, "weight_cast"), nullptr);
  EXPECT_EQ(find_block(fp32, "weight_cast")->size_bytes, 64u * 64 * 2);
  EXPECT_TRUE(find_block(fp32, "weight_cast")->saved);
  desc.dtype = DType::kBf16;
  EXPECT_EQ(kernel_names(lower_on(desc, "h100_sxm")), (std::vector<std::string>{"mm"}));
  desc.dtype = DType::kFp32;
  EXPECT_EQ(kernel_names(lower_on(desc, "cpu_ref")), (std::vector<std::string>{"mm"}));
}

// leideng/nanochat-ascend @ ee84087: an fp32 weight meets a bf16 activation, aclnnMatmul promotes.
TEST(Lowering, WithoutAutocastTheActivationIsPromotedAndTheWeightGradientIsNot) {
  const DeviceProfile p = *load_profile("ascend_910b3", "nanochat_npu_no_autocast");
  const auto dtypes = [&](OpKind kind) {
    std::vector<std::pair<std::string, DType>> kernels;
    for (const Kernel& kernel : lower(sample_op(kind), p.software, p.numerics).kernels)
      kernels.emplace_back(kernel.name, kernel.dtype);
    return kernels;
  };
  using Kernels = std::vector<std::pair<std::string, DType>>;
  const Kernels promoted = {{"cast", DType::kFp32}, {"mm", DType::kFp32}, {"cast", DType::kFp32}};
  EXPECT_EQ(dtypes(OpKind::kLinear), promoted);
  EXPECT_EQ(dtypes(OpKind::kLinearBackwardInput), promoted);
  EXPECT_EQ(dtypes(OpKind::kLinearBackwardWeight),
            (Kernels{{"mm", DType::kBf16}, {"cast", DType::kFp32}}));
  EXPECT_EQ(lower(sample_op(OpKind::kAttention), p.software, p.numerics).kernels[4].dtype,
            DType::kBf16);
  const Lowering forward = lower(sample_op(OpKind::kLinear), p.software, p.numerics);
  for (const LoweredBlock& block : forward.blocks) EXPECT_FALSE(block.saved) << block.name;
}

// op-plugin @ 517f2e7d: softmax max and sum, [B,N,S,8] fp32 each, and a mask of 2048² a call.
TEST(Lowering, AttentionOfTheNpuKeepsWhatItsOperatorReturns) {
  const OpDesc desc = sample_op(OpKind::kAttention);
  const auto kept = [&](const char* device) {
    const DeviceProfile p = profile(device);
    std::uint64_t bytes = 0;
    for (const LoweredBlock& block : lower(desc, p.software, p.numerics).blocks)
      if (block.saved) bytes += block.size_bytes;
    return bytes;
  };
  const auto rows = static_cast<std::uint64_t>(desc.batch * desc.heads * desc.time);
  EXPECT_EQ(kept("ascend_910b3"), rows * 2 * 8 * 4 + 2048 * 2048);
  EXPECT_EQ(kept("h100_sxm"), rows * 4);
}

TEST(Lowering, LinearHasTwoFlopsAMultiplyAndReadsBothOperandsOnce) {
  OpDesc desc = sample_op(OpKind::kLinear);
  desc.rows = 3;
  desc.cols = 5;
  desc.inner = 7;
  const Kernel mm = lower_on(desc, "h100_sxm").kernels.back();
  EXPECT_EQ(mm.flops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(mm.read_bytes, (3u * 7 + 5 * 7) * 2);
  EXPECT_EQ(mm.write_bytes, 3u * 5 * 2);
}

TEST(Lowering, SecondMicroBatchAddsToTheGradient) {
  OpDesc desc = sample_op(OpKind::kLinearBackwardWeight);
  EXPECT_EQ(kernel_names(lower_on(desc, "h100_sxm")), (std::vector<std::string>{"mm", "cast"}));
  desc.accumulate = true;
  EXPECT_EQ(kernel_names(lower_on(desc, "h100_sxm")),
            (std::vector<std::string>{"mm", "cast", "accumulate_grad"}));
}

// The fp32 copies of the logits are what fills memory in eager mode: 4 + 4 bytes a logit beside
// bf16 ones.
TEST(Lowering, EagerCrossEntropyUpcastsTheLogits) {
  const OpDesc desc = sample_op(OpKind::kSoftcapCrossEntropy);
  const std::uint64_t logits = 16 * 256;
  const Lowering lowering = lower_on(desc, "ascend_910b3");
  EXPECT_EQ(kernel_names(lowering),
            (std::vector<std::string>{"div", "tanh", "mul", "cast", "log_softmax", "nll_loss"}));
  ASSERT_NE(find_block(lowering, "logits_fp32"), nullptr);
  EXPECT_EQ(find_block(lowering, "logits_fp32")->size_bytes, logits * 4);
  EXPECT_EQ(saved_bytes(lowering), logits * 2 + logits * 4);
  EXPECT_LT(lower_on(desc, "h100_sxm").kernels.size(), 3u);
}

// Causal attention over T keys has T(T+1)/2 visible pairs and two products of D.
TEST(Lowering, FusedAttentionCountsVisiblePairsOnly) {
  OpDesc desc = sample_op(OpKind::kAttention);
  const Lowering lowering = lower_on(desc, "h100_sxm");
  ASSERT_EQ(lowering.kernels.size(), 1u);
  EXPECT_EQ(lowering.kernels[0].flops, 4.0 * 2 * 4 * 16 * (8 * 9 / 2));
  EXPECT_EQ(lowering.saved_inputs, 0b111);
  EXPECT_TRUE(lowering.saves_output);
  desc.time = 1;  // one query after 7 cached keys sees all 8
  desc.key_time = 8;
  EXPECT_EQ(lower_on(desc, "h100_sxm").kernels[0].flops, 4.0 * 2 * 4 * 16 * 8);
}

// A query sees `window` keys before its own, where there are so many.
TEST(Lowering, FusedAttentionUnderAWindowCountsItsKeysAlone) {
  for (const std::int64_t window : {1, 3, 7, 8, 20}) {
    for (const std::int64_t queries : {1, 3, 8}) {
      std::int64_t pairs = 0, first = 8;
      for (std::int64_t i = 8 - queries; i < 8; ++i) {
        pairs += std::min(i, window) + 1;
        first = std::min(first, std::max<std::int64_t>(i - window, 0));
      }
      EXPECT_EQ(visible_pairs(queries, 8, window), pairs);
      EXPECT_EQ(visible_keys(queries, 8, window), 8 - first);
      OpDesc desc = sample_op(OpKind::kAttention);
      desc.time = queries;
      desc.key_time = 8;
      desc.window = window;
      const Kernel kernel = lower_on(desc, "h100_sxm").kernels[0];
      const auto values = static_cast<double>(2 * 4 * 16);
      EXPECT_EQ(kernel.flops, 4.0 * values * static_cast<double>(pairs));
      OpDesc seen = desc;
      seen.window = 0;
      seen.key_time = 8 - first;
      EXPECT_EQ(kernel.read_bytes, lower_on(seen, "h100_sxm").kernels[0].read_bytes);
      desc.kind = OpKind::kAttentionBackward;
      const Lowering backward = lower_on(desc, "h100_sxm");
      EXPECT_EQ(backward.kernels[1].flops, 10.0 * values * static_cast<double>(pairs));
    }
  }
}

// Scores that the window hides are computed and masked.
TEST(Lowering, UnfusedAttentionUnderAWindowScoresAllKeys) {
  DeviceProfile p = profile("ascend_910b3");
  p.software.fused_operators.value.clear();
  for (const OpKind kind : {OpKind::kAttention, OpKind::kAttentionBackward}) {
    OpDesc desc = sample_op(kind);
    const Lowering all = lower(desc, p.software, p.numerics);
    desc.window = 2;
    const Lowering some = lower(desc, p.software, p.numerics);
    ASSERT_EQ(kernel_names(some), kernel_names(all));
    for (std::size_t i = 0; i < all.kernels.size(); ++i) {
      EXPECT_EQ(some.kernels[i].flops, all.kernels[i].flops);
      EXPECT_EQ(some.kernels[i].read_bytes, all.kernels[i].read_bytes);
    }
  }
}

// gpt.py since 2025-12-08: slice, .float(), / 15, tanh, * 15. Padding is sliced off, and comes back
// as zeros in the gradient.
TEST(Lowering, CapsOfUpcastLogitsAreFp32) {
  const std::uint64_t logits = 16 * 256, padded = 16 * 320;
  OpDesc desc = sample_op(OpKind::kSoftcapCrossEntropy);
  desc.padded_vocab = 320;
  desc.caps_in_fp32 = true;
  const Lowering loss = lower_on(desc, "ascend_910b3");
  EXPECT_EQ(kernel_names(loss),
            (std::vector<std::string>{"cast", "div", "tanh", "mul", "log_softmax", "nll_loss"}));
  EXPECT_EQ(saved_bytes(loss), logits * 4 + logits * 4);
  EXPECT_EQ(loss.kernels[0].read_bytes, logits * 2);
  EXPECT_EQ(loss.kernels[1].read_bytes, logits * 4);
  desc.kind = OpKind::kSoftcapCrossEntropyBackward;
  const Lowering backward = lower_on(desc, "ascend_910b3");
  EXPECT_EQ(kernel_names(backward),
            (std::vector<std::string>{"zero", "nll_loss_backward", "log_softmax_backward", "mul",
                                      "tanh_backward", "div", "cast", "zero", "copy"}));
  EXPECT_EQ(backward.kernels[7].write_bytes, padded * 2);
  EXPECT_EQ(lower_on(desc, "h100_sxm").kernels[0].write_bytes, padded * 2);
  desc.kind = OpKind::kLogits;
  EXPECT_EQ(kernel_names(lower_on(desc, "ascend_910b3")),
            (std::vector<std::string>{"cast", "div", "tanh", "mul"}));
  EXPECT_EQ(lower_on(desc, "h100_sxm").kernels[0].write_bytes, logits * 4);
  desc.kind = OpKind::kLogProbabilities;
  EXPECT_EQ(kernel_names(lower_on(desc, "ascend_910b3")),
            (std::vector<std::string>{"log_softmax", "nll_loss", "argmax"}));
}

TEST(Lowering, WithoutACapTheLogitsAreUpcastAlone) {
  OpDesc desc = sample_op(OpKind::kSoftcapCrossEntropy);
  desc.has_softcap = false;
  const std::uint64_t logits = 16 * 256;
  EXPECT_EQ(kernel_names(lower_on(desc, "ascend_910b3")),
            (std::vector<std::string>{"cast", "log_softmax", "nll_loss"}));
  const Lowering compiled = lower_on(desc, "h100_sxm");
  EXPECT_EQ(kernel_names(compiled),
            (std::vector<std::string>{"triton_log_softmax", "triton_nll_loss"}));
  EXPECT_LT(saved_bytes(compiled), logits);
  EXPECT_EQ(compiled.saved_inputs, 1);
  desc.kind = OpKind::kSoftcapCrossEntropyBackward;
  EXPECT_EQ(
      kernel_names(lower_on(desc, "ascend_910b3")),
      (std::vector<std::string>{"zero", "nll_loss_backward", "log_softmax_backward", "cast"}));
}

TEST(Lowering, UnfusedAttentionKeepsTheProbabilities) {
  DeviceProfile p = profile("ascend_910b3");
  p.software.fused_operators.value.clear();
  const Lowering lowering = lower(sample_op(OpKind::kAttention), p.software, p.numerics);
  EXPECT_EQ(kernel_names(lowering),
            (std::vector<std::string>{"bmm", "mul", "masked_fill", "softmax", "bmm"}));
  EXPECT_EQ(saved_bytes(lowering), 2u * 4 * 8 * 8 * 2);
}

TEST(Lowering, EagerLaunchesMoreKernelsThanCompiledForEveryPointwiseOp) {
  for (const OpKind kind :
       {OpKind::kRmsNorm, OpKind::kRmsNormBackward, OpKind::kRotary, OpKind::kRotaryBackward,
        OpKind::kReluSquared, OpKind::kSoftcapCrossEntropy, OpKind::kSoftcapCrossEntropyBackward,
        OpKind::kLogits, OpKind::kNewtonSchulz, OpKind::kMuonMomentum}) {
    EXPECT_GT(lower_on(sample_op(kind), "ascend_910b3").kernels.size(),
              lower_on(sample_op(kind), "h100_sxm").kernels.size())
        << name(kind);
  }
}

// One launch each, in torch's words and in Inductor's.
TEST(Lowering, PlainPointwiseOpsLaunchTheirOwnKernel) {
  struct Case {
    OpKind kind;
    const char *eager, *compiled;
  };
  const DeviceProfile p = profile("h100_sxm");
  for (const Case& c :
       {Case{OpKind::kSilu, "silu", "triton_silu"}, Case{OpKind::kMultiply, "mul", "triton_mul"},
        Case{OpKind::kAdd, "add", "triton_add"}, Case{OpKind::kAddBackward, "add", "triton_add"}}) {
    for (const auto& [mode, expected] : {std::pair{SoftwareMode::kEager, c.eager},
                                         std::pair{SoftwareMode::kCompiled, c.compiled}}) {
      SoftwareProfile software = p.software;
      software.mode.value = mode;
      const Lowering lowering = lower(sample_op(c.kind), software, p.numerics);
      EXPECT_EQ(kernel_names(lowering), std::vector<std::string>{expected}) << name(c.kind);
    }
  }
}

// What each launches in eager and compiled stacks, and what autograd keeps of it
// (derivatives.yaml): bytes of its own, operands (a bit each), the result. 16 × 64 values in bf16,
// gradients in fp32.
TEST(Lowering, ActivationsGainsAndSlicesLaunchAndKeepWhatTorchDoes) {
  struct Case {
    OpKind kind;
    std::vector<std::string> eager;
    std::string compiled;
    std::uint64_t saved_bytes = 0;
    int saved_inputs = 0;
    bool saves_output = false;
  };
  const Case cases[] = {
      {OpKind::kSilu, {"silu"}, "triton_silu", 0, 1},
      {OpKind::kSiluBackward, {"silu_backward"}, "triton_silu_backward"},
      {OpKind::kGelu, {"gelu"}, "triton_gelu", 0, 1},
      {OpKind::kGeluBackward, {"gelu_backward"}, "triton_gelu_backward"},
      {OpKind::kSigmoid, {"sigmoid"}, "triton_sigmoid", 0, 0, true},
      {OpKind::kSigmoidBackward, {"sigmoid_backward"}, "triton_sigmoid_backward"},
      {OpKind::kMultiply, {"mul"}, "triton_mul", 0, 3},
      {OpKind::kScale, {"mul"}, "triton_mul", 0, 1},
      {OpKind::kScaleBackwardFactor, {"mul", "sum", "zero", "copy", "cast"}, "triton_mul_sum"},
      {OpKind::kApplyGain, {"mul"}, "triton_mul", 0, 1},
      {OpKind::kApplyGainBackwardGain, {"mul", "sum", "cast"}, "triton_mul_sum"},
      {OpKind::kAddBias, {"add"}, "triton_add"},
      {OpKind::kAddBiasBackward, {"sum", "cast"}, "triton_sum"},
      {OpKind::kLayerNorm, {"layer_norm"}, "triton_layer_norm", 2 * 16 * 4, 1},
      {OpKind::kLayerNormBackwardInput, {"layer_norm_grad_input"}, "triton_layer_norm_backward"},
      {OpKind::kLayerNormBackwardWeights,
       {"layer_norm_gamma_beta"},
       "triton_layer_norm_backward_weights"},
      {OpKind::kGateHeads, {"mul"}, "triton_mul", 0, 3},
      {OpKind::kGateHeadsBackwardGate, {"mul", "sum"}, "triton_mul_sum"},
      {OpKind::kFirstColumns, {"copy"}, "triton_slice"},
      {OpKind::kFirstColumnsBackward, {"zero", "copy"}, "triton_slice_backward"},
      {OpKind::kPreviousRows, {"zero", "copy"}, "triton_shift"},
      {OpKind::kDropout, {"native_dropout"}, "triton_dropout", 16 * 64},
      {OpKind::kDropoutBackward, {"masked_scale"}, "triton_dropout_backward"},
  };
  for (const Case& c : cases) {
    const Lowering eager = lower_on(sample_op(c.kind), "ascend_910b3");
    const Lowering compiled = lower_on(sample_op(c.kind), "h100_sxm");
    EXPECT_EQ(kernel_names(eager), c.eager) << name(c.kind);
    EXPECT_EQ(compiled.kernels[0].name, c.compiled) << name(c.kind);
    for (const Lowering* lowering : {&eager, &compiled}) {
      EXPECT_EQ(saved_bytes(*lowering), c.saved_bytes) << name(c.kind);
      EXPECT_EQ(lowering->saved_inputs, c.saved_inputs) << name(c.kind);
      EXPECT_EQ(lowering->saves_output, c.saves_output) << name(c.kind);
    }
  }
}

TEST(Lowering, ASecondGradientOfAVectorIsAddedToTheFirst) {
  for (const OpKind kind : {OpKind::kScaleBackwardFactor, OpKind::kApplyGainBackwardGain,
                            OpKind::kAddBiasBackward, OpKind::kLayerNormBackwardWeights}) {
    for (const char* device : {"ascend_910b3", "h100_sxm"}) {
      OpDesc desc = sample_op(kind);
      const std::size_t before = lower_on(desc, device).kernels.size();
      desc.accumulate = true;
      const Lowering added = lower_on(desc, device);
      EXPECT_EQ(added.kernels.size(), before + 1) << name(kind);
      EXPECT_EQ(added.kernels.back().name, "accumulate_grad") << name(kind);
      EXPECT_NE(find_block(added, "dw_new"), nullptr) << name(kind);
    }
  }
}

// muon.py: X Xᵀ, A A and B X, five times; flops 2(r²c + r³ + r²c) each for an (r, c) matrix, r ≤ c.
TEST(Lowering, NewtonSchulzCountsTheProductsOfTheShortSide) {
  OpDesc desc = sample_op(OpKind::kNewtonSchulz);
  desc.rows = 256;
  desc.cols = 64;
  double flops = 0;
  for (const Kernel& kernel : lower_on(desc, "h100_sxm").kernels) {
    if (kernel.unit == KernelUnit::kMatrix) flops += kernel.flops;
  }
  EXPECT_EQ(flops, 5 * 2.0 * (64.0 * 64 * 256 + 64.0 * 64 * 64 + 64.0 * 64 * 256));
}

TEST(Lowering, DeviceToHostWaits) {
  EXPECT_TRUE(lower_on(sample_op(OpKind::kDeviceToHost), "h100_sxm").waits);
  EXPECT_FALSE(lower_on(sample_op(OpKind::kHostToDevice), "h100_sxm").waits);
}

}  // namespace
}  // namespace nb
