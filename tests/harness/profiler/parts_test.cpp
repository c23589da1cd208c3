// Times, classes, shapes and rows: what readers are made of, each alone.
#include <gtest/gtest.h>

#include <sstream>

#include "harness/profiler/csv_rows.hpp"
#include "harness/profiler/figures.hpp"
#include "harness/profiler/op_class.hpp"
#include "harness/profiler/time_text.hpp"
#include "harness/profiler/work.hpp"

namespace nb::profiler {
namespace {

TEST(TimeText, NineteenDigitsAreExact) {
  EXPECT_EQ(ns_of("1736408883704643.212\t"), 1736408883704643212);
  EXPECT_EQ(ns_of("79.08952021875", TimeUnit::kMilliseconds), 79089520);
  EXPECT_EQ(ns_of("496.8508"), 496851);
  EXPECT_EQ(ns_of("0.0005"), 1);
  EXPECT_EQ(ns_of("0.00049"), 0);
  EXPECT_EQ(ns_of("-1.5"), -1500);
  EXPECT_EQ(ns_of("1.5e3"), 1500000);
  EXPECT_EQ(ns_of("25e-4"), 3);
  for (const char* none : {"", "N/A", "-", "1.2.3", "12a", "1e999", "99999999999999999999"})
    EXPECT_EQ(ns_of(none), std::nullopt) << none;
}

TEST(OpClass, IsThatOfBothWorlds) {
  const auto npu = [](const char* name, const char* type, const char* core) {
    return class_of_npu_kernel(name, type, core);
  };
  EXPECT_EQ(npu("x", "MatMulV2", "AI_CORE"), OpClass::kMatmul);
  EXPECT_EQ(npu("aclnnMm_MatMulCommon_MatMulV2", "", ""), OpClass::kMatmul);
  EXPECT_EQ(npu("Conv2D1", "N/A", "N/A"), OpClass::kConvolution);
  EXPECT_EQ(npu("trans_TransData_0", "", ""), OpClass::kLayout);
  EXPECT_EQ(npu("a", "Cast", "AI_CPU"), OpClass::kAiCpu);
  EXPECT_EQ(npu("hcom_allReduce__1", "", ""), OpClass::kCommunication);
  EXPECT_EQ(npu("x_DSARandomNormal", "DSARandomNormal", "DSA_SQE"), OpClass::kElementwise);
  EXPECT_EQ(npu("x", "FlashAttentionScoreGrad", "MIX_AIC"), OpClass::kAttention);
  EXPECT_EQ(class_of_gpu_kernel("ncclDevKernel_AllReduce"), OpClass::kCommunication);
  EXPECT_EQ(class_of_gpu_kernel("sm80_xmma_fprop_implicit_gemm"), OpClass::kConvolution);
  EXPECT_EQ(class_of_gpu_kernel("Cijk_Alik_Bljk"), OpClass::kMatmul);
  EXPECT_EQ(class_of_gpu_kernel("void fbgemm_gpu::permute_2D_data_kernel"), OpClass::kLayout);
  EXPECT_EQ(class_of_gpu_kernel("what_is_this"), OpClass::kOther);
}

Kernel kernel_of(Texts& texts, const char* type, const char* inputs, const char* outputs,
                 const char* types) {
  Kernel kernel;
  kernel.name = kernel.type = texts.id_of(type);
  kernel.op_class = class_of_npu_kernel(type, type, "AI_CORE");
  kernel.input_shapes = texts.id_of(inputs);
  kernel.output_shapes = texts.id_of(outputs);
  kernel.data_types = texts.id_of(types);
  return kernel;
}

TEST(Work, IsThatOfTheShapes) {
  Texts texts;
  const auto work = [&](const char* type, const char* in, const char* out, const char* types) {
    return work_of(kernel_of(texts, type, in, out, types), texts);
  };
  const Work product = work("MatMulV2", "32,9216;4096,9216;4096", "32,4096", "FLOAT;FLOAT;FLOAT");
  EXPECT_EQ(product.flop, 2.0 * 32 * 9216 * 4096);
  EXPECT_EQ(product.bytes, 4.0 * (32 * 9216 + 4096 * 9216 + 4096 + 32 * 4096));
  // The right operand of a whole batch; the left one turned round.
  EXPECT_EQ(work("MatMul", "8,128,512;512,64", "8,128,64", "FLOAT16;FLOAT16").flop,
            2.0 * 8 * 128 * 512 * 64);
  EXPECT_EQ(work("MatMul", "32,1000;32,4096", "1000,4096", "FLOAT;FLOAT").flop,
            2.0 * 1000 * 32 * 4096);
  // Blocked formats: their sides are no rows and columns.
  EXPECT_EQ(work("MatMul", "2,8,16,16;7,9,16,16", "9,8,16,16", "FLOAT16;FLOAT16").flop, -1);
  const Work attention =
      work("FlashAttentionScore", "8192,2,640;8192,2,640;8192,2,640;;1,1,8192,8192", "655360",
           "DT_BF16;DT_BF16;DT_BF16;FLOAT;DT_BF16");
  EXPECT_EQ(attention.flop, 4.0 * 2 * 8192 * 8192 * 640 / 2);
  EXPECT_EQ(work("Add", "1,2;x", "2", "FLOAT").bytes, -1);
  EXPECT_EQ(work("Add", "1,2", "2", "COMPLEX999").bytes, -1);
}

TEST(CsvRows, FindColumnsByNameAndLeaveOutWhatIsRagged) {
  std::istringstream text("\xef\xbb\xbfName, Size \r\n\"a \"\"b\"\"\nc\",N/A\r\n1\r\n\r\nx,2\r\n");
  std::vector<std::string> names, sizes;
  const auto read = read_csv_rows(text, "t.csv", {"Name"}, [&](const CsvRow& row) {
    names.emplace_back(row["Name"]);
    sizes.emplace_back(row["Size"]);
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(names, (std::vector<std::string>{"a \"b\"\nc", "x"}));
  EXPECT_EQ(sizes, (std::vector<std::string>{"", "2"}));
  EXPECT_EQ(read->ragged, 1U);
  EXPECT_EQ(read->first_ragged_line, 4U);
}

TEST(Figures, KernelsThatOverlapCountOnce) {
  Profile profile;
  Rank rank;
  const auto add = [&](std::int64_t start, std::int64_t time, OpClass op_class) {
    Kernel kernel;
    kernel.start_ns = start;
    kernel.duration_ns = time;
    kernel.op_class = op_class;
    rank.kernels.push_back(kernel);
  };
  add(0, 100, OpClass::kMatmul);
  add(50, 100, OpClass::kLayout);         // 50 of it alone
  add(60, 200, OpClass::kCommunication);  // 110 of it alone
  add(255, 20, OpClass::kMemoryCopy);     // 15
  add(20'275, 5, OpClass::kMatmul);       // 20 µs later
  const auto figures = figures_of(profile, rank, "all");
  ASSERT_TRUE(figures);
  const Parts& parts = *figures->from_kernels;
  EXPECT_EQ(parts.stage_ns, 20'280);
  EXPECT_EQ(parts.computing_ns, 155);
  EXPECT_EQ(parts.not_overlapped_ns, 110);
  EXPECT_EQ(parts.overlapped_ns, 90);
  EXPECT_EQ(parts.copies_ns, 15);
  EXPECT_EQ(parts.free_ns, 20'000);
  EXPECT_EQ(parts.defect_ns(), 0);
  EXPECT_EQ(figures->classes[static_cast<std::size_t>(OpClass::kMatmul)].exclusive_ns, 105);
  EXPECT_EQ(figures->classes[static_cast<std::size_t>(OpClass::kLayout)].exclusive_ns, 50);
}

}  // namespace
}  // namespace nb::profiler
