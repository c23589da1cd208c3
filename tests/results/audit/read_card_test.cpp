#include <gtest/gtest.h>

#include "harness/base/rng.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_table.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

// As nanochat's report.py writes it, shortened.
constexpr std::string_view kCard = R"(# nanochat training report

Generated: 2025-11-11 09:15:44

## Environment

### Git Information
- Branch: master
- Commit: c6b7ab7 (dirty)

### Hardware
- Platform: Linux
- GPUs: 8x NVIDIA H100 80GB HBM3
- Hourly Rate: $24.00/hour

Run started: 2025-11-11 09:15:47

---

## Tokenizer training
timestamp: 2025-11-11 09:17:06

- vocab_size: 65,536
- train_time: 69.7707


## Base model training
timestamp: 2025-11-11 12:19:38

- run: dummy
- device_type: 
- depth: 20
- max_seq_len: 2048
- num_iterations: -1
- device_batch_size: 32
- total_batch_size: 524,288
- sample_every: 2000
- Number of parameters: 560,988,160
- Number of FLOPs per token: 3.491758e+09
- Calculated number of iterations: 21,400
- Number of training tokens: 11,219,763,200
- Tokens : Params ratio: 20.0000
- DDP world size: 8
- CORE metric estimate: 0.2004
- MFU %: 48.04%
- Total training flops: 3.917670e+19
- Total training time: 172.57m
- Peak memory usage: 75422.02MiB


## Base model loss
timestamp: 2025-11-11 12:20:17

- train bpb: 0.8148
- sample 0: <|bos|>The capital of France is
## Chat evaluation sft
- GSM8K: 0.9999
- sample 1: none


## Chat evaluation mid
timestamp: 2025-11-11 12:41:50

- source: mid
- num_samples: 1
- max_problems: None
- ARC-Easy: 0.4478
- ARC-Challenge: 0.3311
- MMLU: 0.3315
- GSM8K: 0.0500
- HumanEval: 0.0915
- SpellingBee: 1.0000
- ChatCORE metric: 0.2703


## Summary

- Characters: 399,582

| Metric          | BASE     | MID      | SFT      | RL       |
|-----------------|----------|----------|----------|----------|
| CORE            | 0.1910   | -        | -        | -        |
| ARC-Easy        | -        | 0.4478   | 0.4684   | -        |
| ChatCORE        | -        | 0.2703   | 0.2793   | -        |

Total wall clock time: 3h35m
)";

std::string with(std::string_view from, std::string_view to) {
  std::string card(kCard);
  return card.replace(card.find(from), from.size(), to);
}

TEST(ReportCard, HeaderFactsAndScoresAreRead) {
  const ReportedTable table = table_from(kCard);
  ASSERT_EQ(table.runs.size(), 1U);
  const ReportedRun& run = table.runs.front();
  EXPECT_EQ(run.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.started, "2025-11-11 09:15:47");
  EXPECT_EQ(run.settings.at("code"), "c6b7ab7 (dirty)");
  const ReportedStage& base = *run.stage("BASE");
  EXPECT_EQ(base.fact(fact::kParameters)->value, 560988160);
  EXPECT_EQ(base.fact(fact::kTokens)->text, "11,219,763,200");
  EXPECT_DOUBLE_EQ(base.fact(fact::kMfu)->value, .4804);
  EXPECT_DOUBLE_EQ(base.fact(fact::kMinutes)->value, 172.57);
  EXPECT_DOUBLE_EQ(base.fact(fact::kMemory)->value, 75422.02 * 1048576);
  EXPECT_EQ(run.fact(base, fact::kVocab)->value, 65536);
  EXPECT_EQ(base.find("core_estimate")->score.text, "0.2004");
  const ReportedStage& mid = *run.stage("MID");
  EXPECT_EQ(mid.timestamp, "2025-11-11 12:41:50");
  const ReportedCell& gsm8k = *mid.find("gsm8k");
  EXPECT_EQ(gsm8k.score.text, "0.0500");
  EXPECT_EQ(gsm8k.score.decimals, 4);
  EXPECT_EQ(gsm8k.n, 1319);
  EXPECT_TRUE(gsm8k.is_n_assumed);
  EXPECT_EQ(mid.find("chatcore")->scale, Scale::kComposite);
}

TEST(ReportCard, WhatAModelSaysIsNoSectionAndNoScore) {
  const ReportedTable table = table_from(kCard);
  const ReportedStage* sft = table.runs.front().stage("SFT");
  ASSERT_NE(sft, nullptr);
  EXPECT_EQ(sft->find("chat_arc_easy")->score.text, "0.4684");  // of the summary
  EXPECT_EQ(sft->find("gsm8k"), nullptr);
}

TEST(ReportCard, TheSummaryStandsBesideTheSections) {
  const ReportedTable table = table_from(kCard);
  const ReportedStage& mid = *table.runs.front().stage("MID");
  ASSERT_TRUE(mid.find("chatcore")->repeated);
  EXPECT_EQ(mid.find("chatcore")->repeated->text, "0.2703");
  EXPECT_EQ(table.runs.front().stage("BASE")->find("core")->score.text, "0.1910");
}

TEST(ReportCard, OneSectionIsACard) {
  const ReportedTable table = table_from(
      "## Chat evaluation rl\ntimestamp: 2026-04-01 23:52:11\n\n- max_problems: 20\n- GSM8K: "
      "0.15\n");
  const ReportedCell& cell = *table.runs.front().stage("RL")->find("gsm8k");
  EXPECT_EQ(cell.n, 20);
  EXPECT_FALSE(cell.is_n_assumed);
}

TEST(ReportCard, MissingSectionsAreNoMistake) {
  const ReportedTable table = table_from("# nanochat training report\n\n## Environment\n\n");
  EXPECT_TRUE(table.runs.front().stages.empty());
  EXPECT_EQ(refusal_of("# nanochat training report\n\nGenerated: today\n"),
            "t: a report card without any section (\"## Base model training\")");
}

TEST(ReportCard, DamagedNumbersAreNamedWithTheirLine) {
  EXPECT_EQ(
      refusal_of(with("- GSM8K: 0.0500", "- GSM8K: nan")),
      "t:70: \"nan\" is not a finite number; leave the cell empty where nothing was measured");
  EXPECT_EQ(refusal_of(with("75422.02MiB", "75422.02 tok/s")),
            "t:48: peak_bytes is \"75422.02 tok/s\", but \"tok/s\" is no unit of it");
  EXPECT_EQ(refusal_of(with("- GSM8K: 0.0500", "- GSM8K: 1.0500")).find("t:70: GSM8K is 1.0500"),
            0U);
}

TEST(ReportCard, ALineThatStandsTwiceIsReadAndSaid) {
  // It once made the card unreadable, and so hid all that the rules find in it.
  const auto found = [](const std::string& text) {
    const Audit audit = audited(table_from(text));
    EXPECT_EQ(audit.table.runs.front().stage("MID")->find("gsm8k")->score.text, "0.0500");
    const auto twice = findings_of_rule(audit, "A24");
    EXPECT_EQ(twice.size(), 1U);
    return twice.empty() ? Finding() : twice.front();
  };
  const Finding other = found(with("- GSM8K: 0.0500", "- GSM8K: 0.0500\n- GSM8K: 0.06"));
  EXPECT_EQ(other.severity, Severity::kFail);
  EXPECT_EQ(other.where, "MID GSM8K");
  EXPECT_EQ(other.found, "stands twice: 0.0500 in line 70, 0.06 in line 71; the first is judged");
  EXPECT_EQ(found(with("- GSM8K: 0.0500", "- GSM8K: 0.0500\n- GSM8K: 0.0500")).severity,
            Severity::kInfo);
  const Audit of_fact = audited(
      table_from(with("- Peak memory usage: 75422.02MiB",
                      "- Peak memory usage: 75422.02MiB\n- Peak memory usage: 70000.00MiB")));
  EXPECT_EQ(findings_of_rule(of_fact, "A24").size(), 1U);
}

TEST(ReportCard, TwoTrainingsOfOneStageAreKeptApart) {
  const ReportedTable table = table_from(
      "## Chat SFT\ntimestamp: 2026-01-16 05:45:39\n\n- device_batch_size: 4\n\n"
      "## SFT\ntimestamp: 2026-02-05 22:53:57\n\n- device_batch_size: 16\n");
  EXPECT_EQ(table.runs.front().stage("SFT")->fact(fact::kDeviceBatch)->value, 4);
  EXPECT_EQ(table.runs.front().stages.back().fact(fact::kDeviceBatch)->value, 16);
}

TEST(ReportCard, ASoundOneHasNoFindingButInfo) {
  EXPECT_EQ(verdicts_of(audited(table_from(kCard))), "");
}

TEST(ReportCard, EveryChangedScoreIsFound) {
  // One digit of each task: ChatCORE no longer follows.
  for (const auto& [from, to] : {std::pair{"- ARC-Easy: 0.4478", "- ARC-Easy: 0.4878"},
                                 std::pair{"- ARC-Challenge: 0.3311", "- ARC-Challenge: 0.3511"},
                                 std::pair{"- MMLU: 0.3315", "- MMLU: 0.3615"},
                                 std::pair{"- GSM8K: 0.0500", "- GSM8K: 0.0700"},
                                 std::pair{"- HumanEval: 0.0915", "- HumanEval: 0.0935"},
                                 std::pair{"ChatCORE metric: 0.2703", "ChatCORE metric: 0.2713"}}) {
    const Audit audit = audited(table_from(with(from, to)));
    EXPECT_TRUE(audit.has(Severity::kFail)) << to;
  }
}

TEST(ReportCard, EveryChangedFactIsFound) {
  for (const auto& [from, to, rule] :
       {std::tuple{"11,219,763,200", "11,519,763,200", "A04"},
        std::tuple{"560,988,160", "586,988,160", "A04"},
        std::tuple{"3.917670e+19", "4.1e+19", "A04"},
        std::tuple{"ratio: 20.0000", "ratio: 21.0000", "A10"},
        std::tuple{"device_batch_size: 32", "device_batch_size: 24", "A11"}}) {
    const Audit audit = audited(table_from(with(from, to)));
    EXPECT_FALSE(findings_of_rule(audit, rule).empty()) << to;
  }
}

constexpr std::string_view kLog = R"(Vocab size: 65,536
Number of parameters: 560,988,160
Estimated FLOPs per token: 3.491758e+09
step 00000/00300 (0.00%) | loss: 11.09 | lrm: 1.00 | dt: 23156.74ms | tok/sec: 22,640 | mfu: 1.00 | total time: 0.00m
step 00001/00300 (0.00%) | loss: 10.80 | lrm: 1.00 | dt: 487.57ms | tok/sec: 1,075,308 | mfu: 47.46 | total time: 0.00m
step 00002/00300 (0.00%) | loss: 10.70 | lrm: 1.00 | dt: 487.57ms | tok/sec: 1,075,308 | mfu: 47.46 | total time: 0.00m
)";

TEST(TrainingLog, StepsGiveRateAndTime) {
  const ReportedTable table = table_from(kLog);
  const ReportedStage& stage = table.runs.front().stages.front();
  EXPECT_DOUBLE_EQ(stage.fact(fact::kRate)->value, 1075308);
  EXPECT_DOUBLE_EQ(stage.fact(fact::kStepTime)->value, 487.57);
  EXPECT_DOUBLE_EQ(stage.fact(fact::kMfu)->value, .4746);
  EXPECT_EQ(stage.fact(fact::kIterations)->value, 300);
  EXPECT_EQ(stage.fact(fact::kParameters)->value, 560988160);
}

TEST(TrainingLog, ADamagedStepIsNamed) {
  std::string log(kLog);
  log.replace(log.find("1,075,308"), 9, "1,07x,308");
  EXPECT_EQ(refusal_of(log).find("t:5: "), 0U) << refusal_of(log);
}

// Cut, doubled and overwritten texts: a table or a sentence, never a crash.
TEST(Readers, SurviveDamagedFiles) {
  const std::string texts[] = {
      std::string(kCard), std::string(kLog), "task,accuracy,n\nMMLU,\"31,1\",14042\nGSM8K,1%,5\n",
      "| Task | a MID | b |\n|---|---|---|\n| MMLU | 0.3 \xC2\xB1 0.01 | 31% |\n",
      run_with(R"("depth": "20", "minutes": "~8 h")")};
  std::size_t read = 0, refused = 0;
  for (const std::string& text : texts)
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Rng rng(seed, "damage");
      std::string damaged = text;
      for (std::uint64_t i = 0; i < 1 + rng.below(4, 5); ++i) {
        const std::size_t at = rng.below(10 + 3 * i, damaged.size());
        const std::size_t size =
            std::min<std::size_t>(rng.below(11 + 3 * i, 40), damaged.size() - at);
        switch (rng.below(12 + 3 * i, 4)) {
          case 0:
            damaged.erase(at, size);
            break;
          case 1:
            damaged.insert(at, damaged.substr(at, size));
            break;
          case 2:
            damaged[at] = "\",|:-\n\r0e%\xE2{["[rng.below(50 + i, 14)];
            break;
          default:
            damaged.resize(at + 1);
        }
        if (damaged.empty()) damaged = "x";
      }
      auto table = parse_table(damaged, "t");
      if (!table) {
        EXPECT_EQ(table.error().message.find("t"), 0U) << table.error().message;
        EXPECT_EQ(table.error().message.find('\n'), std::string::npos) << table.error().message;
        ++refused;
        continue;
      }
      ++read;
      audit_text(audited(std::move(*table)), false);
    }
  EXPECT_GT(read, 200U);
  EXPECT_GT(refused, 200U);
}

}  // namespace
}  // namespace nb::test
