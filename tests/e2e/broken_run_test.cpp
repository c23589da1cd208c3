// Runs whose records were cut short, overwritten or never written: commands that open one say what
// is broken, where and what to try; the command that made it mends it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "results/store/record.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kMadeAnew =
    "; run the command that made it again: what is damaged is replaced\n";

class BrokenRun : public testing::Test {
 protected:
  void SetUp() override {
    const auto trained = bench_.train();
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    training_ = bench_.node("train-base");
    record_ = read_file(training_ / "record.json").value();
  }
  // What `npubench eval` and `npubench chat` say, and that they say the same.
  std::string error_with(const fs::path& model) {
    const TempDir results;
    const auto eval = bench_({"eval", "--model", model.string(), "--task", "mw/facts", "--quiet",
                              "--results-dir", results.path().string()});
    const auto chat = bench_({"chat", "--model", model.string(), "--prompt", "The"});
    EXPECT_EQ(eval.exit_code, 64) << eval.out;
    EXPECT_EQ(chat.exit_code, 64) << chat.out;
    EXPECT_EQ(eval.err, chat.err);
    EXPECT_TRUE(fs::is_empty(results.path()));
    return eval.err;
  }
  std::string error_with_record(const std::string& text) {
    EXPECT_TRUE(write_file(training_ / "record.json", text));
    return error_with(training_);
  }
  std::string changed(const std::string& pointer, const Json& value) const {
    Json json = Json::parse(record_);
    json[Json::json_pointer(pointer)] = value;
    json["checksum"] = record_checksum(json);
    return json.dump();
  }
  std::string at(const std::string& place) const {
    return "npubench: " + (training_ / "record.json").string() + place;
  }

  Bench bench_;
  fs::path training_;
  std::string record_;
};

// All of these were "no finished training in it; run the suite first".
TEST_F(BrokenRun, IsToldWithThePlace) {
  const std::string syntax = ": syntax error while parsing value - ";
  EXPECT_EQ(
      error_with_record(""),
      at(":1:1" + syntax) + "unexpected end of input; expected '[', '{', or a literal" + kMadeAnew);
  EXPECT_EQ(error_with_record("{\n \"schema\": 1,\n \"kind\": x"),
            at(":3:10" + syntax) + "invalid literal; last read: '\"kind\": x'" + kMadeAnew);
  const std::string cut = error_with_record(record_.substr(0, record_.size() / 2));
  EXPECT_TRUE(cut.starts_with(at(":"))) << cut;
  EXPECT_TRUE(cut.ends_with(kMadeAnew)) << cut;
  EXPECT_EQ(error_with_record("[]"), at(": is not an object") + kMadeAnew);
  EXPECT_EQ(error_with_record(changed("/status", 1)), at(": /status: is not a string") + kMadeAnew);
  EXPECT_EQ(
      error_with_record(changed("/settings/train/depth", "one")),
      at(": /settings/train/depth: expected an integer, found the string \"one\"; make it again "
         "with --fresh\n"));
  // Given by its suite's folder or by the results folder, it is the same.
  ASSERT_TRUE(write_file(training_ / "record.json", "[]"));
  EXPECT_EQ(error_with(training_.parent_path()), at(": is not an object") + kMadeAnew);
  EXPECT_EQ(error_with(bench_.results()), at(": is not an object") + kMadeAnew);
}

// A header bit of a file that was named by its path was read as another training's history.
TEST_F(BrokenRun, ADamagedOrSwappedCheckpointIsNeverUsed) {
  const fs::path file = fs::directory_iterator(training_ / "checkpoints")->path();
  const std::string whole = read_file(file).value();
  const TempDir nights;
  const fs::path accepted = nights / "accepted_run";
  fs::copy(training_.parent_path(), accepted, fs::copy_options::recursive);
  const std::string damaged = "npubench: " + file.string() + ": damaged: its SHA-256 is ";
  const auto error_with_file = [&](const std::string& bytes) {
    EXPECT_TRUE(write_file(file, bytes));
    EXPECT_TRUE(error_with(training_).starts_with(damaged)) << error_with(training_);
    const TempDir results;
    const auto eval = bench_({"eval", "--model", file.string(), "--device", "h100_sxm",
                              "--tokenizer", (bench_.node("tokenizer") / "tokenizer.json").string(),
                              "--task", "bpb", "--text", (training_ / "log.txt").string(),
                              "--quiet", "--results-dir", results.path().string()});
    EXPECT_EQ(eval.exit_code, 64) << eval.out;
    const auto gate =
        bench_({"gate", accepted.string(), training_.parent_path().string(), "--no-history"});
    EXPECT_EQ(gate.exit_code, 4) << gate.out << gate.err;
    // Folded where the line ends: the name is in one piece.
    const std::size_t named = gate.out.find(file.filename().string() + ":");
    EXPECT_TRUE(named != std::string::npos && gate.out.find("damaged", named) != std::string::npos)
        << gate.out;
    return eval.err;
  };
  std::string flipped = whole;
  const std::size_t seed = flipped.find(R"(\"seed\":)");
  ASSERT_NE(seed, std::string::npos);
  flipped[seed + 9] ^= 1;
  EXPECT_EQ(error_with_file(flipped),
            "npubench: " + file.string() +
                ": not a complete safetensors file: it does not have the SHA-256 that it records; "
                "use an older checkpoint or train again\n");
  const Bench other;
  ASSERT_EQ(other.train({"--seed", "5"}).exit_code, 0);
  const fs::path swapped = fs::directory_iterator(other.node("train-base") / "checkpoints")->path();
  EXPECT_TRUE(error_with_file(read_file(swapped).value()).starts_with(damaged));
}

TEST_F(BrokenRun, SaysWhichParentIsBroken) {
  const fs::path tokenizer = bench_.node("tokenizer") / "record.json";
  ASSERT_TRUE(write_file(tokenizer, "{}"));
  EXPECT_EQ(error_with(training_), "npubench: " + fs::canonical(tokenizer).string() +
                                       ": /schema: 0 is none of the schemas 1 to 2 that this "
                                       "program reads (was it written by another version?)" +
                                       kMadeAnew);
}

// The search for the tokenizer never ended.
TEST_F(BrokenRun, ParentsThatGoRoundInACircleAreRefused) {
  const std::string key = Json::parse(record_).at("node_key");
  EXPECT_NE(error_with_record(changed("/parents", Json::array({key}))).find("form a cycle"),
            std::string::npos);
}

TEST_F(BrokenRun, UnfinishedFailedAndForeignNodesSayWhatTheyAre) {
  fs::remove(training_ / "record.json");
  EXPECT_EQ(error_with(training_), "npubench: " + training_.string() +
                                       ": has no record.json; the node did not finish; run the "
                                       "command that made it again: it resumes\n");
  Json failed = Json::parse(record_);
  failed["status"] = "failed";
  failed["error"] = "disk full";
  failed["checksum"] = record_checksum(failed);
  EXPECT_EQ(error_with_record(failed.dump()),
            "npubench: " + training_.string() + ": the training failed: disk full\n");
  const fs::path tokenizer = bench_.node("tokenizer");
  EXPECT_EQ(error_with(tokenizer), "npubench: " + tokenizer.string() +
                                       ": is a node of kind tokenizer; give a training's folder\n");
}

// Both exited 0.
TEST_F(BrokenRun, IsComparedAndReportedAsFarAsItCanBeRead) {
  ASSERT_TRUE(write_file(training_ / "record.json", "[]"));
  const std::string run = training_.parent_path().string();
  const std::string told =
      "npubench: some records could not be read: " + (training_ / "record.json").string() +
      ": is not an object";
  const auto compared = bench_({"compare", run, run});
  EXPECT_EQ(compared.exit_code, 4) << compared.err;
  EXPECT_TRUE(compared.err.starts_with(told)) << compared.err;
  EXPECT_NE(compared.out.find("bit-identical"), std::string::npos) << compared.out;
  const TempDir out;
  const auto reported = bench_({"report", run, "--no-plots", "--out", out.path().string()});
  EXPECT_EQ(reported.exit_code, 4) << reported.err;
  EXPECT_TRUE(reported.err.starts_with(told)) << reported.err;
  EXPECT_TRUE(fs::exists(out.path() / "report.html"));
}

TEST_F(BrokenRun, TheCommandThatMadeItMendsIt) {
  ASSERT_TRUE(write_file(training_ / "record.json", "{"));
  const auto again = bench_.train();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(first_damage(training_.parent_path()), "");
}

// The same command failed until somebody removed the folder.
TEST_F(BrokenRun, AnEvaluationsBrokenRecordIsWrittenAnew) {
  const TempDir results;
  const std::vector<std::string> command{
      "eval",     "--model", training_.string(), "--task",
      "mw/facts", "--quiet", "--results-dir",    results.path().string()};
  const auto first = bench_(command);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  fs::path folder;
  for (const auto& entry : fs::directory_iterator(results / "eval"))
    if (entry.path().filename() != ".locks") folder = entry.path();
  ASSERT_TRUE(write_file(folder / "record.json", "{\"schema\": 1,"));
  const auto rescored = bench_({"eval", "--rescore", folder.string()});
  EXPECT_EQ(rescored.exit_code, 64);
  EXPECT_EQ(rescored.err,
            fmt::format("npubench: {}:1:14: syntax error while parsing object key - unexpected end "
                        "of input; expected string literal{}",
                        (folder / "record.json").string(), kMadeAnew));
  const auto again = bench_(command);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(first_damage(results.path()), "");
}

}  // namespace
}  // namespace nb::test
