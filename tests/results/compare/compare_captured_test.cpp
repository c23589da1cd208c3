// A captured run beside an emulated one: one vocabulary for recipes, what pairs, what is not said.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "results/compare/compare.hpp"
#include "results/compare/recipe.hpp"
#include "results/compare/recipe_names.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/metric_row.hpp"

namespace nb {
namespace {

using test::always;
using test::even;
using test::FakeRun;

// What base_train.py of 3a5e0bc says of itself, and what a suite says of the same recipe.
constexpr const char* kNanochat = R"({
  "module": "scripts.base_train", "arguments": ["--depth=2"],
  "user_config": {"run": "mine", "depth": 2, "max_seq_len": 64, "num_iterations": -1,
    "target_flops": -1.0, "target_param_data_ratio": 20, "device_batch_size": 16,
    "total_batch_size": 1024, "embedding_lr": 0.2, "unembedding_lr": 0.004, "weight_decay": 0.0,
    "matrix_lr": 0.02, "grad_clip": 1.0, "eval_every": 250, "eval_tokens": 4096,
    "core_metric_every": 2000, "core_metric_max_per_task": 500, "sample_every": 2000,
    "model_tag": ""},
  "model_config_kwargs": {"n_layer": 2}, "num_iterations": 60, "total_batch_size": 1024,
  "warmup_ratio": 0.0, "warmdown_ratio": 0.2, "final_lr_frac": 0.0,
  "effective": {"iterations": 60, "config": {"n_layer": 2, "n_embd": 128, "n_head": 1,
    "n_kv_head": 1, "sequence_len": 64, "vocab_size": 265}}})";
constexpr const char* kSuite = R"({
  "stage": "base", "seed": 1,
  "device": {"name": "ascend_910b3", "profile": "ascend_910b3", "numerics": "",
    "numerics_overrides": {}, "stacks": {}},
  "train": {"depth": 2, "sequence_len": 64, "device_batch_size": 16, "total_batch_tokens": 1024,
    "iterations": 60, "param_data_ratio": 20, "embedding_lr": 0.2, "unembedding_lr": 0.004,
    "matrix_lr": 0.02, "weight_decay": 0.0, "grad_clip": 1.0, "warmup_ratio": 0.0,
    "warmdown_ratio": 0.2, "final_lr_frac": 0.0, "eval_every": 250, "eval_tokens": 4096,
    "sample_every": 0, "checkpoint_every": 10, "keep_steps": [], "seed": 1},
  "effective": {"iterations": 60, "checkpoint": "checkpoints/step_000060.safetensors",
    "config": {"n_layer": 2, "n_embd": 128, "n_head": 1, "n_kv_head": 1, "sequence_len": 64,
      "vocab_size": 265}}})";

std::function<void(Record&)> with(const char* settings) {
  return [settings](Record& record) { record.settings = Json::parse(settings); };
}

void make_captured(Record& record) {
  record.environment =
      Json{{"program", "nanochat_capture"}, {"world_size", 1}, {"commit", "3a5e0bc50b123f37220f"}};
  record.numerics = {{"fp32 products", "high", "documented", "PyTorch"}};
  record.subject.erase("code");
  record.comparability = {{"tokenizer", record.comparability["tokenizer"]}};
}

std::function<void(Record&)> captured(const char* settings) {
  return [settings](Record& record) {
    record.settings = Json::parse(settings);
    make_captured(record);
  };
}

std::vector<std::string> settings_of(const Comparison& c) {
  std::vector<std::string> fields;
  for (const Confounder& one : c.confounders)
    if (one.category == "settings" || one.category == "data")
      fields.push_back(one.field + ": " + one.a + " → " + one.b);
  return fields;
}

Comparison compare_trainings(const std::function<void(Record&)>& a,
                             const std::function<void(Record&)>& b, FakeRun& left, FakeRun& right) {
  left.add_training("captured_gpu", 42, 1.5, 0, a);
  right.add_training("ascend_910b3", 1, 1.4, 0, b);
  static std::vector<std::unique_ptr<RunRecords>> kept;  // a comparison points into them
  const auto keep = [](const FakeRun& run) -> const RunRecords& {
    return *kept.emplace_back(std::make_unique<RunRecords>(run.read()));
  };
  return compare_runs(keep(left), keep(right), PairAcross::kDevices);
}

TEST(CompareCaptured, OneRecipeInTwoVocabulariesHasNoDifference) {
  FakeRun left, right;
  const Comparison c = compare_trainings(captured(kNanochat), with(kSuite), left, right);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_TRUE(text_of(c.pairs[0].note).starts_with("paired as the trainings of stage base"))
      << text_of(c.pairs[0].note);
  EXPECT_EQ(settings_of(c), std::vector<std::string>());
  for (const char* same : {"total_batch_tokens", "embedding_lr", "iterations", "model/n_embd",
                           "warmdown_ratio", "cards"})
    EXPECT_EQ(std::ranges::count(c.stated_equal, same), 1) << same;
  EXPECT_TRUE(c.pairs[0].incomparable.empty()) << text_of(c.pairs[0].incomparable);
  EXPECT_LE(c.confounders.size() + c.unknown.size(), 10U) << comparison_text(c);
  // Other code, other numbers, other texts for all that is known: never the device's alone.
  EXPECT_FALSE(c.only_device_differs());
  ASSERT_EQ(c.unknown.size(), 1U);
  EXPECT_EQ(text_of(c.unknown[0]),
            "not compared, since both sides do not tell: the texts that were read, the weights it "
            "began with, number formats");
}

TEST(CompareCaptured, AnotherValueUnderAnotherNameIsADifference) {
  Json suite = Json::parse(kSuite);
  suite["train"]["total_batch_tokens"] = 2048;
  suite["train"]["matrix_lr"] = 0.03;
  suite["effective"]["iterations"] = 30;
  suite["device"]["defects"] = {"port_unsynced_head"};
  FakeRun left, right;
  const Comparison c =
      compare_trainings(captured(kNanochat), with(suite.dump().c_str()), left, right);
  EXPECT_EQ(settings_of(c), (std::vector<std::string>{
                                "/recipe/iterations: 60 → 30", "/recipe/matrix_lr: 0.02 → 0.03",
                                "/recipe/total_batch_tokens: 1024 → 2048",
                                "/settings/device/defects: (absent) → [\"port_unsynced_head\"]"}));
}

// Not said is neither equal nor different.
TEST(CompareCaptured, WhatOneSideDoesNotSayIsUnknown) {
  Json nanochat = Json::parse(kNanochat);
  nanochat.erase("warmdown_ratio");
  nanochat["user_config"]["fp8"] = true;
  nanochat["user_config"]["eval_every"] = -1;
  FakeRun left, right;
  const Comparison c =
      compare_trainings(captured(nanochat.dump().c_str()), with(kSuite), left, right);
  EXPECT_EQ(settings_of(c), std::vector<std::string>());
  ASSERT_EQ(c.unknown.size(), 3U);
  EXPECT_EQ(text_of(c.unknown[0]), "A does not say: eval_every, warmdown_ratio");
  EXPECT_EQ(text_of(c.unknown[1]), "B does not say: fp8");
  EXPECT_EQ(std::ranges::count(c.stated_equal, "warmdown_ratio"), 0);
}

// Since 2026 the rates that are asked for are multiplied, and the decay is Muon's.
TEST(CompareCaptured, RatesOfNewerNanochatAreTheOnesThatItTrainedWith) {
  Json nanochat = Json::parse(kNanochat);
  nanochat["batch_lr_scale"] = 0.5;
  nanochat["user_config"]["embedding_lr"] = 0.4;
  nanochat["user_config"]["unembedding_lr"] = 0.008;
  nanochat["user_config"]["weight_decay"] = 0.28;
  nanochat["weight_decay_scaled"] = 0.1;
  nanochat.erase("warmup_ratio");
  nanochat["user_config"]["warmup_steps"] = 6;
  Json suite = Json::parse(kSuite);
  suite["train"]["warmup_ratio"] = 0.1;
  FakeRun left, right;
  const Comparison c =
      compare_trainings(captured(nanochat.dump().c_str()), with(suite.dump().c_str()), left, right);
  EXPECT_EQ(settings_of(c), std::vector<std::string>{"/recipe/matrix_lr: 0.01 → 0.02"});
  ASSERT_EQ(c.unknown.size(), 3U);
  EXPECT_EQ(text_of(c.unknown[0]), "A does not say: weight_decay");
  EXPECT_EQ(text_of(c.unknown[1]), "B does not say: muon_weight_decay");
  EXPECT_EQ(std::ranges::count(c.stated_equal, "warmup_steps"), 1);
}

TEST(CompareCaptured, TwinklesWordsAreUnderstood) {
  const char* twinkle = R"({
    "training": {"max_steps": 10, "micro_batch_size": 2, "output_dir": "./output", "seed": 42},
    "infra": {"model_gpus": 4}, "rl": {"num_generations": 8, "advantage_scale": "group"},
    "loss": {"loss_cls": "GSPOLoss", "epsilon": 0.2, "epsilon_high": null, "beta": 0.01},
    "sampling": {"max_tokens": 64, "top_k": -1, "temperature": 1.0},
    "lora": {"lora_r": 8, "lora_alpha": 32, "adapter_name": "default"},
    "effective": {"iterations": 10}})";
  const char* suite = R"({
    "stage": "rl", "seed": 1, "device": {"name": "d", "profile": "d"},
    "rl": {"device_batch_size": 2, "iterations": 10, "num_samples": 8, "objective": "gspo",
      "advantage": "mean_std", "clip_low": 0.2, "clip_high": 0.3, "kl_weight": 0.01,
      "max_new_tokens": 64, "top_k": null, "temperature": 1.0, "rollout_batch_size": 8,
      "lora": {"rank": 8, "alpha": 16, "seed": null}, "seed": 1},
    "effective": {"iterations": 10}})";
  Record a, b;
  for (Record* record : {&a, &b}) {
    record->kind = "train";
    record->name = "rl";
  }
  captured(twinkle)(a);
  with(suite)(b);
  const RecipeComparison c = compare_recipes(a, b);
  std::vector<std::string> differing;
  for (const Confounder& one : c.differing)
    differing.push_back(one.field + ": " + one.a + " → " + one.b);
  EXPECT_EQ(differing, (std::vector<std::string>{"/recipe/clip_high: 0.2 → 0.3",
                                                 "/recipe/lora/alpha: 32 → 16"}));
  for (const char* same : {"objective", "advantage", "num_samples", "kl_weight", "lora/rank",
                           "max_new_tokens", "device_batch_size", "temperature"})
    EXPECT_EQ(std::ranges::count(c.equal, same), 1) << same;
}

TEST(CompareCaptured, TwoCapturesOfOtherCommitsTextsAndWeightsSaySo) {
  const auto of = [](const char* commit, const char* texts) {
    return [=](Record& record) {
      captured(kNanochat)(record);
      (*record.environment)["commit"] = commit;
      (*record.settings)["first_batches"] = texts;
      (*record.settings)["first_weights"] = "w";
    };
  };
  {
    FakeRun left, right;
    const Comparison c = compare_trainings(of("c1", "t1"), of("c1", "t1"), left, right);
    EXPECT_TRUE(c.only_device_differs()) << comparison_text(c);
    EXPECT_EQ(std::ranges::count(c.stated_equal, "first_batches"), 1);
  }
  {
    FakeRun left, right;
    const Comparison c = compare_trainings(of("c1", "t1"), of("c2", "t2"), left, right);
    EXPECT_EQ(settings_of(c), std::vector<std::string>{"/recipe/first_batches: \"t1\" → \"t2\""});
    EXPECT_FALSE(c.only_device_differs());
    EXPECT_TRUE(std::ranges::any_of(c.confounders, [](const Confounder& one) {
      return one.category == "code" && one.a == "commit c1" && one.b == "commit c2";
    }));
  }
  {
    FakeRun left, right;
    const Comparison c = compare_trainings(
        of("c1", "t1"),
        [&](Record& record) {
          of("c1", "t1")(record);
          (*record.environment)["commit"] = nullptr;
        },
        left, right);
    EXPECT_EQ(texts_of(c.unknown), std::vector<std::string>{"B does not say which code it ran"});
    EXPECT_FALSE(c.only_device_differs());
    EXPECT_TRUE(std::ranges::none_of(c.confounders,
                                     [](const Confounder& one) { return one.category == "code"; }));
  }
}

TEST(CompareCaptured, EvaluationsOfTheSameWeightsPairWhateverTheirNames) {
  FakeRun left, right;
  left.add_evaluation("captured_gpu", 1, "w", {{"arc_easy", 40, even}});
  left.add_evaluation("captured_gpu", 2, "v", {{"mmlu", 40, even}});
  right.add_evaluation("h100_sxm", 1, "w", {{"arc_easy", 40, even}});
  right.add_evaluation("h100_sxm", 2, "w", {{"gsm8k", 40, always}});
  RunRecords a = left.read(), b = right.read();
  for (StoredRecord& stored : a.records) {
    const auto comparability = stored.record.comparability;
    make_captured(stored.record);
    stored.record.comparability = comparability;
    stored.record.seed.reset();
  }
  for (StoredRecord& stored : b.records) stored.record.name = "d2.core";
  const Comparison c = compare_runs(a, b, PairAcross::kDevices);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_TRUE(c.pairs[0].fixed_weights);
  EXPECT_TRUE(text_of(c.pairs[0].note).starts_with("paired as evaluations of the same weights"));
  EXPECT_NE(comparison_text(c).find("1 score equal answer by answer"), std::string::npos)
      << comparison_text(c);
  // A gate asks for records of one name and device.
  EXPECT_TRUE(compare_runs(a, b).pairs.empty());
}

// base_train.py evaluates CORE at its end, base_eval.py the same checkpoint again.
TEST(CompareCaptured, OfRepeatedEvaluationsTheLastThatCanBeComparedCounts) {
  FakeRun left, right;
  for (const std::int64_t seed : {1, 2, 3})
    left.add_evaluation("captured_gpu", seed, "w", {{"arc_easy", 40, even}});
  right.add_evaluation("h100_sxm", 1, "w", {{"arc_easy", 40, even}});
  RunRecords a = left.read();
  const RunRecords b = right.read();
  for (StoredRecord& stored : a.records) {
    const auto comparability = stored.record.comparability;
    const std::int64_t at = *stored.record.seed;
    make_captured(stored.record);
    stored.record.comparability = comparability;
    if (at == 3) stored.record.comparability["max_per_task"] = "20";
    (*stored.record.environment)["finished_at"] = "2026-11-27T0" + std::to_string(at) + ":00:00Z";
    stored.record.seed = 40 + at;
  }
  const Comparison c = compare_runs(a, b, PairAcross::kDevices);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_EQ(c.pairs[0].a->record.seed, 42);
  EXPECT_EQ(c.only_a.size(), 2U);
}

TEST(CompareCaptured, SeveralPossiblePartnersAreNamedAndNoneIsTaken) {
  FakeRun left, right;
  left.add_training("captured_gpu", 42, 1.5, 0, captured(kNanochat));
  right.add_training("ascend_910b3", 1, 1.4, 0, with(kSuite));
  right.add_training("h100_sxm", 1, 1.4, 0, with(kSuite));
  const RunRecords a = left.read(), b = right.read();
  const Comparison c = compare_runs(a, b, PairAcross::kDevices);
  EXPECT_TRUE(c.pairs.empty());
  ASSERT_FALSE(c.unpaired.empty());
  EXPECT_EQ(text_of(c.unpaired[0]),
            "train base on captured_gpu, seed 42: several could be its partner (train base on "
            "ascend_910b3, seed 1, train base on h100_sxm, seed 1); name one by its node's folder");
}

// One captured training beside the seeds of an emulated one: against their spread.
TEST(CompareCaptured, SeedsOfAnEmulatedTrainingAreAGroup) {
  FakeRun left, right;
  left.add_training("captured_gpu", 42, 1.5, 0, captured(kNanochat));
  for (const std::int64_t seed : {1, 2, 3})
    right.add_training("ascend_910b3", seed, 1.4 + 0.001 * static_cast<double>(seed), 0,
                       with(kSuite));
  const RunRecords a = left.read(), b = right.read();
  const Comparison c = compare_runs(a, b, PairAcross::kDevices);
  const auto bpb = std::ranges::find_if(
      c.seeds, [](const SeedDifference& one) { return one.metrics.front() == "val_bpb"; });
  ASSERT_NE(bpb, c.seeds.end());
  ASSERT_TRUE(bpb->test);
  EXPECT_NEAR(bpb->test->difference, 1.402 - 1.5, 1e-12);
  EXPECT_LT(bpb->test->interval95.high, 0);
  EXPECT_EQ(bpb->shown, Shown::kBetter);
}

TEST(RecipeNames, EveryNameHasOneRowAndEveryTableItsSource) {
  for (const RecipeNames& table : recipe_names()) {
    EXPECT_FALSE(table.source.empty());
    std::set<std::string_view> seen;
    for (const RecipeName& row : table.names) {
      EXPECT_TRUE(seen.insert(row.theirs).second) << row.theirs;
      const bool is_said = row.reading != Reading::kElsewhere && row.reading != Reading::kOneSided;
      EXPECT_EQ(is_said, !row.common.empty()) << row.theirs;
    }
  }
}

}  // namespace
}  // namespace nb
