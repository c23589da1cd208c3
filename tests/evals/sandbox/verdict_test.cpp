#include "evals/sandbox/verdict.hpp"

#include <gtest/gtest.h>

namespace nb::sandbox {
namespace {

constexpr Limits kLimits{.cpu_seconds = 5};

Observed seen(const std::string& report) {
  Observed observed;
  observed.report = report;
  return observed;
}
ProgramOutcome verdict_of(const Observed& observed) { return verdict(observed, kLimits); }

TEST(Verdict, PassesOnTheCheckersWordAlone) {
  const ProgramOutcome outcome = verdict_of(seen("ready\npassed\nprinted\nmore"));
  EXPECT_EQ(outcome.outcome, Outcome::kPassed);
  EXPECT_EQ(outcome.out, "printed\nmore");
  for (const char* report : {"ready\n", "ready\npassed", "ready\npass\n", "ready\n\npassed\n"})
    EXPECT_NE(verdict_of(seen(report)).outcome, Outcome::kPassed) << report;
}

TEST(Verdict, AnExceptionHasItsTypeAndMessage) {
  const ProgramOutcome outcome = verdict_of(seen("ready\nfailed\nValueError\nbad x\n"));
  EXPECT_EQ(outcome.outcome, Outcome::kFailed);
  EXPECT_EQ(outcome.reason, "ValueError: bad x");
  EXPECT_EQ(verdict_of(seen("ready\nfailed\nAssertionError\n\n")).reason, "AssertionError");
  EXPECT_EQ(verdict_of(seen("ready\nmemory\n")).outcome, Outcome::kMemory);
}

TEST(Verdict, AProgramThatIsGoneHasEndedAsItsProcessDid) {
  Observed observed = seen("ready\ngone\n");
  EXPECT_TRUE(waits_for_program(observed));
  EXPECT_EQ(verdict_of(observed).outcome, Outcome::kExited);
  EXPECT_EQ(verdict_of(observed).reason, "the process ended with code 0 before the test did");
  observed.program.exit_code = 139;
  EXPECT_EQ(verdict_of(observed).reason, "signal 11");
  observed.program.exit_code = 137;
  observed.program.cpu_ms = 100;
  EXPECT_EQ(verdict_of(observed).outcome, Outcome::kCrashed);
  observed.program.cpu_ms = 4700;
  EXPECT_EQ(verdict_of(observed).outcome, Outcome::kTimedOut);
  EXPECT_FALSE(waits_for_program(seen("ready\nfailed\ngone\n\n")));
  EXPECT_FALSE(waits_for_program(seen("ready\n")));
}

TEST(Verdict, BytesThatAreNoAnswerAreAForgery) {
  const ProgramOutcome outcome = verdict_of(seen("ready\nbroken\na message that is too long\n"));
  EXPECT_EQ(outcome.outcome, Outcome::kForged);
  EXPECT_EQ(outcome.reason, "its process sent a message that is too long");
}

// Whatever the program made the checker choke on is wrong, and no trouble of this computer.
TEST(Verdict, ACheckerThatEndsWithoutAWordIsNoPass) {
  Observed observed = seen("ready\n");
  observed.checker.exit_code = 139;
  EXPECT_EQ(verdict_of(observed).reason, "signal 11 in the test");
  observed.checker = {137, 4700};
  EXPECT_EQ(verdict_of(observed).outcome, Outcome::kTimedOut);
  EXPECT_EQ(trouble_of_host(observed), "");
}

TEST(Verdict, AStopOfOursCountsWhateverWasReported) {
  Observed observed = seen("ready\nfailed\nValueError\n\n");
  for (const auto& [stop, outcome] :
       {std::pair(Stop::kIdle, Outcome::kTimedOut), std::pair(Stop::kWall, Outcome::kTimedOut),
        std::pair(Stop::kOutput, Outcome::kFailed), std::pair(Stop::kScratch, Outcome::kFailed)}) {
    observed.stop = stop;
    EXPECT_EQ(verdict_of(observed).outcome, outcome);
  }
}

TEST(Verdict, WhatDidNotStartIsTroubleOfTheHost) {
  Observed observed = seen("");
  observed.program.exit_code = 127;
  EXPECT_EQ(trouble_of_host(observed), "the interpreter did not start (exit codes 127 and 0)");
  observed.stop = Stop::kIdle;
  EXPECT_NE(trouble_of_host(observed), "");
  EXPECT_EQ(trouble_of_host(seen("ready\nunable\nthe test passes a module\n")),
            "the test passes a module");
  EXPECT_EQ(trouble_of_host(seen("ready\nfailed\nAssertionError\n\n")), "");
  // On a busy host a program can make its thousand files before the checker runs.
  for (const Stop stop : {Stop::kScratch, Stop::kOutput}) {
    Observed early = seen("");
    early.stop = stop;
    EXPECT_EQ(trouble_of_host(early), "");
    EXPECT_NE(verdict(early, {}).outcome, Outcome::kPassed);
  }
}

}  // namespace
}  // namespace nb::sandbox
