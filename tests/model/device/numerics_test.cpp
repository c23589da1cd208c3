#include "model/device/numerics.hpp"

#include <gtest/gtest.h>

#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;

TEST(NumericsPolicy, AcceleratorsDifferAndSayWhere) {
  const DeviceProfile npu = profile("ascend_910b3"), gpu = profile("h100_sxm");
  EXPECT_EQ(differing_entries(npu.numerics, gpu.numerics),
            (std::vector<std::string>{"pointwise", "reduction_order"}));
  EXPECT_EQ(npu.numerics.pointwise, Pointwise::kEager);
  EXPECT_EQ(gpu.numerics.pointwise, Pointwise::kFused);
}

TEST(NumericsPolicy, CanBeTakenFromAnotherProfile) {
  const DeviceProfile npu = profile("ascend_910b3");
  const DeviceProfile gpu = *with_numerics(profile("h100_sxm"), npu);
  EXPECT_EQ(gpu.numerics, npu.numerics);
  EXPECT_TRUE(differing_entries(gpu.numerics, npu.numerics).empty());
  EXPECT_EQ(gpu.numerics_of, "ascend_910b3");
  EXPECT_EQ(gpu.name(), "h100_sxm");
}

TEST(NumericsPolicy, ThatTheMachineCannotFollowIsRefused) {
  const auto cpu = with_numerics(profile("cpu_ref"), profile("ascend_910b3"));
  ASSERT_FALSE(cpu.has_value());
  EXPECT_EQ(cpu.error().message,
            "ascend_910b3: /numerics/matmul_inputs/value: the matrix unit of cpu_ref has no bf16");
  EXPECT_TRUE(with_numerics(profile("h100_sxm"), profile("cpu_ref")).has_value());
}

TEST(NumericsPolicy, CardGivesASourceForEveryEntry) {
  for (const std::string& name : profile_names()) {
    const DeviceProfile p = profile(name);
    EXPECT_EQ(p.numerics_card.size(), 19u);
    for (const PolicyEntry& entry : p.numerics_card) {
      EXPECT_FALSE(entry.source.empty() || entry.value.empty()) << name << " " << entry.name;
    }
  }
}

TEST(NumericsPolicy, GivesKernelsTheirPolicies) {
  NumericsPolicy p;
  p.weight_gradient = DType::kFp32;
  p.pointwise = Pointwise::kFused;
  EXPECT_EQ(p.matmul().output, DType::kBf16);
  EXPECT_EQ(p.weight_gradient_matmul().output, DType::kFp32);
  EXPECT_EQ(p.weight_gradient_matmul().inputs, DType::kBf16);
  EXPECT_FALSE(p.pointwise_policy().eager);
  p.muon_matmul = DType::kFp32;
  EXPECT_EQ(p.muon().inputs, DType::kFp32);
  EXPECT_EQ(p.muon().output, DType::kFp32);
  p.matmul_output = p.storage = DType::kFp16;
  p.fp16_overflow = Fp16Overflow::kSaturate;
  EXPECT_TRUE(p.matmul().fp16_saturates);
  EXPECT_TRUE(p.pointwise_policy().fp16_saturates);
}

// karpathy/nanochat base_eval.py, chat_eval.py, engine.py: the model is not compiled there, on any
// platform.
TEST(NumericsPolicy, EveryAcceleratorScoresAndGeneratesEagerly) {
  for (const std::string name : {"ascend_910b3", "h100_sxm"}) {
    const DeviceProfile p = profile(name);
    for (const Use use : {Use::kScore, Use::kGenerate}) {
      EXPECT_EQ(p.numerics.of(use).pointwise, Pointwise::kEager) << name;
      EXPECT_EQ(p.software.of(use).mode.value, SoftwareMode::kEager) << name;
    }
  }
  EXPECT_EQ(profile("h100_sxm").numerics.of(Use::kTrain).pointwise, Pointwise::kFused);
  EXPECT_EQ(profile("h100_sxm").software.of(Use::kTrain).mode.value, SoftwareMode::kCompiled);
}

std::vector<std::string> names_in(const DeviceProfile& p, std::vector<Use> uses, int cards) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : entries_in(p.numerics_card, p.numerics, uses, cards))
    names.push_back(entry.name);
  return names;
}

TEST(NumericsPolicy, ACardNamesWhatDecidesTheBitsOfItsUse) {
  const DeviceProfile p = profile("h100_sxm");
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_in(p, {Use::kTrain}, 1),
            (Names{"storage", "matmul_inputs", "matmul_output", "accumulation", "pointwise",
                   "weight_gradient", "embedding_weight", "adam_moments", "muon_momentum",
                   "muon_matmul", "loss_scaling", "vector_functions"}));
  EXPECT_EQ(names_in(p, {Use::kScore}, 1),
            (Names{"storage", "matmul_inputs", "matmul_output", "accumulation", "score_pointwise",
                   "embedding_weight", "vector_functions"}));
  EXPECT_EQ(names_in(p, {Use::kGenerate}, 1)[4], "generate_pointwise");
  EXPECT_EQ(names_in(p, {Use::kTune}, 1)[4], "tune_pointwise");
  EXPECT_EQ(names_in(p, {Use::kTune}, 1).size(), names_in(p, {Use::kTrain}, 1).size());
  const Names many = names_in(p, {Use::kTrain}, 8);
  EXPECT_EQ(Names(many.end() - 2, many.end()), (Names{"collective", "reduction_order"}));
}

TEST(NumericsPolicy, AnEntryThatDecidesNothingSaysWhy) {
  NumericsPolicy p;
  EXPECT_NE(idle_reason("split_k", p), "");
  EXPECT_NE(idle_reason("fp16_overflow", p), "");
  EXPECT_EQ(idle_reason("storage", p), "");
  p.accumulation = Accumulation::kSplitK;
  p.matmul_output = DType::kFp16;
  EXPECT_EQ(idle_reason("split_k", p), "");
  EXPECT_EQ(idle_reason("fp16_overflow", p), "");
}

}  // namespace
}  // namespace nb
