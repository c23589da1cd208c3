// Programs that want out, up, or a score that they did not earn: the tables *.txt beside this, at
// every level that this host has.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

#include "evals/humaneval/evaluator.hpp"
#include "evals/humaneval/program.hpp"
#include "harness/base/fs.hpp"
#include "tests/evals/hostile/witness.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

struct HostileProgram {
  std::string name, outcomes, reason, text;
};

// "a | b | c" → the parts, without blanks at their ends.
std::vector<std::string> parts_of(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) {
    const std::size_t begin = part.find_first_not_of(' ');
    const std::size_t end = part.find_last_not_of(' ');
    parts.push_back(begin == part.npos ? "" : part.substr(begin, end - begin + 1));
  }
  return parts;
}

std::vector<HostileProgram> read_table(const std::string& name) {
  std::vector<HostileProgram> programs;
  const auto text = read_file(std::string(NB_SOURCE_DIR "/tests/evals/hostile/") + name);
  EXPECT_TRUE(text) << text.error().message;
  std::stringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("=== ")) {
      if (!programs.empty()) programs.back().text += line + "\n";
      continue;
    }
    auto parts = parts_of(line.substr(4), '|');
    parts.resize(3);
    programs.push_back({parts[0], parts[1], parts[2], ""});
  }
  return programs;
}

HumanEvalProblem doubling() {
  HumanEvalProblem problem;
  problem.id = "0123456789abcdef";
  problem.task_id = "Toy/0";
  problem.prompt = "def answer(x):\n    \"\"\" Twice x. \"\"\"\n";
  problem.entry_point = "answer";
  problem.canonical_solution = "    return 2 * x\n";
  problem.test =
      "def check(candidate):\n"
      "    assert candidate(2) == 4\n"
      "    assert candidate(-7) == -14\n"
      "    assert candidate(0) == 0\n";
  return problem;
}

class Hostile : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  // One level only, and folders for files where their remains can be seen.
  Hostile() {
    ::setenv("NPUBENCH_SANDBOX", std::get<0>(GetParam()), 1);
    ::setenv("TMPDIR", temporary_.path().c_str(), 1);
    ::chmod(temporary_.path().c_str(), 0755);
  }
  ~Hostile() override {
    ::unsetenv("NPUBENCH_SANDBOX");
    ::unsetenv("TMPDIR");
  }
  TempDir temporary_;
};

TEST_P(Hostile, ProgramsAreContainedAndEndAsTheTableSays) {
  const auto ability = sandbox::probe();
  if (!ability) GTEST_SKIP() << ability.error().message;
  const std::vector<HostileProgram> programs = read_table(std::get<1>(GetParam()));
  ASSERT_GE(programs.size(), 10U);
  const Witness witness;
  ASSERT_TRUE(witness.damage().empty());
  const HumanEvalEvaluator evaluator("humaneval", {doubling()}, *ability, EvalSettings{},
                                     {.cpu_seconds = 1, .idle_seconds = 1, .wall_seconds = 60});

  std::vector<std::optional<Result<ItemRecord>>> records(programs.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < 4; ++worker)
      workers.emplace_back([&] {
        for (std::size_t i = 0; (i = next++) < programs.size();)
          records[i] = evaluator.grade(
              0, std::vector{mark_text(HumanEvalText::kSolution, witness.aimed(programs[i].text))});
      });
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto& [name, outcomes, reason, text] = programs[i];
    ASSERT_TRUE(*records[i]) << name << ": " << records[i]->error().message;
    const ItemRecord& record = **records[i];
    EXPECT_TRUE(std::ranges::count(parts_of(outcomes, '/'), record.prediction) == 1 &&
                record.reason.find(reason) != record.reason.npos)
        << name << ": " << record.prediction << " (" << record.reason << ")";
  }
  EXPECT_EQ(witness.damage(), std::vector<std::string>{});
  EXPECT_EQ(Witness::stray_processes(), std::vector<std::string>{});
  for (const auto& entry : std::filesystem::directory_iterator(temporary_.path()))
    EXPECT_EQ(entry.path().string().find("npubench-sandbox"), std::string::npos) << entry.path();
}

std::string case_name(const testing::TestParamInfo<Hostile::ParamType>& info) {
  const std::string table = std::get<1>(info.param);
  return std::string(std::get<0>(info.param)) + "_" + table.substr(0, table.find('.'));
}

INSTANTIATE_TEST_SUITE_P(
    Levels, Hostile,
    testing::Combine(testing::Values("bubblewrap", "landlock"),
                     testing::Values("resources.txt", "files.txt", "processes.txt", "kernel.txt",
                                     "forgery.txt", "channel.txt", "undoing.txt", "leavings.txt",
                                     "paths.txt")),
    case_name);

}  // namespace
}  // namespace nb::test
