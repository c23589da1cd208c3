// How the program talks: within the columns there are, names in one piece, with all that is missing
// in one message, and the README's own commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/text_width.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> lines_wider_than(const std::string& text, std::size_t columns) {
  std::vector<std::string> wide;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (display_width(line) > columns) wide.push_back(line);
  return wide;
}

TEST(Manners, HelpStaysWithin80Columns) {
  const Bench bench;
  std::vector<Words> commands = {{"--help"}};
  for (const char* verb :
       {"run",     "plan",    "train", "eval",    "serve", "chat",   "tokenizer", "compare",
        "gate",    "nightly", "show",  "history", "audit", "report", "import",    "predict",
        "profile", "doctor",  "smi",   "data",    "list",  "runs"})
    commands.push_back({verb, "--help"});
  for (const char* command : {"list", "verify", "get"})
    commands.push_back({"data", command, "--help"});
  for (const Words& command : commands) {
    const auto help = bench(command);
    EXPECT_EQ(help.exit_code, 0) << command.front();
    EXPECT_EQ(lines_wider_than(help.out, kTextWidth), Words()) << command.front();
  }
}

// All of train's settings said TEXT.
TEST(Manners, NumericFlagsSayWhatTheyTake) {
  const std::string train = Bench()({"train", "--help"}).out;
  for (const char* flag :
       {"--depth INT", "--vocab-size INT", "--seed INT", "--iterations,--steps INT",
        "--matrix-lr FLOAT", "--warmup-ratio FLOAT", "--keep-steps TEXT"})
    EXPECT_NE(train.find(flag), std::string::npos) << flag;
}

std::vector<std::string> names_of_list(const Bench& bench, const std::string& list) {
  std::vector<std::string> names;
  for (const Json& one : Json::parse(bench({"list", list, "--json"}).out)) names.push_back(one);
  return names;
}

const char* const kLists[] = {"devices",         "stacks",        "models",   "suites",
                              "tasks",           "conversations", "faults",   "defects",
                              "microbenchmarks", "probes",        "published"};

// "npubench list devices | grep -c ascend_910b3" printed 0: names were cut at 80 columns.
TEST(Manners, EveryNameOfEveryListIsInOnePiece) {
  Bench bench;
  for (const char* columns : {"", "80", "40"}) {
    bench.environment = {{"COLUMNS", columns}};
    for (const char* list : kLists) {
      const std::string text = "\n" + bench({"list", list}).out;
      const auto names = names_of_list(bench, list);
      EXPECT_FALSE(names.empty()) << list;
      for (const std::string& name : names)
        EXPECT_NE(text.find("\n" + name), text.npos) << name << " with COLUMNS=" << columns << text;
    }
  }
}

TEST(Manners, ATableForAProgramHasOneLineARow) {
  Bench bench;
  bench.environment = {{"COLUMNS", ""}};
  for (const char* list : kLists) {
    const std::string text = bench({"list", list}).out;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
              2 + std::ssize(names_of_list(bench, list)))
        << text;
  }
}

TEST(Manners, TablesStayWithin80Columns) {
  Bench bench;
  bench.environment = {{"COLUMNS", "80"}};
  const std::string results = bench.results().string();
  // Not those whose words alone are wider: devices, tasks and data.
  std::vector<Words> commands = {{"predict", "--device", "h100_sxm", "--depth", "4"}};
  for (const char* what : {"suites", "faults", "microbenchmarks", "models", "defects"})
    commands.push_back({"list", what});
  for (const char* suite : {kSmallSuite, "suites/smoke.json"})
    commands.push_back({"plan", suite, "--results-dir", results});
  for (const Words& command : commands) {
    const auto table = bench(command);
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_EQ(lines_wider_than(table.out, kTextWidth), Words()) << command[0] << " " << command[1];
  }
}

// As the README has it: no batch is given, so the largest that fits and divides is chosen, and
// said.
TEST(Manners, PredictWithoutADeviceBatchChoosesOneAndSaysSo) {
  const Bench bench;
  const Words command = {"predict", "--device", "ascend_910b3", "--depth", "20", "--cards", "8"};
  const auto text = bench(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("per card (largest that fits; "), std::string::npos) << text.out;
  Words as_json = command;
  as_json.push_back("--json");
  const auto json = Json::parse(bench(as_json).out);
  EXPECT_TRUE(json.at("fits").get<bool>());
  EXPECT_TRUE(json.at("device_batch_size_is_chosen").get<bool>());
  EXPECT_GE(json.at("device_batch_size").get<int>(), 8);
}

TEST(Manners, PredictSpansNodes) {
  const Bench bench;
  const auto text =
      bench({"predict", "--device", "ascend_910b3", "--depth", "20", "--cards", "16"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("2 of 8 cards"), std::string::npos) << text.out;
  const auto uneven = bench({"predict", "--device", "h100_sxm", "--cards", "16", "--nodes", "1"});
  EXPECT_EQ(uneven.exit_code, 64);
  EXPECT_NE(uneven.err.find("possible numbers of nodes: 2, 4, 8, 16"), std::string::npos)
      << uneven.err;
}

TEST(Manners, PlanWithMissingDataExits64AndNamesEveryFile) {
  const Bench bench;
  const fs::path data = bench.results() / "no data";
  const auto plan = bench({"plan", "suites/real_small.json", "--results-dir",
                           bench.results().string(), "--data-dir", data.string()});
  EXPECT_EQ(plan.exit_code, 64);
  EXPECT_NE(plan.out.find("train-base"), std::string::npos) << "the plan is printed all the same";
  for (const char* file : {"text/", "core/"})
    EXPECT_NE(plan.err.find(std::string(" ") + file), std::string::npos) << plan.err;
  const auto run = bench({"run", "suites/real_small.json", "--quiet", "--results-dir",
                          bench.results().string(), "--data-dir", data.string()});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_EQ(run.err, plan.err);
}

TEST(Manners, SourcesThatAreNowhereAreAllNamed) {
  const Bench bench;
  ASSERT_TRUE(write_file(bench.results() / "s.json", R"({"name": "s", "devices": ["tiny"],
      "corpus": {"text": {"sources": ["first.txt", "second.txt"]}},
      "predictions": [{"depth": 2}]})"));
  const auto plan = bench({"plan", (bench.results() / "s.json").string()});
  EXPECT_EQ(plan.exit_code, 64);
  for (const char* source : {"first.txt", "second.txt"})
    EXPECT_NE(plan.err.find(source), std::string::npos) << plan.err;
}

TEST(Manners, HelpExemptsCpuRefFromWhatChangesNoResult) {
  const Bench bench;
  for (const char* verb : {"run", "train", "eval"}) {
    std::string help = bench({verb, "--help"}).out;
    for (std::size_t at = 0; (at = help.find('\n', at)) != help.npos;) {  // unwrap
      const std::size_t next = help.find_first_not_of(" \n", at);
      help.replace(at, next == help.npos ? next : next - at, " ");
    }
    EXPECT_NE(help.find("oes not change results"), std::string::npos) << verb;
    for (std::size_t at = 0; (at = help.find("oes not change results", at)) != help.npos; ++at)
      EXPECT_EQ(help.substr(at, 41), "oes not change results, except on cpu_ref") << verb;
  }
}

}  // namespace
}  // namespace nb::test
