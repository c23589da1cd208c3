// `npubench eval` in one process: folders, reuse, resume, shards, with models that are built in.
#include "harness/run/evaluation.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/run/partial_items.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/tokenizer/vocabulary.hpp"
#include "results/store/items.hpp"
#include "results/store/store.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class EvaluationTest : public testing::Test {
 protected:
  EvaluationRequest request(const std::string& model = "chance") const {
    EvaluationRequest request;
    request.model.model = model;
    request.settings.tasks = {"mw/facts", "mw/cloze"};
    request.results_dir = results_.path();
    return request;
  }
  static EvaluationOutcome run(const EvaluationRequest& request) {
    const auto outcome = run_evaluation(request);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome ? *outcome : EvaluationOutcome();
  }
  static std::string error_of(const EvaluationRequest& request) {
    const auto outcome = run_evaluation(request);
    return outcome ? "done" : outcome.error().message;
  }
  // Every artifact's bytes.
  static std::map<std::string, std::string> files_of(const EvaluationOutcome& outcome) {
    std::map<std::string, std::string> files;
    for (const auto& [file, digest] : outcome.record.artifacts)
      files[file] = read_file(outcome.folder / file).value();
    return files;
  }
  test::TempDir results_;
};

TEST_F(EvaluationTest, WritesARecordWithItemsAndIsReused) {
  const EvaluationOutcome first = run(request("oracle"));
  EXPECT_TRUE(first.is_complete);
  EXPECT_FALSE(first.is_reused);
  EXPECT_EQ(first.record.kind, "eval");
  EXPECT_EQ(first.record.subject.at("weights"), "oracle");
  EXPECT_EQ(find_metric(first.record, "mw/facts/accuracy")->value, 1.0);
  EXPECT_EQ(read_items(first.folder / first.record.items.at("mw/facts"))->size(), 180u);
  EXPECT_FALSE(fs::exists(first.folder / "partial"));
  const EvaluationOutcome second = run(request("oracle"));
  EXPECT_TRUE(second.is_reused);
  EXPECT_EQ(second.folder, first.folder);
  EXPECT_EQ(second.items_done, first.items_done);
}

// All were named "eval": of three in one folder a comparison saw one.
TEST_F(EvaluationTest, SeveralInOneFolderDoNotHideEachOther) {
  run(request("oracle"));
  run(request("chance"));
  EvaluationRequest other = request("oracle");
  other.settings.tasks = {"mw/facts"};
  run(other);
  const auto all = read_run(results_ / "eval");
  ASSERT_TRUE(all) << all.error().message;
  std::vector<std::string> names;
  for (const StoredRecord& stored : all->records) names.push_back(stored.record.name);
  EXPECT_EQ(names, (std::vector<std::string>{"chance.mw/facts+mw/cloze", "oracle.mw/facts",
                                             "oracle.mw/facts+mw/cloze"}));
  EXPECT_TRUE(all->notes.empty());
  // The same model and tasks with other settings: the later counts, the other is named.
  other.settings.max_per_task = 7;
  run(other);
  const auto more = read_run(results_ / "eval");
  ASSERT_TRUE(more);
  EXPECT_EQ(more->records.size(), 3u);
  ASSERT_EQ(more->notes.size(), 1u);
  const std::string note = text_of(more->notes[0]);
  EXPECT_NE(note.find("skipped: superseded by"), std::string::npos) << note;
  // In a folder of their own they stand alone.
  other.suite = "elsewhere";
  EXPECT_EQ(run(other).folder.parent_path(), results_ / "elsewhere");
}

// One runner for all: log, lock, marker of work, failed records.
TEST_F(EvaluationTest, IsANodeLikeTheOthers) {
  const EvaluationOutcome done = run(request("oracle"));
  EXPECT_TRUE(fs::exists(done.folder / "log.txt"));
  EXPECT_FALSE(fs::exists(done.folder / "working"));
  EXPECT_FALSE(fs::exists(done.folder.parent_path() / "run.json"));
  EXPECT_EQ(done.record.subject.at("code"), code_digest(NodeKind::kEval));
  EXPECT_TRUE(done.folder.filename().string().ends_with(done.record.node_key.substr(0, 8)));
  // An edited record is made again, as of any node.
  Json edited = *read_json(done.folder / "record.json");
  edited["metrics"][0]["value"] = 0.5;
  ASSERT_TRUE(write_json(done.folder / "record.json", edited));
  const EvaluationOutcome again = run(request("oracle"));
  EXPECT_FALSE(again.is_reused);
  EXPECT_EQ(files_of(again), files_of(done));
  EXPECT_EQ(find_metric(again.record, "mw/facts/accuracy")->value, 1.0);
}

TEST_F(EvaluationTest, AFullDiskFailsItAndTheSameCommandResumes) {
  fail_writes_after(40, ENOSPC);
  const std::string failed = error_of(request("oracle"));
  fail_writes_after(0, 0);
  EXPECT_NE(failed.find("No space left"), std::string::npos) << failed;
  const EvaluationOutcome resumed = run(request("oracle"));
  EXPECT_FALSE(resumed.is_reused);
  EXPECT_GT(resumed.items_resumed, 0);
}

TEST_F(EvaluationTest, ALineBreakInTheResultsFolderIsRefused) {
  EvaluationRequest broken = request();
  broken.results_dir = results_ / "a\nb";
  const std::string message = error_of(broken);
  EXPECT_NE(message.find("has a line break in its name"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_TRUE(fs::is_empty(results_.path()));
}

TEST_F(EvaluationTest, OtherSettingsAreAnotherEvaluation) {
  EvaluationRequest cropped = request();
  cropped.settings.max_per_task = 20;
  EXPECT_NE(run(request()).folder, run(cropped).folder);
}

TEST_F(EvaluationTest, BatchesAreTheSameEvaluation) {
  EvaluationRequest other = request();
  other.batch_items = 7;
  const EvaluationOutcome first = run(request());
  EXPECT_TRUE(run(other).is_reused);
  other.fresh = true;
  const EvaluationOutcome again = run(other);
  EXPECT_FALSE(again.is_reused);
  EXPECT_EQ(files_of(first), files_of(again));
}

TEST_F(EvaluationTest, TheLastOfThreeShardsMergesThemToTheSameBytes) {
  const auto whole = files_of(run(request()));
  test::TempDir elsewhere;
  EvaluationRequest sharded = request();
  sharded.results_dir = elsewhere.path();
  sharded.shards = 3;
  for (const std::int64_t shard : {1, 2, 0}) {
    sharded.shard = shard;
    const EvaluationOutcome outcome = run(sharded);
    EXPECT_EQ(outcome.is_complete, shard == 0) << shard;
    if (outcome.is_complete) {
      EXPECT_EQ(files_of(outcome), whole);
    }
  }
  sharded.shard = 1;
  EXPECT_TRUE(run(sharded).is_reused);
}

// Fresh shards found the old record at their end and called it theirs.
TEST_F(EvaluationTest, FreshShardsReuseNothingButEachOther) {
  const EvaluationOutcome whole = run(request());
  const auto expected = files_of(whole);
  const fs::path partial = whole.folder / "partial";
  EvaluationRequest sharded = request();
  sharded.shards = 3;
  sharded.fresh = true;
  // What other processes left: unreadable, but of this shard or of another number of shards.
  for (const char* name : {"mw_facts.2-of-3.jsonl", "mw_facts.1-of-2.jsonl"})
    ASSERT_TRUE(append_file(partial / name, "garbage\n").has_value());
  std::int64_t others = 0;
  for (const std::int64_t shard : {2, 0, 1}) {
    sharded.shard = shard;
    const EvaluationOutcome outcome = run(sharded);
    EXPECT_FALSE(outcome.is_reused) << shard;
    EXPECT_EQ(outcome.is_complete, shard == 1) << shard;
    // Found is what others made: all shards said so of their own.
    EXPECT_EQ(outcome.items_resumed, others) << shard;
    others = outcome.items_done;
    if (outcome.is_complete) {
      EXPECT_EQ(files_of(outcome), expected);
    } else {
      EXPECT_TRUE(fs::exists(partial / ("mw_facts." + std::to_string(shard) + "-of-3.jsonl")));
      EXPECT_FALSE(fs::exists(partial / "mw_facts.1-of-2.jsonl"));
    }
  }
  EXPECT_FALSE(fs::exists(partial));
  sharded.fresh = false;
  EXPECT_TRUE(run(sharded).is_reused);
}

TEST_F(EvaluationTest, AFreshShardLeavesTheOthersItems) {
  EvaluationRequest sharded = request();
  sharded.shards = 2;
  sharded.shard = 1;
  EXPECT_FALSE(run(sharded).is_complete);
  sharded.shard = 0;
  sharded.fresh = true;
  const EvaluationOutcome outcome = run(sharded);
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_FALSE(outcome.is_reused);
}

TEST_F(EvaluationTest, WhatAKilledProcessLeftIsTakenUp) {
  const EvaluationOutcome whole = run(request());
  const auto expected = files_of(whole);
  auto items = read_items(whole.folder / whole.record.items.at("mw/facts"));
  ASSERT_TRUE(items.has_value());
  test::TempDir elsewhere;
  EvaluationRequest resumed = request();
  resumed.results_dir = elsewhere.path();
  // 50 items of one task and half a line more, as a kill leaves them.
  const fs::path folder = elsewhere / "eval" / whole.folder.filename();
  const PartialItems partial(folder, whole.record.node_key, 0, 1, [](const std::string&) {});
  for (std::size_t i = 0; i < 50; ++i)
    ASSERT_TRUE(partial.append("mw/facts", (*items)[i]).has_value());
  ASSERT_TRUE(
      append_file(folder / "partial/mw_facts.0-of-1.jsonl", "{\"i\":\"0123456789ab").has_value());
  const EvaluationOutcome outcome = run(resumed);
  EXPECT_EQ(outcome.items_resumed, 50);
  EXPECT_EQ(files_of(outcome), expected);
}

// It stuck at exit 64, or took the wrong item.
TEST_F(EvaluationTest, DamagedItemsOfAnInterruptedOneAreEvaluatedAgain) {
  EvaluationRequest small = request();
  small.settings.tasks = {"mw/facts"};
  small.settings.max_per_task = 5;
  const EvaluationOutcome whole = run(small);
  const auto expected = files_of(whole);
  const auto items = read_items(whole.folder / whole.record.items.at("mw/facts"));
  ASSERT_TRUE(items.has_value());
  test::TempDir elsewhere;
  EvaluationRequest resumed = small;
  resumed.results_dir = elsewhere.path();
  const fs::path folder = elsewhere / "eval" / whole.folder.filename();
  const fs::path file = folder / "partial/mw_facts.0-of-1.jsonl";
  const PartialItems partial(folder, whole.record.node_key, 0, 1, [](const std::string&) {});
  for (const ItemRecord& one : *items) ASSERT_TRUE(partial.append("mw/facts", one).has_value());
  const std::string lines = read_file(file).value();
  // Every bit of it: PartialItemsTest.
  for (std::size_t i = 0; i < lines.size(); i += 53) {
    fs::remove_all(folder);
    std::string wrong = lines;
    wrong[i] = static_cast<char>(wrong[i] ^ (1 << i % 8));
    ASSERT_TRUE(write_file(file, wrong).has_value());
    testing::internal::CaptureStderr();
    const EvaluationOutcome outcome = run(resumed);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_EQ(files_of(outcome), expected) << "byte " << i;
    ASSERT_GE(outcome.items_resumed, 3) << "byte " << i;
    ASSERT_LE(outcome.items_resumed, 4) << "byte " << i;
    ASSERT_NE(said.find(file.string() + ": of "), std::string::npos) << said;
    ASSERT_NE(read_file(folder / "log.txt").value().find(file.string()), std::string::npos);
  }
}

// The texts of an evaluation are graded again without a model, and the result stays comparable.
TEST_F(EvaluationTest, StoredTextsAreMarkedAgain) {
  NB_NEEDS_DATA();
  EvaluationRequest asked = request("oracle");
  asked.settings.tasks = {"gsm8k"};
  asked.settings.max_per_task = 8;
  asked.data_dir = test::data_dir();
  const EvaluationOutcome first = run(asked);
  EvaluationRequest again = request("");
  again.settings = {};
  again.rescore = first.folder.string();
  again.data_dir = test::data_dir();
  const EvaluationOutcome second = run(again);
  EXPECT_TRUE(second.changed.empty());
  EXPECT_NE(second.folder, first.folder);
  EXPECT_EQ(second.record.comparability, first.record.comparability);
  EXPECT_EQ(files_of(second), files_of(first));
  EXPECT_FALSE(second.is_reused);
  EXPECT_TRUE(run(again).is_reused);
  // Of two, none is the one that is meant: the later one was taken.
  asked.settings.max_per_task = 9;
  run(asked);
  again.rescore = first.folder.parent_path().string();
  EXPECT_EQ(error_of(again), again.rescore + ": not the folder of an evaluation");
  // Choices have no texts.
  EvaluationRequest scored = request("");
  scored.settings = {};
  scored.rescore = run(request("oracle")).folder.string();
  EXPECT_NE(error_of(scored).find("has no task with completions"), std::string::npos)
      << error_of(scored);
}

TEST_F(EvaluationTest, OnlyOneEvaluationIsMarkedAgain) {
  const EvaluationOutcome first = run(request("oracle"));
  const fs::path folder = results_ / "other";
  fs::create_directories(folder);
  fs::copy(first.folder, folder / first.folder.filename(), fs::copy_options::recursive);
  const fs::path file = folder / first.folder.filename() / "record.json";
  Json record = *read_json(file);
  record["kind"] = "predict";
  record["checksum"] = record_checksum(record);
  ASSERT_TRUE(write_json(file, record).has_value());
  EvaluationRequest again = request("");
  again.settings = {};
  again.rescore = file.parent_path().string();
  EXPECT_EQ(error_of(again), again.rescore + ": not the folder of an evaluation");
}

// The items are made again from the world that the record names.
TEST_F(EvaluationTest, TextsAboutTheMicroworldAreMarkedAgain) {
  EvaluationRequest asked = request("oracle");
  asked.settings.tasks = {"mw/gsm8k"};
  const EvaluationOutcome first = run(asked);
  EXPECT_EQ(find_metric(first.record, "mw/gsm8k/accuracy")->value, 1.0);
  EvaluationRequest again = request("");
  again.settings = {};
  again.rescore = first.folder.string();
  const EvaluationOutcome second = run(again);
  EXPECT_TRUE(second.changed.empty());
  EXPECT_EQ(second.record.comparability, first.record.comparability);
  fs::remove_all(second.folder);
  Json record = *read_json(first.folder / "record.json");
  record["settings"]["microworld"]["seed"] = 2;
  record["checksum"] = record_checksum(record);
  ASSERT_TRUE(write_json(first.folder / "record.json", record).has_value());
  EXPECT_NE(error_of(again).find("is no longer one of the task's items"), std::string::npos)
      << error_of(again);
}

TEST_F(EvaluationTest, CompletionsAboutAnUnknownWorldAreRefused) {
  EvaluationRequest completions = request("");
  completions.settings.tasks = {"mw/gsm8k"};
  completions.completions = "nowhere.jsonl";
  EXPECT_NE(error_of(completions).find("does not say which one"), std::string::npos)
      << error_of(completions);
}

TEST_F(EvaluationTest, AnItemWithoutTextCannotBeMarkedAgain) {
  NB_NEEDS_DATA();
  EvaluationRequest asked = request("oracle");
  asked.settings.tasks = {"gsm8k"};
  asked.settings.max_per_task = 3;
  asked.data_dir = test::data_dir();
  const EvaluationOutcome first = run(asked);
  const std::string name = first.record.items.at("gsm8k");
  auto items = *read_items(first.folder / name);
  items[1].texts.clear();
  ASSERT_TRUE(write_items(first.folder / name, items).has_value());
  Json record = *read_json(first.folder / "record.json");
  record["artifacts"][name] = *sha256_file(first.folder / name);
  record["checksum"] = record_checksum(record);
  ASSERT_TRUE(write_json(first.folder / "record.json", record).has_value());
  EvaluationRequest again = request("");
  again.settings = {};
  again.rescore = first.folder.string();
  again.data_dir = test::data_dir();
  EXPECT_EQ(error_of(again), (first.folder / name).string() + ": item " + items[1].id +
                                 " has no completion to rescore");
}

TEST_F(EvaluationTest, ATokenizerWithoutABeginningIsRefused) {
  Vocabulary bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.tokens.emplace_back(1, static_cast<char>(byte));
  const fs::path file = results_ / "tokenizer.json";
  ASSERT_TRUE(Tokenizer(std::move(bytes)).save(file).has_value());
  EvaluationRequest oracle = request("oracle");
  oracle.model.tokenizer = file.string();
  EXPECT_EQ(error_of(oracle),
            file.string() + ": this tokenizer has no <|bos|>, which every prompt needs");
}

TEST_F(EvaluationTest, BadRequestsAreOneSentence) {
  EXPECT_EQ(error_of(request("oracel")).find("--model oracel: neither a run's folder"), 0u)
      << error_of(request("oracel"));
  EXPECT_NE(error_of(request("oracel")).find("did you mean \"oracle\""), std::string::npos);
  EvaluationRequest none = request("");
  EXPECT_EQ(error_of(none), "give exactly one of --model, --server, --completions and --rescore");
  EvaluationRequest shard = request();
  shard.shards = 3;
  shard.shard = 3;
  EXPECT_EQ(error_of(shard), "--shard 3: with --shards 3 the shards are 0 to 2");
  EvaluationRequest device = request();
  device.model.device = "ascend_910b3";
  EXPECT_EQ(error_of(device),
            "--device ascend_910b3: the model chance runs on no device; leave it out");
  EvaluationRequest step = request();
  step.model.step = 3;
  EXPECT_EQ(error_of(step), "--step: the model chance has no checkpoints; leave it out");
  EvaluationRequest alone = request();
  alone.model.shares_prefixes = false;
  EXPECT_EQ(error_of(alone), "--each-alone: the model chance computes nothing; leave it out");
  EvaluationRequest task = request();
  task.settings.tasks = {"mw/fact"};
  EXPECT_NE(error_of(task).find("no evaluation task \"mw/fact\"; did you mean \"mw/facts\""),
            std::string::npos)
      << error_of(task);
  EvaluationRequest data = request();
  data.settings.tasks = {"copa", "piqa"};
  data.data_dir = results_ / "nowhere";
  EXPECT_NE(error_of(data).find("2 files are missing; download them: npubench data get core/copa "
                                "core/piqa"),
            std::string::npos)
      << error_of(data);
  EvaluationRequest completions = request("");
  completions.completions = "nowhere.jsonl";
  EXPECT_NE(error_of(completions).find("--task names 2"), std::string::npos)
      << error_of(completions);
}

// One file in two forms was "settings and code are equal" beside another score.
TEST_F(EvaluationTest, TextsReadInTwoFormsAreTwoEvaluationsThatDoNotCompare) {
  NB_NEEDS_DATA();
  EvaluationRequest request = EvaluationTest::request("");
  request.settings.tasks = {"gsm8k"};
  request.data_dir = test::data_dir();
  request.completions = test::data_dir() / "gsm8k/example_model_solutions.jsonl";
  request.completions_member = "6b_finetuning";
  const EvaluationOutcome plain = run(request);
  EXPECT_EQ(plain.record.comparability.at("gsm8k/form"), "completion");
  ASSERT_EQ(plain.notes.size(), 1U);
  EXPECT_NE(plain.notes[0].find("texts read as completion"), std::string::npos) << plain.notes[0];
  request.completions_form = "answer";
  const EvaluationOutcome answers = run(request);
  EXPECT_FALSE(answers.is_reused);
  EXPECT_NE(answers.folder, plain.folder);
  EXPECT_NE(answers.record.node_key, plain.record.node_key);
  EXPECT_EQ(answers.record.comparability.at("gsm8k/form"), "answer");
  EXPECT_NE(answers.record.comparability.at("gsm8k/extraction"),
            plain.record.comparability.at("gsm8k/extraction"));
  // The solutions end in "A: 72", which is no answer of the reference's form.
  ASSERT_EQ(answers.notes.size(), 1U);
  EXPECT_NE(answers.notes[0].find("no answer was found in 1319 of 1319 texts, read as answer"),
            std::string::npos)
      << answers.notes[0];
  // Graded again, they are still those texts.
  EvaluationRequest again = EvaluationTest::request("");
  again.settings = {};
  again.data_dir = test::data_dir();
  again.rescore = plain.folder;
  EXPECT_EQ(run(again).record.comparability.at("gsm8k/form"), "completion");
  request.completions_form = "program";
  EXPECT_NE(error_of(request).find("--completions-form program: this task has no texts of that"),
            std::string::npos);
}

TEST_F(EvaluationTest, FlagsThatWouldChangeNothingAreRefused) {
  EvaluationRequest member = request();
  member.completions_member = "gpt";
  EXPECT_EQ(error_of(member),
            "--model: no completion file is read; leave out --completions-member");
  EvaluationRequest texts = request("");
  texts.completions = "texts.jsonl";
  texts.model.device = "ascend_910b3";
  EXPECT_EQ(error_of(texts), "--completions: no model is used; leave out --device");
  texts.model.device = "";
  texts.model.tokenizer = "tokenizer.json";
  EXPECT_EQ(error_of(texts), "--completions: no model is used; leave out --tokenizer");
  texts.model.tokenizer = "";
  texts.model.shares_prefixes = false;
  EXPECT_EQ(error_of(texts), "--completions: no model is used; leave out --each-alone");
  texts.model.shares_prefixes = true;
  texts.settings.max_per_task = 1;
  EXPECT_EQ(error_of(texts),
            "--completions: every item needs its completions; leave out --max-per-task");
  texts.settings.max_per_task = 0;
  texts.settings.max_new_tokens = 7;
  EXPECT_EQ(error_of(texts), "--completions: nothing is generated; leave out --max-new-tokens");
  EvaluationRequest again = request("");
  again.rescore = "somewhere";
  EXPECT_EQ(
      error_of(again),
      "--rescore: the settings are those of the evaluation that is rescored; leave out --task");
  again.settings = {};
  again.model.shares_prefixes = false;
  EXPECT_EQ(error_of(again), "--rescore: no model is used; leave out --each-alone");
  again.model.shares_prefixes = true;
  again.completions_member = "gpt";
  EXPECT_EQ(error_of(again),
            "--rescore: the completions come from the evaluation; leave out --completions-member");
  again.completions_member = "";
  again.shards = 2;
  EXPECT_EQ(error_of(again),
            "--rescore: completions are scored by one process; leave out --shards");
}

TEST_F(EvaluationTest, TwoAtOnceWaitForEachOther) {
  EvaluationRequest both = request("oracle");
  both.settings.tasks = {"mw"};
  std::vector<Result<EvaluationOutcome>> outcomes(2, run_error("not run"));
  std::thread other([&] { outcomes[1] = run_evaluation(both); });
  outcomes[0] = run_evaluation(both);
  other.join();
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_TRUE(outcome->is_complete);
  }
  EXPECT_NE(outcomes[0]->is_reused, outcomes[1]->is_reused);
  EXPECT_EQ(files_of(*outcomes[0]), files_of(*outcomes[1]));
}

}  // namespace
}  // namespace nb
