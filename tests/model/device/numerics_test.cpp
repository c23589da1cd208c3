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
    EXPECT_EQ(p.numerics_card.size(), 16u);
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

}  // namespace
}  // namespace nb
