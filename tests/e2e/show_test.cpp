// npubench show, and compare --flips: items as people look at them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/store/items.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json shown(const SubprocessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Json json = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << result.out;
  return json;
}

// Two models that are built in, on the generated world.
class Show : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    bench_ = new Bench;
    for (const char* model : {"oracle", "chance"}) {
      const auto result = (*bench_)({"eval", "--model", model, "--task", "mw/facts,mw/gsm8k",
                                     "--max-per-task", "12", "--quiet", "--name", model,
                                     "--results-dir", bench_->results().string()});
      ASSERT_EQ(result.exit_code, 0) << result.err;
    }
  }
  static void TearDownTestSuite() { delete bench_; }
  static std::string run(const std::string& model) { return bench_->suite_folder(model).string(); }
  static SubprocessResult show(const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"show", run(model)});
    return (*bench_)(more);
  }
  static Bench* bench_;
};
Bench* Show::bench_ = nullptr;

TEST_F(Show, WithoutATaskListsTheTasks) {
  const auto result = show("oracle", {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(holds(result.out, "mw/facts") && holds(result.out, "mw/gsm8k")) << result.out;
  EXPECT_EQ(shown(show("oracle", {"--json"})).at("tasks").size(), 2U);
}

TEST_F(Show, TheTableFiltersAndCountsWhatItLeavesOut) {
  const auto all = shown(show("oracle", {"--task", "mw/facts", "--json"}));
  EXPECT_EQ(all.at("schema"), "npubench.show/1");
  EXPECT_EQ(all.at("items"), 12);
  EXPECT_EQ(all.at("shown").size(), 12U);
  EXPECT_EQ(shown(show("oracle", {"--task", "mw/facts", "--wrong", "--json"})).at("found"), 0);
  EXPECT_EQ(shown(show("oracle", {"--task", "mw/facts", "--right", "--json"})).at("found"), 12);
  const auto wrong = shown(show("chance", {"--task", "mw/gsm8k", "--wrong", "--json"}));
  for (const Json& row : wrong.at("shown")) EXPECT_EQ(row.at("mark"), 0.0);
  const auto text = show("oracle", {"--task", "mw/facts", "--limit", "2"});
  EXPECT_TRUE(holds(text.out, "10 more; --limit 12 shows all")) << text.out;
}

TEST_F(Show, AnItemIsWholeAndTheSameByRowAndById) {
  const auto result = show("oracle", {"--task", "mw/facts", "--item", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"mw/facts, item 3 of 12", "\nright; answer", "\nquestion\n",
                           "choices (* right, > chosen; log-probability in nat)",
                           "margin of the right choice", "\nprompt\n", "\nreference answer\n"})
    EXPECT_TRUE(holds(result.out, part)) << part << "\n" << result.out;
  EXPECT_FALSE(holds(result.out, "\n! ")) << result.out;
  const Json item = shown(show("oracle", {"--task", "mw/facts", "--item", "3", "--json"}));
  EXPECT_EQ(item.at("row"), 3);
  EXPECT_EQ(item.at("warning"), "");
  EXPECT_GT(item.at("margin_nat").get<double>(), 0);
  EXPECT_EQ(item.at("choices").size(), item.at("log_probs").size());
  EXPECT_EQ(item.at("prompts").size(), item.at("choices").size());
  const std::string id = item.at("id");
  for (const std::string& name : {id, id.substr(0, 10), item.at("name").get<std::string>()})
    EXPECT_EQ(shown(show("oracle", {"--task", "mw/facts", "--item", name, "--json"})), item)
        << name;
}

TEST_F(Show, AGeneratedAnswerHasItsText) {
  const Json item = shown(show("oracle", {"--task", "mw/gsm8k", "--item", "1", "--json"}));
  ASSERT_EQ(item.at("answers").size(), 1U);
  EXPECT_TRUE(holds(item.at("answers").at(0), "#### ")) << item;
  EXPECT_TRUE(holds(item.at("reference"), "#### ")) << item;
  const auto text = show("oracle", {"--task", "mw/gsm8k", "--item", "1"});
  EXPECT_TRUE(holds(text.out, "\nthe model's answer\n")) << text.out;
}

TEST_F(Show, WhatIsNotThereIsNamedWithWhatThereIs) {
  expect_sentence(show("oracle", {"--task", "mw/fact"}), 64,
                  {"--task mw/fact", "did you mean \"mw/facts\"?"});
  expect_sentence(show("oracle", {"--task", "mw/facts", "--item", "13"}), 64,
                  {"--item 13", "rows are 1 to 12"});
  expect_sentence(show("oracle", {"--task", "mw/facts", "--item", "0"}), 64, {"rows are 1 to 12"});
  expect_sentence(show("oracle", {"--item", "1"}), 64, {"--task", "npubench show"});
  expect_sentence(show("oracle", {"--task", "mw/facts", "--node", "h100"}), 64,
                  {"--node h100", "there are", "oracle"});
  EXPECT_EQ(show("oracle", {"--task", "mw/facts", "--wrong", "--right"}).exit_code, 64);
  EXPECT_EQ(show("oracle", {"--task", "mw/facts", "--limit", "0"}).exit_code, 64);
  expect_sentence((*bench_)({"show", (bench_->results() / "nowhere").string()}), 64, {"nowhere"});
}

TEST_F(Show, ItemsThatWereEditedAreNotShown) {
  const Bench own;
  const auto made = own({"eval", "--model", "oracle", "--task", "mw/facts", "--max-per-task", "12",
                         "--quiet", "--results-dir", own.results().string()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto run_records = read_run(own.suite_folder("eval"));
  ASSERT_TRUE(run_records);
  const StoredRecord& stored = run_records->records.front();
  const fs::path file = stored.folder / stored.record.items.at("mw/facts");
  ASSERT_TRUE(write_file(file, *read_file(file) + "\n"));
  expect_sentence(own({"show", own.suite_folder("eval").string()}), 64, {"facts"});
}

TEST_F(Show, FlipsAreListedWithDirectionAndQuestion) {
  const auto text = (*bench_)({"compare", run("oracle"), run("chance"), "--flips"});
  EXPECT_TRUE(holds(text.out, "lost  item ")) << text.out << text.err;
  EXPECT_TRUE(holds(text.out, "npubench show ")) << text.out;
  const auto json_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compare", run("oracle"), run("chance"), "--flips", "--json"});
    const auto result = (*bench_)(more);
    return Json::parse(result.out);
  };
  const Json all = json_of({"--limit", "100"});
  EXPECT_EQ(all.at("schema"), "npubench.flips/1");
  EXPECT_EQ(all.at("shown"), all.at("flips"));
  std::int64_t counted = 0;
  for (const Json& group : all.at("groups"))
    counted += group.at("lost").get<std::int64_t>() + group.at("won").get<std::int64_t>();
  EXPECT_EQ(all.at("flips"), counted);
  for (const Json& flip : all.at("items")) {
    EXPECT_FALSE(flip.at("question").get<std::string>().empty()) << flip;
    EXPECT_EQ(flip.at("direction"), "lost") << "the oracle is always right";
  }
  const Json some = json_of({"--limit", "1", "--task", "mw/gsm8k"});
  EXPECT_EQ(some.at("shown"), 1);
  ASSERT_EQ(some.at("groups").size(), 1U);
  EXPECT_EQ(some.at("groups").at(0).at("task"), "mw/gsm8k");
  EXPECT_EQ(some.at("items").at(0).at("group"), 0);
  EXPECT_LT(some.at("flips").get<int>(), all.at("flips").get<int>());
  expect_sentence(
      (*bench_)({"compare", run("oracle"), run("chance"), "--flips", "--task", "mw/fact"}), 64,
      {"did you mean \"mw/facts\"?"});
  EXPECT_EQ((*bench_)({"compare", run("oracle"), run("chance"), "--limit", "3"}).exit_code, 64);
  const auto same = (*bench_)({"compare", run("oracle"), run("oracle"), "--flips"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_TRUE(holds(same.out, "no score differs: 24 paired items on both sides")) << same.out;
}

TEST_F(Show, ARunWithoutItemsSaysSo) {
  ASSERT_TRUE(write_file(bench_->results() / "totals.csv", "task,accuracy,n\ngsm8k,0.5,100\n"));
  expect_sentence((*bench_)({"show", (bench_->results() / "totals.csv").string()}), 64,
                  {"has no items to show"});
}

TEST(ShowForeign, ItemsOfAnotherHarnessAreShownFromItsFile) {
  const Bench bench;
  const std::string a = (bench.results() / "a.csv").string(),
                    b = (bench.results() / "b.csv").string();
  const std::string head = "task,item,outcome,prediction,gold,question\n";
  ASSERT_TRUE(write_file(a, head + "t,q1,1,4,4,What is 2+2?\nt,q2,0,5,6,What is 3+3?\n"));
  ASSERT_TRUE(write_file(b, head + "t,q1,0,3,4,What is 2+2?\nt,q2,0,5,6,What is 3+3?\n"));
  const Json item = shown(bench({"show", a, "--task", "t", "--item", "q1", "--json"}));
  EXPECT_EQ(item.at("question"), "What is 2+2?");
  EXPECT_EQ(item.at("prediction"), "4");
  EXPECT_EQ(item.at("mark"), 1.0);
  const auto flips = bench({"compare", a, b, "--flips"});
  EXPECT_TRUE(holds(flips.out, "lost  item q1 (row 1)")) << flips.out << flips.err;
  EXPECT_TRUE(holds(flips.out, "What is 2+2?")) << flips.out;
  // Kept as a run, hashes alone are left, and it says where the texts are.
  const auto run = (bench.results() / "kept").string();
  ASSERT_EQ(bench({"import", a, "--out", run}).exit_code, 0);
  const auto kept = bench({"show", run, "--item", "q1"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_TRUE(holds(kept.out, "an imported run keeps hashes")) << kept.out;
}

// Rows of lm-evaluation-harness before 0.4.7 have no filter's name: the second row of a document is
// of the second filter, also where the rows of the other documents are passed over.
TEST(ShowForeign, RowsWithoutAFilterAreFoundByTheirDocument) {
  const Bench bench;
  std::string rows;
  for (const char* answer : {"first", "second"})
    for (int id = 0; id < 3; ++id)
      rows += fmt::format(
          R"({{"doc_id": {0}, "doc": {{"question": "q{0}"}}, "target": "{0}", "arguments": [["Q: q{0}", {{}}]], )"
          R"("resps": [["{1} {0}"]], "filtered_resps": ["{1} {0}"], "doc_hash": "d{0}", "exact_match": {2}}})"
          "\n",
          id, answer, id % 2);
  const std::string file =
      (bench.results() / "samples_quiz_2026-01-21T03-44-18.458309.jsonl").string();
  ASSERT_TRUE(write_file(file, rows));
  for (const auto& [task, prediction] : {std::pair("quiz/exact_match", "first 2"),
                                         std::pair("quiz:filter 2/exact_match", "second 2")}) {
    const Json item = shown(bench({"show", file, "--task", task, "--item", "2", "--json"}));
    EXPECT_EQ(item.at("question"), "q2") << task;
    EXPECT_EQ(item.at("prediction"), prediction) << task;
  }
}

// The real file's first item, as the file has it.
TEST(ShowForeign, ARealSamplesFileIsShown) {
  const fs::path folder = data_dir() / "imports" / "lm_eval";
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().starts_with("samples_")) files.push_back(at->path());
  if (files.empty()) GTEST_SKIP() << "skipped: no data";
  std::sort(files.begin(), files.end());
  const Bench bench;
  const auto table = bench({"show", files.front().string(), "--limit", "3", "--json"});
  const Json json = shown(table);
  if (json.contains("tasks")) return;  // several metrics: they are listed
  ASSERT_GT(json.at("shown").size(), 0U);
  const std::string name = json.at("shown").at(0).at("item");
  const Json item = shown(bench({"show", files.front().string(), "--item", name, "--json"}));
  EXPECT_FALSE(item.at("prompts").empty() && item.at("question").get<std::string>().empty());
  EXPECT_EQ(item.at("item"), name);
}

}  // namespace
}  // namespace nb::test
