#include "results/gate/gate_formats.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::TempDir;

TaskVerdict verdict_of(Verdict verdict, const std::string& metric, const std::string& reason) {
  TaskVerdict v;
  v.verdict = verdict;
  v.metric = metric;
  v.where = "eval base.core on ascend_910b3, seed 1";
  v.reason = verbatim(reason);
  return v;
}

GateResult every_verdict(bool strict) {
  GateResult result;
  result.verdicts = {
      verdict_of(Verdict::kPass, "a/accuracy", "bit-identical"),
      verdict_of(Verdict::kImproved, "b/accuracy", "better"),
      verdict_of(Verdict::kInconclusive, "c/accuracy", "40 → 41 & <more> \"items\""),
      verdict_of(Verdict::kRegressed, "d|e/accuracy", "bytes \x01\xff\xc3 and ]]> in\nit"),
      verdict_of(Verdict::kIncomparable, "f/accuracy", "x"),
      verdict_of(Verdict::kError, "", "the node failed"),
      verdict_of(Verdict::kSuspicious, "g/accuracy", "too good")};
  if (strict) result.verdicts.resize(3);
  settle_night(result, {.strict = strict});
  return result;
}

// Python's parser and JUnit's usual shape: counts are those of the elements, every case has a class
// and a name and at most one outcome.
constexpr const char* kCheck = R"(
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites", root.tag
for suite in root:
    assert suite.tag == "testsuite" and suite.get("name")
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.get("tests"))
    for tag, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert sum(len(c.findall(tag)) for c in cases) == int(suite.get(key)), key
    for case in cases:
        assert case.get("classname") and case.get("name")
        assert len([e for e in case if e.tag != "system-out"]) <= 1
        assert all(e.get("message") for e in case if e.tag != "system-out")
print(*[[e.tag for e in c][0] for c in root[0].findall("testcase")])
)";

std::string outcomes_of(const GateResult& result) {
  const TempDir dir;
  EXPECT_TRUE(write_file(dir / "gate.xml", gate_junit(result)));
  const auto checked = run_subprocess({"python3", "-c", kCheck, (dir / "gate.xml").string()}, {});
  EXPECT_TRUE(checked);
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
  return checked->out;
}

TEST(GateJunit, IsParsedWithOneOutcomeACase) {
  EXPECT_EQ(outcomes_of(every_verdict(false)),
            "failure failure error error skipped system-out system-out\n");
  EXPECT_EQ(outcomes_of(every_verdict(true)), "failure system-out system-out\n")
      << "strict: can't tell fails";
  GateResult nothing;
  settle_night(nothing, {});
  EXPECT_EQ(outcomes_of(nothing), "\n");
}

TEST(GateMarkdown, SaysTheNightFirstAndEscapes) {
  const std::string text = gate_markdown(every_verdict(false));
  EXPECT_TRUE(text.starts_with("**REGRESSED (exit 1)")) << text;
  EXPECT_NE(text.find("| REGRESSED | d\\|e/accuracy |"), std::string::npos) << text;
  EXPECT_NE(text.find("<details><summary>2 checks passed</summary>"), std::string::npos);
  for (const char c : text) EXPECT_NE(c, '\r');
}

TEST(GateJson, SaysItsSchema) {
  const Json json = gate_json(every_verdict(false));
  EXPECT_EQ(json.at("schema"), "npubench.gate/1");
  EXPECT_EQ(json.at("verdicts").size(), 7U);
  EXPECT_EQ(json.at("exit_code"), 1);
}

}  // namespace
}  // namespace nb
