// harness/profiler: what profilers of NPUs and GPUs write.
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/profiler/analysis.hpp"
#include "harness/profiler/fit.hpp"
#include "harness/profiler/open_profile.hpp"
#include "harness/profiler/read_ascend.hpp"
#include "harness/profiler/read_trace.hpp"
#include "harness/profiler/waterfall.hpp"
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
// One of each further table; read_tables() knows them by their header.
const char* const kTables[] = {
    "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg "
    "Time(us)\nMatMulV2,AI_CORE,3,9.5,3,3.1",
    "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\nPTA,17.5,1187.98,1452\n",
    "Component,Timestamp(us),Total Reserved(MB)\nHCCL,17.5,404.06\n",
    "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us)\nacl,aclrtSynchronizeStream,9.5,3,3,1,5",
    "Name,Input Shapes,Host Self Duration(us),Device Self Duration(us)\naten::mm,\"2,3\",1.5,2\n",
    "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,0.5,0.1,aclnnMm_MatMulV2\n2,2,N/A,0,x\n",
    "Device_id,Mode,Max,Min,Average\n0,Tx (MB/s),300.5,0,12.25\n",
    "Device_id,Mode,Min,Max,Avg\n0,Tx_p_avg(MB/s),1,99.6,50\n",
    "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxError rate(%)\n"
    "0,10.000\t,100,1,0.5\n"};
const char* const kCluster[] = {
    ("Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
     "Bubble\n2,rank,0,75,146,7,153,69,291,0\n2,rank,1,70,150,7,157,69,291,0\n2,stage,\"(0, "
     "1)\",75,"
     "150,7,157,69,291,0\n"),
    (R"J({"p2p": {"step2": {"hcom_send__822_0@13": {"0": {"Communication Time Info": {"Elapse Time)J"
     R"J((ms)": 0.9, "Transit Time(ms)": 0.8}, "Communication Bandwidth Info": {"RDMA": {"Transit )J"
     R"J(Size(MB)": 20.9, "Transit Time(ms)": 0.8}}}, "1": {}}}}, "(0, 1)": {"step2": {}}})J"),
    (R"J({"p2p": {"step2": {"hcom_send__822_0@13": {"0-1": {"Transport Type": "RDMA", "Transit )J"
     R"J(Time(ms)": 0.8, "Transit Size(MB)": 20.9}, "0-0": {"Transport Type": "LOCAL"}}}}})J")};
const char* const kInfo =
    R"J({"rank_id": 3, "config": {"common_config": {"with_stack": true, "record_shapes": null},)J"
    R"J( "experimental_config": {"_profiler_level": "Level1"}}, "ENV_VARIABLES":)J"
    R"J( {"ASCEND_LAUNCH_BLOCKING": "1", "HCCL_BUFFSIZE": "120"}, "distributed_info":)J"
    R"J( {"world_size": 16}})J";
const char* const kConstants =
    R"J({"schema": "npubench.calibration/1", "family": "nanochat_npu", "device": "ascend_910b3",)J"
    R"J( "constants": [{"name": "matrix_efficiency", "value": 0.61}, {"name": "host_dispatch",)J"
    R"J( "value": 41000.5}, {"name": "hidden_share", "value": 1}]})J";
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
const char* const kTorchShapes =
    R"J({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 0, "dur": 9,)J"
    R"J( "args": {"External id": 5, "Input Dims": [[16], [8, 4], [4, 16], [], [[2], [3]]], "Input )J"
    R"J(type": ["float", "float", "c10::Half", "Scalar", "TensorList"]}}, {"ph": "X", "cat": )J"
    R"J("kernel", "name": "sgemm", "ts": 20, "dur": 2, "args": {"External id": 5}}]})J";
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
  profile.ranks.push_back(std::move(rank));
  NB_TRY(profile, finished_profile(std::move(profile)));
  static const DeviceProfile device = *load_profile("ascend_910b3");
  AnalysisOptions options;
  options.device = &device;
  NB_TRY(const Analysis analysis, analyse(profile, options));
  text_of(analysis, Language::kZh);
  NB_TRY(const std::string json, dump_json(json_of(analysis, Language::kEn)));
  NB_TRY(const std::string fitted, dump_json(json_of(fit(analysis, device), Language::kEn)));
  if (!refusal(analysis, analysis, {}))
    text_of(waterfall_of(analysis, analysis, {}, 10), Language::kEn);
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

Result<void> fuzz_tables(std::string_view bytes) {
  const AscendTable* table = ascend_table_with(bytes.substr(0, bytes.find('\n')));
  if (table == nullptr) return bad_input("no table of Ascend's profiler");
  return fuzz_table((std::string(table->name) + ".csv").c_str(), bytes);
}
Result<void> fuzz_cluster(std::string_view bytes) {
  Profile profile;
  const std::string text(bytes);
  std::istringstream stream(text);
  const bool is_csv = !text.starts_with('{');
  const bool is_matrix = text.find("Transport Type") != text.npos;
  NB_TRY_VOID(is_csv      ? read_cluster_steps(stream, "cluster_step_trace_time.csv", profile)
              : is_matrix ? read_cluster_matrix(stream, "cluster_matrix.json", profile)
                          : read_cluster_communication(stream, "cluster.json", profile));
  if (profile.ranks.empty()) return {};
  Rank last = std::move(profile.ranks.back());
  profile.ranks.pop_back();
  return analyse_all(std::move(profile), std::move(last));
}
Result<void> fuzz_info(std::string_view bytes) {
  Profile profile;
  Rank rank;
  std::istringstream stream{std::string(bytes)}, again{std::string(bytes)};
  NB_TRY_VOID(read_profiler_info(stream, "profiler_info_0.json", rank));
  NB_TRY_VOID(read_profiler_metadata(again, "profiler_metadata.json", rank));
  return analyse_all(std::move(profile), std::move(rank));
}
Result<void> fuzz_constants(std::string_view bytes) {
  NB_TRY(const Json json, parse_json(std::string(bytes), "my.json"));
  NB_TRY(const Calibration calibration, parse_calibration(json, "my.json"));
  DeviceProfile device = *load_profile("ascend_910b3");
  return apply_calibration(device, calibration, "my.json");
}

}  // namespace

void add_profiler_targets(FuzzTargets& targets) {
  targets.push_back({"profiler.cluster", "output of the cluster analysis", "", fuzz_cluster,
                     [] { return Seeds(std::begin(kCluster), std::end(kCluster)); }});
  targets.push_back({"profiler.communication", "communication.json of Ascend's profiler", "",
                     fuzz_communication, [] { return Seeds{kCommunication}; }});
  targets.push_back({"profiler.constants", "constants of predict --calibration", "", fuzz_constants,
                     [] { return Seeds{kConstants}; }});
  targets.push_back({"profiler.info", "profiler_info_N.json and profiler_metadata.json", "",
                     fuzz_info, [] { return Seeds{kInfo}; }});
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
  targets.push_back({"profiler.tables", "the other tables of Ascend's profiler", "", fuzz_tables,
                     [] { return Seeds(std::begin(kTables), std::end(kTables)); }});
  targets.push_back(
      {"profiler.trace", "traces of PyTorch, Ascend and npubench", "", fuzz_trace, [] {
         return Seeds{kTorch, kTorchShapes, kAscendTrace, kOwn};
       }});
}

}  // namespace nb::test
