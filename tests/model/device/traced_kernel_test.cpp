#include "model/device/traced_kernel.hpp"

#include <gtest/gtest.h>

#include "model/device/cost_model.hpp"

namespace nb {
namespace {

TEST(TracedKernel, ALabelIsReadBackAsWhatWasAsked) {
  const DeviceProfile device = *load_profile("ascend_910b3");
  Kernel product;
  product.unit = KernelUnit::kMatrix;
  product.batch = 2;
  product.m = 512;
  product.n = 1280;
  product.k = 320;
  product.dtype = DType::kBf16;
  product.flops = 2.0 * 2 * 512 * 1280 * 320;
  product.read_bytes = 983040;
  product.write_bytes = 1310720;
  Kernel attention = product;
  attention.unit = KernelUnit::kAttention;
  attention.backward = attention.is_causal_square = true;
  Kernel vector;
  vector.read_bytes = 1 << 20;
  vector.burst_bytes = 128;
  for (const Kernel& kernel : {product, attention, vector}) {
    const std::string label = traced_label("h.0.mlp [x]", {kernel, 1});
    const auto read = kernel_of_label(label);
    ASSERT_TRUE(read) << label;
    Kernel again = read->kernel;
    again.flops = kernel.flops;
    EXPECT_EQ(kernel_cost(again, device).time_ns, kernel_cost(kernel, device).time_ns) << label;
    EXPECT_EQ(traced_label("h.0.mlp [x]", *read), label);
  }
  EXPECT_EQ(traced_label("", {product, 1}),
            "[matrix bf16 batch=2 m=512 n=1280 k=320 read=983040 write=1310720]");
}

TEST(TracedKernel, ACollectiveSaysItsRanks) {
  Kernel kernel;
  kernel.unit = KernelUnit::kLink;
  kernel.read_bytes = 4096;
  const auto read = kernel_of_label(traced_label("grads", {kernel, 8}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks, 8);
  EXPECT_EQ(read->kernel.unit, KernelUnit::kLink);
}

TEST(TracedKernel, AnotherTextIsNoLabel) {
  for (const char* text : {"", "wte", "[]", "wte [", "x [matrix m=-1]", "x [matrix m=1e9]",
                           "x [matrix luck=7]", "x [matrix m=99999999999999999999]", "x [a b]"})
    EXPECT_FALSE(kernel_of_label(text)) << text;
}

}  // namespace
}  // namespace nb
