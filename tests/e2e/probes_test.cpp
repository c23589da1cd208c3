// A suite of probes as a user runs and gates it. What a lost answer is to the gate:
// tests/results/gate/gate_records_test.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(ProbeSuite, EveryKnownAnswerIsGiven) {
  const Bench base, night;
  const fs::path suite = base.results() / "probes.json";
  ASSERT_TRUE(write_file(suite, R"({"name": "probes", "devices": ["ascend_910b3"], "probes":
      ["choice_tie", "letter_tie", "logit_tie", "cut_prompt", "cut_chat", "last_number",
       "two_markers", "program_imports", "merge_rank", "long_cache"]})"));
  for (const Bench* bench : {&base, &night}) EXPECT_EQ(bench->run(suite.string()).exit_code, 0);
  const fs::path file = night.node("probe-probes-ascend_910b3") / "record.json";
  const auto gate = [&] {
    return base(
        {"gate", base.suite_folder("probes").string(), night.suite_folder("probes").string()});
  };
  EXPECT_EQ(gate().exit_code, 0) << gate().out;
  const auto record = read_json(file);
  ASSERT_TRUE(record) << record.error().message;
  for (const Json& metric : record->at("metrics"))
    EXPECT_EQ(metric.at("value"),
              metric.at("name").get<std::string>().ends_with("accuracy") ? 1 : 4)
        << metric.dump();
}

TEST(ProbeSuite, AnUnknownProbeIsNamed) {
  const Bench bench;
  const fs::path suite = bench.results() / "probes.json";
  ASSERT_TRUE(write_file(
      suite, R"({"name": "probes", "devices": ["ascend_910b3"], "probes": ["choice_tye"]})"));
  expect_sentence(bench.run(suite.string()), 64,
                  {"/probes/0", "no probe \"choice_tye\"", "choice_tie"});
  const auto listed = bench({"list", "probes"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_NE(listed.out.find("long_cache"), std::string::npos);
}

}  // namespace
}  // namespace nb::test
