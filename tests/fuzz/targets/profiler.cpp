// harness/profiler: what profilers of NPUs and GPUs write.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/profiler/analysis.hpp"
#include "harness/profiler/read_ascend.hpp"
#include "harness/profiler/read_trace.hpp"
#include "model/device/profile.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

using Seeds = std::vector<std::string>;
using namespace profiler;

const char* const kKernels =
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input "
    "Shapes,Input Data Types,Output Shapes,aic_mac_ratio,aic_mte2_ratio\n"
    "1,aclnnMm_MatMulV2,MatMulV2,AI_CORE,1736408883704643.212\t,50.5,0,24,\"\"\"32,64;64,16\"\"\","
    "FLOAT;FLOAT,\"\"\"32,16\"\"\",0.5,0.97\n"
    "1,hcom_allReduce__1_0_1,hcom_allReduce_,HCCL,1736408883704700.0,10.25,0,0,N/A,N/A,N/A,N/A,N/A"
    "\n1,aclnnAdd_Add,Add,AI_VECTOR_CORE,1736408883704800,1,0,48,\"\"\"8,8;8,8\"\"\",DT_BF16;DT_"
    "BF16,"
    "\"\"\"8,8\"\"\",0,0.1\n";
const char* const kSteps =
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
    "1,51.5,10.25,0,10.25,95,156.8,0\n";
const char* const kMemory =
    "Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total "
    "Allocated(MB),Allocation Total Reserved(MB)\naten::mm,64.5,1736408883704643.2,,10.5,20\n";
const char* const kCommunication =
    R"J({"step1": {"p2p": {}, "collective": {"hcom_allReduce__1_0_1@17": {"Communication Time Info":)J"
    R"J( {"Start Timestamp(us)": 1736408883704700.0, "Elapse Time(ms)": 0.01025, "Transit Time(ms)":)J"
    R"J( 0.005, "Wait Time(ms)": 0.004, "Idle Time(ms)": 0.00125}, "Communication Bandwidth Info":)J"
    R"J( {"SDMA": {"Transit Size(MB)": 1.5, "Transit Time(ms)": 0.1, "Bandwidth(GB/s)": 15.0,)J"
    R"J( "Size Distribution": {"0.5": [3, 0.1]}}}}}}})J";
const char* const kTorch =
    R"J({"distributedInfo": {"rank": 1, "world_size": 2}, "deviceProperties": [{"name": "A100"}],)J"
    R"J( "traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10.5,)J"
    R"J( "dur": 2, "args": {"correlation": 7}}, {"ph": "X", "cat": "kernel", "name": "ampere_sgemm",)J"
    R"J( "ts": 20.125, "dur": 5, "args": {"correlation": 7}}, {"ph": "X", "cat": "user_annotation",)J"
    R"J( "name": "ProfilerStep#3", "ts": 1, "dur": 100}, {"ph": "X", "cat": "gpu_memcpy", "name":)J"
    R"J( "Memcpy HtoD", "ts": 40, "dur": 1}]})J";
const char* const kAscendTrace =
    R"J([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Ascend Hardware"}},)J"
    R"J( {"ph": "X", "name": "aclnnAdd_Add", "pid": 1, "ts": "1736408883704643.212", "dur": 5.5,)J"
    R"J( "args": {"Task Type": "AI_VECTOR_CORE"}}, {"ph": "s", "cat": "HostToDevice", "id": "9",)J"
    R"J( "ts": "1736408883704600"}, {"ph": "f", "cat": "HostToDevice", "id": "9", "ts":)J"
    R"J( "1736408883704643.212"}])J";
const char* const kOwn =
    R"J({"traceEvents": [{"ph": "X", "cat": "host", "name": "launch mm", "ts": 0, "dur": 1},)J"
    R"J( {"ph": "X", "cat": "linear", "name": "mm", "ts": 1, "dur": 3.5, "args": {"label":)J"
    R"J( "wte [matrix bf16 batch=1 m=64 n=64 k=64 read=16384 write=8192]", "limiter": "compute",)J"
    R"J( "flop": 524288.0, "byte": 24576}}], "displayTimeUnit": "ns"})J";

// Everything that is made of what was read.
Result<void> analyse_all(Profile profile, Rank rank) {
  std::ranges::stable_sort(rank.kernels, {}, &profiler::Kernel::start_ns);
  profile.ranks.push_back(std::move(rank));
  static const DeviceProfile device = *load_profile("ascend_910b3");
  AnalysisOptions options;
  options.device = &device;
  NB_TRY(const Analysis analysis, analyse(profile, options));
  text_of(analysis, Language::kZh);
  NB_TRY(const std::string json, dump_json(json_of(analysis, Language::kEn)));
  return {};
}

Result<void> fuzz_table(const char* table, std::string_view bytes) {
  Profile profile;
  Rank rank;
  std::istringstream stream{std::string(bytes)};
  NB_TRY_VOID(ascend_table_of(table)->read(stream, table, profile, rank));
  return analyse_all(std::move(profile), std::move(rank));
}
Result<void> fuzz_communication(std::string_view bytes) {
  Profile profile;
  Rank rank;
  std::istringstream stream{std::string(bytes)}, again{std::string(bytes)};
  NB_TRY_VOID(read_communication(stream, "communication.json", rank));
  NB_TRY_VOID(read_communication_matrix(again, "communication_matrix.json", rank));
  return analyse_all(std::move(profile), std::move(rank));
}
Result<void> fuzz_trace(std::string_view bytes) {
  Profile profile;
  Rank rank;
  std::istringstream stream{std::string(bytes)};
  NB_TRY_VOID(read_trace(stream, "trace.json", {}, profile, rank));
  return analyse_all(std::move(profile), std::move(rank));
}

}  // namespace

void add_profiler_targets(FuzzTargets& targets) {
  targets.push_back({"profiler.communication", "communication.json of Ascend's profiler", "",
                     fuzz_communication, [] { return Seeds{kCommunication}; }});
  targets.push_back({"profiler.kernels", "kernel_details.csv and op_summary.csv", "",
                     [](std::string_view bytes) { return fuzz_table("kernel_details.csv", bytes); },
                     [] { return Seeds{kKernels}; }});
  targets.push_back(
      {"profiler.memory", "operator_memory.csv", "",
       [](std::string_view bytes) { return fuzz_table("operator_memory.csv", bytes); },
       [] { return Seeds{kMemory}; }});
  targets.push_back(
      {"profiler.steps", "step_trace_time.csv", "",
       [](std::string_view bytes) { return fuzz_table("step_trace_time.csv", bytes); },
       [] { return Seeds{kSteps}; }});
  targets.push_back(
      {"profiler.trace", "traces of PyTorch, Ascend and npubench", "", fuzz_trace, [] {
         return Seeds{kTorch, kAscendTrace, kOwn};
       }});
}

}  // namespace nb::test
