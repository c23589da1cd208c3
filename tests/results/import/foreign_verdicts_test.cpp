// What compare and gate say of small foreign files: one test a kind that was once judged wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "harness/base/fs.hpp"
#include "results/compare/headline.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/gate/gate.hpp"
#include "results/import/builder.hpp"
#include "results/import/complete.hpp"
#include "results/import/to_records.hpp"
#include "results/store/stated_directions.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::TempDir;

struct Pair {
  TempDir folder;
  RunRecords a, b;
  Comparison comparison;
  GateResult judged;

  Pair(const std::string& ending, const std::string& left, const std::string& right,
       const GatePolicy& policy = {}, const StatedDirections& directions = {}) {
    for (const auto& [name, text, run] :
         {std::tuple("a", &left, &a), std::tuple("b", &right, &b)}) {
      const fs::path path = folder / (name + ending);
      EXPECT_TRUE(write_file(path, *text));
      auto read = read_any_run(path);
      EXPECT_TRUE(read) << (read ? "" : read.error().message);
      if (read) *run = std::move(*read);
    }
    EXPECT_TRUE(state_directions(directions, {&a, &b}));
    comparison = compare_runs(a, b, PairAcross::kNothing);
    judged = gate(comparison, policy, {.strict = true});
  }
  const TaskVerdict& first() const { return judged.verdicts.at(0); }
};

std::string lm_eval(double value, const std::string& more) {
  return R"({"results": {"gsm8k": {"exact_match,none": )" + std::to_string(value) + more +
         R"(}}, "versions": {"gsm8k": 3}, "config": {"model_args": "pretrained=org/m"}})";
}

TEST(ForeignVerdict, ALossWithAnErrorButWithoutNIsRed) {
  const Pair pair(".json", lm_eval(.78, R"(, "exact_match_stderr,none": 0.0114)"),
                  lm_eval(.40, R"(, "exact_match_stderr,none": 0.0135)"));
  EXPECT_EQ(pair.judged.exit_code, 1);
  EXPECT_LE(*pair.first().margin, .011);
}

TEST(ForeignVerdict, WithoutAnythingOfNTheMarginIsTheLeastAndSaysSo) {
  const std::string head = R"({"results": {"no_such_task": {"acc,none": )";
  const std::string tail = R"(}}, "config": {"model": "hf", "model_args": "pretrained=org/m"}})";
  // A share of 1 has no size that its error could tell; the other side states no error.
  const Pair pair(".json", head + R"(1.0, "acc_stderr,none": 0.02)" + tail, head + "0.97" + tail);
  EXPECT_EQ(*pair.first().margin, .01);
  EXPECT_NE(text_of(pair.first().reason)
                .find("the number of items is not said, so the margin is the least"),
            std::string::npos)
      << text_of(pair.first().reason);
}

TEST(ForeignVerdict, EqualTotalsAreAPassAlsoWhereItIsStrict) {
  const std::string table = "task,accuracy,n\nhumaneval,0.5,164\nmmlu,0.6,14042\n";
  const Pair pair(".csv", table, table);
  EXPECT_EQ(pair.judged.exit_code, 0);
  EXPECT_EQ(pair.judged.night, Verdict::kPass);
  EXPECT_TRUE(pair.comparison.findings.empty());
  EXPECT_EQ(text_of(headline(pair.comparison)), "2 scores with equal totals.");
}

TEST(ForeignVerdict, ATotalWithoutNIsJudgedAsThirtyItems) {
  const Pair red(".csv", "task,accuracy\nmine,0.9\n", "task,accuracy\nmine,0.4\n");
  EXPECT_EQ(red.judged.exit_code, 1);
  EXPECT_NE(text_of(red.first().reason).find("what 30 items could do by chance"),
            std::string::npos);
  const Pair open(".csv", "task,accuracy\nmine,0.6\n", "task,accuracy\nmine,0.5\n");
  EXPECT_EQ(open.judged.night, Verdict::kInconclusive);
}

TEST(ForeignVerdict, AKnownTestSetGivesItsSizeAndIsNamed) {
  const Pair pair(".csv", "task,accuracy\nGSM8K,0.78014\n", "task,accuracy\nGSM8K,0.40030\n");
  EXPECT_EQ(pair.judged.exit_code, 1);
  ASSERT_TRUE(pair.first().interval95);
  bool said = false;
  for (const std::string& note : texts_of(pair.a.notes))
    said = said || note.find("1319") != note.npos;
  EXPECT_TRUE(said);
  // Tables print one digit of a percentage.
  EXPECT_EQ(Pair(".md", "|task|acc|\n|---|---|\n|gsm8k|61.2 %|\n|arc_easy|71.2 %|\n",
                 "|task|acc|\n|---|---|\n|gsm8k|51.2 %|\n|arc_easy|71.2 %|\n")
                .judged.exit_code,
            1);
  // A share of a hundred could be any set's.
  EXPECT_EQ(Pair(".csv", "task,accuracy\ngsm8k,0.61\n", "task,accuracy\ngsm8k,0.51\n").judged.night,
            Verdict::kInconclusive);
  // .615 of 164 is no whole number of problems: not that set.
  EXPECT_EQ(task_size("humaneval"), 164);
  const Pair other(".csv", "task,accuracy\nhumaneval,0.6150\n",
                   "task,accuracy\nhumaneval,0.6050\n");
  EXPECT_FALSE(other.comparison.pairs[0].metrics[0].interval95);
}

TEST(ForeignVerdict, AnExpectationIsJudgedByItsOwnLimit) {
  const TempDir folder;
  const std::string expected =
      "model_name: \"org/m\"\ntasks:\n- name: \"gsm8k\"\n  metrics:\n"
      "  - name: \"exact_match,strict-match\"\n    value: 0.80\nnum_fewshot: 5\n";
  ASSERT_TRUE(write_file(folder / "expected.yaml", expected));
  const auto a = read_any_run(folder / "expected.yaml");
  ASSERT_TRUE(a) << a.error().message;
  const auto code_of = [&](const std::string& value) {
    const fs::path path = folder / (value + ".json");
    EXPECT_TRUE(write_file(
        path,
        R"({"results": {"gsm8k": {"exact_match,strict-match": )" + value +
            R"(}}, "versions": {"gsm8k": 3}, "config": {"model_args": "pretrained=org/m"}})"));
    const auto b = read_any_run(path);
    EXPECT_TRUE(b);
    return gate(*a, *b).exit_code;
  };
  EXPECT_EQ(code_of("0.77"), 0);  // 5 % of .80 are allowed
  EXPECT_EQ(code_of("0.75"), 1);
}

TEST(ForeignVerdict, LossesWithoutAnErrorAreRedBeyondTheirBoundAlone) {
  const auto table = [](const char* value) {
    return std::string("task,metric,value\nx,loss,") + value + "\n";
  };
  const Pair red(".csv", table("2.0"), table("2.3"));
  EXPECT_EQ(red.judged.exit_code, 1);
  EXPECT_NE(text_of(red.first().reason).find("beyond 10 % and 0.05 nat"), std::string::npos);
  const Pair open(".csv", table("2.0"), table("2.1"));
  EXPECT_EQ(open.judged.night, Verdict::kInconclusive);
  const Pair green(".csv", table("2.3"), table("2.0"));
  EXPECT_EQ(green.judged.night, Verdict::kImproved);
}

TEST(ForeignVerdict, AStandardErrorTellsHowManyItemsTheMarginIsOf) {
  const auto table = [](const char* share) {
    return std::string("task,accuracy,stderr\nmine,") + share + ",0.05\n";
  };
  const Pair pair(".csv", table("0.5"), table("0.5001"));  // p(1 − p)/se² = 100
  ASSERT_TRUE(pair.first().margin) << gate_text(pair.judged);
  EXPECT_NEAR(*pair.first().margin, .06, 1e-9);
}

TEST(ForeignVerdict, NothingInCommonIsIncomparable) {
  const Pair pair(".csv", "task,accuracy,n\nx,0.5,100\n", "task,accuracy,n\ny,0.5,100\n");
  const bool paired = !pair.comparison.pairs.empty();
  if (paired) {
    EXPECT_EQ(text_of(pair.comparison.why_incomparable()).substr(0, 32),
              "no score stands on both sides: A");
  }
  EXPECT_TRUE(pair.judged.exit_code == 3 || !paired) << gate_text(pair.judged);
}

TEST(ForeignVerdict, TwoHarnessesOfOneTaskNameAreIncomparable) {
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "a.json", lm_eval(.5, R"(, "exact_match_stderr,none": 0.0137)")));
  ASSERT_TRUE(write_file(folder / "b.json", R"({"dataset_name": "gsm8k", "model_name": "org/m",
      "metrics": [{"name": "exact_match", "num": 1319, "score": 0.6, "categories": []}]})"));
  const auto a = read_any_run(folder / "a.json"), b = read_any_run(folder / "b.json");
  ASSERT_TRUE(a && b);
  const Comparison comparison = compare_runs(*a, *b, PairAcross::kNothing);
  EXPECT_NE(
      text_of(comparison.why_incomparable()).find("two harnesses ask gsm8k in ways of their own"),
      std::string::npos)
      << comparison_text(comparison);
  EXPECT_EQ(gate(comparison).exit_code, 3);
}

TEST(ForeignVerdict, SidesOfWhichNothingPairsAreIncomparable) {
  const TempDir folder;
  for (const char* model : {"m", "k"}) {
    const fs::path path = folder / model / "items.csv";
    ASSERT_TRUE(fs::create_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, "item,outcome\nx,1\ny,0\n"));
  }
  RunRecords a = read_any_run(folder / "m").value(), b = read_any_run(folder / "k").value();
  a.records[0].record.kind = "train";  // whatever it is, it is nothing of the other side
  const GateResult judged = gate(a, b);
  EXPECT_EQ(judged.exit_code, 3) << gate_text(judged);
}

// One lost answer a subject is nothing in any of them and much in all.
TEST(ForeignVerdict, AGroupHasTheChanceOfItsPairedParts) {
  const auto side = [](int lost) {
    ForeignBuilder builder;
    ForeignRun& run = builder.run("harness", "org/m");
    double right = 0;
    for (int s = 0; s < 40; ++s) {
      const std::string task = "g_" + std::to_string(s);
      for (int i = 0; i < 25; ++i) {
        ForeignItem item;
        item.source_id = std::to_string(i);
        const SeriesValue value{{task, "", "acc"}, i >= lost ? 1.0 : 0.0};
        EXPECT_TRUE(builder.add_item(run, {&value, 1}, item, "drawn"));
        right += value.value;
      }
      builder.series(run, {task, "", "acc"}).part_of = "g";
    }
    builder.series(run, {"g", "", "acc"}).reported = right / 1000;
    return records_of(builder.finish());
  };
  const RunRecords a = side(0), b = side(1);
  const Comparison comparison = compare_runs(a, b, PairAcross::kNothing);
  const auto group =
      std::ranges::find(comparison.pairs[0].metrics, "g/acc", &MetricDifference::name);
  ASSERT_NE(group, comparison.pairs[0].metrics.end());
  ASSERT_TRUE(group->counts) << comparison_text(comparison);
  EXPECT_EQ(group->counts->only_a, 40);
  EXPECT_EQ(group->counts->n(), 1000);
  EXPECT_EQ(text_of(headline(comparison)).substr(0, 19), "B is worse on g/acc");
  const GateResult judged = gate(comparison);
  EXPECT_EQ(judged.exit_code, 1);
  EXPECT_EQ(judged.verdicts.size(), 1u) << gate_text(judged);  // no line a subject
}

TEST(ForeignVerdict, GroupsThatHoldEachOtherEnd) {
  const auto json = [](double value) {
    const std::string number = std::to_string(value);
    return R"({"results": {"a": {"acc,none": )" + number + R"(}, "b": {"acc,none": )" + number +
           R"(}}, "group_subtasks": {"a": ["b"], "b": ["a"]}, "config": {"model": "hf"}})";
  };
  const Pair pair(".json", json(.5), json(.4));
  EXPECT_EQ(pair.comparison.pairs.at(0).metrics.size(), 2u);
}

TEST(ForeignVerdict, MmluWithoutARowIsMadeOfItsFiftySevenSubjects) {
  const auto side = [](double share) {
    std::string text = "task,accuracy,n\n";
    for (int s = 0; s < 57; ++s)
      text += "mmlu_subject" + std::to_string(s) + "," + std::to_string(share) + ",250\n";
    return text;
  };
  const Pair pair(".csv", side(.648), side(.616));
  EXPECT_EQ(pair.judged.exit_code, 1);
  EXPECT_EQ(pair.first().metric, "mmlu/accuracy");
}

TEST(ForeignVerdict, AMetricThatNobodyKnowsIsSettledByTheUser) {
  const std::string a = "task,my_score\nx,2.5\n";
  EXPECT_EQ(metric_kind("my_score"), nullptr);
  const auto json = [](double value) {
    return R"({"results": {"x": {"my_score,none": )" + std::to_string(value) +
           R"(, "my_score_stderr,none": 0.1}}, "config": {"model": "hf", "model_args": "pretrained=org/m"}})";
  };
  const Pair open(".json", json(2.5), json(1.5));
  EXPECT_EQ(open.judged.night, Verdict::kInconclusive) << gate_text(open.judged);
  EXPECT_EQ(open.comparison.pairs[0].metrics[0].shown, Shown::kNothing);
  EXPECT_NE(text_of(open.first().reason).find("--higher my_score"), std::string::npos);
  const Pair red(".json", json(2.5), json(1.5), {}, {{"my_score"}, {}});
  EXPECT_EQ(red.judged.exit_code, 1);
  const Pair green(".json", json(2.5), json(1.5), {}, {{}, {"my_score"}});
  EXPECT_EQ(green.judged.night, Verdict::kImproved);
}

TEST(ForeignVerdict, ADirectionThatContradictsTheTableIsRefused) {
  TempDir folder;
  ASSERT_TRUE(write_file(folder / "a.csv", "task,accuracy,n\nx,0.5,100\n"));
  auto run = read_any_run(folder / "a.csv");
  ASSERT_TRUE(run);
  const auto stated = state_directions({{}, {"accuracy"}}, {&*run});
  ASSERT_FALSE(stated);
  EXPECT_NE(stated.error().message.find("x/accuracy"), std::string::npos) << stated.error().message;
  const auto unknown = state_directions({{"acuracy"}, {}}, {&*run});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean \"accuracy\""), std::string::npos)
      << unknown.error().message;
}

TEST(MetricKinds, NamesAreWhatTheirHarnessesSayAndUnknownOnesAreNothing) {
  const auto unit = [](const char* name) {
    const MetricKind* kind = metric_kind(name);
    return kind == nullptr ? std::string("unknown") : std::string(unit_of(kind->quantity));
  };
  EXPECT_EQ(unit("acc_norm"), "1");
  EXPECT_EQ(unit("mean_acc"), "1");
  EXPECT_EQ(unit("humaneval_pass@1"), "1");
  EXPECT_EQ(unit("word_perplexity"), "perplexity");
  EXPECT_EQ(unit("eval_loss"), "nat");
  EXPECT_EQ(unit("val_bpb"), "bit/byte");
  EXPECT_EQ(unit("wer"), "error ratio");
  EXPECT_EQ(unit("n_errors"), "count");
  EXPECT_EQ(unit("train_samples_per_second"), "1/s");
  EXPECT_EQ(unit("train_runtime"), "s");
  EXPECT_EQ(unit("something_else"), "unknown");
  EXPECT_EQ(metric_kind("wer")->direction, Direction::kLower);
  EXPECT_EQ(metric_kind("is_incorrect")->direction, Direction::kNone);
  for (const MetricKind& kind : metric_kinds()) EXPECT_FALSE(kind.source.empty()) << kind.names;
}

}  // namespace
}  // namespace nb
