// npubench eval on a model that was trained: batch, threads, shards, a kill at any moment and the
// suite's own evaluation all give the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

using std::chrono::milliseconds;

class Eval : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    bench_ = new Bench;
    const auto result = bench_->run(kSmallSuite, {"--set", R"(/devices=["ascend_910b3"])"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto start = std::chrono::steady_clock::now();
    expected_ = new std::string(bytes_of(eval({}, *(folders_ = new TempDir))));
    duration_ = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  }
  static void TearDownTestSuite() {
    delete expected_;
    delete folders_;
    delete bench_;
  }

  // The only evaluation below `results`; empty path: not finished.
  static fs::path folder_of(const TempDir& results) {
    for (const auto& entry : fs::directory_iterator(results / "eval"))
      if (has_record(entry.path())) return entry.path();
    return {};
  }
  static SubprocessResult start(std::vector<std::string> more, const TempDir& results,
                                milliseconds limit = std::chrono::minutes(5)) {
    std::vector<std::string> arguments = {"eval",
                                          "--model",
                                          bench_->node("train-base").string(),
                                          "--task",
                                          "mw",
                                          "--quiet",
                                          "--results-dir",
                                          results.path().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return (*bench_)(arguments, limit);
  }
  static fs::path eval(const std::vector<std::string>& more, const TempDir& results) {
    const auto result = start(more, results);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return folder_of(results);
  }
  // Items files and metrics: everything that must not differ.
  static std::string bytes_of(const fs::path& folder) {
    const auto record = read_record(folder);
    if (!record) return record.error().message;
    std::string text;
    for (const auto& [file, digest] : record->artifacts)
      text += file + "\n" + read_file(folder / file).value_or("missing");
    for (const Metric& metric : record->metrics)
      text += metric.name + " " + std::to_string(metric.value.value_or(-1)) + "\n";
    for (const auto& [key, value] : record->comparability) text += key + " " + value + "\n";
    return text;
  }

  static Bench* bench_;
  static TempDir* folders_;
  static std::string* expected_;
  static milliseconds duration_;
};
Bench* Eval::bench_ = nullptr;
TempDir* Eval::folders_ = nullptr;
std::string* Eval::expected_ = nullptr;
milliseconds Eval::duration_{};

// It was taken as long as its ids fitted, and all scores were those of another text.
TEST_F(Eval, TheTokenizerOfAnotherModelIsRefused) {
  const TempDir results, elsewhere;
  const fs::path file = elsewhere / "tokenizer.json";
  ASSERT_TRUE(byte_tokenizer().save(file).has_value());
  const auto refused = start({"--tokenizer", file.string()}, results);
  EXPECT_EQ(refused.exit_code, 64) << refused.out;
  EXPECT_NE(refused.err.find("--tokenizer " + file.string() +
                             ": not the one that the model was trained with"),
            std::string::npos)
      << refused.err;
  EXPECT_TRUE(fs::is_empty(results.path()));
  const auto own = (bench_->node("tokenizer") / "tokenizer.json").string();
  EXPECT_EQ(start({"--tokenizer", own}, results).exit_code, 0);
  // A checkpoint alone names it too.
  const auto of_checkpoint = [&](const std::string& tokenizer) {
    const fs::path checkpoints = bench_->node("train-base") / "checkpoints";
    const fs::path checkpoint = fs::directory_iterator(checkpoints)->path();
    return (*bench_)({"eval", "--model", checkpoint.string(), "--device", "ascend_910b3",
                      "--tokenizer", tokenizer, "--task", "mw/facts", "--max-per-task", "4",
                      "--quiet", "--results-dir", elsewhere.path().string()});
  };
  const auto other = of_checkpoint(file.string());
  EXPECT_EQ(other.exit_code, 64) << other.out;
  EXPECT_NE(other.err.find("not the one that the model was trained with"), std::string::npos)
      << other.err;
  const auto right = of_checkpoint(own);
  EXPECT_TRUE(right.err.find("trained with") == std::string::npos) << right.err;
}

TEST_F(Eval, ItemsAreThoseOfTheSuitesOwnEvaluation) {
  const fs::path ours = folder_of(*folders_), suites = bench_->node("eval-base.mw");
  for (const char* file : {"mw_facts.jsonl", "mw_cloze.jsonl", "mw_agreement.jsonl"})
    EXPECT_EQ(read_file(ours / "items" / file).value(), read_file(suites / "items" / file).value());
}

TEST_F(Eval, BatchAndThreadsChangeNothing) {
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--batch", "1"}, {"--batch", "64", "--threads", "1"}, {"--threads", "2"}}) {
    const TempDir results;
    EXPECT_EQ(bytes_of(eval(more, results)), *expected_) << more[0] << " " << more[1];
  }
}

TEST_F(Eval, ThreeShardsTogetherAreOneRun) {
  const TempDir results;
  for (const char* shard : {"2", "0", "1"}) {
    const auto result = start({"--shards", "3", "--shard", shard}, results);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(bytes_of(folder_of(results)), *expected_);
}

TEST_F(Eval, KilledAtAnyMomentItGoesOnAtTheItem) {
  for (int i = 1; i <= 5; ++i) {
    const TempDir results;
    const auto killed = start({"--batch", "1"}, results, duration_ * i / 6);  // SIGKILL
    EXPECT_EQ(bytes_of(eval({}, results)), *expected_)
        << "killed after " << (duration_ * i / 6).count() << " ms: " << killed.timed_out;
    EXPECT_FALSE(fs::exists(folder_of(results) / "partial"));
  }
}

TEST_F(Eval, KilledBehindItsRecordItLeavesNoPartialItems) {
  const TempDir results;
  const fs::path folder = eval({}, results);
  ASSERT_TRUE(append_file(folder / "partial" / "mw_facts.0-of-1.jsonl", "as a kill leaves it\n"));
  EXPECT_EQ(bytes_of(eval({}, results)), *expected_);
  EXPECT_FALSE(fs::exists(folder / "partial"));
}

TEST_F(Eval, AnotherDeviceMayRunTheSameWeights) {
  const TempDir results;
  const auto record = read_record(eval({"--device", "h100_sxm"}, results));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->device, "h100_sxm");
  EXPECT_EQ(record->trained_on, "ascend_910b3");
  EXPECT_EQ(record->subject.at("weights"),
            read_record(folder_of(*folders_))->subject.at("weights"));
}

// A comparison of evaluations called settings equal that had never been looked at.
TEST_F(Eval, RecordsCarryTheHistoryOfTheirCheckpoint) {
  const auto trained = read_record(bench_->node("train-base"));
  ASSERT_TRUE(trained) << trained.error().message;
  const auto check = [&](const fs::path& folder, const std::string& what, bool has_record) {
    const auto record = read_record(folder);
    ASSERT_TRUE(record) << record.error().message;
    const Json& history = *record->checkpoint;
    ASSERT_TRUE(history.is_object()) << what;
    EXPECT_EQ(history.at("settings").at("matrix_lr"),
              trained->settings->at("train").at("matrix_lr"));
    EXPECT_EQ(history.at("device"), "ascend_910b3") << what;
    EXPECT_EQ(history.at("steps"), trained->settings->at("effective").at("iterations")) << what;
    EXPECT_EQ(trained->settings->at("effective").at("adamw_denominator"), "scaled_step") << what;
    EXPECT_EQ(history.at("code"), has_record ? Json(trained->subject.at("code")) : Json()) << what;
    EXPECT_EQ(history.at("parents"), has_record ? Json(trained->parents) : Json()) << what;
    EXPECT_EQ(record->parents.empty(), !has_record) << what;
    if (has_record) {
      EXPECT_EQ(record->parents.front(), trained->node_key) << what;
    }
    EXPECT_EQ(record->trained_on, "ascend_910b3") << what;
    EXPECT_EQ(record->seed, trained->seed) << what;
  };
  check(folder_of(*folders_), "a run", true);
  check(bench_->node("eval-base.mw"), "a suite", true);

  // The file alone, where it was made and moved elsewhere.
  NB_NEEDS_DATA();
  const TempDir there, moved, elsewhere;
  const fs::path file = fs::directory_iterator(bench_->node("train-base") / "checkpoints")->path();
  fs::copy(file, elsewhere / "mine.safetensors");
  const auto evaluate = [&](const fs::path& checkpoint, const TempDir& results) {
    const auto done =
        (*bench_)({"eval", "--model", checkpoint.string(), "--device", "h100_sxm", "--tokenizer",
                   (bench_->node("tokenizer") / "tokenizer.json").string(), "--task", "copa",
                   "--max-per-task", "4", "--quiet", "--data-dir", data_dir().string(),
                   "--results-dir", results.path().string()});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return folder_of(results);
  };
  check(evaluate(file, there), "a file beside its record", true);
  check(evaluate(elsewhere / "mine.safetensors", moved), "a file elsewhere", false);
}

TEST_F(Eval, BuiltInModelsHaveNoHistory) {
  const TempDir results;
  const auto done = (*bench_)({"eval", "--model", "oracle", "--task", "mw/facts", "--quiet",
                               "--results-dir", results.path().string()});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(read_record(folder_of(results))->checkpoint->is_null());
}

// Everything of an evaluation that comes out of arithmetic: items and metrics.
std::string scores_of(const fs::path& folder) {
  const auto record = read_record(folder);
  if (!record) return record.error().message;
  std::string text;
  for (const auto& [task, file] : record->items)
    text += read_file(folder / file).value_or("missing " + file);
  for (const Metric& metric : record->metrics)
    text += metric.name + " " + std::to_string(metric.value.value_or(-1)) + "\n";
  return text;
}

// The reference evaluates the uncompiled model on every platform.
TEST_F(Eval, OneCheckpointHasTheSameItemsOnBothAcceleratorsToTheByte) {
  const TempDir gpu;
  const fs::path on_gpu = eval({"--device", "h100_sxm"}, gpu);
  EXPECT_EQ(scores_of(on_gpu), scores_of(folder_of(*folders_)));
  const auto a = read_record(on_gpu), b = read_record(folder_of(*folders_));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->subject.at("policy"), b->subject.at("policy"));
}

// Its output layer says nothing but NaN: copa was 0.56, with exit 0.
TEST_F(Eval, AModelThatIsNotFiniteHasNoScoreAndExits4) {
  NB_NEEDS_DATA();
  const TempDir folder;
  const fs::path checkpoint =
      fs::directory_iterator(bench_->node("train-base") / "checkpoints")->path();
  std::string bytes = read_file(checkpoint).value();
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  Json header = Json::parse(bytes.substr(8, header_size));
  header["__metadata__"].erase("file_sha256");  // as files of others, which have none
  const auto offsets = header.at("lm_head.weight").at("data_offsets");
  const std::size_t begin = 8 + header_size + offsets[0].get<std::size_t>();
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              offsets[1].get<std::size_t>() - offsets[0].get<std::size_t>(), '\xff');
  std::string text = header.dump();
  text.resize(header_size, ' ');  // what the format pads with
  bytes.replace(8, header_size, text);
  ASSERT_TRUE(write_file(folder / "nan.safetensors", bytes));
  for (const char* task : {"copa", "gsm8k"}) {
    const auto result = (*bench_)(
        {"eval", "--model", (folder / "nan.safetensors").string(), "--device", "ascend_910b3",
         "--tokenizer", (bench_->node("tokenizer") / "tokenizer.json").string(), "--task", task,
         "--max-per-task", "3", "--max-new-tokens", "4", "--quiet", "--data-dir",
         data_dir().string(), "--results-dir", folder.path().string()});
    EXPECT_EQ(result.exit_code, 4) << task << result.out << result.err;
    EXPECT_NE(result.err.find(std::string("no score: ") + task +
                              " (3 of 3 items); the model's numbers are not finite"),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.out.find("3 of 3 items have no score"), std::string::npos) << result.out;
  }
}

TEST(EvalStack, ThatASuiteChoosesIsANamedDifference) {
  Bench bench;
  const auto result = bench.run(
      kSmallSuite, {"--quiet", "--set", "/microbenchmarks=[]", "--set", "/predictions=[]", "--set",
                    R"(/devices=["h100_sxm", {"name": "compiled_scores", "profile": "h100_sxm",)"
                    R"( "stacks": {"score": "compiled"}}])"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto weights = [&](const std::string& node) {
    return read_record(bench.node(node))->subject.at("weights");
  };
  EXPECT_EQ(weights("train-base-h100_sxm"), weights("train-base-compiled_scores"));
  EXPECT_NE(scores_of(bench.node("eval-base.mw-h100_sxm")),
            scores_of(bench.node("eval-base.mw-compiled_scores")));
  const auto compared = bench({"compare", bench.suite_folder().string(), "--devices", "h100_sxm",
                               "compiled_scores", "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("score_pointwise"), std::string::npos) << compared.out;
  EXPECT_NE(compared.out.find("/settings/device/stacks"), std::string::npos) << compared.out;
}

TEST_F(Eval, TwoEvaluationsMeetTheGate) {
  const TempDir results;
  const fs::path other = eval({"--fault", "second_best:mw/agreement"}, results);
  const auto gated = (*bench_)({"gate", folder_of(*folders_).string(), other.string()});
  // The same weights and device: another score means another scorer, however few the items.
  EXPECT_EQ(gated.exit_code, 1) << gated.out << gated.err;
  EXPECT_TRUE(
      gated.out.starts_with("SUSPICIOUS (exit 1): identical weights were scored differently"))
      << gated.out;
  EXPECT_NE(gated.out.find("second_best:mw/agreement"), std::string::npos) << gated.out;
}

}  // namespace
}  // namespace nb::test
