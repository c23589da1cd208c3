// Two trainings of the same seed: what the gate says of their curves, along the way from steps.csv.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/compare/loss_curve.hpp"
#include "results/gate/gate.hpp"
#include "results/store/metric_names.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/verdict_with.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::verdict_with;

constexpr const char* kDevice = "h100_sxm";

// steps.csv with a column that is `value(step)`; the rest of the record stays as it is.
template <class Value>
std::string steps_with(const std::string& column, int steps, Value value) {
  std::string text = fmt::format("step,train_loss,{}\n", column);
  for (int step = 0; step < steps; ++step)
    text += fmt::format("{},{},{}\n", step, 5.5 / (1 + 0.01 * step), value(step));
  return text;
}

// The baseline's and the candidate's steps.csv; other weights came out.
GateResult gate_of(const std::string& base_steps, const std::string& candidate_steps,
                   const std::function<void(Record&)>& change = {}) {
  FakeRun base, candidate;
  const auto add = [&](FakeRun& run, const std::string& steps, double bpb, bool is_candidate) {
    run.add_training(kDevice, 1, bpb, 0, [&](Record& record) {
      ASSERT_TRUE(write_file(run.folder_of(record) / "steps.csv", steps));
      if (is_candidate && change) change(record);
    });
  };
  add(base, base_steps, 1.5, false);
  add(candidate, candidate_steps, 1.5001, true);
  return gate(base.read(), candidate.read());
}

// Ten steps were compared: a rate × 0.7 from step 30 on lost 15.6 points with exit 0.
TEST(TrainingTwins, ARateThatFallsLateIsAnotherProcedure) {
  const auto rate = [](int from) {
    return steps_with("lr_multiplier", 60, [=](int step) { return step < from ? 1 : 0.7; });
  };
  const GateResult late = gate_of(rate(60), rate(30));
  EXPECT_EQ(late.night, Verdict::kSuspicious) << gate_text(late);
  EXPECT_NE(gate_headline(late).find("lr_multiplier 1 → 0.7 at step 30 (exact: no rounding"),
            std::string::npos)
      << gate_headline(late);
  EXPECT_EQ(gate_of(rate(30), rate(30)).exit_code, 0);
}

// A loader that repeats its first group was IMPROVED with five seeds.
TEST(TrainingTwins, OtherTokensAreSeenInTheStepThatReadThem) {
  const auto read = [](int repeats_from) {
    return steps_with("batch_hash", 60, [=](int step) {
      return 4000000000U + static_cast<unsigned>(step < repeats_from ? step : step - repeats_from);
    });
  };
  const GateResult repeated = gate_of(read(60), read(45));
  EXPECT_EQ(repeated.night, Verdict::kSuspicious) << gate_text(repeated);
  EXPECT_NE(gate_headline(repeated).find("other tokens were read at step 45"), std::string::npos)
      << gate_headline(repeated);
  EXPECT_EQ(gate_of(read(60), read(60)).exit_code, 0);
}

TEST(TrainingTwins, AColumnThatAnOlderRunLacksIsNotCompared) {
  const auto step_of = [](int step) { return step; };
  const GateResult result =
      gate_of(steps_with("grad_norm", 60, step_of), steps_with("batch_hash", 60, step_of));
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
}

// GRPO's loss is 0 by construction: 4.7e-9 → 7.0e-9 was "33 %, rounding explains 0.1 %".
TEST(TrainingTwins, WhatIsLeftOfALossThatCancelsIsRounding) {
  const auto grpo = [](double loss) {
    return fmt::format("step,train_loss,reward,tokens\n0,{},0.5,700\n1,0.01,0.5,710\n", loss);
  };
  EXPECT_EQ(gate_of(grpo(4.7e-9), grpo(7.0e-9)).exit_code, 0);
  const GateResult other = gate_of(grpo(4.7e-9), grpo(.02));
  EXPECT_EQ(other.exit_code, 1) << gate_text(other);
  EXPECT_NE(gate_headline(other).find("(by 0.02, rounding explains 0.0005)"), std::string::npos)
      << gate_headline(other);
}

// Samples of the model decide how long a step of RL is, not its procedure.
TEST(TrainingTwins, TokensOfRlAreTheModelsAndOthersAreExact) {
  const auto steps = [](const char* column, int tokens) {
    return fmt::format("step,train_loss,{},tokens\n0,0.01,0.5,700\n1,0.01,0.5,{}\n", column,
                       tokens);
  };
  EXPECT_EQ(gate_of(steps("reward", 710), steps("reward", 730)).exit_code, 0);
  const GateResult other = gate_of(steps("grad_norm", 710), steps("grad_norm", 730));
  EXPECT_NE(gate_headline(other).find("tokens 710 → 730 at step 1"), std::string::npos)
      << gate_headline(other);
}

std::string mid_steps(double loss, double rate) {
  return fmt::format("step,train_loss,lr_multiplier\n0,{},1\n1,{},{}\n", loss, loss - .1, rate);
}

// A BASE that ended with `weights` and a MID that began with them, which says so itself or by its
// parent's key. The keys of fake records are those of their folders, so they are set afterwards.
struct TwoStages {
  FakeRun base, mid;
  RunRecords records;

  TwoStages(const std::string& weights, double loss, double rate, bool says_weights) {
    base.add_training(kDevice, 1, 1.5, 0,
                      [&](Record& record) { record.subject["weights"] = weights; });
    mid.add_training(kDevice, 1, 1.2, 0, [&](Record& record) {
      ASSERT_TRUE(write_file(mid.folder_of(record) / "steps.csv", mid_steps(loss, rate)));
      record.subject["weights"] = fmt::format("mid of {} {} {}", weights, loss, rate);
      record.checkpoint = Json{{"steps", 60}};
      if (says_weights) record.subject[metric::kParentWeights] = weights;
    });
    records = mid.read();
    Record& record = records.records.front().record;
    record.name = "mid";
    record.node_key = sha256_hex(record.subject["weights"]);
    record.parents = {std::string(64, weights[0])};
    records.records.push_back(base.read().records.front());
    records.records.back().record.node_key = std::string(64, weights[0]);
  }
};

// Initial weights × 1.000001 made MID and SFT "the training procedure changed, before any weight
// was updated (0.34 %)": they only began with another BASE.
TEST(TrainingTwins, WhoBeganWithOtherWeightsHasOtherLossesAndTheSameProcedure) {
  for (const bool says_weights : {true, false}) {
    const TwoStages base("a", 2, 1, says_weights);
    const auto gated = [&](const std::string& parent, double loss, double rate) {
      const TwoStages candidate(parent, loss, rate, says_weights);
      return gate(base.records, candidate.records);
    };
    const GateResult other = gated("c", 2.007, 1);
    EXPECT_EQ(other.exit_code, 0) << gate_text(other);
    EXPECT_NE(gate_text(other).find("train mid on h100_sxm, seed 1: began with other weights"),
              std::string::npos)
        << gate_text(other);
    const GateResult same = gated("a", 2.007, 1);
    EXPECT_EQ(same.night, Verdict::kSuspicious) << gate_text(same);
    EXPECT_NE(gate_headline(same).find("already at the first step, before any weight"),
              std::string::npos)
        << gate_headline(same);
    const GateResult rate = gated("c", 2.007, .5);
    EXPECT_EQ(rate.night, Verdict::kSuspicious) << "exact whatever the weights";
    EXPECT_NE(gate_headline(rate).find("train mid on h100_sxm, seed 1: lr_multiplier 1 → 0.5"),
              std::string::npos)
        << gate_headline(rate);
  }
}

}  // namespace
}  // namespace nb
