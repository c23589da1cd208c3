// The cases of versions: which combinations are right, which are not, and by which rule.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/fs.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/rank_table.hpp"
#include "harness/doctor/version_number.hpp"
#include "harness/doctor/version_rules.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::doctor {
namespace {

// "VER1 fail, VER6 pass": what the rules say of the versions.
std::string said_of(const std::string& versions) {
  const auto parsed = parse_versions(versions);
  if (!parsed) return parsed.error().message;
  Facts facts;
  for (const FoundVersion& one : *parsed) facts.set(one.component, one.version);
  std::string said;
  for (const Check& check : check_versions(facts, ""))
    said += (said.empty() ? "" : ", ") + check.id + " " + std::string(name(check.state));
  return said;
}

TEST(Versions, OfTheKnownCases) {
  EXPECT_EQ(said_of("torch=2.12.0,torch_npu=2.8.0.post2"), "VER1 fail");
  EXPECT_EQ(said_of("torch=2.7.1,torch_npu=2.7.1.post1,cann=8.3.RC2,vllm_ascend=0.11.0rc3"),
            "VER1 pass, VER2 pass, VER6 pass");
  EXPECT_EQ(said_of("torch=2.6.0,torch_npu=2.6.0,cann=8.3.RC1"), "VER1 pass, VER2 note");
  EXPECT_EQ(said_of("torch=2.1.0,torch_npu=2.1.0,cann=7.0.0,python=3.9"),
            "VER1 pass, VER2 pass, VER4 pass");
  EXPECT_EQ(said_of("torch_npu=2.12.0,cann=8.5.0"), "VER2 warn");
  EXPECT_EQ(said_of("torch_npu=2.7.1,cann=8.0.RC1"), "VER2 fail");
  EXPECT_EQ(said_of("cann=8.5.0,hdk=24.1.RC3"), "VER3 fail");
  EXPECT_EQ(said_of("cann=8.5.0,hdk=25.2.1"), "VER3 note");
  EXPECT_EQ(said_of("cann=8.5.0,hdk=25.5.0"), "VER3 pass");
  EXPECT_EQ(said_of("torch=2.6.0,python=3.12"), "VER4 fail");
  EXPECT_EQ(said_of("torch=2.7.1,python=3.12"), "VER4 warn");
  EXPECT_EQ(said_of("torch=2.7.1+cpu,python=3.11.9"), "VER4 pass");
  EXPECT_EQ(said_of("torch_npu=2.1.0.post3,cann=8.0.RC1"), "VER2 warn");
  EXPECT_EQ(said_of("numpy=2.0.1,cann=8.1.RC1"), "VER5 fail");
  EXPECT_EQ(said_of("numpy=1.26.4,cann=8.1.RC1"), "VER5 pass");
  EXPECT_EQ(said_of("torch_npu=2.7.1.post1,cann=8.3.RC1"), "VER2 warn");
}

TEST(Versions, ARowOfAnotherBuildWarns) {
  EXPECT_EQ(said_of("torch=2.7.1,torch_npu=2.7.1,vllm_ascend=0.11.0rc3,vllm=0.11.0"),
            "VER1 pass, VER6 warn");
  EXPECT_EQ(said_of("torch=2.5.1,vllm_ascend=0.11.0rc3"), "VER6 fail");
}

TEST(Versions, OfTheGuides) {
  NB_NEEDS_DATA();
  for (const auto& [start, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"001", "VER6 warn"}, {"004", "VER1 pass, VER11 pass, VER2 pass, VER4 pass"}}) {
    for (const auto& entry : fs::directory_iterator(test::data_dir() / "guides")) {
      const std::string file = entry.path().filename();
      if (!file.starts_with(start)) continue;
      const Findings findings = examine({{file, read_file(entry.path()).value()}}, {});
      std::vector<std::string> said;
      for (const Check& check : findings.checks)
        if (check.group == "versions" && (start == "004" || check.state != State::kPass))
          said.push_back(check.id + " " + std::string(name(check.state)));
      std::sort(said.begin(), said.end());
      std::string all;
      for (const std::string& one : said) all += (all.empty() ? "" : ", ") + one;
      EXPECT_EQ(all, wanted) << file;
    }
  }
}

std::string found_in(const std::string& text) {
  std::string said;
  for (const Check& check : examine({{"text", text}}, {}).checks)
    said += (said.empty() ? "" : "; ") + check.id + " " + std::string(name(check.state)) + ": " +
            sentence_of(check.said) + " | " + remedy_of(check.said);
  return said;
}

TEST(Texts, BatchesOfNanochatMustDivide) {
  EXPECT_EQ(
      found_in("#!/bin/bash\ntorchrun --standalone --nproc_per_node=6 -m scripts.base_train -- "
               "--device_batch_size=16\n"),
      "PORT1 fail: a step of 524288 tokens is no multiple of 2048 tokens x 6 ranks, whatever the "
      "batch | --total_batch_size=589824");
  EXPECT_EQ(
      found_in("#!/bin/bash\ntorchrun --nproc_per_node=8 -m scripts.base_train -- "
               "--device_batch_size=12\n"),
      "PORT1 fail: a step of 524288 tokens is no multiple of 12 rows x 2048 tokens x 8 ranks = "
      "196608 | --device_batch_size=8, or --total_batch_size=589824");
  EXPECT_EQ(found_in("#!/bin/bash\ntorchrun --nproc_per_node=8 -m scripts.base_train -- "
                     "--device_batch_size=16\n")
                .substr(0, 10),
            "PORT1 pass");
}

TEST(Texts, HeadsAndLayersMustDivide) {
  const std::string script =
      "#!/bin/bash\nTP=8\nPP=4\nGPT_ARGS=\"\n  --tensor-model-parallel-size ${TP} \\\n"
      "  --pipeline-model-parallel-size $PP \\\n  --num-layers 32 \\\n"
      "  --num-attention-heads 28 \\\n\"\ntorchrun pretrain_gpt.py $GPT_ARGS\n";
  EXPECT_EQ(found_in(script),
            "PORT1 fail: 28 heads on 8 ranks of tensor parallelism: no whole number each | a "
            "--tensor-model-parallel-size that divides 28");
  EXPECT_EQ(found_in("#!/bin/bash\ntorchrun pretrain_gpt.py --num-layers=32 "
                     "--pipeline-model-parallel-size=3\n"),
            "PORT1 fail: 32 layers on 3 stages of the pipeline: no whole number each | a "
            "--pipeline-model-parallel-size that divides 32");
  EXPECT_EQ(found_in("#!/bin/bash\ntorchrun pretrain_gpt.py --num-layers=32 "
                     "--pipeline-model-parallel-size=3 --num-layer-list 10,11,11\n"),
            "");
}

TEST(Texts, ClocksOfHostsAreCompared) {
  EXPECT_EQ(found_in("node1: 1732830000.100000000\nnode2: 1732830003.600000000\n").substr(0, 60),
            "SYS11 warn: the clocks of node1 and node2 are 3.5 s apart: t");
  EXPECT_EQ(found_in("node1: 1732830000.100000000\nnode2: 1732830000.600000000\n").substr(0, 10),
            "SYS11 pass");
}

TEST(Texts, ClocksAndFirewalls) {
  EXPECT_EQ(found_in("System time     : 2.500000 seconds slow of NTP time\n").substr(0, 41),
            "SYS11 warn: the clock is 2.500000 s off: ");
  EXPECT_EQ(found_in("System clock synchronized: no\n").substr(0, 10), "SYS11 warn");
  EXPECT_EQ(found_in("-P INPUT DROP\n-P FORWARD ACCEPT\n").substr(0, 10), "SYS12 note");
}

TEST(Texts, ARankTableIsComparedWithTheCards) {
  const std::string table =
      R"({"status":"completed","version":"1.0","server_count":"1","server_list":[{"server_id":"a",)"
      R"("device":[{"device_id":"0","device_ip":"10.0.0.1","rank_id":"0"}]}]})";
  const auto said = [&](const std::string& address) {
    std::string text;
    for (const Check& check :
         examine({{"table", table}, {"cards", "hccn_tool -i 0 -ip -g\nipaddr:" + address + "\n"}},
                 {})
             .checks)
      if (check.state == State::kFail) text += sentence_of(check.said);
    return text;
  };
  EXPECT_EQ(said("10.0.0.1"), "");
  EXPECT_EQ(said("10.0.0.2"),
            "device 0 has 10.0.0.1 in the rank table and 10.0.0.2 by hccn_tool (EI0014)");
}

TEST(Texts, RankTablesThatHcclRefuses) {
  const std::string sound =
      R"({"status":"completed","version":"1.0","server_count":"2","server_list":[)"
      R"({"server_id":"a","device":[{"device_id":"0","device_ip":"10.0.0.1","rank_id":"0"}]},)"
      R"({"server_id":"b","device":[{"device_id":"0","device_ip":"10.0.0.2","rank_id":"1"}]}]})";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    text.replace(text.rfind(from), from.size(), to);
    const auto read = read_rank_table(text, "t");
    return read ? "sound" : read.error().message;
  };
  EXPECT_EQ(with("completed", "completed"), "sound");
  EXPECT_EQ(with("completed", "initializing"), "t: status is \"initializing\", not \"completed\"");
  EXPECT_EQ(with("\"1.0\"", "\"1.1\""),
            "t: version is \"1.1\", not 1.0 (A2, 910) or 1.2 (super node)");
  EXPECT_EQ(with("\"2\",\"server_list", "\"3\",\"server_list"),
            "t: server_count is 3, server_list has 2");
  EXPECT_EQ(with("\"b\"", "\"a\""), "t: server_id a stands there twice");
  EXPECT_EQ(with("\"rank_id\":\"1\"", "\"rank_id\":\"0\""), "t: rank_id 0 stands there twice");
  EXPECT_EQ(with("\"rank_id\":\"1\"", "\"rank_id\":\"2\""),
            "t: rank_id 1 is missing: ranks go from 0 to 1");
  EXPECT_EQ(with("10.0.0.2", "10.0.0.1"), "t: device_ip 10.0.0.1 stands there twice");
  EXPECT_EQ(with("10.0.0.2", "fe80::1"), "t: rank 1: IPv4 and IPv6 are mixed");
  EXPECT_EQ(with("10.0.0.2", ""), "t: rank 1 has no device_ip, which 2 servers need");
  EXPECT_EQ(with("\"1.0\"", "\"1.2\""), "t: server a: device 0 has no super_device_id");
}

TEST(Versions, AreOrdered) {
  for (const auto& [less, more] :
       std::vector<std::pair<std::string, std::string>>{{"8.0.RC1", "8.0.RC2"},
                                                        {"8.0.RC3", "8.0.0"},
                                                        {"8.0.0", "8.1.RC1"},
                                                        {"2.7.1", "2.7.1.post1"},
                                                        {"2.7.1.dev20250724", "2.7.1.rc1"},
                                                        {"2.9.0", "2.10.0"},
                                                        {"8.5.0.alpha001", "8.5.0"},
                                                        {"7.3.0", "26.0.0"}}) {
    EXPECT_LT(compare_versions(less, more), 0) << less << " " << more;
    EXPECT_GT(compare_versions(more, less), 0) << less << " " << more;
  }
  EXPECT_EQ(compare_versions("8.3.rc1", "8.3.RC1"), 0);
  EXPECT_EQ(normal_version("v2.7.1.post1+cpu"), "2.7.1.post1");
  EXPECT_EQ(normal_version("CANN 8.3.rc1"), "8.3.RC1");
  EXPECT_EQ(normal_version("0.11.0rc3"), "0.11.0rc3");
  EXPECT_TRUE(version_matches("25.2.1", "25.2.X"));
  EXPECT_TRUE(version_matches("8.3.RC2", "8.3.RCx"));
  EXPECT_FALSE(version_matches("8.5.0", "8.3.RCx"));
}

TEST(Versions, WrongOnesAreRefusedInASentence) {
  EXPECT_EQ(said_of("torch"),
            "--versions: \"torch\" is not component=version, as in "
            "torch=2.7.1,torch_npu=2.7.1,cann=8.3.RC1,python=3.11");
  EXPECT_EQ(said_of("torchnpu=2.7.1"),
            "--versions: no rows about \"torchnpu\"; did you mean \"torch_npu\"?");
}

TEST(Versions, PackagesAreReadFromEachKindOfList) {
  const auto pip = read_packages(
      "Package    Version\n---------- -------\ntorch      2.7.1+cpu\n"
      "torch-npu  2.7.1\n");
  EXPECT_EQ(pip.at("torch_npu"), "2.7.1");
  EXPECT_EQ(read_packages("torch==2.7.1\nnumpy==1.26.4\n").at("numpy"), "1.26.4");
  EXPECT_EQ(read_packages("[{\"name\": \"torch-npu\", \"version\": \"2.6.0\"}]").at("torch_npu"),
            "2.6.0");
  EXPECT_EQ(
      read_packages("# packages in environment at /opt:\n#\nnumpy  1.26.4  py311h  conda-forge\n")
          .at("numpy"),
      "1.26.4");
}

}  // namespace
}  // namespace nb::doctor
