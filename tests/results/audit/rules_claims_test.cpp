// A13, A14, A16 to A20, A23: each on a table that it is about and on one that is sound.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

std::vector<Finding> of(std::string_view rule, const std::string& text) {
  return findings_of_rule(audited(table_from(text)), rule);
}

TEST(A13, NumbersWithoutARecordAreClaimsAndNoBaseline) {
  const std::string claim = run_with(R"("depth": "4")");
  const auto found = of("A13", claim);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_EQ(findings_of_rule(audited(table_from(claim), true), "A13")[0].severity, Severity::kFail);
  const std::string shown = run_with(R"("depth": "4")", R"("manifest": "abc123", )");
  EXPECT_TRUE(of("A13", shown).empty());
  EXPECT_TRUE(findings_of_rule(audited(table_from(shown), true), "A13").empty());
}

TEST(A14, PlaceholdersAreNamed) {
  for (const char* facts :
       {R"("val_bpb": "8.0")", R"("min_val_bpb": "8.0000")", R"("step_ms": "5000.0")"}) {
    const auto found = of("A14", run_with(facts));
    ASSERT_EQ(found.size(), 1U) << facts;
    EXPECT_EQ(found[0].severity, Severity::kWarn);
  }
  EXPECT_EQ(of("A14", "task,accuracy\nCORE,0.0\n").size(), 1U);
  for (const char* facts :
       {R"("val_bpb": "0.8119")", R"("val_bpb": "8.03")", R"("step_ms": "487.5")"})
    EXPECT_TRUE(of("A14", run_with(facts)).empty()) << facts;
  EXPECT_TRUE(of("A14", "task,accuracy\nCORE,0.0025\n").empty());
}

TEST(A14, ZerosOfWhatNoProgramMeasuredAreInfo) {
  const auto found = of("A14", run_with(R"("mfu": "0.00%", "peak_bytes": "0.00MiB")"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
}

std::string pair(const char* device, const char* settings_a, const char* settings_b) {
  return fmt::format(R"({{"schema": "npubench.table/1", "runs": [
      {{"name": "a", "device": "NVIDIA H100", "settings": {{{}}}, "stages": [{{"name": "SFT", "cells": [{{"task": "MMLU", "value": "0.3", "n": 14042}}]}}]}},
      {{"name": "b", "device": "{}", "settings": {{{}}}, "stages": [{{"name": "SFT", "cells": [{{"task": "MMLU", "value": "0.3", "n": 14042}}]}}]}}]}})",
                     settings_a, device, settings_b);
}

TEST(A16, SettingsThatDifferBesidesTheDeviceAreNamed) {
  const auto found = of("A16", pair("Ascend 910B", R"("depth": "20", "dtype": "bf16")",
                                    R"("depth": "18", "dtype": "bf16")"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kFail);
  EXPECT_EQ(found[0].run, "a, b");
  EXPECT_NE(found[0].found.find("not a hardware comparison: 1 setting differs besides the device"),
            std::string::npos);
  EXPECT_NE(found[0].found.find("depth (20 or 18)"), std::string::npos);
  EXPECT_TRUE(of("A16", pair("Ascend 910B", R"("depth": "20")", R"("depth": "20")")).empty());
  EXPECT_TRUE(of("A16", pair("NVIDIA A100", R"("depth": "20")", R"("depth": "18")")).empty());
}

TEST(A16, UnsaidSettingsAreAWarning) {
  const auto found = of("A16", pair("Ascend 910B", "", R"("depth": "18")"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
}

std::string retention(const char* low, const char* high) {
  return fmt::format(R"({{"schema": "npubench.table/1", "runs": [
      {{"name": "a", "stages": [{{"name": "SFT", "cells": [{{"task": "GSM8K", "value": "0.5000", "n": 1000}},
          {{"task": "HumanEval", "value": "0.5000", "n": 100}}, {{"task": "own", "value": "0.5000", "n": 1000}}]}}]}},
      {{"name": "b", "stages": [{{"name": "SFT", "cells": [{{"task": "GSM8K", "value": "0.4000", "n": 1000}},
          {{"task": "HumanEval", "value": "0.4200", "n": 100}}, {{"task": "own", "value": "0.2000", "n": 1000}}]}}]}}],
      "claims": [{{"kind": "retention", "text": "claimed", "run": "b", "against": "a", "low": {}, "high": {}}}]}})",
                     low, high);
}

TEST(A17, ARetentionThatTheCellsDoNotShowIsNamed) {
  EXPECT_TRUE(of("A17", retention("0.4", "0.85")).empty());
  const auto most = of("A17", retention("0.75", "0.85"));  // 2 of 3
  ASSERT_EQ(most.size(), 1U);
  EXPECT_EQ(most[0].severity, Severity::kWarn);
  const auto few = of("A17", retention("0.82", "0.85"));  // 1 of 3
  ASSERT_EQ(few.size(), 1U);
  EXPECT_EQ(few[0].severity, Severity::kFail);
  EXPECT_NE(few[0].found.find("1 of 3 scores lie there: SFT HumanEval 84.0 %"), std::string::npos)
      << few[0].found;
}

TEST(A18, RangesOutsideTheIntervalsAreNamed) {
  const auto found = of("A18", retention("0.75", "0.85"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].found.find("SFT own"), std::string::npos);
  EXPECT_TRUE(of("A18", retention("0.3", "0.9")).empty());
}

std::string improves(const char* after) {
  return fmt::format(R"({{"schema": "npubench.table/1", "runs": [{{"name": "r", "stages": [
      {{"name": "SFT", "cells": [{{"task": "GSM8K", "value": "0.0455", "n": 1319}}]}},
      {{"name": "RL", "cells": [{{"task": "GSM8K", "value": "{}", "n": 1319}}]}}]}}],
      "claims": [{{"kind": "improves", "text": "RL helps", "run": "r", "task": "GSM8K", "from": "SFT", "to": "RL"}}]}})",
                     after);
}

TEST(A18, AnImprovementWhoseIntervalHoldsZeroIsNamed) {
  EXPECT_TRUE(of("A18", improves("0.0758")).empty());
  ASSERT_EQ(of("A18", improves("0.0560")).size(), 1U);
}

std::string devices(const char* rate) {
  return fmt::format(R"({{"schema": "npubench.table/1", "runs": [
      {{"name": "a", "device": "H100", "stages": [{{"name": "s", "facts": {{"tok_s": "100", "minutes": "5m", "speedup": "6x"}}}}]}},
      {{"name": "b", "device": "910B", "stages": [{{"name": "s", "facts": {{"tok_s": "{}", "minutes": "5m", "speedup": "6x"}}}}]}}]}})",
                     rate);
}

TEST(A19, TheSameNumbersOnTwoDevicesAreNamed) {
  const auto found = of("A19", devices("100"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
  EXPECT_TRUE(of("A19", devices("90")).empty());
}

TEST(A20, NumbersOlderThanTheirRunAreEstimates) {
  const auto with = [](const char* published) {
    return of("A20",
              run_with(R"("depth": "4")",
                       fmt::format(R"("published": "{}", "first_success": "2025-10-22 21:58:41", )",
                                   published)));
  };
  ASSERT_EQ(with("2025-10-22 10:07:41").size(), 1U);
  EXPECT_TRUE(with("2025-10-23 10:07:41").empty());
}

TEST(A20, SectionsOlderThanTheRunAreLeftovers) {
  const auto with = [](const char* time) {
    return of("A20",
              fmt::format("# nanochat training report\n\nRun started: 2025-11-11 09:15:47\n\n"
                          "## Chat evaluation sft\ntimestamp: {}\n\n- GSM8K: 0.0455\n",
                          time));
  };
  ASSERT_EQ(with("2025-11-10 12:00:00").size(), 1U);
  EXPECT_TRUE(with("2025-11-11 12:00:00").empty());
}

TEST(A23, SourcesThatContradictEachOtherAreNamed) {
  const auto with = [](const char* other) {
    return of("A23", fmt::format(R"({{"schema": "npubench.table/1", "claims": [
        {{"kind": "statement", "topic": "t", "source": "x", "text": "1"}},
        {{"kind": "statement", "topic": "t", "source": "y", "text": "{}"}}]}})",
                                 other));
  };
  ASSERT_EQ(with("2").size(), 1U);
  EXPECT_EQ(with("2")[0].found, "sources contradict each other: x: 1; y: 2");
  EXPECT_TRUE(with("1").empty());
}

}  // namespace
}  // namespace nb::test
