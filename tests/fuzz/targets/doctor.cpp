// harness/doctor: what people capture on a machine and paste into an issue.
#include <nlohmann/json.hpp>

#include "harness/doctor/examine.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/rank_table.hpp"
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
const char* const kRankTable =
    R"({"status":"completed","version":"1.0","server_count":"1","server_list":[{"server_id":"a",)"
    R"("device":[{"device_id":"0","device_ip":"10.0.0.1","rank_id":"0"}]}]})";

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
Result<void> fuzz_rank_table(std::string_view bytes) {
  NB_TRY(const auto table, doctor::read_rank_table(bytes, "rank table"));
  return {};
}

}  // namespace

void add_doctor_targets(FuzzTargets& targets) {
  targets.push_back({"doctor.any", "any text that doctor takes", "", fuzz_text, [] {
                       return Seeds{kSmi, kScript, kEnvironment, kPackages, kRankTable};
                     }});
  targets.push_back({"doctor.packages", "pip list, pip freeze, collect_env", "", fuzz_packages, [] {
                       return Seeds{kPackages, "torch==2.7.1\nPython version: 3.11.9\n"};
                     }});
  targets.push_back({"doctor.rank_table", "rank tables of HCCL", "", fuzz_rank_table,
                     [] { return Seeds{kRankTable}; }});
  targets.push_back({"doctor.script", "scripts and guides", "", fuzz_script, [] {
                       return Seeds{kScript, kEnvironment};
                     }});
  targets.push_back({"doctor.smi", "what npu-smi and hccn_tool print", "", fuzz_smi, [] {
                       return Seeds{kSmi, kTopology, kDetails};
                     }});
}

}  // namespace nb::test
