#include <gtest/gtest.h>

#include "results/audit/read_table.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

TEST(CsvTable, TasksWithItemsAndErrors) {
  const ReportedTable table =
      table_from("task,accuracy,n,stderr\nGSM8K,4.55%,\"1,319\",0.0057\nown,0.5,,\nempty,,,\n");
  const ReportedStage& stage = table.runs.front().stages.front();
  ASSERT_EQ(stage.cells.size(), 2U);
  EXPECT_EQ(stage.cells[0].task, "gsm8k");
  EXPECT_DOUBLE_EQ(stage.cells[0].score.value, .0455);
  EXPECT_EQ(stage.cells[0].n, 1319);
  EXPECT_DOUBLE_EQ(*stage.cells[0].standard_error, .0057);
  EXPECT_EQ(stage.cells[0].line, 2U);
  EXPECT_FALSE(stage.cells[1].n);
}

TEST(CsvTable, NanochatsCoreFileHasPaddedColumnsAndItsFullSizes) {
  const ReportedTable table = table_from(
      "Task    , Accuracy  , Centered  \ncopa    , 0.630000  , 0.260000  \nCORE    ,           , "
      "0.216748 \n");
  const ReportedStage& stage = table.runs.front().stages.front();
  EXPECT_EQ(stage.find("copa")->n, 100);
  EXPECT_TRUE(stage.find("copa")->is_n_assumed);
  EXPECT_EQ(stage.find("core")->scale, Scale::kComposite);
}

TEST(CsvTable, OneColumnARun) {
  const ReportedTable table =
      table_from("task,GPU MID,NPU MID\nMMLU,.3111,.2091\nChatCORE,0.0730,-\n");
  ASSERT_EQ(table.runs.size(), 2U);
  EXPECT_EQ(table.run("NPU")->stage("MID")->find("mmlu")->score.text, ".2091");
  EXPECT_EQ(table.run("NPU")->stage("MID")->find("chatcore"), nullptr);
}

TEST(CsvTable, RunsAndStagesInRows) {
  const ReportedTable table = table_from(
      "run,device,stage,metric,value,n_items\na,H100,SFT,GSM8K,0.0455,1319\na,H100,BASE,val_bpb,0."
      "81,\n"
      "b,910B,SFT,GSM8K,0.0283,1319\n");
  EXPECT_EQ(table.run("a")->device, "H100");
  EXPECT_EQ(table.run("b")->stage("SFT")->find("gsm8k")->n, 1319);
}

TEST(CsvTable, PercentWithoutASignHoldsForTheWholeTable) {
  const ReportedTable table = table_from("task,accuracy,n\nMMLU,31.11,14042\nGSM8K,0.76,1319\n");
  const ReportedStage& stage = table.runs.front().stages.front();
  EXPECT_DOUBLE_EQ(stage.find("mmlu")->score.value, .3111);
  EXPECT_EQ(stage.find("mmlu")->score.decimals, 4);
  EXPECT_NEAR(stage.find("gsm8k")->score.value, .0076, 1e-12);
}

TEST(CsvTable, OneScoreAboveOneIsAMistakeNotAPercentage) {
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,0.31\nGSM8K,0.05\nown,3.5\n")
                .find("t:4: own is 3.5, but an accuracy"),
            0U);
}

TEST(CsvTable, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(
      refusal_of("task,accuracy,colour\nMMLU,0.3,red\n").find("t:1: unknown column \"colour\""),
      0U);
  EXPECT_NE(refusal_of("task,accuracy,items_n\nMMLU,0.3,3\n").find("known are task, accuracy"),
            std::string::npos);
  EXPECT_EQ(refusal_of("name,accuracy\nMMLU,0.3\n").find("t:1: no column \"task\""), 0U);
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,nan\n"),
            "t:2: MMLU: \"nan\" is not a finite number; leave the cell empty where nothing was "
            "measured");
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,0.3\nMMLU,0.4\n"), "t:3: MMLU stands twice");
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,0.3,4\n"), "t:2: 3 cells, but the header has 2");
  EXPECT_EQ(refusal_of("task,accuracy,n\nMMLU,0.3,0\n"), "t:2: n is 0, but counts items");
  EXPECT_EQ(refusal_of("task,accuracy,n\nMMLU,0.3,1.5\n"), "t:2: n is 1.5, but counts items");
  EXPECT_EQ(refusal_of("task,accuracy,stderr\nMMLU,0.3,-0.1\n"),
            "t:2: the standard error is -0.1, which is negative");
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,310\n"), "t:2: MMLU is 310, which is no accuracy");
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,-0.1\n").find("t:2: MMLU is -0.1, but an accuracy"),
            0U);
  EXPECT_EQ(refusal_of("task,accuracy\nMMLU,0.3 tok/s\n"),
            "t:2: MMLU is \"0.3 tok/s\", which is not one number");
  EXPECT_EQ(refusal_of("Task,Accuracy,Centered\ncopa,0.63,0.36\n"),
            "t:2: copa: centred 0.36 does not follow from accuracy 0.63");
  EXPECT_EQ(
      refusal_of("task,accuracy\n"),
      "t: no number that the audit knows: expected task scores, or facts of a training such as "
      "tokens, tok/s, parameters");
}

TEST(Tables, WhatHoldsNoneIsRefused) {
  EXPECT_EQ(refusal_of("  \n"), "t: an empty file");
  EXPECT_EQ(
      refusal_of("Some prose\nabout nothing\n").find("t: no table of results in it; expected"), 0U);
  EXPECT_EQ(refusal_of(std::string_view("a\0b", 3)).find("t: not a text"), 0U);
  EXPECT_NE(read_table(NB_SOURCE_DIR).error().message.find(": a folder; name the file"),
            std::string::npos);
  EXPECT_FALSE(read_table("no/such/file.csv"));
}

}  // namespace
}  // namespace nb::test
