// The rules of environment.csv, and the guides that users follow.
#include "harness/doctor/lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "harness/base/fs.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/tables.hpp"
#include "tests/harness/doctor/examples.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::doctor {
namespace {

TEST(Lint, EachRuleFindsItsExample) {
  int rules = 0;
  for (const EnvironmentRow& row : environment_rows()) {
    if (row.rule.empty()) continue;
    ++rules;
    ASSERT_FALSE(row.example.empty()) << row.rule << " has no example";
    const auto found = test::found_in_example(row.example);
    const auto own = std::find_if(found.begin(), found.end(),
                                  [&](const Check& check) { return check.id == row.rule; });
    ASSERT_NE(own, found.end()) << row.rule << " does not find " << row.example;
    EXPECT_EQ(own->state, row.severity) << row.rule;
    const std::string sentence = sentence_of(own->said);
    EXPECT_FALSE(sentence.empty()) << row.rule;
    static const Pattern place("\\{[a-z0-9+-]+\\}");
    EXPECT_FALSE(place.found_in(sentence)) << row.rule << ": " << sentence;
    const std::string chinese = sentence_of(own->said, Language::kZh);
    EXPECT_NE(chinese, sentence) << row.rule;
    EXPECT_FALSE(place.found_in(chinese)) << row.rule << ": " << chinese;
  }
  EXPECT_EQ(rules, 152);
}

TEST(Lint, EveryRowHasASourceAndEveryRuleOneName) {
  std::map<std::string, int> names;
  for (const EnvironmentRow& row : environment_rows()) {
    EXPECT_FALSE(row.source.empty()) << row.variable;
    EXPECT_EQ(row.what.empty(), row.what_zh.empty()) << row.what;
    EXPECT_EQ(row.effect.empty(), row.effect_zh.empty()) << row.effect;
    if (row.rule.empty()) continue;
    EXPECT_EQ(++names[row.rule], 1) << row.rule;
  }
  EXPECT_EQ(environment_rows().size(), 191U);
  EXPECT_EQ(version_rows().size(), 522U);
}

TEST(Lint, WithoutFactsRulesThatNeedThemAreSilent) {
  // No number of nodes, no card, no versions: nothing but what the value itself shows.
  for (const char* quiet :
       {"MASTER_ADDR=127.0.0.1", "CUDA_VISIBLE_DEVICES=0", "ASCEND_RT_VISIBLE_DEVICES=1,3,8",
        "ASCEND_SLOG_PRINT_TO_STDOUT=0", "OMP_NUM_THREADS=64", "ASCEND_OPP_PATH=/no/such/folder"})
    EXPECT_TRUE(test::found_in_example(quiet).empty()) << quiet;
}

TEST(Lint, AValueThatAShellComputesIsNotJudged) {
  const auto found = lint_script(read_script("export ASCEND_RT_VISIBLE_DEVICES=$DEVICES\n"
                                             "export HCCL_CONNECT_TIMEOUT=${LIMIT:-60}\n"),
                                 {}, "run.sh");
  EXPECT_TRUE(found.empty()) << found.front().id;
}

TEST(Lint, AWrongValueSilencesWhatElseIsSaidOfIt) {
  const auto found = test::found_in_example("HCCL_CONNECT_TIMEOUT=9000");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "ENV130");
}

// id → lines, as the guides' own oracle writes them ("78:ENV223").
std::vector<std::string> found_in_guide(const std::string& start) {
  for (const auto& entry : fs::directory_iterator(test::data_dir() / "guides")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(start)) continue;
    Facts facts;
    facts.set("context", "train");
    const Findings findings = examine({{name, read_file(entry.path()).value()}}, facts);
    std::vector<std::pair<int, std::string>> rows;
    for (const Check& check : findings.checks)
      if (check.group == "environment") rows.emplace_back(check.where.line, check.id);
    std::sort(rows.begin(), rows.end());
    std::vector<std::string> texts;
    for (const auto& [line, id] : rows) texts.push_back(std::to_string(line) + ":" + id);
    return texts;
  }
  return {"no guide " + start};
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

// Lines of spec/gold/lint_oracle.py (Python, written apart from this program).
TEST(Lint, TheFiveGuidesAreFoundWrongLineByLine) {
  NB_NEEDS_DATA();
  EXPECT_EQ(found_in_guide("000"),
            words("78:ENV223 79:ENV224 112:ENV050 113:ENV029 114:ENV030 117:ENV170 118:ENV161 "
                  "140:ENV196 246:ENV201 247:ENV196 248:ENV197 291:ENV002 292:ENV002 293:ENV002 "
                  "294:ENV002 297:ENV008 300:ENV015 307:ENV110 308:ENV111 396:ENV016"));
  EXPECT_EQ(found_in_guide("001"), words(""));
  EXPECT_EQ(found_in_guide("002"),
            words("59:ENV131 60:ENV133 60:ENV134 64:ENV170 65:ENV050 171:ENV222 309:ENV086 "
                  "313:ENV170 314:ENV052 315:ENV050 316:ENV001 317:ENV024 318:ENV028 319:ENV006 "
                  "535:ENV085 536:ENV131 537:ENV133 537:ENV134 538:ENV170 539:ENV050 541:ENV201 "
                  "551:ENV229"));
  EXPECT_EQ(found_in_guide("003"), words("27:ENV224 30:ENV224 145:ENV224 154:ENV170"));
  EXPECT_EQ(found_in_guide("004"), words("81:ENV225 82:ENV226"));
}

TEST(Lint, ABlockOfAGuideIsReadAlone) {
  const auto found = lint_script(
      read_script("os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\n"
                  "    os.environ[\"HCCL_WHITELIST_DISABLE\"] = \"1\"\n"
                  "    os.environ[\"TASK_QUEUE_ENABLE\"] = \"0\"\n"
                  "    os.environ[\"ASCEND_LAUNCH_BLOCKING\"] = \"1\"\n"
                  "    os.environ[\"ASCEND_GLOBAL_LOG_LEVEL\"] = \"1\"\n"
                  "    os.environ[\"ASCEND_RT_VISIBLE_DEVICES\"] = \"0,1,2,3,4,5,6,7\"\n"
                  "    os.environ[\"NPU_CALCULATE_DEVICE\"] = \"0,1,2,3,4,5,6,7\"\n"
                  "    os.environ[\"ASCEND_GLOBAL_EVENT_ENABLE\"] = \"0\"\n"),
      [] {
        Facts facts;
        facts.set("context", "train");
        return facts;
      }(),
      "train.py");
  std::vector<std::string> ids;
  for (const Check& check : found) ids.push_back(check.id);
  EXPECT_EQ(ids, words("ENV086 ENV170 ENV052 ENV050 ENV001 ENV024 ENV028 ENV006"));
}

}  // namespace
}  // namespace nb::doctor
