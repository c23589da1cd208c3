// Golden values by hand: small tensors whose distances are known.
#include "harness/run/tensor_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/train/safetensors.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

struct Written {
  std::string name;
  std::vector<float> values;
  DType dtype = DType::kFp32;
};

class TensorComparisonTest : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::vector<Written>& tensors,
                const std::vector<std::int64_t>& tokens = {1, 2, 3}) const {
    SafetensorsWriter writer;
    Json order = Json::array({"step 0/tokens"});
    writer.add("step 0/tokens", {std::ssize(tokens)}, tokens);
    for (const Written& one : tensors) {
      writer.add(one.name, one.dtype, {std::ssize(one.values)}, one.values);
      order.push_back(one.name);
    }
    writer.add_text("order", order.dump());
    EXPECT_TRUE(writer.write(folder_ / name));
    return folder_ / name;
  }
  TensorComparison compared(const std::vector<Written>& a, const std::vector<Written>& b) const {
    const auto comparison = compare_tensor_files(file("a", a), file("b", b), {});
    EXPECT_TRUE(comparison) << comparison.error().message;
    return *comparison;
  }
  test::TempDir folder_;
};

TEST_F(TensorComparisonTest, NumbersOfTwoSmallTensors) {
  const auto c = compared({{"step 0/x", {3, 4}}}, {{"step 0/x", {3, 3}}});
  const TensorDifference& d = c.tensors.at(0);
  EXPECT_EQ(d.label, "step 0");
  EXPECT_EQ(d.op, "x");
  EXPECT_DOUBLE_EQ(d.relative, 0.2);  // 1 / 5
  EXPECT_DOUBLE_EQ(d.cosine, 21 / std::sqrt(25.0 * 18.0));
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.max_ulp, 4194304);  // from 3 to 4: half of 2^23 steps
  EXPECT_EQ(d.beyond, "cosine 0.9899, not above 0.99");
  EXPECT_EQ(c.first, 0u);
}

TEST_F(TensorComparisonTest, TheFirstOpInOrderIsNamed) {
  const std::vector<Written> a = {{"step 0/z", {1, 2}}, {"step 0/b", {1, 2}}, {"step 0/a", {1, 2}}};
  std::vector<Written> b = a;
  b[1].values = {1, 2.5};
  b[2].values = {9, -2};
  const auto c = compared(a, b);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.tensors[*c.first].op, "b");
  EXPECT_TRUE(c.tensors[0].is_equal);
  const std::string text = tensor_text(c, {});
  EXPECT_NE(text.find("first op beyond the tolerance: b\n  1 of 2 elements differ"),
            std::string::npos)
      << text;
}

TEST_F(TensorComparisonTest, UlpsAreOfTheCoarserFormat) {
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(compared({{"step 0/x", {1}}}, {{"step 0/x", {next}}}).tensors[0].max_ulp, 1);
  // 2^-7 above 1 is the next bf16 number; the fp32 side is rounded to it.
  const auto c = compared({{"step 0/x", {1}, DType::kBf16}}, {{"step 0/x", {1.0078125F}}});
  EXPECT_EQ(c.tensors[0].type, "BF16");
  EXPECT_EQ(c.tensors[0].max_ulp, 1);
  EXPECT_TRUE(c.tensors[0].beyond.empty());
  const auto two = compared({{"step 0/x", {1}, DType::kBf16}}, {{"step 0/x", {1.015625F}}});
  EXPECT_EQ(two.tensors[0].beyond, "1 of 1 elements differ by more than 1 ulp and 0.001");
  // Zero has one place, and what is near it is no difference however many ulp it is.
  const auto zero = compared({{"step 0/x", {0.0F, 1}}}, {{"step 0/x", {-0.0F, 1}}});
  EXPECT_EQ(zero.tensors[0].max_ulp, 0);
  const auto tiny = compared({{"step 0/x", {1e-9F, 1}}}, {{"step 0/x", {-1e-9F, 1}}});
  EXPECT_GT(tiny.tensors[0].max_ulp, 1e6);
  EXPECT_TRUE(tiny.tensors[0].beyond.empty());
}

TEST_F(TensorComparisonTest, WhatIsNotFiniteOnOneSideIsBeyond) {
  const float nan = std::nanf(""), inf = HUGE_VALF;
  EXPECT_TRUE(
      compared({{"step 0/x", {nan, inf}}}, {{"step 0/x", {nan, inf}}}).tensors[0].beyond.empty());
  EXPECT_EQ(compared({{"step 0/x", {1, inf}}}, {{"step 0/x", {nan, -inf}}}).tensors[0].beyond,
            "2 elements are finite on one side alone");
}

TEST_F(TensorComparisonTest, FilesThatCannotBeComparedAreNamed) {
  const auto error_of = [](const fs::path& a, const fs::path& b) {
    const auto c = compare_tensors(a, b, {});
    return c ? "" : c.error().message;
  };
  const fs::path x = file("x", {{"step 0/x", {1}}});
  EXPECT_NE(error_of(x, file("other", {{"step 0/x", {1}}}, {1, 2, 4}))
                .find("step 0/tokens differs, so the ops after it had other inputs"),
            std::string::npos);
  EXPECT_NE(error_of(x, file("wide", {{"step 0/x", {1, 2}}})).find("step 0/x has shape [1] in "),
            std::string::npos);
  EXPECT_NE(error_of(x, file("none", {{"step 1/y", {1}}})).find("no tensor in common"),
            std::string::npos);
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.write(folder_ / "plain"));
  EXPECT_NE(error_of(x, folder_ / "plain").find("has no order of its tensors"), std::string::npos);
  EXPECT_NE(error_of(x, folder_ / "absent").find("absent"), std::string::npos);
  const auto missing =
      compare_tensor_files(x, file("more", {{"step 0/x", {1}}, {"step 0/y", {1}}}), {});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->only_b, std::vector<std::string>{"step 0/y"});
}

}  // namespace
}  // namespace nb
