// `npubench profile`: small profiles made here always, the real ones of ../shared/data where they
// are; their figures are those of profile_oracle.py, which shares no line with the program.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/gzip.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

using Json = nlohmann::json;

// A step of two kernels, a collective that the second hides in part, and 90 µs of nothing.
void write_small(const fs::path& folder, const std::string& last_kernel = "") {
  const fs::path output = folder / "ASCEND_PROFILER_OUTPUT";
  ASSERT_TRUE(write_file(folder / "profiler_info_3.json",
                         R"({"rank_id": 3, "config": )"
                         R"({"common_config": {"with_stack": false},)"
                         R"( "experimental_config": )"
                         R"({"_profiler_level": "Level1"}}})"));
  ASSERT_TRUE(write_file(
      output / "kernel_details.csv",
      "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,"
      "Input Shapes,Input Data Types,Output Shapes\r\n"
      "7,aclnnMm_MatMulV2,MatMulV2,AI_CORE,1736408883704600.125\t,20.000,0,24,"
      "\"\"\"32,64;64,16\"\"\",FLOAT;FLOAT,\"\"\"32,16\"\"\"\r\n"
      "7,trans_TransData_0,TransData,AI_VECTOR_CORE,1736408883704710.125\t,20,0,24,"
      "\"\"\"8,8\"\"\",FLOAT,\"\"\"8,8\"\"\"\r\n"
      "7,hcom_allReduce__1,hcom_allReduce_,HCCL,1736408883704720.125\t,30,0,0,N/A,N/A,N/A\r\n" +
          last_kernel));
  ASSERT_TRUE(write_file(output / "step_trace_time.csv",
                         "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,"
                         "Free,Stage,Bubble\n7,40,20,10,30,90,150,0\n"));
}

Json profiled(const Bench& bench, std::vector<std::string> words, int exit_code = 0) {
  words.insert(words.begin(), "profile");
  words.emplace_back("--json");
  const auto result = bench(words);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return Json::parse(result.out, nullptr, false);
}

const Json& row(const Json& rows, const char* key, const Json& value) {
  for (const Json& one : rows)
    if (one.at(key) == value) return one;
  ADD_FAILURE() << "no row with " << key << " = " << value << " in " << rows;
  static const Json kNone;
  return kNone;
}

TEST(Profile, APartOfAStepIsWhatItSays) {
  const Bench bench;
  const fs::path folder = bench.results() / "rank9_ascend_pt";
  write_small(folder);
  const Json json = profiled(bench, {folder.string()});
  EXPECT_EQ(json.at("schema"), "npubench.profile/1");
  EXPECT_EQ(json.at("clock"), "device");
  for (const char* from : {"from.file", "from.kernels"}) {
    const Json& step = row(json.at("steps"), "from", from);
    EXPECT_EQ(step.at("rank"), 3);  // of profiler_info, not of the folder's name
    EXPECT_EQ(step.at("stage_ns"), 150'000);
    EXPECT_EQ(step.at("computing_ns"), 40'000);
    EXPECT_EQ(step.at("not_overlapped_ns"), 20'000);
    EXPECT_EQ(step.at("overlapped_ns"), 10'000);
    EXPECT_EQ(step.at("free_ns"), 90'000);
  }
  EXPECT_EQ(row(json.at("classes"), "class", "layout").at("share"), 0.5);
  EXPECT_EQ(row(json.at("kernels"), "class", "matmul").at("flop"), 2.0 * 32 * 64 * 16);
  EXPECT_EQ(row(json.at("verdicts"), "id", "layout").at("remedy"),
            "torch.npu.config.allow_internal_format = False");
  const auto text = bench({"profile", folder.string(), "--strict", "--lang", "zh"});
  EXPECT_EQ(text.exit_code, 2) << text.err;
  EXPECT_NE(text.out.find("格式转换"), std::string::npos) << text.out;
  ASSERT_TRUE(
      write_file(folder / "profiler_metadata.json",
                 R"({"ENV_VARIABLES": {"ASCEND_LAUNCH_BLOCKING": "1", "HCCL_RDMA_TC": ""}})"));
  const Json blocked = profiled(bench, {folder.string()});
  EXPECT_EQ(row(blocked.at("verdicts"), "id", "launch_blocking").at("state"), "warn");
  EXPECT_EQ(row(blocked.at("environment_checks"), "id", "ENV050").at("value"), "1");
  const auto explained = bench({"profile", "--explain", "slow_rank"});
  EXPECT_NE(explained.out.find("msprof-analyze"), std::string::npos) << explained.out;
}

TEST(Profile, ARaggedRowCostsItselfAndALineSaysSo) {
  const Bench bench;
  const fs::path folder = bench.results() / "p";
  write_small(folder, "7,aclnnMm_MatMulV2,MatMulV2,AI_CO\n");
  const auto result = bench({"profile", folder.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("kernel_details.csv:5: 4 cells where the header has 11"),
            std::string::npos)
      << result.out;
}

// Seven starts in the column of durations once added up beyond an int64.
TEST(Profile, DurationsThatNoKernelHasAreOneSentence) {
  const Bench bench;
  const fs::path folder = bench.results() / "p";
  std::string rows;
  for (int i = 0; i < 7; ++i)
    rows += "7,a,MatMulV2,AI_CORE,1736408883704600.125\t,1736408883704600.125,0,24,,,\n";
  write_small(folder, rows);
  expect_sentence(bench({"profile", folder.string()}), 4,
                  {"last more than 73 years", "column of durations"});
}

TEST(Profile, WhatCannotBeReadIsOneSentence) {
  const Bench bench;
  const fs::path file = bench.results() / "broken";
  const auto said = [&](const std::string& text, const std::string& part) {
    ASSERT_TRUE(write_file(file, text));
    expect_sentence(bench({"profile", file.string()}), 4, {part});
  };
  said("", "empty");
  said("hello, world\n1,2\n", "no table");
  said(R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur)",
       "cut or damaged");
  said(R"({"traceEvents": []})", "no kernel");
  said(gzip(R"({"traceEvents": [)").substr(0, 20), "gzip");
  said("Step,Computing,Communication(Not Overlapped),Free,Stage\n1,\"2", "never closed");
  expect_sentence(bench({"profile", (bench.results() / "none").string()}), 4, {"none"});
  expect_sentence(bench({"profile"}), 64, {"which profile"});
}

TEST(Profile, ATraceOfAGpuIsReadPackedOrNot) {
  const Bench bench;
  const std::string trace =
      R"({"distributedInfo": {"rank": 2, "world_size": 8}, "traceEvents": [)"
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1682725898236500.5,)"
      R"( "dur": 2, "args": {"correlation": 7}},)"
      R"({"ph": "X", "cat": "kernel", "name": "ampere_sgemm_32", "ts": 1682725898236400.125,)"
      R"( "dur": 10.5}, {"ph": "X", "cat": "kernel", "name": "elementwise_kernel<CopyFunctor>",)"
      R"( "ts": 1682725898236520.125, "dur": 4, "args": {"correlation": 7}}]})";
  for (const bool packed : {false, true}) {
    const fs::path file = bench.results() / (packed ? "t.json.gz" : "t.json");
    ASSERT_TRUE(write_file(file, packed ? gzip(trace) : trace));
    const Json json = profiled(bench, {file.string()});
    EXPECT_EQ(json.at("kind"), "torch");
    const Json& step = json.at("steps").at(0);
    EXPECT_EQ(step.at("rank"), 2);
    EXPECT_EQ(step.at("computing_ns"), 14'500);
    EXPECT_EQ(step.at("stage_ns"), 124'000);
    EXPECT_EQ(row(json.at("idle"), "cause", "gap.host").at("total_ns"), 109'500);
    EXPECT_EQ(row(json.at("classes"), "class", "layout").at("count"), 1);
  }
}

// A gap in which Python collects garbage for most of the time is that, and no late host.
TEST(Profile, AGapOfGarbageCollectionIsNamed) {
  const Bench bench;
  const fs::path file = bench.results() / "t.json";
  const auto trace = [&](const std::string& collection_us) {
    return R"([{"ph": "X", "name": "aclnnAdd_Add", "pid": 1, "ts": "1000", "dur": 10,)"
           R"( "args": {"Task Type": "AI_VECTOR_CORE"}}, {"ph": "X", "name": "aclnnMul_Mul",)"
           R"( "pid": 1, "ts": "5010", "dur": 10, "args": {"Task Type": "AI_VECTOR_CORE"}},)"
           R"( {"ph": "X", "cat": "GC", "name": "GC", "pid": 2, "ts": "1500", "dur": )" +
           collection_us + "}]";
  };
  ASSERT_TRUE(write_file(file, trace("2100.5")));
  const Json json = profiled(bench, {file.string()});
  EXPECT_EQ(row(json.at("idle"), "cause", "gap.collector").at("total_ns"), 4'000'000);
  const Json& verdict = row(json.at("verdicts"), "id", "garbage");
  EXPECT_EQ(verdict.at("sentence"),
            "Python's garbage collection holds the host for up to 2.1 ms (1 times over 1 ms, 2.1 "
            "ms)");
  ASSERT_TRUE(write_file(file, trace("900")));
  const Json brief = profiled(bench, {file.string()});
  for (const Json& one : brief.at("idle")) EXPECT_NE(one.at("cause"), "gap.collector");
  for (const Json& one : brief.at("verdicts")) EXPECT_NE(one.at("id"), "garbage");
}

// Operands of a GPU's kernel are those of the operator that launched it; what else that operator
// launches is not its product.
TEST(Profile, AKernelOfAGpuHasTheWorkOfItsOperator) {
  const Bench bench;
  const fs::path file = bench.results() / "t.json";
  ASSERT_TRUE(write_file(
      file,
      R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 0, "dur": 9,)"
      R"( "args": {"External id": 5, "Input Dims": [[128], [64, 32], [32, 128], [], []],)"
      R"( "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"]}},)"
      R"( {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "ts": 9, "dur": 1, "args":)"
      R"( {"External id": 6, "Input Dims": [[10, 10], [10, 1], []], "Input type":)"
      R"( ["float", "c10::Half", "Scalar"]}},)"
      R"( {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 9, "dur": 1, "args":)"
      R"( {"External id": 7, "Input Dims": [[[2, 2], [2]], [10, 1], []], "Input type":)"
      R"( ["TensorList", "float", "Scalar"]}},)"
      R"( {"ph": "X", "cat": "kernel", "name": "elementwise_kernel", "ts": 10, "dur": 1, "args":)"
      R"( {"External id": 5}}, {"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "ts": 20,)"
      R"( "dur": 2, "args": {"External id": 5}}, {"ph": "X", "cat": "kernel", "name":)"
      R"( "vectorized_elementwise_kernel", "ts": 30, "dur": 3, "args": {"External id": 6}},)"
      R"( {"ph": "X", "cat": "kernel", "name": "add_elementwise", "ts": 40, "dur": 4, "args":)"
      R"( {"External id": 7}}]})"));
  const Json json = profiled(bench, {file.string(), "--device", "a100_sxm"});
  const auto kernel = [&](const char* name) { return row(json.at("kernels"), "name", name); };
  EXPECT_EQ(kernel("ampere_sgemm").at("flop"), 2.0 * 64 * 32 * 128);
  EXPECT_EQ(kernel("ampere_sgemm").at("bytes"), 2.0 * (128 + 64 * 32 + 32 * 128 + 64 * 128));
  EXPECT_EQ(kernel("vectorized_elementwise_kernel").at("bytes"), 10 * 2.0 + 100 * 4.0);
  EXPECT_TRUE(kernel("elementwise_kernel").at("bytes").is_null());
  EXPECT_TRUE(kernel("add_elementwise").at("bytes").is_null());
  EXPECT_EQ(row(json.at("expectation"), "name", "ampere_sgemm").at("count"), 1);
}

// Rates of links, as msprof writes them beside the kernels.
TEST(Profile, TrafficOfLinksIsShown) {
  const Bench bench;
  const fs::path folder = bench.results() / "p", output = folder / "ASCEND_PROFILER_OUTPUT";
  write_small(folder);
  ASSERT_TRUE(write_file(output / "hccs.csv",
                         "Device_id,Mode,Max,Min,Average\n0,Tx (MB/s),300.5,0,12.25\n"));
  ASSERT_TRUE(write_file(output / "pcie.csv",
                         "Device_id,Mode,Min,Max,Avg\n0,Tx_p_avg(MB/s),1,99.628,50\n"));
  ASSERT_TRUE(write_file(output / "nic.csv",
                         "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth "
                         "efficiency(%),rxPacket/s,rxError rate(%),rxDropped rate(%),Tx Bandwidth "
                         "efficiency(%),txPacket/s,txError rate(%),txDropped rate(%),funcId\n"
                         "0,10.000\t,100,1,5,0,0,2,5,0,0.5,0\n0,20.000\t,300,1,5,0,0,2,5,0,0,0\n"));
  const Json json = profiled(bench, {folder.string()});
  const auto traffic = [&](const char* mode) { return row(json.at("traffic"), "mode", mode); };
  EXPECT_EQ(traffic("Tx (MB/s)").at("highest"), 300.5);
  EXPECT_EQ(traffic("Tx_p_avg(MB/s)").at("lowest"), 1);
  EXPECT_EQ(traffic("Bandwidth(MB/s)").at("average"), 200);
  EXPECT_EQ(traffic("Bandwidth(MB/s)").at("samples"), 2);
  EXPECT_EQ(traffic("txDropped rate(%)").at("highest"), 0.5);
}

TEST(Profile, OurOwnTraceIsExplainedWhole) {
  const Bench bench;
  const fs::path file = bench.results() / "step.json";
  ASSERT_EQ(bench({"predict", "--device", "ascend_910b3", "--depth", "2", "--vocab-size", "512",
                   "--sequence-len", "64", "--ranks", "2", "--total-batch-tokens", "1024",
                   "--device-batch", "4", "--trace", file.string()})
                .exit_code,
            0);
  const Json json = profiled(bench, {file.string()});
  EXPECT_EQ(json.at("kind"), "npubench");
  EXPECT_EQ(json.at("clock"), "sim");
  std::int64_t measured = 0, expected = 0, all = 0;
  for (const Json& one : json.at("expectation")) {
    measured += one.at("measured_ns").get<std::int64_t>();
    expected += one.at("expected_ns").get<std::int64_t>();
  }
  for (const Json& one : json.at("classes")) all += one.at("total_ns").get<std::int64_t>();
  EXPECT_EQ(measured, all);
  EXPECT_EQ(measured, expected);
}

// One of ours: step, fit and back, with constants that are not the shipped ones.
TEST(Profile, ConstantsOfATraceComeBack) {
  const Bench bench;
  const fs::path own = bench.results() / "own.json", trace = bench.results() / "step.json",
                 back = bench.results() / "back.json";
  ASSERT_TRUE(write_file(own, R"({"schema": "npubench.calibration/1", "device": "ascend_910b3",)"
                              R"( "constants": [{"name": "matrix_efficiency", "value": 0.61},)"
                              R"( {"name": "memory_efficiency", "value": 0.66},)"
                              R"( {"name": "attention_efficiency", "value": 0.33},)"
                              R"( {"name": "host_dispatch", "value": 41000}]})"));
  const auto predicted =
      bench({"predict", "--device", "ascend_910b3", "--depth", "20", "--cards", "1",
             "--calibration", own.string(), "--trace", trace.string(), "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_NE(predicted.err.find("matrix_efficiency 0.61"), std::string::npos) << predicted.err;
  const Json profile = profiled(bench, {trace.string()});
  EXPECT_EQ(profile.at("steps").at(0).at("stage_ns"),
            Json::parse(predicted.out).at("step_time_ns"));
  const Json fitted = profiled(bench, {trace.string(), "--fit", back.string()});
  EXPECT_EQ(fitted.at("schema"), "npubench.calibration/1");
  const Json wanted = Json::parse(*read_file(own));
  for (const Json& one : wanted.at("constants")) {
    const double value = one.at("value");
    const Json& found = row(fitted.at("constants"), "name", one.at("name"));
    EXPECT_NEAR(found.at("value").get<double>(), value, value * 0.01) << one;
  }
  EXPECT_LT(fitted.at("check").at("mean_relative_error"), 0.01);
  // Of another device, beyond what is physical, unknown: one sentence each.
  const auto refused = [&](const std::string& text, const std::string& part) {
    ASSERT_TRUE(write_file(own, text));
    expect_sentence(
        bench({"predict", "--device", "h100_sxm", "--depth", "4", "--calibration", own.string()}),
        64, {part});
  };
  refused(R"({"schema": "npubench.calibration/1", "device": "ascend_910b3", "constants": []})",
          "is of ascend_910b3, not of h100_sxm");
  refused(R"({"schema": "npubench.calibration/1", "device": "h100_sxm", "constants": )"
          R"([{"name": "matrix_efficiency", "value": 1.5}]})",
          "beyond what is physical");
  refused(R"({"schema": "npubench.calibration/1", "device": "h100_sxm", "constants": )"
          R"([{"name": "luck", "value": 1}]})",
          "no constant \"luck\"");
  refused("{}", "npubench.calibration/1");
}

TEST(Profile, TablesPlotsAndAReportAreWritten) {
  const Bench bench;
  const fs::path folder = bench.results() / "p", csv = bench.results() / "csv",
                 plot = bench.results() / "parts.svg";
  write_small(folder);
  const auto result = bench({"profile", folder.string(), "--csv", csv.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto steps = read_file(csv / "steps.csv");
  ASSERT_TRUE(steps);
  EXPECT_NE(steps->find("stage_ns"), std::string::npos);
  EXPECT_NE(steps->find(",150000,"), std::string::npos) << *steps;
  if (run_subprocess({"gnuplot", "--version"})) {
    EXPECT_EQ(bench({"profile", folder.string(), "--plot", plot.string()}).exit_code, 0);
    EXPECT_TRUE(fs::exists(plot));
    // Both parts of the step and what is free stand in one bar.
    EXPECT_NE(read_file(plot)->find("communication, not hidden"), std::string::npos);
    EXPECT_EQ(
        bench({"profile", folder.string(), folder.string(), "--plot", plot.string()}).exit_code, 0);
  }
  expect_sentence(bench({"profile", folder.string(), "--plot", "parts.gif"}), 64, {"parts.gif"});
  ASSERT_EQ(bench.train().exit_code, 0);
  const fs::path out = bench.results() / "report";
  const auto report = bench({"report", (bench.results() / "train-d1").string(), "--profile",
                             folder.string(), "--out", out.string(), "--no-plots"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  const auto page = read_file(out / "report.md");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find("computing"), std::string::npos);
  EXPECT_NE(page->find("TransData"), std::string::npos);
}

std::int64_t sum_of(const Json& waterfall) {
  std::int64_t sum = 0;
  for (const Json& part : waterfall)
    if (part.at("part") != "part.all") sum += part.at("difference_ns").get<std::int64_t>();
  return sum;
}

TEST(Profile, TwoDifferByPartsThatAddUp) {
  const Bench bench;
  const fs::path a = bench.results() / "a", b = bench.results() / "b";
  write_small(a);
  write_small(b,
              "7,aclnnAdd_Add,Add,AI_VECTOR_CORE,1736408883704760.125,10.001,0,48,"
              "\"\"\"8,8;8,8\"\"\",FLOAT;FLOAT,\"\"\"8,8\"\"\"\n");
  ASSERT_TRUE(write_file(b / "ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
                         "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,"
                         "Free,Stage,Bubble\n7,50.001,20,10,30,100.0004,170.0014,0\n"));
  const Json json = profiled(bench, {a.string(), b.string()});
  EXPECT_EQ(json.at("difference_ns"), 20'001);
  EXPECT_EQ(sum_of(json.at("waterfall")), 20'001);
  EXPECT_EQ(row(json.at("waterfall"), "part", "elementwise").at("difference_ns"), 10'001);
  EXPECT_EQ(row(json.at("pairs"), "name", "aclnnAdd_Add").at("count_a"), 0);
  const Json scaled = profiled(bench, {a.string(), b.string(), "--tokens-per-step", "1000,1370"});
  EXPECT_EQ(sum_of(scaled.at("waterfall")), scaled.at("difference_ns"));
  const Json same = profiled(bench, {a.string(), a.string()});
  EXPECT_EQ(same.at("difference_ns"), 0);
  for (const Json& part : same.at("waterfall")) EXPECT_EQ(part.at("difference_ns"), 0);
  const fs::path trace = bench.results() / "step.json";
  ASSERT_EQ(bench({"predict", "--device", "ascend_910b3", "--depth", "2", "--vocab-size", "512",
                   "--sequence-len", "64", "--ranks", "1", "--total-batch-tokens", "1024",
                   "--device-batch", "4", "--trace", trace.string()})
                .exit_code,
            0);
  expect_sentence(bench({"profile", a.string(), trace.string()}), 3,
                  {"what was measured and what was simulated are not subtracted"});
}

class RealProfile : public ::testing::Test {
 protected:
  fs::path ascend(const std::string& name) const {
    return data_dir() / "imports/ascend_profiler/Ascend__msinsight" / name;
  }
  fs::path torch(const std::string& name) const {
    return data_dir() / "imports/torch_profiler/facebookresearch__HolisticTraceAnalysis" / name;
  }
  Bench bench_;
};

TEST_F(RealProfile, LevelOneIsTheHostNotTheNetwork) {
  NB_NEEDS_DATA();
  const Json json = profiled(bench_, {ascend("pytorch/text/level1").string()});
  const Json& file = json.at("steps").at(0);
  EXPECT_EQ(file.at("stage_ns"), 136'581'000);
  EXPECT_EQ(file.at("computing_ns"), 8'873'756);
  EXPECT_EQ(file.at("not_overlapped_ns"), 101'963'203);
  EXPECT_EQ(file.at("overlapped_ns"), 4'028'675);
  EXPECT_EQ(file.at("free_ns"), 25'744'050);
  const Json& kernels = json.at("steps").at(1);
  EXPECT_EQ(kernels.at("computing_ns"), 8'873'737);
  EXPECT_EQ(kernels.at("free_ns"), 25'744'069);
  EXPECT_EQ(json.at("steps").at(2).at("computing_ns"), 8'878'295);
  EXPECT_EQ(json.at("steps").at(2).at("stage_ns"), 131'912'500);
  const std::string gaps = json.at("notes_of").at("idle").at(0);
  EXPECT_EQ(gaps, "90 gaps, 25,744.069 us; 38 of them over 100 us hold 21,320.606 us");
  EXPECT_EQ(json.at("notes_of").at("communication").at(0),
            "4 of kind collective: elapse 105.992 ms, transfer 3.683, wait 5.941, idle 96.368");
  EXPECT_EQ(json.at("notes_of").at("memory").at(0),
            "HCCL holds 404.06 MB: 2 buffers of 200 MB (HCCL_BUFFSIZE) x 1 communicators = 400");
  EXPECT_EQ(json.at("notes_of").at("memory").at(1),
            "peak 1187.98 MB allocated, 1452.00 reserved, at aten::_foreach_add; 41 allocations "
            "alive then hold 486.6 MB, 701.4 are older than the profile; 24 of 184 were never "
            "released");
  const auto share = [&](const char* name) {
    return std::round(row(json.at("classes"), "class", name).at("share").get<double>() * 1000) / 10;
  };
  EXPECT_EQ(share("optimizer"), 25.5);
  EXPECT_EQ(share("layout"), 23.9);
  EXPECT_EQ(share("convolution"), 20.4);
  EXPECT_EQ(share("matmul"), 11.2);
  EXPECT_EQ(share("reduce"), 10.8);
  EXPECT_EQ(share("elementwise"), 7.6);
  EXPECT_EQ(share("softmax/loss"), 0.5);
  EXPECT_EQ(json.at("verdicts").at(0).at("sentence"),
            "Communication is not slow: 3.5 % of it moves data. It waits for the host that issues "
            "it. Not a network problem.");
  EXPECT_EQ(json.at("verdicts").at(1).at("sentence"),
            "The host is the limit: 122.1 ms (96.4 idle inside collectives + 25.7 free); 187 "
            "kernels, mean 47 us, 51 under 10 us.");
  EXPECT_EQ(json.at("verdicts").at(2).at("sentence"),
            "23.9 % of compute changes layout (TransData 57 x, 1.42 ms)");
  for (const Json& verdict : json.at("verdicts")) EXPECT_NE(verdict.at("id"), "slow_rank");
}

TEST_F(RealProfile, AnotherOneWaitsForALateRank) {
  NB_NEEDS_DATA();
  const Json json = profiled(bench_, {ascend("test_rank_0").string()});
  EXPECT_EQ(json.at("verdicts").at(0).at("id"), "late_rank");
  EXPECT_EQ(json.at("verdicts").at(0).at("sentence"),
            "Look at the late rank, not at the host: of 151.4 ms in collectives 116.6 (77 %) wait "
            "for other ranks, 29.3 are idle, 5.4 transfer.");
  for (const Json& verdict : json.at("verdicts")) EXPECT_NE(verdict.at("id"), "host_limits");
}

TEST_F(RealProfile, LevelZeroHasClassesByName) {
  NB_NEEDS_DATA();
  const Json json = profiled(bench_, {ascend("pytorch/text/level0").string()});
  EXPECT_EQ(json.at("steps").at(0).at("stage_ns"), 116'251'250);
  EXPECT_EQ(row(json.at("classes"), "class", "optimizer").at("count"), 4);
  EXPECT_EQ(row(json.at("classes"), "class", "layout").at("count"), 78);
  EXPECT_NE(json.at("notes").dump().find("communication.json needs level 1"), std::string::npos);
}

TEST_F(RealProfile, ATraceAloneHasTheSameTimes) {
  NB_NEEDS_DATA();
  const Json json = profiled(
      bench_, {ascend("pytorch/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
                   .string()});
  const Json& step = json.at("steps").at(0);
  EXPECT_NEAR(step.at("computing_ns").get<double>(), 8'873'737, 200);
  EXPECT_NEAR(step.at("not_overlapped_ns").get<double>(), 101'963'203, 200);
  const fs::path helix = data_dir() / "imports/ascend_profiler/AgenticCompiler__Helix";
  const Json tables = profiled(bench_, {helix.string()});
  EXPECT_EQ(tables.at("steps").at(0).at("computing_ns"), 40'604);
  const fs::path mstt = data_dir() / "imports/ascend_profiler/chenzomi12__mstt";
  std::int64_t count = 0, total_ns = 0;
  const Json kernels = profiled(bench_, {mstt.string()});
  for (const Json& one : kernels.at("classes")) {
    count += one.at("count").get<std::int64_t>();
    total_ns += one.at("total_ns").get<std::int64_t>();
  }
  EXPECT_EQ(count, 591);
  EXPECT_EQ(total_ns, 396'807'040);
}

TEST_F(RealProfile, AClusterHasItsRanksByNumber) {
  NB_NEEDS_DATA();
  const Json json = profiled(bench_, {ascend("cluster_analysis_output").string()});
  ASSERT_EQ(json.at("rank_numbers").size(), 16U);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(json.at("rank_numbers").at(i), i);
  EXPECT_NE(json.at("notes").dump().find("18 rows, 16 ranks"), std::string::npos);
  // cluster_communication.json and its matrix lie beside it.
  const Json& send = row(json.at("communication"), "name", "hcom_send__822_0");
  EXPECT_EQ(send.at("kind"), "kind.p2p");
  EXPECT_EQ(send.at("elapse_ns"), 896'487);
  EXPECT_EQ(send.at("link"), "RDMA");
}

TEST_F(RealProfile, ABaseAndATestTraceDifferByOneKernel) {
  NB_NEEDS_DATA();
  const Json json = profiled(
      bench_, {torch("trace_compare/base").string(), torch("trace_compare/test").string()});
  // Of 432 and 428 µs in two steps.
  EXPECT_EQ(row(json.at("a").at("classes"), "class", "elementwise").at("total_ns"), 432'000);
  EXPECT_EQ(row(json.at("b").at("classes"), "class", "elementwise").at("total_ns"), 428'000);
  EXPECT_EQ(row(json.at("waterfall"), "part", "elementwise").at("difference_ns"), -2'000);
  EXPECT_EQ(sum_of(json.at("waterfall")), json.at("difference_ns"));
  int fewer = 0;
  for (const Json& pair : json.at("pairs"))
    fewer += pair.at("count_a").get<int>() - pair.at("count_b").get<int>();
  EXPECT_EQ(fewer, 1);
}

TEST_F(RealProfile, AFitRefusesWhatTheProfileDoesNotShow) {
  NB_NEEDS_DATA();
  const Json json =
      profiled(bench_, {ascend("pytorch/text/level1").string(), "--device", "ascend_910b3", "--fit",
                        (bench_.results() / "my.json").string()});
  const auto reason = [&](const char* name) {
    return row(json.at("kept"), "name", name).at("reason").get<std::string>();
  };
  EXPECT_NE(reason("host_dispatch").find("naive 137.7 us"), std::string::npos);
  EXPECT_NE(reason("matrix_efficiency").find("0 of 9 products"), std::string::npos);
  const Json& memory = row(json.at("constants"), "name", "memory_efficiency");
  EXPECT_EQ(memory.at("n"), 4);
  EXPECT_NE(memory.at("how").get<std::string>().find("1.187 TB/s"), std::string::npos) << memory;
  EXPECT_EQ(row(json.at("constants"), "name", "link_bandwidth").at("n"), 4);
}

TEST_F(RealProfile, TracesOfGpusHaveTheOraclesFigures) {
  NB_NEEDS_DATA();
  const Json one = profiled(bench_, {torch("trace_filter/sampled_rank-0.json.gz").string()});
  const Json& step = one.at("steps").at(0);
  EXPECT_EQ(step.at("stage_ns"), 1'222'847'000);
  EXPECT_EQ(step.at("computing_ns"), 210'320'000);
  EXPECT_EQ(step.at("communication_ns"), 396'199'000);
  EXPECT_EQ(step.at("overlapped_ns"), 59'216'000);
  EXPECT_EQ(step.at("free_ns"), 675'191'000);
  EXPECT_EQ(row(one.at("classes"), "class", "communication").at("count"), 10);
  EXPECT_EQ(row(one.at("classes"), "class", "memory copy").at("total_ns"), 1'325'000);
  std::int64_t cutlass = 0, count = 0;
  for (const Json& kernel : one.at("kernels"))
    if (kernel.at("name").get<std::string>().starts_with(
            "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm")) {
      cutlass += kernel.at("total_ns").get<std::int64_t>();
      count += kernel.at("count").get<std::int64_t>();
    }
  EXPECT_EQ(count, 308);
  EXPECT_EQ(cutlass, 54'787'000);
  const Json alexnet = profiled(
      bench_,
      {torch("critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz").string()});
  EXPECT_EQ(alexnet.at("steps").at(0).at("computing_ns"), 10'630'000);
  EXPECT_EQ(row(alexnet.at("classes"), "class", "memory copy").at("total_ns"), 55'511'000);
}

}  // namespace
}  // namespace nb::test
