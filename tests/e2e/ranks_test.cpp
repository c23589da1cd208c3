// One recipe on one card and on several, as `npubench run` trains it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(Ranks, CardsShareAStepWithTheBitsOfOneThatAccumulates) {
  const Bench bench;
  const auto ran = bench.run("suites/ranks.json", {"--set", "/stages/base/iterations=3"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto record = [&](const std::string& device) {
    const auto found = read_record(bench.node("train-base-" + device + "-s1"));
    EXPECT_TRUE(found.has_value()) << device;
    return found.value_or(Record());
  };
  const Record alone = record("910b3"), on_gpu = record("h100");
  for (const char* device : {"910b3_dp2", "910b3_dp4", "910b3_dp8"}) {
    const Record together = record(device);
    const bool is_one_each = device == std::string("910b3_dp8");
    EXPECT_EQ(together.subject.at("weights") == alone.subject.at("weights"), is_one_each) << device;
    EXPECT_NE(together.node_key, alone.node_key) << device;
    EXPECT_EQ(find_metric(together, "replica_mismatch")->value, 0) << device;
  }
  for (const char* device : {"910b3_pp2", "910b3_pp2_gpipe", "910b3_dp4_pp2"}) {
    const Record stages = record(device);
    const bool has_copies = device == std::string("910b3_dp4_pp2");
    const Record same = has_copies ? record("910b3_dp4") : alone;
    EXPECT_EQ(stages.subject.at("weights"), same.subject.at("weights")) << device;
    EXPECT_NE(stages.node_key, same.node_key) << device;
    // Eight micro-batches, or two of each copy, of 2 × 128 × 128 numbers of two bytes in three
    // steps.
    EXPECT_EQ(find_metric(stages, "sent_bytes_send_receive")->value,
              3 * (has_copies ? 2 : 8) * 65536.0);
    EXPECT_GT(find_metric(stages, "pipeline_bubble")->value, has_copies ? 0.4 : 0.125);
    for (const char* rank : {"0", "1"})
      EXPECT_GT(find_metric(stages, std::string("peak_allocated_bytes_rank_") + rank)->value, 0);
  }
  EXPECT_LT(find_metric(record("910b3_pp2"), "peak_allocated_bytes_rank_0")->value,
            find_metric(record("910b3_pp2_gpipe"), "peak_allocated_bytes_rank_0")->value);
  // In ring order eight cards add in another order than one.
  EXPECT_NE(record("h100_dp8").subject.at("weights"), on_gpu.subject.at("weights"));
}

TEST(Ranks, ShareAModelAsWellAsAStep) {
  const Bench bench;
  const auto ran = bench.run("suites/tensor_ranks.json", {"--set", "/stages/base/iterations=3"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto value = [&](const std::string& device, const char* metric) {
    const Record record =
        read_record(bench.node("train-base-" + device + "-s1")).value_or(Record());
    const auto* found = find_metric(record, metric);
    EXPECT_NE(found, nullptr) << device << " " << metric;
    return found == nullptr ? 0.0 : found->value.value_or(0);
  };
  for (const char* device : {"910b3_tp2", "910b3_dp2_tp2"}) {
    EXPECT_NEAR(value(device, "val_bpb") / value("910b3", "val_bpb"), 1, 0.01) << device;
    EXPECT_EQ(value(device, "replica_mismatch"), 0) << device;
    EXPECT_LT(value(device, "peak_memory_bytes"), value("910b3", "peak_memory_bytes"));
  }
  // Two micro-batches of 2 × 128 tokens: ten all-reduces of them in bf16 and three numbers per
  // token.
  const double activation = 2 * 128 * 128 * 2, numbers = 3 * 4 * 2 * 128;
  EXPECT_EQ(value("910b3_tp2", "sent_bytes_all_reduce"), 3 * 2 * (10 * activation + numbers));
  EXPECT_EQ(value("910b3_tp2", "sent_bytes_all_gather"), 3 * 12);
}

// Every stage that trains has the cards of its device; what is evaluated stands on one of them.
TEST(Ranks, ShareTheStepsOfAllStages) {
  const Bench bench;
  const auto ran = bench.run(
      "tests/e2e/stages.json",
      {"--set",
       R"(/devices=["ascend_910b3",{"profile":"ascend_910b3","name":"two","mesh":{"dp":2}},)"
       R"({"profile":"ascend_910b3","name":"shared","mesh":{"dp":2,"zero":1}},)"
       R"({"profile":"ascend_910b3","name":"sharded","mesh":{"fsdp":2}}])",
       "--set", "/stages/base/grad_clip=0"});  // a norm of shares is summed differently
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const std::string stage : {"base", "mid", "sft", "rl"}) {
    SCOPED_TRACE(stage);
    const auto record = [&](const std::string& device) {
      return read_record(bench.node("train-" + stage + "-" + device + "-s1")).value_or(Record());
    };
    const Record alone = record("ascend_910b3"), two = record("two");
    for (const Record& several : {two, record("shared"), record("sharded")}) {
      EXPECT_EQ(several.subject.at("weights"), alone.subject.at("weights"));
      EXPECT_NE(several.node_key, alone.node_key);
      EXPECT_EQ(find_metric(several, "replica_mismatch")->value, 0);
      EXPECT_GT(find_metric(several, "link_bytes")->value, 0);
    }
    EXPECT_NE(record("shared").node_key, two.node_key);
    EXPECT_NE(record("sharded").node_key, two.node_key);
    EXPECT_EQ(find_metric(alone, "link_bytes"), nullptr);
    // Of two ranks a ring sends as much as it reduces.
    EXPECT_EQ(find_metric(two, "sent_bytes_all_reduce")->value,
              find_metric(two, "link_bytes")->value);
    EXPECT_NE(find_metric(record("sharded"), "sent_bytes_reduce_scatter"), nullptr);
  }
}

// Twinkle's recipe gathers frozen weights in every micro-batch; copies send the adapters'
// gradients.
TEST(Ranks, FrozenShardsSendAHundredTimesWhatCopiesSend) {
  const auto sft = [](const std::string& suite) {
    const Bench bench;
    const auto ran =
        bench.run("suites/" + suite + ".json",
                  {"--set", "/stages/base/iterations=1", "--set", "/stages/sft/train/0/size=256",
                   "--set", "/evaluations/0/max_per_task=1"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto found = read_record(bench.node("train-sft-ascend_910b3-s1"));
    EXPECT_TRUE(found.has_value()) << suite;
    return found.value_or(Record());
  };
  const Record shards = sft("twinkle_sft_2x2"), copies = sft("twinkle_sft_2x2_fixed");
  ASSERT_NE(find_metric(shards, "link_bytes"), nullptr);
  ASSERT_NE(find_metric(copies, "link_bytes"), nullptr);
  EXPECT_GT(find_metric(shards, "link_bytes")->value.value_or(0),
            100 * find_metric(copies, "link_bytes")->value.value_or(1e18));
  EXPECT_NE(find_metric(shards, "sent_bytes_all_gather"), nullptr);
  EXPECT_EQ(find_metric(copies, "sent_bytes_all_gather"), nullptr);
}

TEST(Ranks, ThatCannotShareAStepAreRefusedBeforeAnyWork) {
  const Bench bench;
  expect_sentence(
      bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/dp=3"}), 64,
      {"suites/ranks.json: /devices/1", "mesh/dp: 3 ranks cannot share the 8 micro-batches"});
  expect_sentence(bench.run("tests/e2e/stages.json",
                            {"--set", R"(/devices=[{"profile":"ascend_910b3","mesh":{"dp":2}}])",
                             "--set", "/stages/rl/examples_per_step=3"}),
                  64,
                  {"/devices/0", "/stages/rl", "mesh/dp: 2 ranks cannot share the 3 questions"});
  expect_sentence(bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/tp=2"}), 64,
                  {"/devices/1", "/stages/base", "mesh/tp: 2 ranks cannot share 1 head evenly"});
  expect_sentence(
      bench.run("tests/e2e/stages.json",
                {"--set", R"(/devices=[{"profile":"ascend_910b3","mesh":{"tp":2}}])", "--set",
                 "/stages/base/model=llama", "--set", "/stages/base/depth=2"}),
      64, {"/devices/0", "is not trained on 2 tensor parallel ranks here, only base, mid and sft"});
  expect_sentence(
      bench.run("suites/tensor_ranks.json",
                {"--set", R"(/devices/1/defects=["sp_norm_not_reduced"])"}),
      64, {"/devices/1/defects", "changes nothing: the entry's mesh is not sequence_parallel"});
  expect_sentence(bench.run("suites/ranks.json", {"--set", "/devices/4/mesh/pp=4"}), 64,
                  {"suites/ranks.json: /devices/4, /stages/base", "mesh/pp: 4 stages of 2 blocks"});
  expect_sentence(bench.run("tests/e2e/stages.json",
                            {"--set", R"(/devices=[{"profile":"ascend_910b3","mesh":{"pp":2}}])",
                             "--set", "/stages/base/depth=2"}),
                  64, {"/devices/0, /stages/rl", "mesh/pp: rl is not trained on 2 stages"});
  expect_sentence(bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/dp=0"}), 64,
                  {"/devices/1/mesh/dp"});
}

// `predict --mesh`: what each kind of collective sends, to the byte, and what is refused.
TEST(PredictMesh, TellsBytesTimeAndPeakOfEveryMesh) {
  const Bench bench;
  const auto ask = [&](const std::string& mesh, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"predict",
                                    "--device",
                                    "ascend_910b3",
                                    "--depth",
                                    "4",
                                    "--sequence-len",
                                    "512",
                                    "--device-batch-size",
                                    "2",
                                    "--total-batch-tokens",
                                    "4096",
                                    "--mesh",
                                    mesh,
                                    "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const auto ran = bench(all);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  };
  // 65536 × 256 elements of each table, the first in bf16; 16 matrices of a block and 4 blocks.
  const double table = 65536.0 * 256, blocks = 4 * 12 * 256.0 * 256;
  const double all = table * 6 + blocks * 4, norm = 36;
  const Json copies = ask("dp=4"), shards = ask("fsdp=4"), text = ask(R"({"fsdp": 4})");
  EXPECT_EQ(copies.at("sent_bytes"), (Json{{"all_reduce", 1.5 * all}}));
  EXPECT_EQ(shards.at("sent_bytes").at("all_gather"), .75 * (all + blocks * 4) + norm);
  EXPECT_EQ(shards.at("sent_bytes").at("reduce_scatter"), .75 * all);
  EXPECT_EQ(text, shards);
  EXPECT_LT(shards.at("peak_allocated_bytes"), copies.at("peak_allocated_bytes"));
  EXPECT_GT(shards.at("communication_time_ns"), 0);
  EXPECT_EQ(ask("dp=4,zero=1").at("sent_bytes").at("reduce_scatter"), .75 * all);
  EXPECT_EQ(ask("dp=2,fsdp=2,shard=hybrid").at("sent_bytes").at("all_reduce"), all / 2);
  // Four all-reduces a block of 2 × 512 × 256 in bf16, two more for embedding and head, and three
  // numbers per token, four micro-batches; sixteen square matrices and eight of 4 × 256.
  const Json cut = ask("tp=2");
  EXPECT_EQ(cut.at("sent_bytes"), (Json{{"all_reduce", 4 * ((4 * 4 + 2) * 524288.0 + 3 * 4 * 1024)},
                                        {"all_gather", 12.0},
                                        {"all_to_all", 2 * 2 * (8 + 2 * 2 * 4) * 65536.0 / 2}}));
  EXPECT_LT(cut.at("peak_allocated_bytes"), ask("dp=1").at("peak_allocated_bytes"));
  EXPECT_EQ(ask("dp=2,tp=2").at("accumulation_steps"), 2);
  // Eight exchanges a block of a fourth of such tensors; or keys and values of half of the tokens,
  // once each way in bf16, and twice sums of gradients in fp32.
  EXPECT_EQ(ask("cp=2").at("sent_bytes"),
            (Json{{"all_reduce", all}, {"all_to_all", 4 * 4 * 8 * 524288.0 / 4}}));
  EXPECT_EQ(ask("cp=2,context=ring").at("sent_bytes"),
            (Json{{"all_reduce", all}, {"send_receive", 4 * 4 * 2 * 131072.0 * (2 * 2 + 2 * 4)}}));
  // The same with an all-gather and a reduce-scatter for each of its activations' all-reduces.
  const Json by_rows = ask("tp=2,sequence_parallel=true");
  EXPECT_EQ(by_rows.at("sent_bytes").at("all_gather"), 4 * (4 * 4 + 2) * 524288.0 / 2 + 12);
  EXPECT_EQ(by_rows.at("sent_bytes").at("reduce_scatter"), 4 * (4 * 4 + 2) * 524288.0 / 2);
  EXPECT_LT(by_rows.at("peak_allocated_bytes"), cut.at("peak_allocated_bytes"));
  const Json stages = ask("pp=4"), drained = ask("pp=4,micro_batches=2,schedule=gpipe"),
             alone = ask("pp=4,micro_batches=1,schedule=gpipe");
  EXPECT_EQ(stages.at("sent_bytes").at("send_receive"), 4 * 524288.0);
  EXPECT_EQ(stages.at("sent_bytes_of_ranks").size(), 4U);
  EXPECT_GT(stages.at("bubble"), .75);
  EXPECT_GT(drained.at("bubble"), stages.at("bubble"));
  EXPECT_GT(alone.at("step_time_ns"), stages.at("step_time_ns"));  // two hide behind the host
  const Json both = ask("pp=4,tp=2");  // each of two ranks sends what both have whole
  EXPECT_EQ(both.at("sent_bytes").at("send_receive"), 4 * 524288.0);
  EXPECT_EQ(both.at("peaks_of_ranks").size(), 8U);
  EXPECT_LT(both.at("peaks_of_ranks").at(0), stages.at("peaks_of_ranks").at(0));
  EXPECT_NE(ask("fsdp=4,param=bf16", {"--lora-rank", "1"}).at("finding").dump().find("dp 4 sends"),
            std::string::npos);
}

TEST(PredictMesh, RefusesWhatItCannotTell) {
  const Bench bench;
  const auto ask = [&](const std::string& mesh, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"predict", "--device", "ascend_910b3", "--depth", "4",
                                    "--mesh",  mesh};
    all.insert(all.end(), more.begin(), more.end());
    return bench(all);
  };
  expect_sentence(ask("dp"), 64, {"\"dp\" is no key=value"});
  expect_sentence(ask("dp=2,dp=2"), 64, {"dp is given twice"});
  expect_sentence(ask("sdp=4"), 64, {"unknown key", "dp"});
  expect_sentence(ask("dp=2,fsdp=2"), 64, {"mesh/shard", "say which"});
  expect_sentence(ask("dp=2,tp=2,pp=4"), 64, {"16 ranks of ascend_910b3"});
  expect_sentence(ask("dp=2,sequence_parallel=true"), 64,
                  {"mesh/sequence_parallel: decides nothing without tp"});
  expect_sentence(ask("tp=2", {"--lora-rank", "8"}), 64,
                  {"adapters (lora) are not trained on 2 tensor parallel ranks"});
  expect_sentence(ask("tp=3"), 64, {"mesh/tp: 3 ranks cannot share 2 heads evenly"});
  expect_sentence(ask("cp=3"), 64, {"mesh/cp: 3 ranks cannot share 2048 tokens of a sequence"});
  expect_sentence(ask("pp=3"), 64, {"mesh/pp: 3 stages cannot share the 4 blocks evenly"});
  expect_sentence(ask("pp=2,micro_batches=3", {"--device-batch-size", "8"}), 64,
                  {"mesh/micro_batches: 3 do not divide"});
  expect_sentence(ask("dp=16"), 64, {"8 cards in a node"});
  expect_sentence(ask("dp=4", {"--cards", "8"}), 64, {"--cards 8: --mesh dp=4 has 4"});
  expect_sentence(ask("dp=4", {"--stage", "sft", "--row-tokens", "64"}), 64, {"the stage is sft"});
  expect_sentence(bench({"predict", "--device", "ascend_910b3", "--depth", "48", "--mesh", "dp=4",
                         "--device-batch-size", "8"}),
                  4, {"give a smaller --device-batch-size"});
}

}  // namespace
}  // namespace nb::test
