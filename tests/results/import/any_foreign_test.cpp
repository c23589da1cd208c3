#include "results/import/any_foreign.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/compare/compare.hpp"
#include "results/compare/headline.hpp"
#include "results/compare/pairing.hpp"
#include "results/import/to_records.hpp"
#include "results/store/metric_names.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

TEST(AnyForeign, APublishedTableIsARunLikeAnyOther) {
  const auto gpu = read_any_run("published:seed_result_table/GPU");
  ASSERT_TRUE(gpu) << gpu.error().message;
  const auto npu = read_any_run("published:seed_result_table/NPU");
  ASSERT_TRUE(npu) << npu.error().message;
  const Pairing pairing = pair_records(*gpu, *npu, PairAcross::kNothing);
  EXPECT_FALSE(pairing.pairs.empty());
  EXPECT_TRUE(pairing.only_a.empty());
  EXPECT_TRUE(pairing.only_b.empty());
  for (const PairedRecords& pair : pairing.pairs)
    EXPECT_EQ(stage_of(pair.a->record), stage_of(pair.b->record));
}

TEST(AnyForeign, AnUnknownPublishedTableNamesTheNearest) {
  const auto results = read_any_foreign("published:seed_result_tabel");
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().message.find("seed_result_table"), std::string::npos)
      << results.error().message;
}

TEST(AnyForeign, AReportCardIsReadWhereNoHarnessWroteIt) {
  const TempDir dir;
  const fs::path card = dir.path() / "mid_card.txt";
  ASSERT_TRUE(write_file(card,
                         "## Chat evaluation mid\ntimestamp: 2025-11-11 12:23:59\n\n- source: mid\n"
                         "- ARC-Easy: 0.3500\n- GSM8K: 0.0303\n"));
  const auto results = read_any_foreign(card);
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1U);
  EXPECT_EQ(results->runs[0].stage, "mid");
}

TEST(AnyForeign, AReportCardBesideAHarnesssFilesIsReadAndAnyOtherTableIsNot) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "items.csv", "item,outcome\na,1\nb,0\n"));
  ASSERT_TRUE(write_file(dir / "card.txt",
                         "## Chat evaluation mid\ntimestamp: 2025-11-11 12:23:59\n\n- source: mid\n"
                         "- ARC-Easy: 0.3500\n"));
  ASSERT_TRUE(write_file(dir / "model.txt", "| Task | x |\n|---|---|\n| MMLU | 0.31 |\n"));
  const auto results = read_any_foreign(dir.path());
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2U);
  EXPECT_EQ(results->runs[0].label, "items");
  EXPECT_EQ(results->runs[1].stage, "mid");
}

// "These are different models" was said of gpu.csv and npu.csv.
TEST(AnyForeign, FilesThatNameNoModelPairByTheirTasks) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "gpu.csv", "task,accuracy,n\nmmlu,0.50,100\n"));
  ASSERT_TRUE(write_file(dir / "npu.csv", "task,accuracy,n\nmmlu,0.49,100\n"));
  ASSERT_TRUE(write_file(dir / "gpu.md", "| Task | Score |\n|---|---|\n| MMLU | 0.50 |\n"));
  ASSERT_TRUE(write_file(dir / "npu.md", "| Task | Score |\n|---|---|\n| MMLU | 0.49 |\n"));
  for (const char* ending : {".csv", ".md"}) {
    const auto gpu = read_any_run(dir / (std::string("gpu") + ending));
    const auto npu = read_any_run(dir / (std::string("npu") + ending));
    ASSERT_TRUE(gpu && npu);
    EXPECT_FALSE(gpu->records.at(0).record.subject.contains("model")) << ending;
    const Pairing pairing = pair_records(*gpu, *npu, PairAcross::kNothing);
    EXPECT_EQ(pairing.pairs.size(), 1U) << ending;
    const Comparison comparison = compare_runs(*gpu, *npu, PairAcross::kDevices);
    ASSERT_FALSE(comparison.unknown.empty());
    EXPECT_EQ(text_of(comparison.unknown.back()),
              "the model is not stated: that both sides are the same model is taken on trust");
  }
}

// lm-eval's folders are models; a user's "gpu" and "npu" were two.
TEST(AnyForeign, FoldersOfTheUserAreNoModels) {
  const TempDir dir;
  const std::string results =
      R"({"results": {"piqa": {"acc,none": 0.5, "acc_stderr,none": 0.01}}, "versions": {"piqa": 1},
          "n-shot": {"piqa": 0}, "configs": {}, "config": {}})";
  ASSERT_TRUE(write_file(dir / "gpu/a.json", results));
  ASSERT_TRUE(write_file(dir / "npu/b.json", results));
  ASSERT_TRUE(write_file(dir / "org__m/results_2026-01-21T03-44-18.json", results));
  const auto gpu = read_any_run(dir / "gpu"), npu = read_any_run(dir / "npu/b.json");
  ASSERT_TRUE(gpu && npu);
  EXPECT_FALSE(gpu->records.at(0).record.subject.contains("model"));
  EXPECT_EQ(pair_records(*gpu, *npu, PairAcross::kNothing).pairs.size(), 1U);
  EXPECT_EQ(read_any_run(dir / "org__m")->records.at(0).record.subject.at("model"), "org/m");
  // Read together they stay apart.
  const auto all = read_any_run(dir.path());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->records.size(), 3U);
}

// Two tables of one folder were one run, or "item a occurs twice".
TEST(AnyForeign, FilesOfOneFolderThatNameNoModelStayApart) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "a.csv", "item,outcome\nx,1\n"));
  ASSERT_TRUE(write_file(dir / "b.csv", "item,outcome\nx,0\n"));
  const auto run = read_any_run(dir.path());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->records.size(), 2U);
  EXPECT_EQ(run->records[0].record.name, "a");
  EXPECT_EQ(run->records[1].record.name, "b");
}

// A file that a format recognises is damaged, not another kind of table.
TEST(AnyForeign, ADamagedFileOfAHarnessIsNoTable) {
  const TempDir dir;
  const fs::path path = dir.path() / "results.json";
  ASSERT_TRUE(write_file(path, R"({"results": {"arc_easy": {"acc,none": "x"}}, "versions": {},
                                   "config_general": 1, "n-shot": {}, "configs": {})"));
  const auto results = read_any_foreign(path);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message.find("table of results"), std::string::npos)
      << results.error().message;
}

RunRecords items_of(const TempDir& dir, const char* name, const char* rows) {
  EXPECT_TRUE(write_file(dir / name, std::string("item,outcome\n") + rows));
  return read_any_run(dir / name).value();
}

// Half of the items, all alike, were "equal answer by answer"; none at all was exit code 0.
TEST(AnyForeign, EqualIsSaidOnlyOfTheItemsThatBothHave) {
  const TempDir dir;
  const RunRecords all = items_of(dir, "all.csv", "a,1\nb,0\nc,1\n");
  const RunRecords half = items_of(dir, "half.csv", "a,1\nb,0\n");
  const Comparison c = compare_runs(all, half, PairAcross::kDevices);
  EXPECT_EQ(text_of(headline(c)),
            "1 score equal answer by answer on the items that both sides have.");
  ASSERT_EQ(c.cautions.size(), 1U);
  EXPECT_EQ(text_of(c.cautions[0]),
            "compared is what both sides have: items/accuracy 2 items, 1 only in A, 0 only in B");
  const RunRecords others = items_of(dir, "none.csv", "y,1\nz,0\n");
  const Comparison none = compare_runs(all, others, PairAcross::kDevices);
  EXPECT_NE(text_of(none.why_incomparable()).find("no item of A is an item of B"),
            std::string::npos);
}

// Of fractional scores the answers were compared and the scores were not.
TEST(AnyForeign, FractionalMarksThatDifferAreNotEqualAnswerByAnswer) {
  const TempDir dir;
  std::string before, after;
  for (int i = 0; i < 40; ++i) {
    before += "q" + std::to_string(i) + "," + (i % 2 == 0 ? "0.5" : "0.7") + "\n";
    after += "q" + std::to_string(i) + "," + (i % 2 == 0 ? "0.45" : "0.66") + "\n";
  }
  const RunRecords a = items_of(dir, "before.csv", before.c_str());
  const RunRecords b = items_of(dir, "after.csv", after.c_str());
  const std::string said = text_of(headline(compare_runs(a, b, PairAcross::kDevices)));
  EXPECT_TRUE(said.starts_with("B is worse on ")) << said;
  EXPECT_EQ(said.find("equal answer by answer"), std::string::npos) << said;
}

TEST(AnyForeign, WhatNobodyKnowsSaysWhatIsKnown) {
  const TempDir dir;
  const fs::path path = dir.path() / "notes.txt";
  ASSERT_TRUE(write_file(path, "nothing to see\n"));
  const auto results = read_any_foreign(path);
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().message.find("import --formats"), std::string::npos);
  EXPECT_NE(results.error().message.find("report card"), std::string::npos);
}

// "syntax error while parsing array" of a log whose lines begin with a time in brackets.
TEST(AnyForeign, ALogThatBeginsWithABracketIsNoJson) {
  const TempDir dir;
  const fs::path path = dir.path() / "train.log";
  ASSERT_TRUE(write_file(path, "[2026-01-01 00:00:00] [INFO] all is well\n"));
  const auto results = read_any_foreign(path);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message.find("syntax error"), std::string::npos)
      << results.error().message;
}

// Of a cut-off file all formats were listed.
TEST(AnyForeign, JsonThatBreaksOffIsNamedWithItsPlace) {
  const TempDir dir;
  const fs::path path = dir.path() / "results.json";
  const auto error_of = [&](const std::string& text) {
    EXPECT_TRUE(write_file(path, text));
    const auto results = read_any_foreign(path);
    EXPECT_FALSE(results);
    return results ? "" : results.error().message;
  };
  const std::string cut = error_of("{\"results\": {\"arc_easy\": {\"acc,none\": 0.5");
  EXPECT_TRUE(cut.starts_with(path.string() + ":1:42: ")) << cut;
  EXPECT_TRUE(cut.ends_with("; is the file whole?")) << cut;
  EXPECT_EQ(cut.find("--formats"), cut.npos) << cut;
  EXPECT_NE(error_of("{\"some\": \"thing\"}").find("--formats"), cut.npos);
  EXPECT_NE(error_of("{\"some\": 1}\n{\"some\": 2}\n").find("--formats"), cut.npos);
}

}  // namespace
}  // namespace nb::test
