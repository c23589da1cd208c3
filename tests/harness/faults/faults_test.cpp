#include "harness/faults/faults.hpp"

#include <gtest/gtest.h>

#include "evals/task_registry.hpp"

namespace nb {
namespace {

std::string error_of(std::string_view text) {
  const auto fault = parse_fault(text, "suites/a.json: /faults/0");
  return fault ? "no error" : fault.error().message;
}

TEST(Faults, TextIsReadAndPrintedBack) {
  const auto fault = parse_fault("second_best:mw/facts", "");
  ASSERT_TRUE(fault.has_value()) << fault.error().message;
  EXPECT_EQ(fault->kind, FaultKind::kSecondBest);
  EXPECT_EQ(fault->target, "mw/facts");
  EXPECT_EQ(name(*fault), "second_best:mw/facts");
}

TEST(Faults, EveryKindOfTheTableIsRead) {
  for (const FaultInfo& info : all_faults()) {
    if (info.is_of_ranks()) continue;
    const std::string text = std::string(info.name) + ":copa";
    const auto fault = parse_fault(text, "");
    ASSERT_TRUE(fault.has_value()) << fault.error().message;
    EXPECT_EQ(name(*fault), text);
  }
}

TEST(Faults, UnknownKindGetsTheNearestAndTheList) {
  EXPECT_TRUE(error_of("secnd_best:copa")
                  .starts_with("suites/a.json: /faults/0: no fault \"secnd_best\"; did you mean "
                               "\"second_best\"? (known: second_best:<task>, kill:rank=R"));
  EXPECT_NE(error_of("kill:rank=3,step=1").find("is of ranks"), std::string::npos);
}

TEST(Faults, UnknownTaskGetsTheNearest) {
  EXPECT_EQ(error_of("second_best:coppa"),
            "suites/a.json: /faults/0: fault \"second_best:coppa\": no evaluation task \"coppa\"; "
            "did you mean "
            "\"copa\"?");
}

TEST(Faults, MissingTargetIsNamed) {
  const std::string want =
      "suites/a.json: /faults/0: fault \"second_best\" needs a task: write second_best:<task>";
  EXPECT_EQ(error_of("second_best"), want);
  EXPECT_NE(error_of("second_best:").find("needs a task"), std::string::npos);
}

TEST(Faults, ListNamesThePlaceOfTheBadOne) {
  const auto faults =
      parse_faults(std::vector<std::string>{"second_best:copa", "x:copa"}, "s.json: /faults");
  ASSERT_FALSE(faults.has_value());
  EXPECT_TRUE(faults.error().message.starts_with("s.json: /faults/1: ")) << faults.error().message;
}

TEST(Faults, FaultThatHitsNothingIsAnError) {
  const std::vector<Fault> faults = {*parse_fault("second_best:copa", "")};
  EXPECT_TRUE(check_faults_hit(faults, *expand_tasks(std::vector<std::string>{"core"}, ""), "")
                  .has_value());
  const auto missed =
      check_faults_hit(faults, *expand_tasks(std::vector<std::string>{"mw"}, ""), "s.json");
  ASSERT_FALSE(missed.has_value());
  EXPECT_EQ(missed.error().message,
            "s.json: fault \"second_best:copa\" would change nothing: copa is not part of this "
            "evaluation");
}

TEST(Faults, ScorerOfTheNamedTaskOnlyIsBroken) {
  const auto fault = scorer_faults({*parse_fault("second_best:copa", "")});
  EXPECT_EQ(fault("copa"), ScorerFault::kSecondBest);
  EXPECT_EQ(fault("piqa"), ScorerFault::kNone);
}

}  // namespace
}  // namespace nb
