#include "harness/cli/predict_megatron.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/predict/megatron_fit_batch.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::cli {
namespace {

PredictRequest llama(const std::string& device) {
  PredictRequest request;
  request.device = device;
  request.given = {{"model", "llama2-7b"}, {"cards", "8"}, {"total_batch_tokens", "1048576"}};
  return request;
}

std::string megatron_refusal(const PredictRequest& request, const MegatronFlags& flags = {}) {
  const auto asks = asks_megatron(request, flags);
  if (!asks) return asks.error().message;
  if (!*asks) return "";
  const auto answer = ask_megatron(request, flags);
  return answer ? "" : answer.error().message;
}

TEST(PredictMegatron, TakesTheModelsThatThePresetsLack) {
  EXPECT_TRUE(*asks_megatron(llama("h100_sxm"), {}));
  PredictRequest preset = llama("h100_sxm");
  preset.given["model"] = "gpt2";
  EXPECT_FALSE(*asks_megatron(preset, {}));
  preset.given["model"] = "";
  EXPECT_FALSE(*asks_megatron(preset, {}));
  EXPECT_NE(megatron_refusal(preset, {.tp = "2"}).find("--tp: presets of the decoder are not cut"),
            std::string::npos);
  preset.given["model"] = "llama2-7";
  EXPECT_NE(megatron_refusal(preset).find("did you mean \"llama2-7b\"?"), std::string::npos);
}

TEST(PredictMegatron, CutsTheJobAsTheFlagsSay) {
  PredictRequest request = llama("ascend_910b3");
  request.given["device_batch_size"] = "2";
  request.given["recompute"] = "true";
  const auto answer =
      ask_megatron(request, {.tp = "2", .pp = "2", .vpp = "2", .optimizer = "distributed"});
  ASSERT_TRUE(answer) << answer.error().message;
  const MegatronRun& run = answer->job.run;
  EXPECT_EQ(run.dp(), 2);
  EXPECT_EQ(run.global_batch, 256);  // rows of 4096
  EXPECT_EQ(run.micro_batches(), 64);
  EXPECT_EQ(run.vpp, 2);
  EXPECT_EQ(run.recompute, MegatronRecompute::kFull);
  EXPECT_TRUE(run.distributed_optimizer);
  EXPECT_EQ(answer->profile.stack, "megatron_mindspeed");
  EXPECT_EQ(ask_megatron(llama("h100_sxm"), {.tp = "8"})->profile.stack, "megatron_cuda");
}

TEST(PredictMegatron, PartsAddUpToTheStep) {
  for (const MegatronFlags& flags : {MegatronFlags{.tp = "8"}, MegatronFlags{.pp = "8"},
                                     MegatronFlags{.tp = "2", .pp = "2", .vpp = "4"}}) {
    const PredictRequest request = llama("ascend_910b3");
    const auto answer = ask_megatron(request, flags);
    ASSERT_TRUE(answer) << answer.error().message;
    const Json json = megatron_json(request, *answer);
    double sum = 0;
    for (const Json& part : json.at("time_by_part_ns")) sum += part.get<double>();
    const auto step_ns = json.at("step_time_ns").get<double>();
    EXPECT_NEAR(sum, step_ns, 1e-9 * step_ns);
    EXPECT_EQ(json.at("parameters"), 6738415616);
    EXPECT_GT(json.at("mfu").get<double>(), 0.2);
    EXPECT_LT(json.at("mfu").get<double>(), 0.9);
    EXPECT_NE(megatron_text(request, *answer).find("6,738,415,616"), std::string::npos);
  }
}

// Static memory: 18 bytes per parameter on one card; 6 + 12/8 with the distributed optimizer.
TEST(PredictMegatron, TheDistributedOptimizerSharesTwelveBytes) {
  const PredictRequest request = llama("ascend_910b3");
  const auto plain = ask_megatron(request, {.optimizer = "adam"});
  const auto shared = ask_megatron(request, {.optimizer = "distributed"});
  ASSERT_TRUE(plain && shared);
  const double parameters = 6738415616.;
  EXPECT_NEAR(plain->memory.static_bytes, 18 * parameters, 1e-3 * parameters);
  EXPECT_NEAR(shared->memory.static_bytes, 7.5 * parameters, 1e-3 * parameters);
  EXPECT_FALSE(plain->fits());
}

TEST(PredictMegatron, ReadsModelFilesAndNamesWhatTheyLack) {
  const test::TempDir folder;
  const auto ask = [&](const std::string& json) {
    const fs::path file = folder.path() / "m.json";
    EXPECT_TRUE(write_file(file, json));
    PredictRequest request = llama("h100_sxm");
    request.given["model"] = file.string();
    return megatron_refusal(request, {.tp = "2"});
  };
  EXPECT_EQ(ask(R"({"layers": 4, "width": 512, "hidden": 1024, "heads": 8, "vocab": 4096})"), "");
  EXPECT_NE(ask(R"({"layers": 4, "width": 512, "heads": 8, "vocab": 4096})").find("/hidden"),
            std::string::npos);
  EXPECT_NE(ask(R"({"layers": 4, "width": 512, "hidden": 1024, "heads": 7, "vocab": 4096})")
                .find("heads"),
            std::string::npos);
}

TEST(PredictMegatron, RefusesWhatCannotBeInOneSentence) {
  PredictRequest request = llama("ascend_910b3");
  const std::pair<MegatronFlags, const char*> cases[] = {
      {{.tp = "3"}, "ranks 8 is not divisible by tp"},
      {{.tp = "x"}, "--tp: \"x\" is not a whole number"},
      {{.tp = "0"}, "--tp: \"0\" is not a whole number"},
      {{.vpp = "2"}, "vpp 2 interleaves stages of a pipeline"},
      {{.optimizer = "muon"}, "--optimizer: \"muon\" is not adam or distributed"}};
  for (const auto& [flags, expected] : cases)
    EXPECT_NE(megatron_refusal(request, flags).find(expected), std::string::npos)
        << megatron_refusal(request, flags);
  request.given["depth"] = "12";
  EXPECT_NE(megatron_refusal(request).find("depth: decides nothing for llama2-7b"),
            std::string::npos);
  request.given.erase("depth");
  request.given["total_batch_tokens"] = "5000";
  EXPECT_NE(megatron_refusal(request).find("give 4096 or 8192"), std::string::npos);
  request.given["total_batch_tokens"] = "1048576";
  request.given["recompute"] = "some";
  EXPECT_NE(megatron_refusal(request).find("--recompute: \"some\""), std::string::npos);
}

// Bfloat16 on a machine without it ended in an assertion.
TEST(PredictMegatron, WhatTheMachineLacksIsRefusedInASentence) {
  EXPECT_NE(megatron_refusal(llama("ascend_910a"), {.tp = "8"})
                .find("--dtype: ascend_910a has no products in bf16; give --dtype fp16"),
            std::string::npos)
      << megatron_refusal(llama("ascend_910a"), {.tp = "8"});
  EXPECT_EQ(megatron_refusal(llama("ascend_910a"), {.tp = "8", .run = {{"dtype", "fp16"}}}), "");
  PredictRequest chatglm = llama("ascend_910b2");
  chatglm.given["model"] = "chatglm3-6b";
  EXPECT_NE(megatron_refusal(chatglm, {.tp = "8"}).find("kv_heads 2 is not divisible by tp 8"),
            std::string::npos)
      << megatron_refusal(chatglm, {.tp = "8"});
  EXPECT_NE(megatron_refusal(llama("ascend_910b2"), {.run = {{"dtype", "fp8"}}}).find("fp16"),
            std::string::npos);
  PredictRequest preset = llama("h100_sxm");
  preset.given["model"] = "";
  EXPECT_EQ(megatron_refusal(preset, {.run = {{"mc2", "on"}}}).find("--mc2: decides nothing"), 0U);
}

// spec of its collectives: 1, 2, 4 or 8.
TEST(PredictMegatron, ThreeCardsOfThe910AGotATime) {
  PredictRequest request = llama("ascend_910a");
  request.given["cards"] = "3";
  request.given["total_batch_tokens"] = "49152";
  const std::string said = megatron_refusal(request, {.run = {{"dtype", "fp16"}}});
  EXPECT_EQ(said.find("3 cards of ascend_910a on 1 node: its server's collectives take 1, 2, 4, 8"),
            0U)
      << said;
}

TEST(PredictMegatron, SaysWhatItAssumedAndBothFiguresOfMc2) {
  const PredictRequest request = llama("ascend_910b2");
  const auto answer = ask_megatron(request, {.tp = "8"});
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_TRUE(answer->step_with_mc2);
  EXPECT_LT(answer->step_with_mc2->step_ns, answer->step.step_ns);
  const std::string text = megatron_text(request, *answer);
  EXPECT_NE(text.find("mc2 off; on:"), std::string::npos) << text;
  EXPECT_NE(text.find("--dtype bf16"), std::string::npos) << text;
  const Json json = megatron_json(request, *answer);
  EXPECT_EQ(json.at("assumed").at("mc2"), "off");
  EXPECT_EQ(json.at("step_time_with_mc2_ns"), answer->step_with_mc2->step_ns);
  const auto stated = ask_megatron(request, {.tp = "8", .run = {{"mc2", "on"}, {"dtype", "bf16"}}});
  ASSERT_TRUE(stated) << stated.error().message;
  EXPECT_FALSE(stated->step_with_mc2);
  EXPECT_EQ(stated->step.step_ns, answer->step_with_mc2->step_ns);
  EXPECT_FALSE(megatron_json(request, *stated).at("assumed").contains("dtype"));
}

TEST(PredictMegatron, AConfigOfHuggingFaceIsAModelFile) {
  const test::TempDir folder;
  const fs::path file = folder.path() / "config.json";
  PredictRequest request = llama("ascend_910b2");
  request.given["model"] = file.string();
  const auto ask = [&](const Json& json) {
    EXPECT_TRUE(write_json(file, json));
    return ask_megatron(request, {.tp = "8"});
  };
  Json config = {{"architectures", {"LlamaForCausalLM"}},
                 {"model_type", "llama"},
                 {"hidden_size", 4096},
                 {"intermediate_size", 11008},
                 {"num_attention_heads", 32},
                 {"num_hidden_layers", 32},
                 {"num_key_value_heads", 32},
                 {"vocab_size", 32000},
                 {"rope_theta", 10000.0},
                 {"tie_word_embeddings", false}};
  const auto answer = ask(config);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->job.model.parameter_count(), 6738415616);
  EXPECT_EQ(answer->step.step_ns, ask_megatron(llama("ascend_910b2"), {.tp = "8"})->step.step_ns);
  config["model_type"] = "qwen2";
  config["sliding_window"] = 1024;  // which qwen2 does not use unless it says so
  config["num_key_value_heads"] = 8;
  EXPECT_EQ(ask(config)->job.model.window, 0);
  EXPECT_EQ(ask(config)->job.model.kv_heads, 8);
  config["model_type"] = "mixtral";
  EXPECT_NE(ask(config).error().message.find("/model_type \"mixtral\" is not known"),
            std::string::npos);
  config["model_type"] = "llama";
  config["num_local_experts"] = 8;
  EXPECT_NE(ask(config).error().message.find("a mixture of experts is not predicted"),
            std::string::npos);
  config.erase("num_local_experts");
  config.erase("intermediate_size");
  EXPECT_NE(ask(config).error().message.find("/intermediate_size is null"), std::string::npos);
}

TEST(PredictMegatron, TheLargestMicroBatchFitsAndTheNextDoesNot) {
  PredictRequest request = llama("ascend_910b2");
  const MegatronFlags flags = {.tp = "2", .pp = "2", .vpp = "", .optimizer = "distributed"};
  const auto answer = ask_megatron(request, flags);
  ASSERT_TRUE(answer) << answer.error().message;
  const FittingBatch batch = megatron_fit_batch(answer->job, answer->capacity_bytes);
  ASSERT_GT(batch.rows, 1);
  // By the answers themselves, with a full pipeline of two micro-batches for each of two replicas.
  const auto with_rows = [&](std::int64_t rows) {
    request.given["device_batch_size"] = std::to_string(rows);
    request.given["total_batch_tokens"] = std::to_string(rows * 2 * 2 * 4096);
    return *ask_megatron(request, flags);
  };
  EXPECT_TRUE(with_rows(batch.rows).fits());
  EXPECT_FALSE(with_rows(batch.rows + 1).fits());
  EXPECT_NEAR(static_cast<double>(batch.needed_bytes),
              with_rows(batch.rows).memory.steady_peak_bytes, 1);
  EXPECT_NEAR(static_cast<double>(batch.next_needed_bytes),
              with_rows(batch.rows + 1).memory.steady_peak_bytes, 1);
  const Json json = megatron_fit_json(request, *answer, batch);
  EXPECT_EQ(json["largest_device_batch_size"], batch.rows);
  EXPECT_NE(megatron_fit_text(request, *answer, batch)
                .find(fmt::format("largest micro-batch that fits  {} rows", batch.rows)),
            std::string::npos)
      << megatron_fit_text(request, *answer, batch);
  // Weights alone are too much: not even one row.
  EXPECT_EQ(megatron_fit_batch(answer->job, 1e9).rows, 0);
}

}  // namespace
}  // namespace nb::cli
