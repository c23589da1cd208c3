// However npubench ends, within two seconds nothing of its sandboxes is left, processes or files. A
// process that is forked here plays npubench: whatever it orphans becomes a child of this one.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "evals/sandbox/processes.hpp"
#include "evals/sandbox/sandbox.hpp"
#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::sandbox {
namespace {

struct Stubborn {
  const char* name;
  const char* program;
};

// All that a program may try in order to live on.
constexpr Stubborn kStubborn[] = {
    {"sleeps", "import time\ntime.sleep(1000)"},
    {"computes", "while True: pass"},
    {"asks_not_to_die_with_its_parent",
     "import ctypes, time\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\ntime.sleep(1000)"},
    {"ignores_all_signals",
     "import ctypes, signal, time\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n"
     "for number in range(1, 65):\n"
     "    try: signal.signal(number, signal.SIG_IGN)\n"
     "    except (OSError, ValueError): pass\n"
     "while True: time.sleep(1000)"},
    {"is_stopped",
     "import ctypes\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n"
     "import signal, time\nsignal.raise_signal(signal.SIGSTOP)\ntime.sleep(1000)"},
    {"runs_in_many_threads",
     "import threading, time\n"
     "for i in range(2): threading.Thread(target=time.sleep, args=(1000,)).start()\n"
     "time.sleep(1000)"},
    {"becomes_another_program", "import posix\nposix.execv('/usr/bin/sleep', ['sleep', '1000'])"},
};

bool comes_true_within(std::chrono::milliseconds time, const std::function<bool()>& claim) {
  const auto start = std::chrono::steady_clock::now();
  while (!claim()) {
    if (std::chrono::steady_clock::now() - start > time) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::set<pid_t> children_of(pid_t process) {
  std::set<pid_t> found;
  for (const pid_t one : all_processes())
    if (parent_of(one) == process) found.insert(one);
  return found;
}

std::set<pid_t> all_below(pid_t process) {
  std::set<pid_t> found;
  for (const pid_t child : children_of(process)) {
    found.insert(child);
    found.merge(all_below(child));
  }
  return found;
}

std::string name_of(pid_t process) {
  return read_file("/proc/" + std::to_string(process) + "/comm").value_or("gone");
}

class End : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  End() {
    ::setenv("NPUBENCH_SANDBOX", std::get<0>(GetParam()), 1);
    ::setenv("TMPDIR", temporary_.path().c_str(), 1);
    ::chmod(temporary_.path().c_str(), 0755);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~End() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    ::unsetenv("TMPDIR");
    ::unsetenv("NPUBENCH_SANDBOX");
  }
  void SetUp() override {
    const auto ability = probe();
    if (!ability) GTEST_SKIP() << ability.error().message;
    ability_ = *ability;
    before_ = children_of(::getpid());
  }

  pid_t start(const char* program) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const auto outcome =
        run_trial(ability_, {program, "", "", "", ""}, {.cpu_seconds = 100, .idle_seconds = 1000});
    ::_exit(outcome ? 0 : 1);
  }
  // Kills them; the names of what they leave for longer than two seconds.
  std::string left_after_end(const std::vector<pid_t>& npubenches) const {
    for (const pid_t one : npubenches) ::kill(one, std::get<1>(GetParam()));
    for (const pid_t one : npubenches) ::waitpid(one, nullptr, 0);
    std::set<pid_t> left;
    const auto is_tidy = [&] { return fs::is_empty(temporary_.path()); };
    comes_true_within(std::chrono::seconds(20), [&] {
      left.clear();
      std::ranges::set_difference(children_of(::getpid()), before_,
                                  std::inserter(left, left.end()));
      std::erase_if(left, [](pid_t one) { return ::waitpid(one, nullptr, WNOHANG) == one; });
      return left.empty() && is_tidy();
    });
    std::string names = is_tidy() ? "" : "a folder";
    for (const pid_t one : left) {
      names += name_of(one);
      ::kill(one, SIGKILL);
      ::waitpid(one, nullptr, 0);
    }
    return names;
  }

  test::TempDir temporary_;
  Ability ability_;
  std::set<pid_t> before_;
};

// When both interpreters have run for a while.
TEST_P(End, OfNpubenchIsTheEndOfEveryProgram) {
  std::vector<pid_t> npubenches;
  for (const Stubborn& stubborn : kStubborn) npubenches.push_back(start(stubborn.program));
  std::set<pid_t> last;
  EXPECT_TRUE(comes_true_within(std::chrono::seconds(30), [&] {
    std::set<pid_t> now;
    bool are_all_there = true;
    for (const pid_t one : npubenches) {
      std::set<pid_t> below = all_below(one);
      are_all_there = are_all_there && below.size() >= 3;
      now.merge(below);
    }
    const bool is_settled = are_all_there && now == last;
    last = now;
    if (!is_settled) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return is_settled;
  }));
  EXPECT_EQ(left_after_end(npubenches), "");
}

// bwrap has moments in which its inner process would not notice.
TEST_P(End, AtAnyMomentOfAStartLeavesNothing) {
  for (int delay_us = 0; delay_us < 60'000; delay_us += 2'000) {
    const pid_t npubench = start("import time\ntime.sleep(1000)");
    ::usleep(static_cast<useconds_t>(delay_us));
    EXPECT_EQ(left_after_end({npubench}), "") << delay_us << " us after its start";
  }
}

std::string case_name(const testing::TestParamInfo<End::ParamType>& info) {
  return std::string(std::get<0>(info.param)) + "_SIG" + sigabbrev_np(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Signals, End,
                         testing::Combine(testing::Values("bubblewrap", "landlock"),
                                          testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL)),
                         case_name);

// The guard itself killed, by somebody who may: its programs die with it, and the trial is no
// program's fault.
class GuardsEnd : public testing::TestWithParam<const char*> {};

TEST_P(GuardsEnd, IsTheEndOfItsProgramsAndAnErrorOfTheHost) {
  ::setenv("NPUBENCH_SANDBOX", GetParam(), 1);
  const auto ability = probe();
  ::unsetenv("NPUBENCH_SANDBOX");
  if (!ability) GTEST_SKIP() << ability.error().message;
  std::set<pid_t> guards, programs;
  std::jthread killer([&] {
    comes_true_within(std::chrono::seconds(20), [&] {
      guards = children_of(::getpid());
      std::erase_if(guards, [](pid_t one) { return name_of(one) != "npubench-guard\n"; });
      programs.clear();
      for (const pid_t one : guards) programs.merge(all_below(one));
      return programs.size() >= 2;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (const pid_t one : guards) ::kill(one, SIGKILL);
  });
  const auto outcome =
      run_trial(*ability, {"import time\ntime.sleep(1000)", "", "", "", ""}, {.idle_seconds = 60});
  killer.join();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "sandbox: the process that guards programs was killed");
  EXPECT_TRUE(comes_true_within(std::chrono::seconds(20), [&] {
    return std::ranges::all_of(programs, [](pid_t one) { return parent_of(one) == 0; });
  }));
  for (const pid_t one : guards) ::waitpid(one, nullptr, WNOHANG);
  // The next trial has a new one.
  EXPECT_TRUE(run_trial(*ability, {"pass", "", "", "", ""}));
}

INSTANTIATE_TEST_SUITE_P(Levels, GuardsEnd, testing::Values("bubblewrap", "landlock"),
                         [](const auto& level) { return std::string(level.param); });

}  // namespace
}  // namespace nb::sandbox
