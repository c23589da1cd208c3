// Exit codes and outputs of `npubench audit` and `npubench list published`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(AuditVerb, ExitCodeSaysWhetherThereIsAFail) {
  const Bench bench;
  EXPECT_EQ(bench({"audit", "published:seed_result_table"}).exit_code, 1);
  EXPECT_EQ(bench({"audit", "published:gpu_d20_replicates"}).exit_code, 0);
  EXPECT_EQ(bench({"audit", "published:seed_memory"}).exit_code, 0);  // WARN only
  EXPECT_EQ(bench({"audit", "published:gpu_d24_core", "--as-baseline"}).exit_code, 1);
}

// HumanEval falls from 20 to 3 of 164 while ChatCORE rises.
TEST(CompareStages, ALossInAPublishedTableIsRedAndNamed) {
  const Bench bench;
  const std::string table = "published:ascend_910c_d32";
  const auto red = bench({"compare", "stages", table, "sft", "rl"});
  EXPECT_EQ(red.exit_code, 1);
  EXPECT_TRUE(red.out.starts_with("rl after sft: better in gsm8k; worse in humaneval")) << red.out;
  const auto json = bench({"compare", "stages", table, "SFT", "RL", "--json"});
  for (const Json& gain : Json::parse(json.out).at("gains"))
    EXPECT_EQ(gain.at("verdict") == "worse", gain.at("metric") == "humaneval/accuracy") << gain;
  const auto absent = bench({"compare", "stages", table, "sft", "dpo"});
  EXPECT_EQ(absent.exit_code, 64);
  EXPECT_NE(absent.err.find("it has: base, rl, sft"), std::string::npos) << absent.err;
}

TEST(AuditVerb, OfSeveralTablesOneFailIsEnough) {
  const Bench bench;
  const auto result = bench({"audit", "published:gpu_d24_core", "published:seed_throughput"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out.find("PASS: published:gpu_d24_core"), 0U);
  EXPECT_NE(result.out.find("FAIL: published:seed_throughput"), std::string::npos);
}

TEST(AuditVerb, OfAFolderEveryTableIsOneLine) {
  const Bench bench;
  const fs::path folder = bench.results() / "theirs";
  ASSERT_TRUE(write_file(folder / "a.csv", "task,accuracy,n\nHumanEval,0.0244,164\n"));
  ASSERT_TRUE(write_file(folder / "b.csv", "task,accuracy,n\nHumanEval,0.0239,164\n"));
  ASSERT_TRUE(write_file(folder / "notes.txt", "nothing\n"));
  const auto result = bench({"audit", "--brief", folder.string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "PASS  " + (folder / "a.csv").string() + "\nFAIL A02  " +
                            (folder / "b.csv").string() + "\n");
  EXPECT_NE(result.err.find("notes.txt: no table of results"), std::string::npos);
}

TEST(AuditVerb, JsonAloneStandsOnStdout) {
  const Bench bench;
  const auto result = bench({"audit", "published:seed_result_table", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto json = parse_json(result.out, "stdout");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ((*json)["schema"], "npubench.audit/1");
  EXPECT_EQ((*json)["tables"][0]["verdict"], "FAIL");
}

// Published tables are results like any other; of two report cards stages pair by name.
TEST(ReportedTables, CompareAndGateTakeThem) {
  const Bench bench;
  const std::string gpu = "published:seed_result_table/GPU",
                    npu = "published:seed_result_table/NPU";
  const auto compared = bench({"compare", gpu, npu});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(compared.out.find("B is worse on "), 0U) << compared.out;
  EXPECT_NE(compared.out.find("eval GPU.mid | eval NPU.mid"), std::string::npos);
  EXPECT_EQ(bench({"gate", gpu, npu}).exit_code, 1);
  expect_sentence(bench({"compare", gpu, "published:seed_result_tabel"}), 64,
                  {"there is no published table \"seed_result_tabel\""});
}

TEST(AuditVerb, BadInputIsOneSentence) {
  const Bench bench;
  expect_sentence(bench({"audit"}), 64, {"no table to audit"});
  expect_sentence(bench({"audit", "published:seed"}), 64, {"there is no published table \"seed\""});
  const fs::path file = bench.results() / "scores.csv";
  ASSERT_TRUE(write_file(file, "task,accuracy,n\nMMLU,NaN,14042\n"));
  expect_sentence(bench({"audit", file.string()}), 64, {"scores.csv:2", "not a finite number"});
}

TEST(AuditVerb, RulesAndTablesAreListed) {
  const Bench bench;
  const auto rules = bench({"audit", "--rules"});
  EXPECT_EQ(rules.exit_code, 0);
  EXPECT_NE(rules.out.find("A22"), std::string::npos);
  const auto tables = bench({"list", "published", "--json"});
  const auto names = parse_json(tables.out, "stdout");
  ASSERT_TRUE(names);
  EXPECT_NE(std::find(names->begin(), names->end(), "seed_result_table"), names->end());
}

// leideng/nanochat-ascend d20: CORE 0.216748.
constexpr const char* kCoreCsv =
    "task,accuracy\n"
    "hellaswag_zeroshot,0.462358\n"
    "jeopardy,0.106755\n"
    "bigbench_qa_wikidata,0.496137\n"
    "arc_easy,0.632155\n"
    "arc_challenge,0.352389\n"
    "copa,0.630000\n"
    "commonsense_qa,0.185094\n"
    "piqa,0.694233\n"
    "openbook_qa,0.376000\n"
    "lambada_openai,0.394527\n"
    "hellaswag,0.460864\n"
    "winograd,0.644689\n"
    "winogrande,0.539069\n"
    "bigbench_dyck_languages,0.089000\n"
    "agi_eval_lsat_ar,0.295652\n"
    "bigbench_cs_algorithms,0.396212\n"
    "bigbench_operators,0.185714\n"
    "bigbench_repeat_copy_logic,0.000000\n"
    "squad,0.299149\n"
    "coqa,0.230239\n"
    "boolq,0.581957\n"
    "bigbench_language_identification,0.250600\n";

TEST(FromAccuracies, CoreHasBothTablesOfGuessing) {
  const Bench bench;
  const fs::path file = bench.results() / "core.csv";
  ASSERT_TRUE(write_file(file, kCoreCsv));
  const auto result = bench({"eval", "--from-accuracies", file.string(), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = parse_json(result.out, "stdout");
  ASSERT_TRUE(json) << json.error().message;
  const Json& rows = (*json)["composites"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["composite"], "core");
  EXPECT_NEAR(rows[0]["value"].get<double>(), .216748, 5e-7);
  EXPECT_EQ(rows[1]["composite"], "core_v2");
  EXPECT_NEAR(rows[1]["value"].get<double>(), .190392, 5e-7);
  EXPECT_NEAR(rows[0]["standard_error"].get<double>(), .0062, 5e-5);
  EXPECT_EQ((*json)["sizes_assumed"], true);
}

TEST(FromAccuracies, AMissingTaskLeavesNoCompositeAndIsNamed) {
  const Bench bench;
  const fs::path file = bench.results() / "core.csv";
  std::string text = kCoreCsv;
  text.erase(text.find("squad,"), text.find("coqa,") - text.find("squad,"));
  ASSERT_TRUE(write_file(file, text));
  expect_sentence(bench({"eval", "--from-accuracies", file.string()}), 64,
                  {"core needs all of its 22 tasks; missing: squad"});
}

TEST(FromAccuracies, OfAPublishedTableEveryColumn) {
  const Bench bench;
  const auto result = bench({"eval", "--from-accuracies", "published:ascend_910c_d32"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"0.2881", "0.2635", "0.3024", "0.3108", "0.1629", "0.1738"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
}

TEST(FromAccuracies, NothingElseIsEvaluatedBesides) {
  const Bench bench;
  const auto result = bench({"eval", "--from-accuracies", "x.csv", "--model", "oracle"});
  EXPECT_EQ(result.exit_code, 64);
  expect_sentence(bench({"eval", "--from-accuracies", "gone.csv"}), 64, {"gone.csv"});
  const fs::path file = bench.results() / "other.csv";
  ASSERT_TRUE(write_file(file, "task,accuracy\nown,0.5\n"));
  expect_sentence(bench({"eval", "--from-accuracies", file.string()}), 64,
                  {"no task of CORE or ChatCORE"});
}

}  // namespace
}  // namespace nb::test
