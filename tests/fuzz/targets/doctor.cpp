// harness/doctor: what people capture on a machine and paste into an issue.
#include <nlohmann/json.hpp>

#include "harness/base/gzip.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/inputs.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/machine.hpp"
#include "harness/doctor/rank_table.hpp"
#include "harness/doctor/redact.hpp"
#include "harness/doctor/smi_read.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

using Seeds = std::vector<std::string>;

const char* const kSmi =
    "| npu-smi 24.1.rc1                 Version: 24.1.rc1                                |\n"
    "| NPU   Name                | Health        | Power(W)    Temp(C)           "
    "Hugepages-Usage(page)|\n"
    "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)     "
    "   |\n"
    "+===========================+===============+================================================="
    "===+\n"
    "| 0     910B3               | OK            | 101.8       43                0    / 0          "
    "   |\n"
    "| 0                         | 0000:C1:00.0  | 0           0    / 0          3318 / 65536      "
    "   |\n"
    "+===========================+===============+================================================="
    "===+\n"
    "| NPU     Chip              | Process id    | Process name             | Process memory(MB)   "
    "   |\n"
    "| 0       0                 | 111           | python                   | 37974                "
    "   |\n";
const char* const kTopology =
    "NPU0       X          HCCS       144-167\nNPU1       HCCS       X          0-23\n";
const char* const kDetails =
    "hccn_tool -i 0 -link -g\nlink status: DOWN\nipaddr:10.0.0.1\ntls switch[0](0:disable)\n"
    "net health status: Success\nNPU ID : 1\nHBM Double Bit Error Count : 2\n";
const char* const kScript =
    "#!/bin/bash\nexport ASCEND_RT_VISIBLE_DEVICES=0-3\nexport HCCL_CONNECT_TIMEOUT=7200 # late\n"
    "pip install torch>=2.1.0\ndocker run --device /dev/davinci0 \\\n  image\n"
    "os.environ[\"ASCEND_GLOBAL_LOG_LEVEL\"] = \"1\"\n- name: HCCL_IF_IP\n  value: 127.0.0.1\n"
    "pip install torch==2.7.1 torch_npu-2.7.1-cp311-cp311-linux_aarch64.whl\n"
    "./Ascend-cann-toolkit_7.0.0_linux-aarch64.run --install\n";
const char* const kEnvironment =
    "PATH=/usr/bin\nHOME=/root\nPYTORCH_NPU_ALLOC_CONF=max_split_size_mb:20\n"
    "CPU_AFFINITY_CONF=mode:1,npu0:0-23\nHCCL_WHITELIST_DISABLE=1\n";
const char* const kPackages =
    "Package    Version\n---------- -------\ntorch      2.7.1+cpu\ntorch-npu  2.7.1.post1\n";
const char* const kLog =
    "[ERROR] HCCL(27,python3):2025-07-23-03:47:57.070.463 [x.cc:100] listen on ip[10.0.0.1] and "
    "specific port[16666] fail.\n[rank1]: EI0006: Getting socket times out. remote rank:[5]\n"
    "2026-01-02 11:02:14.201 NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total "
    "capacity; 49.47 GiB already allocated; 1.32 GiB free; 57.55 GiB reserved in total by "
    "PyTorch)\n"
    "EI0015: connected 6 of 8. Failed to connect agent[3,5,].\n"
    "Cluster Exception Location[IP/ID]:[10.0.0.2/3], ExceptionType:[Heartbeat Lost Occurred]\n"
    "EI0002: tag[AllReduce_x]\nTraceback (most recent call last):\nmy.OwnError: x\nEI0077: y\n"
    "rank      : 3 (local_rank: 3)\nexitcode  : -9 (pid: 4312)\n";
const char kUtf16[] =
    "\xFF\xFE"
    "E\0I\0"
    "0\0"
    "0\0"
    "0\0"
    "6\0\n\0";
const char* const kRankTable =
    R"({"status":"completed","version":"1.0","server_count":"1","server_list":[{"server_id":"a",)"
    R"("device":[{"device_id":"0","device_ip":"10.0.0.1","rank_id":"0"}]}]})";

const char* const kTraceback =
    "2026-01-02 11:02:14.201\nTraceback (most recent call last):\n  File \"a/b/c/train.py\", line "
    "3, "
    "in run\n    x()\nqueue.Empty\nterminate called after throwing an instance of 'c10::Error'\n"
    "[ 8123.456789] watchdog: BUG: soft lockup - CPU#12 stuck\n[ERROR] DRV(42,python3): x\n"
    "opData information is timeStamp:[2026-01-02-03:04:05.000.000],deviceId[0]\n"
    "t.py: Assertion `a' failed.\nSegmentation fault (core dumped)\nE1128 11:00:00.1 x failed\n";
const char* const kReport =
    R"({"schema":"npubench.doctor/1","facts":{"cann":"8.5.0"},"checks":[{"id":"VER1","state":"fail",)"
    R"("message":{"id":"VER1","arguments":{"torch":"2.1.0"}},"where":{"file":"a","line":3}}]})";
const char* const kRecord =
    R"({"schema":2,"node_key":"ab","environment":{"versions":{"torch":"2.1.0"},"world_size":8}})";
const char* const kClocks =
    "System time     : 2.5 seconds slow of NTP time\n-P INPUT DROP\nnode1: 1732830000.100000000\n"
    "node2: 1732830003.600000000\n";
const char* const kMegatron =
    "#!/bin/bash\nTP=8\ntorchrun a.py --num-attention-heads 28 --tensor-model-parallel-size "
    "${TP}\n";

Result<void> fuzz_text(std::string_view bytes) {
  const std::string text(bytes);
  doctor::Facts facts;
  facts.set("nodes", "2");
  const doctor::Findings findings = doctor::examine({{"text", text}}, facts);
  const std::string shown = doctor::text_of(findings, Language::kZh, false);
  NB_TRY(const std::string json, dump_json(doctor::json_of(findings, Language::kEn)));
  return {};
}
Result<void> fuzz_script(std::string_view bytes) {
  const doctor::Script script = doctor::read_script(bytes);
  doctor::lint_script(script, {}, "text");
  doctor::pins_of(script);
  return {};
}
Result<void> fuzz_redactor(std::string_view bytes) {
  doctor::Redactor("host7", "lina", "/home/lina").redacted(bytes);
  doctor::listening_ports(bytes);
  return {};
}
Result<void> fuzz_packages(std::string_view bytes) {
  doctor::read_packages(bytes);
  doctor::stated_versions(bytes);
  return {};
}
Result<void> fuzz_smi(std::string_view bytes) {
  doctor::read_smi(bytes);
  doctor::read_topology(bytes);
  doctor::read_card_details(bytes);
  return {};
}
// As a log of two ranks, in pieces, whatever it is.
Result<void> fuzz_log(std::string_view bytes) {
  doctor::LogScan scan;
  for (const char* name : {"rank_0", "rank_1"}) {
    scan.begin(name);
    for (std::size_t at = 0; at < bytes.size(); at += 1000) scan.feed(bytes.substr(at, 1000));
    scan.end();
  }
  const doctor::Diagnosis found = doctor::diagnose(scan.take(), {});
  const std::string shown = doctor::text_of(found, Language::kEn);
  NB_TRY(const std::string json, dump_json(doctor::json_of(found, Language::kEn)));
  return {};
}
// Files, gzip and tar as they are recognised.
Result<void> fuzz_input(std::string_view bytes) {
  const doctor::Inputs inputs = doctor::read_text_input("input", bytes);
  if (!inputs.errors.empty()) return tl::unexpected<Error>(inputs.errors.front());
  doctor::examine(inputs, {});
  return {};
}
Result<void> fuzz_rank_table(std::string_view bytes) {
  NB_TRY(const auto table, doctor::read_rank_table(bytes, "rank table"));
  return {};
}

}  // namespace

void add_doctor_targets(FuzzTargets& targets) {
  targets.push_back({"doctor.any", "any text that doctor takes", "", fuzz_text, [] {
                       return Seeds{kSmi,    kScript, kEnvironment, kPackages, kRankTable,
                                    kReport, kRecord, kClocks,      kMegatron};
                     }});
  targets.push_back({"doctor.input", "files and archives of logs", "", fuzz_input, [] {
                       return Seeds{gzip(kLog), kLog, std::string(kUtf16, sizeof kUtf16 - 1)};
                     }});
  targets.push_back({"doctor.log", "logs of ranks", "", fuzz_log, [] {
                       return Seeds{kLog, kTraceback};
                     }});
  targets.push_back({"doctor.packages", "pip list, pip freeze, collect_env", "", fuzz_packages, [] {
                       return Seeds{kPackages, "torch==2.7.1\nPython version: 3.11.9\n"};
                     }});
  targets.push_back({"doctor.rank_table", "rank tables of HCCL", "", fuzz_rank_table,
                     [] { return Seeds{kRankTable}; }});
  targets.push_back({"doctor.redacted", "texts that are shown to others", "", fuzz_redactor, [] {
                       return Seeds{kEnvironment, kLog, "HF_TOKEN=\"hf_abcdefgh\" fe80::1"};
                     }});
  targets.push_back({"doctor.script", "scripts and guides", "", fuzz_script, [] {
                       return Seeds{kScript, kEnvironment};
                     }});
  targets.push_back({"doctor.smi", "what npu-smi and hccn_tool print", "", fuzz_smi, [] {
                       return Seeds{kSmi, kTopology, kDetails};
                     }});
}

}  // namespace nb::test
