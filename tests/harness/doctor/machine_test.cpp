// A machine that is made of files, and what is written about it: fix scripts, bundles,
// explanations.
#include "harness/doctor/machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/doctor/bundle.hpp"
#include "harness/doctor/explain.hpp"
#include "harness/doctor/fix_script.hpp"
#include "harness/doctor/host_name.hpp"
#include "harness/doctor/inputs.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/network.hpp"
#include "harness/doctor/pci.hpp"
#include "tests/harness/doctor/examples.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::doctor {
namespace {

class MadeMachine {
 public:
  void file(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file(folder_.path() / path.substr(1), text).has_value());
  }
  Findings look(std::vector<Setting> environment = {}, Facts given = {}) {
    fs::create_directories(folder_ / "dev/shm");
    fs::create_directories(folder_ / "tmp");
    MachineOptions options;
    options.root = folder_.path();
    options.runs_commands = false;
    options.environment = std::move(environment);
    given.add("context", "train");
    return examine_machine(options, given);
  }
  const test::TempDir& folder() const { return folder_; }

 private:
  test::TempDir folder_;
};

Setting set(const std::string& name, const std::string& value) {
  Setting setting;
  setting.name = name;
  setting.value = value;
  return setting;
}
std::string state_of(const Findings& findings, std::string_view key) {
  for (const Check& check : findings.checks)
    if (check.said.key == key) return std::string(name(check.state));
  return "";
}

TEST(Machine, WithoutACardSaysSoAndSkipsTheRest) {
  MadeMachine machine;
  machine.file("/proc/meminfo", "MemAvailable:   16777216 kB\n");
  const Findings findings = machine.look();
  EXPECT_EQ(state_of(findings, "NPU1.none"), "skip");
  EXPECT_EQ(state_of(findings, "SYS2.pass"), "pass");
  EXPECT_EQ(*findings.facts.find("npu"), "0");
}

TEST(Machine, AContainerThatLacksDeviceNodesIsTold) {
  MadeMachine machine;
  machine.file("/dev/davinci0", "");
  machine.file("/dev/davinci1", "");
  machine.file("/dev/davinci_manager", "");
  machine.file("/dev/devmm_svm", "");
  const Findings findings = machine.look();
  EXPECT_EQ(state_of(findings, "NPU1"), "fail");
  EXPECT_EQ(state_of(findings, "NPU2"), "warn");
  EXPECT_EQ(*findings.facts.find("cards"), "2");
}

TEST(Machine, ReadsDriverToolkitAndPackagesWithoutPython) {
  MadeMachine machine;
  for (const char* node : {"davinci0", "davinci_manager", "devmm_svm", "hisi_hdc"})
    machine.file(std::string("/dev/") + node, "");
  machine.file("/usr/local/Ascend/driver/version.info", "Version=24.1.rc3\n");
  machine.file("/usr/local/Ascend/cann-8.5.0/aarch64-linux/ascend_toolkit_install.info",
               "package_name=Ascend-cann-toolkit\nversion=8.5.0\n");
  machine.file("/opt/env/lib/python3.11/site-packages/torch-2.12.0.dist-info/METADATA", "");
  machine.file("/opt/env/lib/python3.11/site-packages/torch_npu-2.8.0.post2.dist-info/METADATA",
               "");
  machine.file("/opt/env/lib/python3.11/site-packages/torch/version.py", "cuda = '12.4'\n");
  const Findings findings = machine.look({set("VIRTUAL_ENV", "/opt/env"), set("PATH", "/usr/bin")});
  EXPECT_EQ(*findings.facts.find("cann"), "8.5.0");
  EXPECT_EQ(*findings.facts.find("hdk"), "24.1.RC3");
  EXPECT_EQ(state_of(findings, "VER1"), "fail");
  EXPECT_EQ(state_of(findings, "VER3"), "fail");
  EXPECT_EQ(state_of(findings, "VER9"), "fail");
  EXPECT_EQ(state_of(findings, "ENV040"), "fail") << "set_env.sh was not sourced";
  EXPECT_EQ(exit_code(findings, false), 1);
}

TEST(Machine, PortsAndNamesThatOtherNodesCannotUse) {
  MadeMachine machine;
  machine.file("/proc/net/tcp",
               "  sl  local_address rem_address   st\n"
               "   0: 00000000:733C 00000000:0000 0A 00000000:00000000\n"
               "   1: 0100007F:EA60 00000000:0000 01 00000000:00000000\n");
  machine.file("/etc/hostname", "node7\n");
  machine.file("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 node7\n");
  Facts facts;
  facts.set("nodes", "2");
  const Findings findings = machine.look({}, facts);
  EXPECT_EQ(state_of(findings, "SYS10"), "fail") << "29500 listens";
  EXPECT_EQ(state_of(findings, "SYS8"), "fail");
}

// The sources of nsswitch.conf in their order; a server of names is named and not asked.
TEST(Machine, ItsNameIsWhatItsResolverMakesOfIt) {
  const std::vector<NetworkCard> cards = {{"lo", {"127.0.0.1"}}, {"eth0", {"fe80::1", "10.0.0.4"}}};
  const auto resolved = [&](const char* nsswitch, const char* hosts,
                            const std::vector<NetworkCard>& interfaces) {
    const HostAddress found = resolve_host_name("node7", nsswitch, hosts, interfaces);
    return found.state == HostAddress::kFound    ? found.address + " by " + found.source
           : found.state == HostAddress::kServer ? "server " + found.source
                                                 : std::string("none");
  };
  const char* hosts = "# 9.9.9.9 node7\n127.0.0.1\tlocalhost\n10.0.0.7 node7.lab node7 # ours\n";
  EXPECT_EQ(resolved("", hosts, cards), "10.0.0.7 by /etc/hosts");
  EXPECT_EQ(resolved("hosts: files myhostname", "127.0.1.1 node7\n", cards),
            "127.0.1.1 by /etc/hosts");
  EXPECT_EQ(resolved("hosts: myhostname files", hosts, cards), "10.0.0.4 by myhostname");
  EXPECT_EQ(resolved("hosts: files myhostname", "", {}), "127.0.0.2 by myhostname");
  EXPECT_EQ(resolved("passwd: files\n", "", cards), "server dns");
  EXPECT_EQ(resolved("hosts: files mdns4_minimal [NOTFOUND=return] dns", "", cards),
            "server mdns4_minimal");
  EXPECT_EQ(resolved("hosts: files", "", cards), "none");

  MadeMachine machine;
  machine.file("/etc/hostname", "node7\n");
  machine.file("/etc/hosts", "127.0.0.1 localhost\n");
  machine.file("/etc/nsswitch.conf", "hosts: files\n");
  Facts facts;
  EXPECT_EQ(state_of(machine.look({}, facts), "SYS8.none"), "") << "one node asks for nobody";
  facts.set("nodes", "2");
  EXPECT_EQ(state_of(machine.look({}, facts), "SYS8.none"), "fail");
  machine.file("/etc/nsswitch.conf", "hosts: files dns\n");
  EXPECT_EQ(state_of(machine.look({}, facts), "SYS8.server"), "unknown");
}

// Huawei's network cards and the board's own screen are on the bus of servers without a card.
TEST(Machine, OnlyAcceleratorsOnTheBusAreCards) {
  MadeMachine machine;
  machine.file("/sys/bus/pci/devices/0000:04:00.0/vendor", "0x19e5\n");
  machine.file("/sys/bus/pci/devices/0000:04:00.0/class", "0x030000\n");
  EXPECT_EQ(state_of(machine.look(), "NPU1.none"), "skip");
  for (const char* at : {"c1", "c2"}) {
    const std::string device = fmt::format("/sys/bus/pci/devices/0000:{}:00.0/", at);
    machine.file(device + "vendor", "0x19e5\n");
    machine.file(device + "class", "0x120000\n");
  }
  EXPECT_EQ(state_of(machine.look(), "NPU1"), "fail") << "no device node";
  for (const char* node : {"davinci0", "davinci_manager", "devmm_svm", "hisi_hdc"})
    machine.file(std::string("/dev/") + node, "");
  EXPECT_EQ(state_of(machine.look(), "NPU1.bus"), "note");
}

TEST(Machine, PastedListOfTheBusIsRead) {
  const std::string named =
      "04:00.0 VGA compatible controller: Huawei Technologies Co., Ltd. Hi171x Series [iBMC] (rev "
      "01)\n"
      "c1:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)\n"
      "c2:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)\n";
  const std::string numbers =
      "0000:04:00.0 0300: 19e5:1711 (rev 01)\n0000:c1:00.0 1200: 19e5:d801 (rev 20)\n";
  const std::string both =
      "c1:00.0 Processing accelerators [1200]: Huawei Technologies Co., Ltd. Device [19e5:d500] "
      "(rev 23)\n";
  EXPECT_EQ(ascend_cards(named), (std::map<std::string, int>{{"d802", 2}}));
  EXPECT_EQ(ascend_cards(numbers), (std::map<std::string, int>{{"d801", 1}}));
  EXPECT_EQ(ascend_cards(both), (std::map<std::string, int>{{"d500", 1}}));
  const Findings findings = examine({{"a.txt", named}}, {});
  ASSERT_EQ(findings.recognized.at(0).kinds, std::vector<std::string>{"lspci"});
  EXPECT_EQ(state_of(findings, "NPU1.pci"), "pass");
  EXPECT_EQ(*findings.facts.find("npu"), "1");
  const Findings none = examine({{"a.txt", named.substr(0, named.find("c1:"))}}, {});
  EXPECT_EQ(state_of(none, "NPU1.none"), "skip");
}

TEST(Machine, MemoryThatIsTooLittleForTheRanks) {
  MadeMachine machine;
  machine.file("/proc/meminfo", "MemAvailable:   1048576 kB\n");
  Facts facts;
  facts.set("ranks", "8");
  EXPECT_EQ(state_of(machine.look({}, facts), "SYS2"), "warn");
  facts.set("plan_memory_bytes", "2000000000");
  EXPECT_EQ(state_of(machine.look({}, facts), "SYS2.plan"), "fail");
}

// npu-smi and hccn_tool of this test's own, first in PATH.
class MadeCommands {
 public:
  void command(const std::string& name, const std::string& script) {
    const fs::path file = folder_ / name;
    ASSERT_TRUE(write_file(file, "#!/bin/sh\n" + script).has_value());
    fs::permissions(file, fs::perms::owner_all);
  }
  MadeCommands() : path_(std::getenv("PATH")) {
    setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~MadeCommands() { setenv("PATH", path_.c_str(), 1); }

 private:
  test::TempDir folder_;
  std::string path_;
};

Findings look_with_commands(const MadeMachine& machine) {
  MachineOptions options;
  options.root = machine.folder().path();
  return examine_machine(options, {});
}

TEST(Machine, AsksForMemoryErrorsAndLinksOfEachCard) {
  MadeMachine machine;
  for (const char* node : {"davinci0", "davinci_manager", "devmm_svm", "hisi_hdc"})
    machine.file(std::string("/dev/") + node, "");
  MadeCommands commands;
  commands.command(
      "npu-smi",
      "case \"$*\" in\n*ecc*) echo 'HBM Double Bit Error Count : 2';;\n*topo*) ;;\n*) cat <<'E'\n"
      "| npu-smi 25.2.0                   Version: 25.2.0                                |\n"
      "| 0     910B3               | OK            | 101.8       43                0    / 0  |\n"
      "| 0                         | 0000:C1:00.0  | 0           0    / 0          3318 / 65536 |\n"
      "E\n;;\nesac\n");
  commands.command("hccn_tool", "case \"$*\" in *-link*) echo 'link status: DOWN';; esac\n");
  const Findings findings = look_with_commands(machine);
  EXPECT_EQ(*findings.facts.find("hdk"), "25.2.0");
  EXPECT_EQ(state_of(findings, "NPU7"), "fail");
  EXPECT_EQ(state_of(findings, "NPU8.down"), "fail");
  EXPECT_NE(findings.command_output.find("hccn_tool -i 0 -link -g\nlink status: DOWN\n"),
            std::string::npos);
  Redactor redactor("node7", "lina", "/home/lina");
  const Bundle bundle = make_bundle(findings, {set("TASK_QUEUE_ENABLE", "0")}, {}, redactor);
  EXPECT_EQ(bundle.files.count("npu-smi.txt"), 1U);
  EXPECT_EQ(bundle.files.at("environment.txt"), "TASK_QUEUE_ENABLE=0\n");
}

TEST(Machine, CardsThatNpuSmiCannotOpenAreAFailure) {
  MadeMachine machine;
  machine.file("/dev/davinci0", "");
  MadeCommands commands;
  commands.command("npu-smi", "echo 'dcmi module initialize failed. ret is -8005'\nexit 255\n");
  EXPECT_EQ(state_of(look_with_commands(machine), "NPU4.refused"), "fail");
}

TEST(Machine, IsLookedAtInLessThanAThirdOfASecond) {
  MachineOptions options;
  options.runs_commands = false;
  options.environment = own_environment();
  const auto begin = std::chrono::steady_clock::now();
  examine_machine(options, {});
  const auto first = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(first, std::chrono::milliseconds(300));
}

TEST(Network, HcclTakesWhatItsVariablesSay) {
  const std::vector<NetworkCard> cards = {{"docker0", {"172.17.0.1"}},
                                          {"enp189s0f0", {"10.0.0.4"}},
                                          {"eth0", {"10.0.0.5"}},
                                          {"lo", {"127.0.0.1"}}};
  const auto card = [&](const char* ip, const char* name) {
    const auto choice = hccl_choice(cards, ip, name);
    return choice ? choice->card + " " + choice->address : "none";
  };
  EXPECT_EQ(card("", ""), "enp189s0f0 10.0.0.4");
  EXPECT_EQ(card("", "eth"), "eth0 10.0.0.5");
  EXPECT_EQ(card("", "=eth0"), "eth0 10.0.0.5");
  EXPECT_EQ(card("", "^enp"), "eth0 10.0.0.5");
  EXPECT_EQ(card("", "^=eth0,docker0"), "enp189s0f0 10.0.0.4");
  EXPECT_EQ(card("10.0.0.5", "enp"), "eth0 10.0.0.5");
  EXPECT_EQ(card("10.9.9.9", ""), "none");
}

// ---- fix scripts

TEST(FixScript, WhatItMendsIsNotFoundAgain) {
  for (const EnvironmentRow& row : environment_rows()) {
    if (row.rule.empty() || row.example.find("$ ") != row.example.npos) continue;
    Findings findings;
    findings.checks = test::found_in_example(row.example);
    const std::string script = fix_script(findings);
    // What a shell would do with it.
    std::string after = row.example;
    const auto own = std::find_if(findings.checks.begin(), findings.checks.end(),
                                  [&](const Check& c) { return c.id == row.rule; });
    ASSERT_NE(own, findings.checks.end());
    if (own->value.empty()) continue;  // about a variable that is not set, or empty
    const bool unsets = script.find("\nunset " + own->variable + "\n") != script.npos;
    const std::size_t exported = script.find("\nexport " + own->variable + "=");
    EXPECT_TRUE(unsets || exported != script.npos) << row.rule << "\n" << script;
    if (exported == script.npos) continue;
    const std::size_t begin = exported + 9 + own->variable.size();
    std::string value = script.substr(begin, script.find('\n', begin) - begin);
    std::erase(value, '\'');
    const std::string facts =
        row.example.starts_with("[") ? row.example.substr(0, row.example.find(']') + 2) : "";
    for (const Check& check : test::found_in_example(facts + own->variable + "=" + value))
      EXPECT_NE(check.id, row.rule) << value;
  }
}

TEST(FixScript, OnlyItsOwnCommandsAreNoComments) {
  Findings findings;
  Check check;
  check.id = "ENV020";
  check.group = "environment";
  check.state = State::kFail;
  check.variable = "ASCEND_RT_VISIBLE_DEVICES";
  check.value = "0\nrm -rf x";
  check.said = {"ENV020", {{"rest", "a\nrm -rf b"}, {"n", "1"}, {"m", "2"}}};
  findings.checks = {check};
  const std::string script = fix_script(findings);
  for (std::size_t at = 0; at < script.size();) {
    const std::size_t end = script.find('\n', at);
    const std::string line = script.substr(at, end - at);
    at = end + 1;
    EXPECT_TRUE(line.empty() || line.starts_with("#") || line == "unset ASCEND_RT_VISIBLE_DEVICES")
        << line;
  }
}

// ---- what is shown to others

TEST(Redactor, SecretsGoAndEqualStaysEqual) {
  Redactor redactor("node7", "lina", "/home/lina");
  EXPECT_EQ(redactor.redacted("HF_TOKEN=hf_abcdefgh12345 PATH=/home/lina/bin"),
            "HF_TOKEN=(removed) PATH=~/bin");
  EXPECT_EQ(redactor.redacted("Authorization: Bearer abc.def"), "Authorization: (removed)");
  EXPECT_EQ(redactor.redacted("MY_PASSWORD=\"a b c\" x"), "MY_PASSWORD=(removed) x");
  EXPECT_EQ(redactor.redacted("using sk-abcdefghijkl and ghp_abcdefghijkl"),
            "using (removed) and (removed)");
  EXPECT_EQ(redactor.redacted("https://lina:geheim@host/x"), "https://(removed)@host/x");
  EXPECT_EQ(redactor.redacted("node7 10.0.0.4 to 10.0.0.5, again 10.0.0.4"),
            "host1 ip1 to ip2, again ip1");
  EXPECT_EQ(redactor.redacted("127.0.0.1:29500 0.0.0.0"), "127.0.0.1:29500 0.0.0.0");
  EXPECT_EQ(redactor.redacted("mail a.b@example.org"), "mail mail1");
  EXPECT_EQ(redactor.redacted("aa:bb:cc:dd:ee:ff at 11:48:12, bus 0000:C1:00.0"),
            "mac1 at 11:48:12, bus 0000:C1:00.0");
  EXPECT_EQ(redactor.redacted("fe80::a8bb:ccff:fedd:eeff"), "ip3");
  EXPECT_EQ(redactor.redacted("Serial Number : 2102312SAMPLE"), "Serial Number : serial1");
  EXPECT_EQ(redactor.redacted("/home/otto/x, version 2.7.1.post1, 8.3.RC1"),
            "/home/user1/x, version 2.7.1.post1, 8.3.RC1");
  const std::string much = std::string(2 << 20, 'x') + " a: " + std::string(100000, '=') + "\n";
  EXPECT_TRUE(
      redactor.redacted(much + "HF_TOKEN=hf_abcdefgh12345").ends_with("HF_TOKEN=(removed)"));
  for (const auto& [original, by] : redactor.replaced())
    EXPECT_EQ(original.find("geheim"), original.npos);
}

TEST(Bundle, SaysTheSameAsTheMachineItCameFrom) {
  MadeMachine machine;
  machine.file("/dev/davinci0", "");
  machine.file("/logs/rank_0.txt", "2026-01-02 11:04:14.301 EI0006: Getting socket times out.\n");
  machine.file("/logs/rank_1.txt",
               "2026-01-02 11:02:14.201 OSError: [Errno 28] No space left on device 10.0.0.9\n");
  const std::vector<Setting> environment = {set("HCCL_CONNECT_TIMEOUT", "60"),
                                            set("HF_TOKEN", "hf_abcdefgh12345")};
  const std::string logs = machine.folder() / "logs";
  Findings findings = machine.look(environment);
  const Inputs inputs = read_inputs({logs});
  findings.diagnosis = diagnose(inputs.log, {});
  Redactor redactor("node7", "lina", machine.folder().path());
  const Bundle bundle = make_bundle(findings, environment, {logs}, redactor);
  EXPECT_EQ(bundle.files.count("environment.txt"), 1U);
  EXPECT_EQ(bundle.files.at("environment.txt"), "HCCL_CONNECT_TIMEOUT=60\n");
  EXPECT_NE(list_text(bundle).find("doctor.json"), std::string::npos);
  const std::string bytes = bundle_bytes(bundle);
  EXPECT_EQ(bytes, bundle_bytes(make_bundle(findings, environment, {logs}, redactor)));
  for (const auto& [name, text] : bundle.files) EXPECT_EQ(text.find("hf_abc"), text.npos) << name;
  const Findings again = examine(read_text_input("bundle.tar.gz", bytes), {});
  const auto said = [](const Findings& all) {
    std::vector<std::string> texts;
    for (const Check& check : all.checks)
      texts.push_back(check.id + std::string(name(check.state)));
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_EQ(said(again), said(findings));
  ASSERT_EQ(again.diagnosis.roots.size(), 1U);
  EXPECT_EQ(again.diagnosis.roots[0].event.code, "NO_SPACE");
  EXPECT_EQ(again.diagnosis.roots[0].event.rank, "1");
  EXPECT_EQ(again.diagnosis.chain.at(0).equals, "HCCL_CONNECT_TIMEOUT");
}

// ---- along the verb

SubprocessResult doctor(std::vector<std::string> arguments) {
  std::vector<std::string> argv = {NB_BINARY_DIR "/npubench", "doctor"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto result = run_subprocess(argv);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

TEST(DoctorVerb, TellsWhatAFileIsAndEndsWithItsCode) {
  const test::TempDir folder;
  const std::string script = folder / "any.name";
  ASSERT_TRUE(write_file(script, "#!/bin/bash\nexport HCCL_CONNECT_TIMEOUT=60\n").has_value());
  const auto wrong = doctor({script});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.out.find(script + ": script or guide\n"), std::string::npos) << wrong.out;
  EXPECT_NE(wrong.out.find("FAIL  ENV130 HCCL_CONNECT_TIMEOUT=60: outside 120 to 7200 s (" +
                           script + ":2)\n"),
            std::string::npos)
      << wrong.out;
  ASSERT_TRUE(write_file(script, "#!/bin/bash\nexport TASK_QUEUE_ENABLE=0\n").has_value());
  EXPECT_EQ(doctor({script}).exit_code, 0);
  EXPECT_EQ(doctor({script, "--strict"}).exit_code, 2);
  EXPECT_EQ(doctor({script, "--context", "debug", "--strict"}).exit_code, 0);
  EXPECT_EQ(doctor({"no/such/file"}).exit_code, 4);
  EXPECT_EQ(doctor({"--versions", "torch"}).exit_code, 64);
  EXPECT_EQ(doctor({"--explain", "HCCL_EXEC_TIMEOT"}).exit_code, 64);
}

TEST(DoctorVerb, JsonIsTheSameEachTime) {
  const auto once = doctor({"--versions", "torch=2.12.0,torch_npu=2.8.0.post2", "--json"});
  EXPECT_EQ(once.exit_code, 1);
  EXPECT_EQ(once.out, doctor({"--versions", "torch=2.12.0,torch_npu=2.8.0.post2", "--json"}).out);
  const Json json = Json::parse(once.out);
  EXPECT_EQ(json["schema"], "npubench.doctor/1");
  EXPECT_EQ(json["source"], "captured");
  EXPECT_EQ(json["checks"][0]["id"], "VER1");
  EXPECT_EQ(json["checks"][0]["state"], "fail");
  EXPECT_EQ(json["checks"][0]["sentence"],
            "torch_npu 2.8.0.post2 is built for torch 2.8.0; torch 2.12.0 is installed");
  EXPECT_EQ(json["checks"][0]["remedy"], "pip install torch==2.8.0");
  EXPECT_EQ(json["counts"]["fail"], 1);
}

TEST(DoctorVerb, SpeaksChinese) {
  const auto said = doctor({"--versions", "torch=2.12.0,torch_npu=2.8.0.post2", "--lang", "zh"});
  EXPECT_NE(said.out.find("torch_npu 2.8.0.post2 对应 torch 2.8.0，而安装的是 torch 2.12.0"),
            std::string::npos)
      << said.out;
}

TEST(DoctorVerb, ReadsBackWhatSmiPrints) {
  const test::TempDir folder;
  for (const char* device : {"ascend_910b3", "ascend_910c"}) {
    const auto smi = run_subprocess(
        {NB_BINARY_DIR "/npubench", "smi", "--device", device, "--results-dir", folder.path()});
    ASSERT_TRUE(smi) << smi.error().message;
    const std::string file = folder / "smi";
    ASSERT_TRUE(write_file(file, smi->out).has_value());
    const Json json = Json::parse(doctor({file, "--json"}).out);
    EXPECT_EQ(json["facts"]["cards"], std::string(device) == "ascend_910c" ? "16" : "8");
    EXPECT_EQ(json["facts"]["hdk"], "25.3.RC1");
  }
}

SubprocessResult under_mask(const std::string& mask, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {NB_BINARY_DIR "/npubench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  SubprocessOptions options;
  options.environment = {{"ASCEND_RT_VISIBLE_DEVICES", mask}};
  auto result = run_subprocess(argv, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

TEST(DoctorVerb, RunAndSmiReadTheMaskAsTheRuntimeDoes) {
  const test::TempDir folder;
  const auto seen = [&](const std::string& mask) {
    const auto smi = under_mask(mask, {"smi", "--device", "ascend_910b3", "--json"});
    return smi.exit_code == 0 ? static_cast<int>(Json::parse(smi.out)["chips"].size())
                              : -smi.exit_code;
  };
  EXPECT_EQ(seen("0,1,2,3"), 4);
  EXPECT_EQ(seen("0-3"), 1);
  EXPECT_EQ(seen("1,3,8"), 2);
  EXPECT_EQ(seen("3,2"), -64);
  const auto run =
      under_mask("3,2", {"run", "tests/e2e/small.json", "--results-dir", folder.path()});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_NE(
      run.err.find("npubench: ASCEND_RT_VISIBLE_DEVICES=3,2: ids must ascend; otherwise EE2002 "
                   "and the process has no device at all (ENV021); sort the ids\n"),
      std::string::npos)
      << run.err;
}

TEST(DoctorVerb, APlanAsksForItsMemoryAndDisk) {
  const test::TempDir folder;
  const auto plan = doctor({"--plan", "tests/e2e/small.json", "--results-dir", folder.path(),
                            "--no-commands", "--json"});
  const Json json = Json::parse(plan.out);
  EXPECT_TRUE(json["facts"].contains("plan_memory_bytes")) << plan.out;
  EXPECT_EQ(json["source"], "machine");
  EXPECT_EQ(doctor({"--plan", "no/such/suite.json"}).exit_code, 64);
}

TEST(DoctorVerb, ReadsTheRealTablesOfNpuSmi) {
  NB_NEEDS_DATA();
  const fs::path folder = test::data_dir() / "imports" / "smi_and_collectives";
  const Findings all = examine(read_inputs({folder / "modelscope__ms-swift"}), {});
  EXPECT_EQ(*all.facts.find("cards"), "8");
  EXPECT_EQ(*all.facts.find("hdk"), "24.1.RC1");
  EXPECT_EQ(*all.facts.find("card"), "910B3");
  EXPECT_EQ(all.facts.affinity.at(4), "0-23");
  EXPECT_EQ(state_of(all, "NPU4.pass"), "pass");
  EXPECT_EQ(state_of(all, "NPU6.pass"), "pass");
  const Findings a3 = examine(
      read_inputs({folder / "vllm-project__vllm-ascend" / "issue4989_npu-smi_info_A3.txt"}), {});
  EXPECT_EQ(*a3.facts.find("cards"), "3");
}

TEST(Explain, KnowsEachRowAndItsCode) {
  for (const SignatureRow& row : signature_rows())
    EXPECT_TRUE(explain_text(row.id, Language::kZh).has_value()) << row.id;
  for (const EnvironmentRow& row : environment_rows())
    EXPECT_TRUE(explain_text(row.rule.empty() ? row.variable : row.rule, Language::kEn).has_value())
        << row.variable;
  for (const char* name :
       {"EI0006", "507015", "ERR02200", "ENV052", "HCCL_EXEC_TIMEOUT", "VER3", "EI0099"})
    EXPECT_TRUE(explain_json(name).has_value()) << name;
  EXPECT_EQ(explain_text("nothing at all", Language::kEn).error().message,
            "nothing is known of \"nothing at all\"");
}

}  // namespace
}  // namespace nb::doctor
