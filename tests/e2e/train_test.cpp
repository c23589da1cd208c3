// npubench train: one training from flags, its record, its profile, bad input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(Train, WritesARunFolderThatCompareAndReportCanRead) {
  const Bench bench;
  const auto result = bench.train({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("last loss"), std::string::npos) << result.out;
  const auto record = read_record(bench.node("train-base-ascend_910b3-s1"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->status, "ok");
  EXPECT_EQ(first_damage(bench.suite_folder("train-d1")), "");
  const std::string folder = bench.suite_folder("train-d1").string();
  EXPECT_EQ(bench({"compare", folder, folder}).exit_code, 0);
  const auto again = bench.train({});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.out.find("existed already"), std::string::npos) << again.out;
}

TEST(Train, ProfileAddsUpAndChangesNoBit) {
  const Bench plain, profiled;
  ASSERT_EQ(plain.train({"--quiet"}).exit_code, 0);
  const auto result = profiled.train({"--profile", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Json json = Json::parse(result.out);
  const Json& profile = json.at("profile");
  EXPECT_EQ(profile.at("steps"), 3);  // the first of four warms up
  std::int64_t sum_ns = 0;
  std::vector<std::string> phases;
  for (const Json& phase : profile.at("step").at("children")) {
    sum_ns += phase.at("time_ns").get<std::int64_t>();
    phases.push_back(phase.at("name"));
  }
  EXPECT_EQ(sum_ns, profile.at("step").at("time_ns").get<std::int64_t>());
  EXPECT_EQ(phases, (std::vector<std::string>{"forward", "backward", "optimizer", "transfers",
                                              "simulated device", "between ops"}));
  const fs::path folder = json.at("folder").get<std::string>();
  EXPECT_TRUE(fs::exists(folder / "host_profile.svg"));
  EXPECT_EQ(first_difference(outcome(plain.suite_folder("train-d1")),
                             outcome(profiled.suite_folder("train-d1"))),
            "");
  // Profiled again although the result is there, with the same result.
  const auto again = profiled.train({"--profile"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("linear_backward_weight"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("picture: "), std::string::npos) << again.out;
}

TEST(Train, KeepsTheInitialWeightsAndEvaluatesThemByStep) {
  const Bench bench;
  ASSERT_EQ(bench.train({"--save-init", "--keep-steps", "2", "--quiet"}).exit_code, 0);
  const fs::path training = bench.node("train-base");
  const auto record = read_record(training);
  ASSERT_TRUE(record) << record.error().message;
  for (const char* file : {"step_000000", "step_000002", "step_000004"})
    EXPECT_TRUE(record->artifacts.contains(std::string("checkpoints/") + file + ".safetensors"))
        << file;
  // The last one is what it is without the others.
  const Bench plain;
  ASSERT_EQ(plain.train({"--quiet", "--checkpoint-every", "3"}).exit_code, 0);
  const std::string last = "checkpoints/step_000004.safetensors";
  EXPECT_EQ(read_record(plain.node("train-base"))->artifacts.at(last), record->artifacts.at(last));

  const auto evaluate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"eval",   "--model",       training.string(),
                                       "--task", "mw/facts",      "--quiet",
                                       "--json", "--results-dir", bench.results().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return bench(arguments);
  };
  const auto at = [&](const std::vector<std::string>& more) {
    const auto done = evaluate(more);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return read_record(Json::parse(done.out).at("folder").get<std::string>()).value();
  };
  const Record first = at({"--step", "0"}), middle = at({"--step", "2"}), end = at({});
  EXPECT_EQ(first.name, "base@0.mw/facts");
  EXPECT_EQ(middle.name, "base@2.mw/facts");
  EXPECT_EQ(end.name, "base.mw/facts");
  EXPECT_EQ(first.checkpoint->at("steps"), 0);
  EXPECT_EQ(end.checkpoint->at("steps"), 4);
  EXPECT_NE(first.subject.at("weights"), end.subject.at("weights"));
  EXPECT_EQ(at({"--step", "4"}).node_key, end.node_key);
  const auto none = evaluate({"--step", "3"});
  EXPECT_EQ(none.exit_code, 64);
  EXPECT_NE(none.err.find("keeps no checkpoint of step 3; it has checkpoints/step_000000"),
            std::string::npos)
      << none.err;
}

TEST(Train, OfASuiteEqualsTheSuitesOwnTraining) {
  const Bench suite, single;
  ASSERT_EQ(suite.run(kSmallSuite, {"--set", R"(/devices=["ascend_910b3"])"}).exit_code, 0);
  const auto result =
      single({"train", "--suite", kSmallSuite, "--results-dir", single.results().string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto a = read_record(suite.node("train-base-ascend_910b3-s1"));
  const auto b = read_record(single.node("train-base-ascend_910b3-s1"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->node_key, b->node_key);
  EXPECT_EQ(a->subject.at("weights"), b->subject.at("weights"));
  EXPECT_TRUE(fs::exists(single.suite_folder("small-train-d2")));
}

TEST(Train, OnTextsOfOnesOwn) {
  const Bench bench;
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "the cat number " + std::to_string(i * i) + " sat down.\n\n";
  ASSERT_TRUE(write_file(bench.results() / "own/cats.txt", text));
  const auto result = bench({"train",
                             "--data",
                             (bench.results() / "own").string(),
                             "--depth",
                             "1",
                             "--sequence-len",
                             "32",
                             "--device-batch",
                             "2",
                             "--total-batch-tokens",
                             "64",
                             "--steps",
                             "2",
                             "--eval-tokens",
                             "64",
                             "--vocab-size",
                             "300",
                             "--name",
                             "cats",
                             "--results-dir",
                             (bench.results() / "out").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(bench.results() / "out/cats/run.json"));
}

TEST(Train, TextsThatAreNoTextAreBadInput) {
  const Bench bench;
  const std::pair<const char*, const char*> cases[] = {
      {"good\n\xff bad\n", ":2: byte 5 of the file (0xff) is not UTF-8"},
      {"", "no document with text"}};
  for (const auto& [text, part] : cases) {
    const std::string file = (bench.results() / "texts.txt").string();
    ASSERT_TRUE(write_file(file, text));
    const auto result = bench({"train", "--data", file, "--results-dir", bench.results().string()});
    EXPECT_EQ(result.exit_code, 64) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
}

TEST(Train, BadInputIsOneSentenceAndWritesNothing) {
  const Bench bench;
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--depth", "0"}, "/stages/base/depth"},
      {{"--depth", "many"}, "/stages/base/depth"},
      {{"--device", "ascend_910b9"}, "did you mean"},
      {{"--total-batch-tokens", "5000"}, "4096 or 6144"},
      {{"--suite", "tests/e2e/nowhere.json"}, "nowhere.json"},
      {{"--seed", "-1"}, "--seed: \"-1\" is not a whole number from 0 up"},
      {{"--seed", "1, 2"}, "--seed: \"1, 2\" is not a whole number from 0 up"},
      {{"--matrix-lr", "nan"}, "/stages/base/matrix_lr: expected a number"},
      {{"--name", "../elsewhere"}, "/name: \"../elsewhere\" is not a name"},
      {{"--name", "a/b"}, "is not a name"},
      {{"--name", "."}, "is not a name"},
      {{"--data", "/nowhere/texts"}, "/nowhere/texts"},
      {{"--simd", "sse9"}, "available here: scalar"},
      {{"--steps"}, "--iterations"}};
  for (const auto& [more, part] : cases) {
    std::vector<std::string> arguments{"train", "--results-dir", bench.results().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = bench(arguments);
    EXPECT_EQ(result.exit_code, 64) << more.front() << ": " << result.out << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_TRUE(fs::is_empty(bench.results())) << more.front();
  }
}

}  // namespace
}  // namespace nb::test
