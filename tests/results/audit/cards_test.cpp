// Every report card, CSV and log of published runs in the data folder imports, and no rule fires on
// a sound one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/base/fs.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_table.hpp"
#include "tests/results/audit/audit_case.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Cards, AllOfTheDataFolderImportAndAreSound) {
  NB_NEEDS_DATA();
  // Data of a paper's plots, a notebook, a licence: no tables of results.
  const std::set<std::string> others = {".ipynb", ""};
  std::size_t cards = 0;
  for (const fs::path& file : files_of(data_dir() / "nanochat_reports")) {
    const bool is_paper = file.string().find("nanochat-csdp") != std::string::npos;
    const auto table = read_table(file.string());
    if (is_paper || others.contains(file.extension().string())) {
      EXPECT_FALSE(table) << file;
      continue;
    }
    ASSERT_TRUE(table) << table.error().message;
    ++cards;
    EXPECT_EQ(verdicts_of(audited(*table)), "") << file;
  }
  EXPECT_EQ(cards, 57U);
}

TEST(Cards, AReportFolderIsOneTable) {
  NB_NEEDS_DATA();
  const auto found = read_tables((data_dir() / "nanochat_reports/mileswangs__mychat").string());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->tables.size(), 1U);
  const ReportedRun& run = found->tables.front().runs.front();
  EXPECT_EQ(run.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.stage("SFT")->find("humaneval")->score.text, "0.0854");
  EXPECT_EQ(run.stage("BASE")->fact(fact::kCards)->value, 8);
  EXPECT_TRUE(found->not_read.empty());
  EXPECT_EQ(verdicts_of(audited(found->tables.front())), "");
}

TEST(Cards, AFolderOfSeveralRunsSaysSo) {
  NB_NEEDS_DATA();
  // Sections of January and February below a header of a later evening.
  const auto found = read_tables((data_dir() / "nanochat_reports/gmstanle__nanochat").string());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(verdicts_of(audited(found->tables.front())), "WARN A20");
}

TEST(Cards, OneIsReadToItsLastNumber) {
  NB_NEEDS_DATA();
  // Named by its folder: the file is not of this project.
  const fs::path folder = data_dir() / "nanochat_reports/leideng__nanochat-ascend";
  std::vector<fs::path> files = files_of(folder);
  std::erase_if(files, [](const fs::path& file) {
    return file.stem() != "dev__d20_eval_results__base-model-training";
  });
  ASSERT_EQ(files.size(), 1U);
  const auto table = read_table(files.front().string());
  ASSERT_TRUE(table);
  const ReportedStage& base = *table->runs.front().stage("BASE");
  EXPECT_EQ(base.fact(fact::kParameters)->value, 896535720);
  EXPECT_DOUBLE_EQ(base.fact(fact::kMinutes)->value, 494.05);
  EXPECT_EQ(base.find(kCoreEstimateCell)->score.text, "0.2210");
  EXPECT_EQ(base.fact(fact::kCards)->value, 16);
}

TEST(Cards, DclmsResultsRecompute) {
  NB_NEEDS_DATA();
  std::size_t files = 0;
  for (const fs::path& file : files_of(data_dir() / "core/dclm_evals")) {
    if (file.extension() != ".json") continue;
    const auto table = read_table(file.string());
    ASSERT_TRUE(table) << table.error().message;
    const Audit audit = audited(*table);
    EXPECT_TRUE(findings_of_rule(audit, "A01").empty()) << file;
    EXPECT_EQ(verdicts_of(audit), "") << file;
    ++files;
  }
  EXPECT_EQ(files, 40U);
}

TEST(Cards, TheCollectionOfPublishedResultsNamesTheSameRunAgain) {
  NB_NEEDS_DATA();
  auto table = read_table((data_dir() / "reference/published_results.csv").string());
  ASSERT_TRUE(table) << table.error().message;
  const Audit audit = audited(std::move(*table));
  EXPECT_EQ(verdicts_of(audit, "nano-chat-NPU-910B"), "FAIL A01, FAIL A02, FAIL A03");
  EXPECT_EQ(findings_of_rule(audit, "A02", "nano-chat-NPU-910B").size(), 8U);
  for (const Finding& finding : findings_of_rule(audit, "A02"))
    if (finding.severity == Severity::kFail) {
      EXPECT_EQ(finding.run, "nano-chat-NPU-910B");
    }
}

}  // namespace
}  // namespace nb::test
