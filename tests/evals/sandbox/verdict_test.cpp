#include "evals/sandbox/verdict.hpp"

#include <gtest/gtest.h>

namespace nb::sandbox {
namespace {

constexpr Limits kLimits{.cpu_seconds = 5};

Observed seen(const std::string& after_ready, int exit_code = 0) {
  Observed observed;
  observed.ask = "question";
  observed.report = std::string(kReady) + after_ready;
  observed.exit_code = exit_code;
  return observed;
}

Outcome outcome_of(Observed observed) { return verdict(observed, kLimits).outcome; }

TEST(Verdict, PassesOnlyTheAnswerToItsOwnQuestion) {
  Observed observed = seen("question\npassed permit\nprinted");
  observed.permit = "permit";
  const ProgramOutcome outcome = verdict(observed, kLimits);
  EXPECT_EQ(outcome.outcome, Outcome::kPassed);
  EXPECT_EQ(outcome.out, "printed");
  observed.permit = "another";
  EXPECT_EQ(outcome_of(observed), Outcome::kForged);
  observed.permit = "";
  EXPECT_EQ(outcome_of(observed), Outcome::kForged);
}

TEST(Verdict, NothingMayStandBeforeTheQuestion) {
  Observed observed = seen("x\nquestion\npassed permit\n");
  observed.permit = "permit";
  EXPECT_EQ(outcome_of(observed), Outcome::kForged);
}

TEST(Verdict, NothingMayBeMissingFromTheAnswer) {
  for (const char* report : {"question\npassed permit", "question\npassed", "passed permit\n"}) {
    Observed observed = seen(report);
    observed.permit = "permit";
    EXPECT_NE(outcome_of(observed), Outcome::kPassed) << report;
  }
}

TEST(Verdict, AnExceptionHasItsTypeMessageAndOutput) {
  const ProgramOutcome outcome = verdict(seen("failed\nValueError\nbad x\nprinted\n"), kLimits);
  EXPECT_EQ(outcome.outcome, Outcome::kFailed);
  EXPECT_EQ(outcome.reason, "ValueError: bad x");
  EXPECT_EQ(outcome.out, "printed\n");
  EXPECT_EQ(verdict(seen("failed\nAssertionError\n\n"), kLimits).reason, "AssertionError");
}

TEST(Verdict, SilenceIsAnEarlyEnd) {
  EXPECT_EQ(verdict(seen("", 0), kLimits).reason,
            "the process ended with code 0 before the program did");
  EXPECT_EQ(outcome_of(seen("question\n", 0)), Outcome::kExited);
  EXPECT_EQ(verdict(seen("", 139), kLimits).reason, "signal 11");
}

TEST(Verdict, AKillWithTheTimeUsedUpIsATimeOut) {
  Observed observed = seen("", 137);
  observed.cpu_ms = 4700;
  EXPECT_EQ(outcome_of(observed), Outcome::kTimedOut);
  observed.cpu_ms = 100;
  EXPECT_EQ(outcome_of(observed), Outcome::kCrashed);
}

TEST(Verdict, AStopOfOursCountsWhateverWasReported) {
  Observed observed = seen("failed\nValueError\n\n");
  for (const auto& [stop, outcome] :
       {std::pair(Stop::kIdle, Outcome::kTimedOut), std::pair(Stop::kWall, Outcome::kTimedOut),
        std::pair(Stop::kOutput, Outcome::kFailed), std::pair(Stop::kScratch, Outcome::kFailed),
        std::pair(Stop::kNoise, Outcome::kForged)}) {
    observed.stop = stop;
    EXPECT_EQ(outcome_of(observed), outcome);
  }
}

TEST(Verdict, ThePermitIsForTheQuestionAlone) {
  EXPECT_TRUE(asks_for_permit(seen("question\n")));
  EXPECT_FALSE(asks_for_permit(seen("question")));
  EXPECT_FALSE(asks_for_permit(seen("question\nx")));
  EXPECT_FALSE(asks_for_permit(seen("failed\nquestion\n")));
  Observed answered = seen("question\n");
  answered.permit = "permit";
  EXPECT_FALSE(asks_for_permit(answered));
}

TEST(Verdict, NoiseIsNoticedAtItsFirstByte) {
  for (const char* report : {"", "q", "question\n", "fail", "failed\nX\n", "memory\n"})
    EXPECT_FALSE(is_noise(seen(report))) << report;
  for (const char* report : {"x", "questionx", "passed", "failedx", "question\nx"})
    EXPECT_TRUE(is_noise(seen(report))) << report;
  Observed early;
  early.ask = "question";
  early.report = "rea";
  EXPECT_FALSE(is_noise(early));
  early.report = "rex";
  EXPECT_TRUE(is_noise(early));
}

}  // namespace
}  // namespace nb::sandbox
