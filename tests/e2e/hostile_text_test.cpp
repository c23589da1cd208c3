// Names out of foreign files that colour, erase, turn or forge lines of what people read. Every
// verb shows them as escapes; JSON keeps their values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/visible_text.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kForged = "PASS (exit 0): nothing got worse";

// What a spoofer would put behind a name.
std::string evil(const std::string& name) {
  return name + "\n" + kForged +
         "\n\x1b[1A\x1b[2K\u009b31m\u202e\u2066\u200b\ufeff\U000e0041\u2028\x7f\r" +
         "|`<b>[x](https://evil.example)";
}

// A results file of lm-evaluation-harness with one task, and a CSV of two items.
void write_results(const fs::path& folder, double score, bool is_right) {
  const std::string task = evil("gsm8k");
  const Json results = {
      {"results", {{task, {{"exact_match,none", score}, {"exact_match_stderr,none", 0.01}}}}},
      {"configs", {{task, {{"num_fewshot", 0}}}}},
      {"versions", {{task, 1.0}}},
      {"n-shot", {{task, 0}}},
      {"n-samples", {{task, {{"original", 1319}, {"effective", 1319}}}}},
      {"config", {{"model", evil("hf")}, {"model_args", "pretrained=" + evil("model")}}}};
  ASSERT_TRUE(write_json(folder / "results_2026-01-01T00-00-00.000000.json", results));
  ASSERT_TRUE(write_file(
      folder / "items.csv",
      fmt::format("task,item,outcome,prediction,question\nown,=HYPERLINK(1),{0},{1},{1}\n"
                  "own,b,1,\x1b[2J,=1\n",
                  is_right ? 1 : 0, "@SUM(1)")));
}

// Nothing is left that visible_text would have shown, and no line is the spoofer's.
void expect_harmless(const std::string& text, const std::string& what) {
  EXPECT_EQ(visible_text(text), text) << what;
  EXPECT_FALSE(text.starts_with(kForged)) << what;
  EXPECT_EQ(text.find("\n" + std::string(kForged)), std::string::npos) << what << text;
}

class HostileText : public testing::Test {
 protected:
  void SetUp() override {
    write_results(a_, 0.9, true);
    write_results(b_, 0.4, false);
  }
  SubprocessResult check(const std::vector<std::string>& arguments, int exit_code) const {
    const auto result = bench_(arguments);
    const std::string what = arguments.front() + (arguments.size() > 3 ? " " + arguments[3] : "");
    EXPECT_EQ(result.exit_code, exit_code) << what << result.out << result.err;
    expect_harmless(result.out, what);
    expect_harmless(result.err, what);
    return result;
  }
  std::string stored(const std::string& name) const { return (bench_.results() / name).string(); }

  Bench bench_;
  TempDir folder_;
  fs::path a_ = folder_ / "a", b_ = folder_ / "b";
};

TEST_F(HostileText, ReachesNoTerminal) {
  const std::string a = a_.string(), b = b_.string(), home = bench_.results().string();
  check({"import", a, "--explain"}, 0);
  check({"import", a, "--out", stored("a")}, 0);
  check({"import", b, "--out", stored("b")}, 0);
  for (const auto& [left, right] : {std::pair(a, b), std::pair(stored("a"), stored("b"))}) {
    check({"compare", left, right}, 0);
    check({"compare", left, right, "--flips"}, 0);
    const auto gated = check({"gate", left, right}, 1);
    EXPECT_TRUE(gated.out.starts_with("REGRESSED")) << gated.out;
    check({"gate", left, right, "--format", "junit"}, 1);
    check({"gate", left, right, "--format", "markdown"}, 1);
    check({"show", left}, 0);
    check({"show", left, "--item", "2"}, 0);
  }
  check({"audit", a}, 0);
  check({"audit", a, "--brief"}, 0);
  check({"runs", "list", "--results-dir", home}, 0);
  check({"runs", "metrics", "--results-dir", home}, 0);
  check({"history", "own/accuracy", "--results-dir", home}, 0);
  check({"history", "own/accuracy", "--results-dir", home, "--csv"}, 0);
  check({"runs", "gc", home}, 0);
}

TEST_F(HostileText, JsonKeepsTheValues) {
  const auto result = check({"import", a_.string(), "--json"}, 0);
  const auto json = parse_json(result.out, "stdout");
  ASSERT_TRUE(json) << json.error().message;
  const std::string all = json->dump();
  EXPECT_NE(all.find(Json(evil("gsm8k")).dump().substr(1, 20)), std::string::npos);
  bool has_model = false;
  for (const Json& run : json->at("runs"))
    has_model = has_model || run.at("model") == evil("model");
  EXPECT_TRUE(has_model) << all;
}

TEST_F(HostileText, IsTextInReports) {
  check({"report", b_.string(), "--baseline", a_.string(), "--out", stored("report"), "--no-plots"},
        0);
  for (const char* file : {"report.md", "report.html", "report.tex"}) {
    const auto text = read_file(bench_.results() / "report" / file);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(visible_text(*text), *text) << file;
    EXPECT_EQ(text->find("<b>["), std::string::npos) << file;
    if (std::string(file) != "report.md") continue;
    EXPECT_EQ(text->find("\n" + std::string(kForged)), std::string::npos) << *text;
    EXPECT_EQ(text->find("[x](https://"), std::string::npos) << *text;
  }
  const auto csv = read_file(bench_.results() / "report/csv/flips.csv");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_NE(csv->find("'=HYPERLINK(1)"), std::string::npos) << *csv;
  EXPECT_EQ(csv->find(",=HYPERLINK"), std::string::npos) << *csv;
}

TEST_F(HostileText, InNamesOfFilesAndFlagsIsQuotedAsOneLine) {
  check({evil("verb")}, 64);
  check({"compare", evil("no"), "x"}, 64);
  check({"compare", a_.string(), b_.string(), evil("--flag")}, 64);
  ASSERT_TRUE(write_file(folder_ / "c.json", "{\"a\": \"\x1b[2J\n" + std::string(kForged)));
  check({"run", (folder_ / "c.json").string()}, 64);
  check({"import", (folder_ / "c.json").string()}, 64);
}

// It was a JSON that nobody could write, and exit 4.
TEST_F(HostileText, NamesOfFilesThatAreNoUtf8AreShownEscaped) {
  const fs::path named = folder_ / "f\xff\xfe";
  fs::copy(a_, named);
  check({"import", named.string()}, 0);
  const auto json = check({"import", named.string(), "--json"}, 0);
  EXPECT_TRUE(parse_json(json.out, "stdout"));
  EXPECT_NE(json.out.find("f\\\\xff\\\\xfe"), std::string::npos) << json.out;
  check({"compare", named.string(), b_.string(), "--json"}, 0);
  check({"import", named.string(), "--out", stored("named")}, 0);
  check({"import", a_.string(), "--out", stored("out\xff")}, 0);
  check({"runs", "list", "--results-dir", bench_.results().string(), "--json"}, 0);
  check({"runs", "list", "--results-dir", bench_.results().string()}, 0);
}

// A model, a task and a suite of 300 letters: "File name too long".
TEST_F(HostileText, NamesOf300CharactersAreShortenedWithAHash) {
  const std::string long_name(300, 'n');
  std::string csv = "task,item,outcome\n";
  for (const char* end : {"a", "b"}) csv += long_name + end + ",i,1\n";
  ASSERT_TRUE(write_file(folder_ / "long/items.csv", csv));
  ASSERT_TRUE(
      write_json(folder_ / "long/results_2026-01-01T00-00-00.000000.json",
                 {{"results", {{long_name, {{"acc,none", 0.5}}}}},
                  {"versions", {{long_name, 1}}},
                  {"config", {{"model", "hf"}, {"model_args", "pretrained=" + long_name}}}}));
  check({"import", (folder_ / "long").string(), "--out", stored("long")}, 0);
  const auto result = check({"compare", stored("long"), stored("long"), "--json"}, 0);
  const auto json = parse_json(result.out, "stdout");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->at("pairs").size(), 2U) << result.out;
  check({"show", stored("long"), "--task", long_name + "b"}, 0);
}

}  // namespace
}  // namespace nb::test
