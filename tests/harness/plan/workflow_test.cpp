#include "harness/plan/workflow.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

std::vector<WorkflowJob> jobs() {
  return {{"corpus",
           "/r/s/corpus-1/record.json",
           {"npubench", "run", "s.json", "--node", "corpus"},
           {},
           1 << 20},
          {"train",
           "/r/s/train-2/record.json",
           {"npubench", "run", "s.json", "--node", "train", "--set", "/devices=[\"it's $1\"]"},
           {0},
           3 << 20}};
}

TEST(Workflow, MakeRunsANodeWhenItsParentsAreThere) {
  EXPECT_EQ(workflow_text(WorkflowFormat::kMake, "s", jobs()).value(),
            "# The nodes of the suite s: make -j2 -f THIS_FILE\n.PHONY: all\nall: \\\n"
            "  /r/s/corpus-1/record.json \\\n  /r/s/train-2/record.json\n\n"
            "/r/s/corpus-1/record.json:\n\tnpubench run s.json --node corpus\n\n"
            "/r/s/train-2/record.json: | \\\n  /r/s/corpus-1/record.json\n"
            "\tnpubench run s.json --node train --set '/devices=[\"it'\\''s $$1\"]'\n");
}

TEST(Workflow, MakeHasNoTargetsWithSpaces) {
  std::vector<WorkflowJob> spaced = jobs();
  spaced[0].record = "/my results/record.json";
  const auto text = workflow_text(WorkflowFormat::kMake, "s", spaced);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kBadInput);
  EXPECT_NE(text.error().message.find("/my results/record.json"), std::string::npos);
  EXPECT_TRUE(workflow_text(WorkflowFormat::kSnakemake, "s", spaced));
}

TEST(Workflow, SnakemakeReadsTheParentsRecords) {
  const std::string text = workflow_text(WorkflowFormat::kSnakemake, "s", jobs()).value();
  EXPECT_NE(
      text.find("rule node_1:\n    input: ancient(\"/r/s/corpus-1/record.json\")\n    output: "
                "\"/r/s/train-2/record.json\"\n    resources: mem_mb=7\n"),
      std::string::npos)
      << text;
}

TEST(Workflow, SlurmSubmitsWithDependencies) {
  const std::string text = workflow_text(WorkflowFormat::kSlurm, "s", jobs()).value();
  EXPECT_NE(text.find("node_0=$(submit corpus 3 \"\" 'npubench run s.json --node corpus')\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("node_1=$(submit train 7 \"afterok:$node_0\" "), std::string::npos) << text;
}

}  // namespace
}  // namespace nb
