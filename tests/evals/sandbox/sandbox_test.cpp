// What honest programs may rely on: the same outcomes as in nanochat's and human-eval's harness.
// What hostile ones get: tests/evals/hostile.

#include "evals/sandbox/sandbox.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <thread>

namespace nb::sandbox {
namespace {

class Sandbox : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("NPUBENCH_SANDBOX", GetParam(), 1);
    const auto ability = probe();
    if (!ability) GTEST_SKIP() << ability.error().message;
    ability_ = *ability;
  }
  void TearDown() override { ::unsetenv("NPUBENCH_SANDBOX"); }

  ProgramOutcome run(std::string_view program, const Limits& limits = {}) const {
    const auto outcome = run_python(ability_, program, limits);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(ProgramOutcome{});
  }
  std::string reason(std::string_view program) const { return run(program).reason; }
  Ability ability_;
};

TEST_P(Sandbox, TellsRightFromWrong) {
  const ProgramOutcome right = run("print('x' * 10)\nassert 1 + 1 == 2");
  EXPECT_EQ(right.outcome, Outcome::kPassed) << right.reason;
  EXPECT_EQ(right.out, "xxxxxxxxxx\n");
  const ProgramOutcome wrong = run("assert 1 + 1 == 3, 'no'");
  EXPECT_EQ(wrong.outcome, Outcome::kFailed);
  EXPECT_EQ(wrong.reason, "AssertionError: no");
}

TEST_P(Sandbox, SaysWhatItIs) {
  EXPECT_EQ(name(ability_.level), GetParam());
  const auto facts = environment(ability_);
  EXPECT_EQ(facts.at("sandbox"), GetParam());
  EXPECT_TRUE(facts.at("python").starts_with("3."));
  EXPECT_EQ(facts.at("sandbox_unprotected").empty(), ability_.unprotected.empty());
}

TEST_P(Sandbox, TakesAwayWhatTheReferencesTakeAway) {
  EXPECT_EQ(reason("exit()"), "TypeError: 'NoneType' object is not callable");
  EXPECT_EQ(reason("import os\nos.remove('x')"), "TypeError: 'NoneType' object is not callable");
  EXPECT_EQ(reason("import shutil\nshutil.rmtree('x')"),
            "TypeError: 'NoneType' object is not callable");
  EXPECT_EQ(reason("import subprocess\nsubprocess.run(['true'])"),
            "TypeError: 'NoneType' object is not callable");
  EXPECT_TRUE(reason("import tkinter").starts_with("ModuleNotFoundError: "))
      << reason("import tkinter");
  EXPECT_EQ(reason("input()"), "OSError");
  EXPECT_EQ(reason("import sys\nsys.stdin.read()"), "OSError");
  EXPECT_EQ(reason("import os\nassert os.environ['OMP_NUM_THREADS'] == '1'"), "");
}

TEST_P(Sandbox, RunsWithFreshGlobalsThatAreNobodysMain) {
  EXPECT_EQ(reason("assert set(globals()) == {'__builtins__'}, set(globals())"), "");
  EXPECT_EQ(reason("if __name__ == '__main__':\n    raise ValueError"), "");
}

TEST_P(Sandbox, HasTheStandardLibraryAndAFolderToWorkIn) {
  EXPECT_EQ(reason("import math, re, json, hashlib, collections, datetime, decimal, asyncio\n"
                   "async def f(): return 7\nassert asyncio.run(f()) == 7"),
            "");
  EXPECT_EQ(reason("with open('a', 'w') as f: f.write('x')\nassert open('a').read() == 'x'"), "");
}

TEST_P(Sandbox, EqualProgramsEndEqually) {
  // Hash order, addresses, random numbers.
  const char* const program =
      "import random\nprint(list({'a', 'b', 'c', 'd', 'e'}), id(object()), random.random())";
  const std::string first = run(program).out;
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(run(program).out, first);
}

TEST_P(Sandbox, MemoryIsAddressSpace) {
  EXPECT_EQ(run("x = bytearray(100 << 20)").outcome, Outcome::kPassed);
  EXPECT_EQ(run("x = bytearray(300 << 20)").outcome, Outcome::kMemory);
  EXPECT_EQ(run("x = bytearray(300 << 20)", {.memory_bytes = 600U << 20}).outcome,
            Outcome::kPassed);
}

TEST_P(Sandbox, PrintedTextIsCutAndNotTheProgram) {
  const ProgramOutcome outcome = run("print('é' * 1000000)\nassert True", {.output_bytes = 1000});
  EXPECT_EQ(outcome.outcome, Outcome::kPassed);
  EXPECT_LE(outcome.out.size(), 1000U);
  EXPECT_GE(outcome.out.size(), 990U);
}

TEST_P(Sandbox, AnyTextCanBeAProgram) {
  EXPECT_EQ(run("").outcome, Outcome::kPassed);
  EXPECT_EQ(run("x = '日本'\nassert len(x) == 2").outcome, Outcome::kPassed);
  EXPECT_EQ(run("x = 1\r\nassert x == 1\r\n").outcome, Outcome::kPassed);
  EXPECT_EQ(run(std::string_view("x = 1\0", 6)).outcome, Outcome::kFailed);
  EXPECT_EQ(run("\xff\xfe").outcome, Outcome::kFailed);
  EXPECT_EQ(run("x = '" + std::string(3 << 20, 'a') + "'\nassert len(x) == 3 << 20").outcome,
            Outcome::kPassed);
}

TEST_P(Sandbox, ManyProgramsSideBySideKeepTheirOrder) {
  std::vector<std::string> programs;
  for (int i = 0; i < 12; ++i) programs.push_back("print(" + std::to_string(i) + ", end='')");
  const auto outcomes = run_python(ability_, programs);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ((*outcomes)[static_cast<std::size_t>(i)].out, std::to_string(i));
}

// On a busy host a program that waits its turn must not be taken for one that sleeps: 0.6 s of work
// among enough threads to take seconds, with one second to be idle.
TEST_P(Sandbox, ABusyHostIsNotAProgramThatSleeps) {
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> busy;
  for (unsigned i = 0; i < 6 * std::thread::hardware_concurrency(); ++i)
    busy.emplace_back([&] {
      while (!is_over) {
      }
    });
  const ProgramOutcome outcome = run("import time\nwhile time.process_time() < 0.6: pass",
                                     {.cpu_seconds = 3, .idle_seconds = 1, .wall_seconds = 120});
  is_over = true;
  EXPECT_EQ(outcome.outcome, Outcome::kPassed) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Levels, Sandbox, testing::Values("bubblewrap", "landlock"),
                         [](const auto& level) { return std::string(level.param); });

class SandboxProbe : public testing::Test {
 protected:
  ~SandboxProbe() override {
    ::unsetenv("NPUBENCH_SANDBOX");
    ::unsetenv("NPUBENCH_PYTHON");
  }
};

TEST_F(SandboxProbe, RefusesALevelThatDoesNotExist) {
  ::setenv("NPUBENCH_SANDBOX", "none", 1);
  const auto ability = probe();
  ASSERT_FALSE(ability);
  EXPECT_EQ(ability.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ability.error().message,
            "NPUBENCH_SANDBOX=none: there is no such level; use bubblewrap or landlock");
}

TEST_F(SandboxProbe, RefusesAnInterpreterThatProgramsCouldNotSee) {
  ::setenv("NPUBENCH_PYTHON", "/opt/python3", 1);
  const auto ability = probe();
  ASSERT_FALSE(ability);
  EXPECT_EQ(ability.error().code, ErrorCode::kBadInput);
  EXPECT_NE(ability.error().message.find("under /usr"), std::string::npos);
}

TEST_F(SandboxProbe, AnInterpreterThatIsNoneIsNeverUsed) {
  ::setenv("NPUBENCH_PYTHON", "/usr/bin/true", 1);
  const auto ability = probe();
  ASSERT_FALSE(ability);
  EXPECT_NE(ability.error().message.find("no sandbox works on this host"), std::string::npos);
  EXPECT_NE(ability.error().message.find("did not start"), std::string::npos)
      << ability.error().message;
}

}  // namespace
}  // namespace nb::sandbox
