#include "report/report.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "report/json.hpp"
#include "report/sections.hpp"
#include "results/messages/sentences.hpp"
#include "tests/report/has.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;
using test::has;

bool third(int i) { return i % 3 == 0; }

const ReportOptions kNoPlots = {Language::kEn, false, "gnuplot"};

void fill(FakeRun& run) {
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    run.add_training(device, 1, device[0] == 'a' ? 1.884 : 1.880, device[0] == 'a' ? 1e-4 : 0);
    run.add_evaluation(device, 1, device, {{"mw/agreement", 40, even}, {"mw/facts", 40, third}});
  }
  run.add_prediction("ascend_910b3", 912345678, 51e9);
  run.add_prediction("h100_sxm", 712345678, 49e9);
}

std::string markdown(const ReportInput& input) {
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r", kNoPlots);
  EXPECT_TRUE(files) << (files ? "" : files.error().message);
  return files ? *read_file(files->markdown) : "";
}

TEST(Report, TextIsWhatWasReviewed) {
  FakeRun run;
  fill(run);
  RunRecords records = run.read();
  records.path = "results/runs/smoke";  // commands name it
  ReportInput input;
  input.title = "smoke";
  input.run = &records;
  input.comparisons = device_comparisons(records);
  input.gate = gate(records, records);
  input.reused = {records.records[0].record.node_key.substr(0, 8)};
  NB_EXPECT_GOLDEN("report/report.md", markdown(input));
}

TEST(Report, WritesEveryFileAndOneSelfContainedPage) {
  FakeRun run;
  fill(run);
  const RunRecords records = run.read();
  ReportInput input{"smoke", &records, device_comparisons(records), gate(records, records), {}};
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r");
  ASSERT_TRUE(files) << files.error().message;
  const std::string html = *read_file(files->html);
  for (const Section& section : sections()) EXPECT_TRUE(has(html, Words()(section.title)));
  for (const char* name : {"metrics.csv", "comparison_1.csv", "verdicts.csv", "curves.csv"}) {
    const auto table = read_csv(dir / "r/csv" / name);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_FALSE(table->rows.empty()) << name;
  }
  const auto json = read_json(files->json);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->at("schema"), kReportSchema);
  EXPECT_EQ(json->at("gate").at("night"), "PASS");
  EXPECT_EQ(json->at("scores").size(), 4U);
  EXPECT_EQ(json->at("scores")[0].at("verdict"), "PASS");
  EXPECT_EQ(json->at("sections").size(), sections().size());
  EXPECT_TRUE(has(*read_file(files->latex), "\\begin{longtable}"));
  if (!has_gnuplot("gnuplot")) GTEST_SKIP() << "skipped: no gnuplot";
  EXPECT_TRUE(files->notes.empty());
  EXPECT_GE(files->plots.size(), 14U);
  std::size_t figures = 0;
  for (std::size_t at = html.find("<figure"); at != std::string::npos;
       at = html.find("<figure", at + 1))
    ++figures;
  EXPECT_EQ(2 * figures, files->plots.size()) << "an SVG and a PDF each";
  for (const auto& path : files->plots)
    if (path.extension() == ".svg") {
      EXPECT_TRUE(has(*read_file(files->markdown), "plots/" + path.filename().string()));
    }
}

// More flips than are kept in memory or written at once.
TEST(Report, EveryFlipIsInTheTable) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    const bool first = device[0] == 'a';
    run.add_evaluation(device, 1, "w", {{"mw/facts", 6000, [=](int) { return first; }}},
                       [](Record& record) { record.trained_on = "h100_sxm"; });
  }
  const RunRecords records = run.read();
  const ReportInput input{"smoke", &records, device_comparisons(records), {}, {}};
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r");
  ASSERT_TRUE(files) << files.error().message;
  const auto table = read_csv(dir / "r/csv/flips.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows.size(), 6000U);
  EXPECT_EQ(table->rows.back().at(*table->column("row")), "6000");
}

// Names, numbers and commands are the same; nothing but them is English.
// 2 × and 8 ×: four times as long, whichever side is the baseline. The host's times say nothing of
// the devices.
TEST(Report, MicrobenchmarksHaveAGeometricMean) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    const double slower = device[0] == 'a' ? 1 : 0;
    Record record = run.add_prediction(device, 1e9, 1e9);
    record.kind = "micro";
    record.name = "matmul";
    record.node_key += record.name;
    record.metrics = {test::metric_of("matmul/d2/time_ns", 100 + 100 * slower, "ns",
                                      Direction::kLower, Clock::kSim),
                      test::metric_of("matmul/d4/time_ns", 100 + 700 * slower, "ns",
                                      Direction::kLower, Clock::kSim)};
    record.host_metrics = {
        test::metric_of("matmul/d2/time_ns", 5, "ns", Direction::kLower, Clock::kHost),
        test::metric_of("matmul/d4/time_ns", 6, "ns", Direction::kLower, Clock::kHost)};
    run.add(record);
  }
  const RunRecords records = run.read();
  const auto is_gpu = [](const std::string& device) { return device == "h100_sxm"; };
  const ReportInput input{"smoke", &records, device_comparisons(records, is_gpu), {}, {}};
  const std::string text = markdown(input);
  EXPECT_TRUE(has(text,
                  "takes 4 × the time of h100\\_sxm: the geometric mean of 2 "
                  "microbenchmarks, which range from 2 × to 8 ×."))
      << text;
  EXPECT_EQ(text.find("geometric mean"), text.rfind("geometric mean"));
}

TEST(Report, ChineseHasEverySectionAndTheSameNumbers) {
  FakeRun run;
  fill(run);
  const RunRecords records = run.read();
  ReportInput input{"smoke", &records, device_comparisons(records), gate(records, records), {}};
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r", {Language::kZh, false, "gnuplot"});
  ASSERT_TRUE(files);
  const std::string text = *read_file(files->markdown);
  const Words zh(Language::kZh);
  for (const Section& section : sections()) {
    EXPECT_TRUE(has(text, "## " + zh(section.title))) << section.id;
    EXPECT_FALSE(has(text, "## " + Words()(section.title))) << section.id;
  }
  for (const char* part :
       {"0.350", "+0.133", "[0.221, 0.505", "PASS（退出码 0）", "npubench report"})
    EXPECT_TRUE(has(text, part) || has(text, "\\" + std::string(part))) << part;
  for (const char* part : {" the ", " is ", " are ", "difference"})
    EXPECT_FALSE(has(text, part)) << part;
}

// English of results between its places, where it is long enough to be nobody's name.
std::vector<std::string> english_of_messages() {
  std::vector<std::string> parts;
  for (const MessageRow& row : kMessages) {
    std::string part;
    for (std::size_t i = 0; i <= row.en.size(); ++i) {
      const bool is_end = i == row.en.size() || row.en[i] == '{' || row.en[i] == '|';
      if (!is_end) {
        if (row.en[i] != '}' && std::isdigit(static_cast<unsigned char>(row.en[i])) == 0)
          part += row.en[i];
        continue;
      }
      if (part.size() >= 10 && part.find(' ', 1) < part.size() - 1) parts.push_back(part);
      part.clear();
    }
  }
  return parts;
}

// Two nights of which the second is worse in every way that a run of ours can be.
void add_night(FakeRun& run, bool worse) {
  const double shift = worse ? .2 : 0;
  for (const std::int64_t seed : {1, 2, 3})
    run.add_training("h100_sxm", seed, 1.5 + .001 * static_cast<double>(seed) + shift,
                     worse ? .01 : 0, [&](Record& record) {
                       if (worse) (*record.settings)["train"]["lr"] = 0.5;
                     });
  run.add_training("ascend_910c", worse ? 12 : 2, 1.5 + shift);
  run.add_evaluation("h100_sxm", 1, "w",
                     {{"mw/facts", 400, worse ? third : even}, {"mw/agreement", 400, even}});
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, [&](Record& record) {
    if (!worse) return;
    record.status = "failed";
    record.error = "killed";
  });
  run.add_prediction("h100_sxm", worse ? 1.2e8 : 1e8, 1e9);
  run.add_prediction("ascend_910c", 1e8, 1e9);
  if (worse)
    run.add_prediction("ascend_910c_32g", 1e8, 1e9);
  else
    run.add_prediction("ascend_910b3", 1e8, 1e9);
}

// What results say arrives as values (results/messages/message.hpp): a sentence without Chinese
// does not compile, so none is left in English in any report.
TEST(Report, ChineseLeavesNoSentenceOfResultsInEnglish) {
  FakeRun base, candidate;
  add_night(base, false);
  add_night(candidate, true);
  RunRecords a = base.read(), b = candidate.read();
  b.notes.push_back(message("run.superseded", "eval-1", "eval-2"));
  b.records.back().record.metrics[0].value = .9e8;  // other bits under the same key
  const Comparison comparison = compare_runs(a, b);
  ReportInput input{"two nights", &b, {comparison}, gate(comparison), {}};
  ASSERT_GE(input.gate->verdicts.size(), 10U) << gate_text(*input.gate);
  ASSERT_FALSE(input.gate->findings.empty());
  ASSERT_FALSE(input.gate->likely_cause.empty());
  ASSERT_GE(input.gate->notes.size(), 3U);
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r", {Language::kZh, false, "gnuplot"});
  ASSERT_TRUE(files) << files.error().message;
  const std::string text = *read_file(files->markdown);
  for (const std::string& english : english_of_messages())
    EXPECT_FALSE(has(text, english)) << english;
  for (const TaskVerdict& v : input.gate->verdicts)
    if (v.test != "identical" && v.reason.id() != "verbatim") {
      EXPECT_NE(text_of(v.reason), text_of(v.reason, Language::kZh)) << text_of(v.reason);
    }
}

TEST(Report, AnOlderReportsPlotsAndTablesGoAndForeignFilesStay) {
  FakeRun run;
  fill(run);
  const RunRecords records = run.read();
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "plots/old.svg", "x"));
  ASSERT_TRUE(write_file(dir / "csv/old.csv", "x"));
  ASSERT_TRUE(write_file(dir / "csv/mine.txt", "x"));
  ReportInput input;
  input.run = &records;
  ASSERT_TRUE(write_report(input, dir.path(), kNoPlots));
  EXPECT_FALSE(fs::exists(dir / "plots/old.svg"));
  EXPECT_FALSE(fs::exists(dir / "csv/old.csv"));
  EXPECT_TRUE(fs::exists(dir / "csv/mine.txt"));
}

TEST(Report, WithoutGnuplotOneSentenceSaysSo) {
  FakeRun run;
  fill(run);
  const RunRecords records = run.read();
  ReportInput input;
  input.run = &records;
  const test::TempDir dir;
  const auto files = write_report(input, dir / "r", {Language::kEn, true, (dir / "none").string()});
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->plots.empty());
  ASSERT_EQ(files->notes.size(), 1U);
  EXPECT_TRUE(has(files->notes[0], "gnuplot-nox"));
  EXPECT_TRUE(has(*read_file(files->html), "gnuplot-nox"));
  EXPECT_FALSE(has(*read_file(files->markdown), "!["));
}

TEST(Report, AnEmptyRunSaysWhatIsMissing) {
  const RunRecords none;
  ReportInput input;
  input.title = "empty";
  input.run = &none;
  const std::string text = markdown(input);
  for (const char* part : {"no finished record", "Not gated", "Nothing was compared",
                           "No training node", "No evaluation finished", "No microbenchmark ran"})
    EXPECT_TRUE(has(text, part)) << part;
}

TEST(Report, APartialRunNamesWhatFailed) {
  FakeRun run;
  const Record trained = run.add_training("h100_sxm", 1, 1.5);
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}}, [](Record& record) {
    record.status = "failed";
    record.error = "disk <full>";
  });
  fs::remove(run.folder_of(trained) / "steps.csv");
  ASSERT_TRUE(make_folders(run.suite_folder() / "unfinished-11111111"));
  const RunRecords records = run.read();
  ReportInput input;
  input.run = &records;
  const std::string text = markdown(input);
  EXPECT_TRUE(has(text, "This report is incomplete"));
  EXPECT_TRUE(has(text, "failed: disk &lt;full&gt;")) << text;
  EXPECT_TRUE(has(text, "did not finish"));
  EXPECT_TRUE(has(text, "steps.csv"));
}

TEST(Report, ConfoundedDevicesAreNeverCalledHardware) {
  FakeRun run;
  run.add_evaluation("ascend_910b3", 1, "a", {{"mw/facts", 40, even}});
  run.add_evaluation("h100_sxm", 1, "b", {{"mw/facts", 40, even}},
                     [](Record& record) { (*record.settings)["train"]["lr"] = 0.5; });
  const RunRecords records = run.read();
  ReportInput input;
  input.run = &records;
  input.comparisons = device_comparisons(records);
  const std::string text = markdown(input);
  EXPECT_TRUE(has(text, "**Confounded: settings, data or code differ"));
  EXPECT_FALSE(has(text, "all differences come from the emulated devices"));
  EXPECT_TRUE(has(text, "/settings/train/lr"));
}

// It said that no score was evaluated on both devices, above a table of them.
TEST(Report, OneTrainingASideIsNotSaidToLackScores) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"})
    run.add_evaluation(device, 1, device, {{"mw/facts", 40, third}},
                       [&](Record& record) { (*record.checkpoint)["device"] = device; });
  const RunRecords records = run.read();
  ReportInput input;
  input.title = "smoke";
  input.run = &records;
  input.comparisons = device_comparisons(records);
  const std::string text = markdown(input);
  EXPECT_TRUE(
      has(text, "1 score equal answer by answer. One seed: separately trained models differ"))
      << text.substr(0, 600);
}

TEST(Report, EqualPoliciesExplainNothing) {
  FakeRun run;
  const auto same_card = [](Record& record) {
    record.numerics = {{"all", "bf16", "assumed", "test"}};
  };
  run.add_evaluation("ascend_910b3", 1, "a", {{"mw/facts", 40, even}}, same_card);
  run.add_evaluation("h100_sxm", 1, "b", {{"mw/facts", 40, even}}, same_card);
  const RunRecords records = run.read();
  ReportInput input;
  input.run = &records;
  input.comparisons = device_comparisons(records);
  EXPECT_TRUE(has(markdown(input), "arithmetic can explain no difference"));
}

}  // namespace
}  // namespace nb
