// A04 to A12: each on a table that it is about and on one that is sound.
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

TEST(A08, EagerMemoryIsThatOfTheGoldenModel) {
  for (const Json& row : audit_golden()["eager"]) {
    const NanochatShape shape{
        row["depth"].get<std::int64_t>(), 64 * row["depth"].get<std::int64_t>(),
        row["vocab"].get<std::int64_t>(), row["sequence"].get<std::int64_t>()};
    EXPECT_NEAR(eager_training_bytes(shape, row["batch"].get<std::int64_t>(),
                                     row["cards"].get<std::int64_t>()),
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
