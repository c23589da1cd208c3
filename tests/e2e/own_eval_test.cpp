// npubench eval on what users bring: their tasks, their texts, another number of examples, other
// ways to score. All of it belongs to the evaluation's name, key, record and comparability.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

class OwnEval : public testing::Test {
 protected:
  void SetUp() override {
    write("mine.yaml",
          "icl_tasks:\n- label: colours\n  dataset_uri: rows/colours.jsonl\n  num_fewshot: [1]\n"
          "  icl_task_type: multiple_choice\n  continuation_delimiter: \"\\nAnswer: \"\n");
    write("rows/colours.jsonl", rows(0));
    write("a.txt", "The cat sat on the mat.\n");
    write("b.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}\n");
  }
  static std::string rows(int gold) {
    std::string text;
    for (const char* query : {"grass", "blood", "sky"})
      text += Json{{"query", query}, {"choices", {"green", "red"}}, {"gold", gold}}.dump() + "\n";
    return text;
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(files_ / name, text).has_value());
  }
  std::string path(const std::string& name) const { return (files_ / name).string(); }
  SubprocessResult start(std::vector<std::string> arguments, const fs::path& results) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(), {"--quiet", "--results-dir", results.string()});
    return bench_(arguments);
  }
  // In a results folder of its own.
  StoredRecord eval(const std::vector<std::string>& arguments, const std::string& name) {
    const auto result = start(arguments, files_ / name);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    auto run = read_run(files_ / name / "eval");
    EXPECT_TRUE(run.has_value() && run->records.size() == 1) << result.out;
    return run && run->records.size() == 1 ? run->records[0] : StoredRecord{};
  }
  SubprocessResult gate(const std::string& a, const std::string& b) {
    return bench_({"gate", path(a + "/eval"), path(b + "/eval")});
  }
  std::string error_of(const std::vector<std::string>& arguments) {
    const auto result = start(arguments, files_ / "refused");
    EXPECT_EQ(result.exit_code, 64) << result.out << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(files_ / "refused" / "eval"));
    std::string message = result.err;
    const std::string folder = files_.path().string() + "/";
    for (std::size_t at; (at = message.find(folder)) != std::string::npos;)
      message.erase(at, folder.size());
    return message;
  }
  std::vector<std::string> own(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--model", "oracle", "--task-file", path("mine.yaml")});
    return more;
  }
  Bench bench_;
  TempDir files_;
};

TEST_F(OwnEval, AnotherContentOfTheFilesIsAnotherKeyAndNeverEqual) {
  const StoredRecord before = eval(own(), "before");
  EXPECT_EQ(before.record.metrics.at(0).name, "own/colours/accuracy");
  EXPECT_EQ(before.record.metrics.at(0).value, 1.0);
  EXPECT_NE(start(own(), files_ / "before").out.find(", reused"), std::string::npos);
  write("rows/colours.jsonl", rows(1));
  EXPECT_EQ(start(own(), files_ / "before").out.find(", reused"), std::string::npos);
  const StoredRecord after = eval(own(), "after");
  EXPECT_NE(after.record.node_key, before.record.node_key);
  EXPECT_NE(after.record.comparability.at("own/colours/definition"),
            before.record.comparability.at("own/colours/definition"));
  fs::remove_all(files_ / "before");
  write("rows/colours.jsonl", rows(0));
  eval(own(), "before");
  const auto gated = gate("before", "after");
  EXPECT_EQ(gated.exit_code, 3) << gated.out;
  EXPECT_NE(gated.out.find("own/colours/definition differs"), std::string::npos) << gated.out;
  // Where the files lie does not matter.
  write("moved/mine.yaml", *read_file(files_ / "mine.yaml"));
  write("moved/rows/colours.jsonl", rows(0));
  EXPECT_EQ(
      eval({"--model", "oracle", "--task-file", path("moved/mine.yaml")}, "moved").record.node_key,
      eval(own(), "again").record.node_key);
}

TEST_F(OwnEval, AnotherNumberOfExamplesIsNeverEqual) {
  const StoredRecord one = eval(own(), "one");
  const StoredRecord none = eval(own({"--num-fewshot", "0"}), "none");
  EXPECT_EQ(none.record.name, "oracle.mine.yaml-0-shot");
  EXPECT_EQ((*none.record.settings)["num_fewshot"], 0);
  EXPECT_EQ(none.record.comparability.at("own/colours/few_shot"), "0, not its own 1");
  const auto gated = gate("one", "none");
  EXPECT_EQ(gated.exit_code, 3) << gated.out;
  EXPECT_NE(gated.out.find("own/colours/few_shot differs"), std::string::npos) << gated.out;
  // Asked for or not, its own number is the same measurement.
  const StoredRecord same = eval(own({"--num-fewshot", "1"}), "same");
  EXPECT_EQ(same.record.comparability, one.record.comparability);
}

TEST_F(OwnEval, WriteOutShowsPromptsAndWritesNothing) {
  const auto result = start(own({"--write-out", "1"}), files_ / "shown");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Answer: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  * \"green\""), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("own/colours: item 1 of 3"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("item 2 of 3"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(files_ / "shown" / "eval"));
  const auto json = start(own({"--json", "--write-out"}), files_ / "shown");
  EXPECT_EQ(Json::parse(json.out).at(0).at("shown").size(), 3u) << json.err;
}

TEST_F(OwnEval, ShardsOfTextsGiveTheRecordOfOneProcess) {
  const std::vector<std::string> arguments = {"--model", "oracle",      "--task", "bpb",
                                              "--text",  path("a.txt"), "--text", path("b.jsonl")};
  const StoredRecord one = eval(arguments, "one");
  for (const char* shard : {"2", "0", "1"}) {
    auto part = arguments;
    part.insert(part.end(), {"--shards", "3", "--shard", shard});
    EXPECT_EQ(start(part, files_ / "shards").exit_code, 0);
  }
  const auto run = read_run(files_ / "shards" / "eval");
  ASSERT_TRUE(run.has_value() && run->records.size() == 1);
  EXPECT_TRUE(same_results(one.record, run->records[0].record))
      << first_difference(one.record, run->records[0].record);
  EXPECT_EQ(one.record.node_key, run->records[0].record.node_key);
  // The oracle gives every byte 1/8 nat: 0.125 / ln 2.
  EXPECT_NEAR(*one.record.metrics.at(0).value, 0.18033688011112042, 1e-12);
  EXPECT_TRUE(one.record.artifacts.contains("parts.csv"));
  write("a.txt", "The cat sat on the map.\n");
  const StoredRecord other = eval(arguments, "other");
  EXPECT_NE(other.record.node_key, one.record.node_key);
  EXPECT_EQ(gate("one", "other").exit_code, 3);
}

TEST_F(OwnEval, AFilterIsPartOfTheName) {
  const StoredRecord majority =
      eval({"--model", "oracle", "--task", "mw/gsm8k:majority", "--samples", "3", "--temperature",
            "0.5", "--max-per-task", "4"},
           "majority");
  EXPECT_EQ(majority.record.name, "oracle.mw/gsm8k:majority");
  EXPECT_EQ(majority.record.comparability.at("mw/gsm8k:majority/extraction"),
            "majority of 3, #### number");
  const auto again = bench_({"eval", "--rescore", majority.folder.string(), "--quiet",
                             "--results-dir", path("rescored")});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("0 of 4 items scored differently"), std::string::npos) << again.out;
}

// Stored texts were refused for the temperature, which only a model has.
TEST_F(OwnEval, TheMajorityOfStoredTextsNeedsNoTemperature) {
  const fs::path data = data_dir();
  if (data.empty() || !fs::exists(data / "gsm8k/test.jsonl")) GTEST_SKIP() << "skipped: no data";
  write("texts.jsonl",
        "{\"id\": \"row 1\", \"text\": \"#### 18\"}\n{\"id\": \"row 1\", \"text\": \"#### 5\"}\n"
        "{\"id\": \"row 1\", \"text\": \"#### 18\"}\n");
  const StoredRecord stored =
      eval({"--completions", path("texts.jsonl"), "--completions-form", "answer", "--task",
            "gsm8k:majority", "--samples", "3", "--ignore-incomplete", "--data-dir", data.string()},
           "stored");
  EXPECT_EQ(stored.record.metrics.at(0).value, 1.0);  // row 1 is "Janet's ducks": 18
  EXPECT_EQ(stored.record.metrics.at(0).n, 1);
}

TEST_F(OwnEval, BadInputIsOneSentence) {
  EXPECT_EQ(error_of({"--model", "oracle", "--task-file", path("no.yaml")}),
            "npubench: cannot read no.yaml: No such file or directory\n");
  write("broken.yaml", "icl_tasks:\n- label: x\n  num_fewshots: 1\n");
  EXPECT_EQ(error_of({"--model", "oracle", "--task-file", path("broken.yaml")}),
            "npubench: broken.yaml:3: unknown key \"num_fewshots\"; did you mean "
            "\"num_fewshot\"?\n");
  EXPECT_EQ(error_of(own({"--num-fewshot", "3"})),
            "npubench: own/colours: 3 few-shot examples need at least 4 rows, but 3 are kept; "
            "lower num_fewshot\n");
  EXPECT_EQ(error_of({"--model", "oracle", "--task", "mw_chat", "--num-fewshot", "3"}),
            "npubench: --task: mw/arc_easy takes no few-shot examples, only CORE-style tasks do; "
            "evaluate it without num_fewshot\n");
  EXPECT_EQ(error_of({"--model", "oracle", "--task", "bpb"}),
            "npubench: --task: bpb needs a text; give the files (--text FILE)\n");
  EXPECT_EQ(error_of({"--model", "oracle", "--task", "mw", "--text", path("a.txt")}),
            "npubench: --task: only the task bpb reads texts; add it (--task bpb)\n");
  EXPECT_EQ(error_of({"--rescore", path("a.txt"), "--write-out"}),
            "npubench: --write-out: completions have no prompts to show; give a --model\n");
  EXPECT_EQ(error_of({"--model", "oracle", "--task", "mw", "--write-out", "0"}),
            "npubench: --write-out: 0 is less than 1 (npubench eval --help)\n");
}

}  // namespace
}  // namespace nb::test
