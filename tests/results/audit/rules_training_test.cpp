// A04 to A12: each on a table that it is about and on one that is sound.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/audit/sizes.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

std::vector<Finding> with_facts(std::string_view rule, const std::string& facts,
                                const std::string& run_members = "") {
  return findings_of_rule(audited(table_from(run_with(facts, run_members))), rule);
}

struct FactCase {
  const char* facts;
  bool is_sound;
};
void expect_each(std::string_view rule, std::initializer_list<FactCase> cases,
                 const std::string& run_members = "") {
  for (const FactCase& fact : cases)
    EXPECT_EQ(with_facts(rule, fact.facts, run_members).empty(), fact.is_sound)
        << rule << ": " << fact.facts;
}

TEST(A04, IdentitiesOfTokensOperationsRateAndSizes) {
  expect_each(
      "A04",
      {{R"("iterations": "21,400", "total_batch_tokens": "524,288", "tokens": "11,219,763,200")",
        true},
       {R"("iterations": "50,000", "total_batch_tokens": "262,144", "tokens": "10,000,000,000")",
        false},
       {R"("iterations": "50,000", "total_batch_tokens": "262,144", "tokens": "13.1e9")", true},
       {R"("iterations": "50,000", "total_batch_tokens": "-1", "tokens": "1,000")", true},
       {R"("flops_per_token": "3.491758e9", "tokens": "11,219,763,200", "flops": "3.917670e+19")",
        true},
       {R"("flops_per_token": "3.491758e9", "tokens": "11,219,763,200", "flops": "4.2e+19")",
        false},
       {R"("total_batch_tokens": "524,288", "step_ms": "487.57", "tok_s": "1,075,308")", true},
       {R"("total_batch_tokens": "524,288", "step_ms": "487.57", "tok_s": "134,413")", false},
       {R"("depth": "18", "vocab": "65,536", "parameters": "437,649,408")", true},
       {R"("depth": "18", "vocab": "65,536", "parameters": "350,000,000")", false},
       {R"("depth": "20", "vocab": "32,768", "parameters": "896,535,720")",
        true},                                                   // value embeddings
       {R"("depth": "20", "parameters": "896,535,720")", true},  // no vocabulary, no statement
       {R"("depth": "20", "vocab": "65,536", "cards": "8", "tok_s": "1,075,308", "mfu": "47.46%")",
        true},
       {R"("depth": "20", "vocab": "65,536", "cards": "8", "tok_s": "1,075,308", "mfu": "57.46%")",
        false},
       {R"("depth": "20", "vocab": "65,536", "cards": "8", "tok_s": "1,075,308", "mfu": "0.00%")",
        true}},
      R"("device": "NVIDIA H100", )");
}

TEST(A04, AnotherArchitectureThatCountsItselfIsNoFail) {
  // Reported parameters and operations agree with each other: 6 (N - embedding) + attention.
  const auto found = with_facts("A04",
                                R"("depth": "12", "vocab": "65,536", "parameters": "220,000,000",
                                   "flops_per_token": "1.2445e9")");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
}

TEST(A04, MfuIsWhatTokensAndTimeGive) {
  // As report cards have it: no tok/s. 11,219,763,200 tokens in 172.57 m on 8 H100 are 47.8 %.
  const auto with = [](const char* mfu) {
    return with_facts("A04",
                      fmt::format(R"("flops_per_token": "3.491758e9", "tokens": "11,219,763,200",
                                     "cards": "8", "minutes": "172.57m", "mfu": "{}")",
                                  mfu),
                      R"("device": "NVIDIA H100 80GB HBM3", )");
  };
  EXPECT_TRUE(with("48.04%").empty());
  EXPECT_TRUE(with("54%").empty());  // of the last step alone
  EXPECT_TRUE(with("36%").empty());
  ASSERT_EQ(with("88%").size(), 1U);
  EXPECT_EQ(with("88%")[0].severity, Severity::kFail);
  EXPECT_EQ(with("88%")[0].found,
            "MFU 88%, but tokens and time give 1,083,595 tok/s on 8 cards of 989 TFLOP/s is "
            "47.82 %");
  ASSERT_EQ(with("70%").size(), 1U);
  EXPECT_EQ(with("70%")[0].severity, Severity::kWarn);
}

TEST(A04, AMinimumIsNotAboveTheFinalValue) {
  expect_each("A04", {{R"("min_val_bpb": "0.8119", "val_bpb": "0.8120")", true},
                      {R"("min_val_bpb": "0.8120", "val_bpb": "0.812")", true},
                      {R"("min_val_bpb": "0.8300", "val_bpb": "0.8120")", false},
                      {R"("min_val_bpb": "0.8300")", true}});
}

TEST(A05, TimeIsTokensOverRate) {
  EXPECT_TRUE(
      with_facts("A05", R"("tokens": "1,000,000,000", "tok_s": "100,000", "minutes": "167m")")
          .empty());
  const auto warn =
      with_facts("A05", R"("tokens": "1,000,000,000", "tok_s": "100,000", "minutes": "140m")");
  ASSERT_EQ(warn.size(), 1U);
  EXPECT_EQ(warn[0].severity, Severity::kWarn);
  const auto fail =
      with_facts("A05", R"("tokens": "1,000,000,000", "tok_s": "100,000", "minutes": "1 h")");
  ASSERT_EQ(fail.size(), 1U);
  EXPECT_EQ(fail[0].severity, Severity::kFail);
  EXPECT_NE(
      fail[0].found.find("need 277,778 tok/s; the table's rate is 100,000 (2.8 h, 2.8 times off)"),
      std::string::npos)
      << fail[0].found;
}

TEST(A05, RunsOfFewStepsAreWarmingUp) {
  EXPECT_TRUE(
      with_facts("A05",
                 R"("iterations": "50", "tokens": "25,600", "tok_s": "14,000", "minutes": "0.01m")")
          .empty());
}

std::string two_rows(const char* one, const char* eight) {
  return std::string(R"({"schema": "npubench.table/1", "runs": [{"name": "r", "stages": [
      {"name": "1", "group": "g", "facts": {"cards": "1", "tok_s": ")") +
         one + R"("}}, {"name": "8", "group": "g", "facts": {"cards": "8", "tok_s": ")" + eight +
         R"("}}]}]})";
}

TEST(A06, EightCardsAreAtMostEightTimesAsFast) {
  const auto of = [](const std::string& text) {
    return findings_of_rule(audited(table_from(text)), "A06");
  };
  EXPECT_TRUE(of(two_rows("2,000", "15,000")).empty());
  EXPECT_TRUE(of(two_rows("2,000", "16,100")).empty());
  ASSERT_EQ(of(two_rows("2,000", "18,000")).size(), 1U);
  EXPECT_EQ(of(two_rows("2,000", "18,000"))[0].severity, Severity::kWarn);
  expect_each("A06", {{R"("cards": "8", "speedup": "7.5x")", true},
                      {R"("cards": "8", "speedup": "9x")", false}});
}

TEST(A07, RatesAreAPlausibleShareOfThePeak) {
  expect_each("A07",
              {{R"("depth": "20", "cards": "8", "tok_s": "1,083,595")", true},
               {R"("depth": "12", "cards": "8", "tok_s": "18,000")", false},
               {R"("depth": "20", "cards": "8", "tok_s": "2,000,000")", false}},
              R"("device": "NVIDIA H100", )");
  expect_each("A07",
              {{R"("depth": "12", "cards": "8", "tok_s": "18,000")", true}});  // no known peak
}

TEST(A07, OfSeveralPeaksOneIsEnoughAndAllAreShown) {
  const std::string ascend = R"("device": "Ascend 910B", )";
  EXPECT_TRUE(
      with_facts("A07", R"("depth": "20", "cards": "1", "tok_s": "1,600")", ascend).empty());
  const auto found = with_facts("A07", R"("depth": "12", "cards": "1", "tok_s": "2,000")", ascend);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].found.find("0.81 % of 256, 0.66 % of 313, 0.65 % of 320, 0.55 % of 376"),
            std::string::npos)
      << found[0].found;
}

TEST(A07, ARateIsHeldAgainstTheStatedDevicesPeak) {
  // 382 TFLOP/s: more than a die of the 910C has, less than an H100.
  const auto verdict = [](const std::string& device, const std::string& more = "") {
    return verdicts_of(audited(table_from(
        run_with(R"("flops_per_token": "49144356864", "cards": "16", "tok_s": "124262")" + more,
                 R"("device": ")" + device + R"(", )"))));
  };
  EXPECT_EQ(verdict("Huawei Ascend 910C"), "FAIL A07");
  EXPECT_EQ(verdict("Ascend910_9392"), "FAIL A07");
  EXPECT_EQ(verdict("Ascend 910B3"), "FAIL A07");
  EXPECT_EQ(verdict("NVIDIA A100-SXM4-80GB"), "FAIL A07");
  EXPECT_EQ(verdict("NVIDIA H100 80GB"), "");
  EXPECT_EQ(verdict("NVIDIA B200"), "");
  EXPECT_EQ(verdict("a device that nobody knows"), "");
  EXPECT_EQ(verdict("NVIDIA H100 80GB", R"(, "peak_tflops": "320")"), "FAIL A07");
}

TEST(A07, ARunWithoutStagesIsJudgedAsOne) {
  // The facts of a run stood on no stage, and no rule looked at them.
  const auto found =
      findings_of_rule(audited(table_from(R"({"schema": "npubench.table/1", "runs": [{"name": "sft",
          "device": "Huawei Ascend 910C", "facts": {"cards": "16", "tok_s": "124262",
          "flops_per_token": "49144356864"}, "stages": []}]})")),
                       "A07");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_EQ(found[0].needed.find("at most 118,410 tok/s"), 0U) << found[0].needed;
}

TEST(A07, MoreThanAllOfThePeakIsImpossible) {
  const auto verdict = [](const std::string& facts, const std::string& device) {
    return verdicts_of(audited(
        table_from(run_with(facts, device.empty() ? "" : R"("device": ")" + device + R"(", )"))));
  };
  // 113.7 % of 989.
  EXPECT_EQ(
      verdict(R"("flops_per_token": "1e9", "cards": "1", "tok_s": "1,124,493")", "NVIDIA H100"),
      "FAIL A07");
  EXPECT_EQ(verdict(R"("mfu": "113.7 %")", "NVIDIA H100"), "FAIL A07");
  EXPECT_EQ(verdict(R"("mfu": "113.7 %", "peak_tflops": "320")", ""), "FAIL A07");
  EXPECT_EQ(verdict(R"("mfu": "113.7 %")", ""), "WARN A07");
  EXPECT_EQ(verdict(R"("mfu": "113.7 %")", "NVIDIA B200"),
            "WARN A07");  // of 989, as nanochat had it
  EXPECT_EQ(verdict(R"("mfu": "48 %")", "NVIDIA H100"), "");
  // Products in fp8 are twice as fast.
  const std::string fast = R"("flops_per_token": "1e9", "cards": "1", "tok_s": "1,124,493")";
  EXPECT_EQ(verdict(fast, R"(NVIDIA H100", "settings": {"fp8": "True"}, "source": ")"), "");
}

TEST(A08, NoCardHoldsMoreThanItHas) {
  const auto verdict = [](const std::string& memory, const std::string& device) {
    return verdicts_of(audited(table_from(run_with(memory, R"("device": ")" + device + R"(", )"))));
  };
  EXPECT_EQ(verdict(R"("peak_bytes": "95,422.02MiB")", "NVIDIA H100 80GB HBM3"), "FAIL A08");
  EXPECT_EQ(verdict(R"("peak_bytes": "75,422.02MiB")", "NVIDIA H100 80GB HBM3"), "");
  EXPECT_EQ(verdict(R"("peak_bytes": "81,000MiB")", "NVIDIA H100 80GB HBM3"), "");
  EXPECT_EQ(verdict(R"("peak_bytes": "45,000MiB")", "NVIDIA A100-SXM4-40GB"), "FAIL A08");
  EXPECT_EQ(verdict(R"("peak_bytes": "45,000MiB")", "NVIDIA A100"), "");  // there is one of 80 GB
  EXPECT_EQ(verdict(R"("peak_bytes": "95,422MiB")", "NVIDIA H200"), "");
  EXPECT_EQ(verdict(R"("peak_bytes": "70 GB")", "Huawei Ascend 910B"), "FAIL A08");
  EXPECT_EQ(verdict(R"("peak_bytes": "66 GB", "memory_bytes": "64 GB")", "unknown"), "");
  EXPECT_EQ(verdict(R"("peak_bytes": "70 GB", "memory_bytes": "64 GB")", "unknown"), "FAIL A08");
}

TEST(A08, EagerMemoryIsThatOfTheGoldenModel) {
  for (const Json& row : audit_golden()["eager"]) {
    const NanochatShape shape{
        row["depth"].get<std::int64_t>(), 64 * row["depth"].get<std::int64_t>(),
        row["vocab"].get<std::int64_t>(), row["sequence"].get<std::int64_t>()};
    EXPECT_NEAR(eager_training_bytes(shape, row["batch"].get<double>(), row["cards"].get<double>()),
                row["bytes"].get<double>(), 1e-6 * row["bytes"].get<double>());
  }
  EXPECT_NEAR(audit_golden()["bytes_per_activation"].get<double>(), 50.6, .05);
}

TEST(A08, MemoryFarFromTheModelIsNamed) {
  expect_each(
      "A08",
      {{R"("depth": "12", "device_batch": "16", "peak_bytes": "24 GB")", false},
       {R"("depth": "12", "device_batch": "16", "peak_bytes": "48 GB")", true},
       {R"("depth": "12", "device_batch": "2", "sequence": "512", "vocab": "265", "cards": "4", "peak_bytes": "1.54 GB")",
        true},
       {R"("depth": "12", "device_batch": "4", "peak_bytes": "28 GB")", false},
       {R"("depth": "12", "device_batch": "16", "peak_bytes": "0 GB")", true}},
      R"("device": "Ascend 910B", )");
  // Compiled training needs less, by how much no model here says.
  expect_each("A08", {{R"("depth": "12", "device_batch": "16", "peak_bytes": "24 GB")", true}},
              R"("device": "NVIDIA H100", )");
}

TEST(A09, SpeedUpAndTimeSavedAreOneNumber) {
  expect_each("A09", {{R"("speedup": "6x", "time_saved": "83 %")", true},
                      {R"("speedup": "6x", "time_saved": "85 %")", false},
                      {R"("speedup": "6x", "time_saved": "85 %+")", false},
                      {R"("speedup": "7x", "time_saved": "85 %+")", true},
                      {R"("speedup": "6.667x", "time_saved": "85 %")", true},
                      {R"("speedup": "6x")", true}});
}

TEST(A10, TokensPerParameterFollowFromBoth) {
  expect_each(
      "A10",
      {{R"("depth": "20", "tokens": "11,219,763,200", "tokens_per_parameter": "20.0000")", true},
       {R"("depth": "18", "iterations": "13,351", "total_batch_tokens": "524,288", "tokens_per_parameter": "20")",
        false},
       {R"("parameters": "36,700,160", "tokens": "51,200", "tokens_per_parameter": "0.0014")",
        true},
       {R"("parameters": "36,700,160", "tokens": "51,200", "tokens_per_parameter": "0.0024")",
        false},
       {R"("depth": "20", "tokens_per_parameter": "20")", true}});
}

TEST(A11, BatchesDivide) {
  expect_each(
      "A11",
      {{R"("cards": "8", "device_batch": "32", "sequence": "2048", "total_batch_tokens": "524,288")",
        true},
       {R"("cards": "2", "device_batch": "12", "sequence": "2048", "total_batch_tokens": "524,288")",
        false},
       {R"("cards": "8", "device_batch": "4", "target_examples": "64")", true},
       {R"("cards": "8", "device_batch": "8", "target_examples": "32")", false},
       {R"("cards": "8", "examples_per_step": "16")", true},
       {R"("cards": "8", "examples_per_step": "12")", false},
       {R"("device_batch": "8", "target_examples": "33")", true},  // cards not said
       {R"("cards": "8", "device_batch": "8", "total_batch_tokens": "-1", "sequence": "2048")",
        true}});
  const auto found =
      with_facts("A11", R"("cards": "8", "device_batch": "8", "target_examples": "32")");
  EXPECT_EQ(found[0].needed, "64 examples a step");  // the nearest that can run
}

TEST(A12, StepsFollowFromRows) {
  expect_each(
      "A12",
      {{R"("training_rows": "20,843", "target_examples": "32", "iterations": "651")", true},
       {R"("training_rows": "20,843", "target_examples": "64", "iterations": "651")", false},
       {R"("training_rows": "7,473", "examples_per_step": "32", "iterations": "233")", true},
       {R"("training_rows": "7,473", "examples_per_step": "32", "iterations": "~250")", false},
       {R"("training_rows": "1,000", "target_examples": "10", "epochs": "3", "iterations": "300")",
        true},
       {R"("training_rows": "22,439", "target_examples": "4", "asked_iterations": "100", "iterations": "100")",
        true}});
  EXPECT_EQ(
      with_facts("A12",
                 R"("training_rows": "7,473", "examples_per_step": "32", "iterations": "~250")")[0]
          .severity,
      Severity::kWarn);
}

}  // namespace
}  // namespace nb::test
