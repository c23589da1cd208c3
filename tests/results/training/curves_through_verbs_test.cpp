// Training logs along the user's way: read, compared, gated, imported and read back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/base/fs.hpp"
#include "results/compare/compare.hpp"
#include "results/gate/gate.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/to_records.hpp"
#include "results/store/curve_columns.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class CurvesOfRuns : public testing::Test {
 protected:
  RunRecords read(const std::string& name, const std::string& text) {
    const fs::path path = dir_ / name;
    EXPECT_TRUE(write_file(path, text));
    auto run = read_any_run(path);
    if (!run) ADD_FAILURE() << run.error().message;
    return run ? std::move(*run) : RunRecords{};
  }
  const test::TempDir dir_;
};

std::string nanochat(const std::function<double(int)>& loss, double dt_ms = 460.1,
                     double lrm_late = 1) {
  std::string text = "Number of parameters: 135,266,304\n";
  double last = 0;
  for (int i = 0; i <= 40; ++i) {
    last = loss(i);
    text += fmt::format(
        "step {:05d}/00040 (0.00%) | loss: {:.6f} | lrm: {:.2f} | dt: {:.2f}ms | tok/sec: 1,139 | "
        "bf16_mfu: 46.20 | epoch: 1 pq: 0 rg: {} | total time: 0.00m\n",
        i, last, i < 30 ? 1 : lrm_late, dt_ms, i);
  }
  return text + fmt::format("Step 00040 | Validation bpb: {:.6f}\nMinimum validation bpb: {:.6f}\n",
                            last / 2.9, last / 2.9);
}

double smooth(int i) { return 2.2 + 8.8 * std::exp(-.06 * i); }

std::string megatron(double shift, double ms) {
  std::string text;
  for (int i = 1; i <= 6; ++i)
    text += fmt::format(
        " iteration {:8d}/  250000 | consumed samples: {:12d} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: 9.150E-06 | global batch size:  1024 | lm loss: {:.6E} | loss "
        "scale: 1.0 | grad norm: 0.231 |\n",
        i, 1024 * i, ms + i % 3, 2.5 - .01 * i + shift);
  return text;
}

const TaskVerdict* verdict_of(const GateResult& result, const std::string& metric) {
  for (const TaskVerdict& verdict : result.verdicts)
    if (verdict.metric == metric) return &verdict;
  return nullptr;
}

TEST_F(CurvesOfRuns, ADriftingLossIsARegression) {
  const RunRecords a = read("gpu/train.log", nanochat(smooth));
  const RunRecords b =
      read("npu/train.log", nanochat([](int i) { return smooth(i) + .03 * i; }, 910.7));
  const Comparison comparison = compare_runs(a, b);
  ASSERT_EQ(comparison.pairs.size(), 1u);
  ASSERT_TRUE(comparison.pairs[0].curves);
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("B worse: equal up to step 0, apart from step 1 on"), std::string::npos)
      << text;
  EXPECT_NE(text.find("×1.98"), std::string::npos) << text;
  const GateResult result = gate(comparison);
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_NE(verdict_of(result, "train_loss"), nullptr) << gate_text(result);
  EXPECT_EQ(verdict_of(result, "train_loss")->verdict, Verdict::kRegressed);
  const TaskVerdict* bpb = verdict_of(result, "min_val_bpb");
  ASSERT_NE(bpb, nullptr);
  EXPECT_EQ(bpb->verdict, Verdict::kRegressed);
}

TEST_F(CurvesOfRuns, NoiseOfSeedsIsNotRed) {
  const auto noisy = [](std::uint64_t seed) {
    auto random = std::make_shared<std::mt19937_64>(seed);
    return nanochat(
        [random](int i) { return smooth(i) + std::normal_distribution<double>(0, .03)(*random); });
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const GateResult result =
        gate(read("a/train.log", noisy(2 * seed + 1)), read("b/train.log", noisy(2 * seed + 2)));
    EXPECT_EQ(result.exit_code, 0) << gate_text(result);
    ASSERT_NE(verdict_of(result, "train_loss"), nullptr);
    EXPECT_EQ(verdict_of(result, "train_loss")->verdict, Verdict::kInconclusive);
  }
}

TEST_F(CurvesOfRuns, EqualCurvesPass) {
  const GateResult result =
      gate(read("a/train.log", nanochat(smooth)), read("b/train.log", nanochat(smooth)));
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
  ASSERT_NE(verdict_of(result, "train_loss"), nullptr);
  EXPECT_EQ(verdict_of(result, "train_loss")->verdict, Verdict::kPass);
}

TEST_F(CurvesOfRuns, ARateThatDiffersIsAChangedSetting) {
  const RunRecords a = read("a/train.log", nanochat(smooth));
  const RunRecords b = read("b/train.log", nanochat(smooth, 460.1, .7));
  const Comparison comparison = compare_runs(a, b);
  EXPECT_NE(text_of(comparison.likely_cause()).find("lr_multiplier at step 30 1 → 0.7"),
            std::string::npos)
      << text_of(comparison.likely_cause());
  const GateResult result = gate(comparison);
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_NE(verdict_of(result, "lr_multiplier"), nullptr);
  EXPECT_EQ(verdict_of(result, "lr_multiplier")->verdict, Verdict::kSuspicious);
  GatePolicy allowed;
  allowed.allow_procedure_change = true;
  EXPECT_EQ(gate(comparison, allowed).exit_code, 0);
}

TEST_F(CurvesOfRuns, MegatronsLossAndTimeAreCompared) {
  const RunRecords a = read("gpu/train.log", megatron(0, 86555));
  const RunRecords b = read("npu/train.log", megatron(.2, 109555));
  const Comparison comparison = compare_runs(a, b);
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("×1.27"), std::string::npos) << text;
  EXPECT_NE(text.find("+0.20000"), std::string::npos) << text;
  EXPECT_NE(text.find("learning_rate: equal at all 6 common steps"), std::string::npos) << text;
  EXPECT_EQ(gate(comparison).exit_code, 1);
}

TEST_F(CurvesOfRuns, AWandbChartIsACurve) {
  const char* header =
      "\"Step\",\"d20 - train/loss\",\"d20 - train/loss__MIN\","
      "\"d20 - train/loss__MAX\"\n";
  const auto row = [](int step, double loss) {
    return fmt::format("\"{0}\",\"{1}\",\"{1}\",\"{1}\"\n", step, loss);
  };
  const RunRecords a =
      read("gpu.csv", header + row(0, 10.82) + row(100, 5.91) + row(200, 4.82) + row(300, 4.31));
  const RunRecords b =
      read("npu.csv", header + row(0, 10.82) + row(100, 5.99) + row(200, 5.12) + row(300, 4.95));
  ASSERT_EQ(a.records.size(), 1u);
  EXPECT_EQ(a.records[0].record.name, "d20");
  EXPECT_EQ(a.records[0].record.kind, "train");
  EXPECT_TRUE(a.records[0].record.metrics.empty());
  const Comparison comparison = compare_runs(a, b);
  const std::string text = comparison_text(comparison);
  EXPECT_EQ(text.find("0.1082"), std::string::npos) << text;
  EXPECT_NE(text.find("+0.64000 nat (15 %)"), std::string::npos) << text;
  EXPECT_EQ(gate(comparison).exit_code, 1);
}

TEST_F(CurvesOfRuns, ACurveThatIsMissingIsAnError) {
  const RunRecords a = read("a/train.log", nanochat(smooth));
  RunRecords b = a;
  b.records[0].curve = nullptr;
  b.records[0].record.artifacts.clear();
  EXPECT_EQ(gate(a, b).exit_code, 4);
}

TEST_F(CurvesOfRuns, AnImportedRunGivesTheCurveBack) {
  const fs::path path = dir_ / "train.log";
  ASSERT_TRUE(write_file(path, nanochat([](int i) { return i == 40 ? NAN : smooth(i); })));
  const auto foreign = read_any_foreign(path);
  ASSERT_TRUE(foreign) << foreign.error().message;
  const auto written = write_import(*foreign, dir_ / "out" / "run");
  ASSERT_TRUE(written) << written.error().message;
  const auto run = read_run(dir_ / "out" / "run");
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->records.size(), 1u);
  const auto curve = stored_curve(run->records[0]);
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_TRUE(*curve);
  const Curve& before = foreign->runs[0].curve;
  EXPECT_EQ((*curve)->steps, before.steps);
  const CurveColumn* loss = (*curve)->find("train_loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->unit, "nat");
  EXPECT_EQ(loss->direction, Direction::kLower);
  EXPECT_EQ(loss->values[3], before.find("train_loss")->values[3]);
  EXPECT_EQ(loss->not_finite_from, 40);
  // The file and the folder made of it are the same run.
  const auto file = read_any_run(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(same_results(file->records[0].record, run->records[0].record));
}

TEST_F(CurvesOfRuns, AnImportedCurveThatWasEditedIsAnError) {
  const fs::path path = dir_ / "train.log";
  ASSERT_TRUE(write_file(path, nanochat(smooth)));
  ASSERT_TRUE(write_import(*read_any_foreign(path), dir_ / "out" / "run"));
  const auto run = read_run(dir_ / "out" / "run");
  ASSERT_TRUE(run);
  ASSERT_TRUE(write_file(run->records[0].folder / "steps.csv", "step,train_loss\n0,1\n"));
  EXPECT_EQ(gate(*run, read("b/train.log", nanochat(smooth))).exit_code, 4);
}

}  // namespace
}  // namespace nb
