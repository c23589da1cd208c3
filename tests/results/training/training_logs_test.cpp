// Each format with a small file of its own making, as its source prints it; the real logs of the
// data folder against what a script without this project's code counted in them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/base/fs.hpp"
#include "results/store/curve_columns.hpp"
#include "results/training/training_log.hpp"
#include "tests/results/training/sample_logs.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

using namespace test;

TrainingLog log_of(std::string_view text, const std::string& file = "f") {
  const TrainingFormat* format = training_format_of({text, file});
  if (format == nullptr) {
    ADD_FAILURE() << "not recognised: " << text.substr(0, 60);
    return {};
  }
  auto read = format->read({text, file});
  if (!read) ADD_FAILURE() << read.error().message;
  return read ? std::move(*read) : TrainingLog{};
}

// The value of a column at a step; a failure where there is none.
double value_at(const Training& training, std::string_view column, std::int64_t step) {
  const Curve& curve = training.curve;
  const CurveColumn* found = curve.find(column);
  if (found == nullptr) {
    ADD_FAILURE() << "no column " << column;
    return 0;
  }
  for (std::size_t row = 0; row < curve.steps.size(); ++row)
    if (curve.steps[row] == step) return found->values[row];
  ADD_FAILURE() << "no step " << step;
  return 0;
}

TEST(TrainingFormats, EachTextIsKnownToItsFormatAlone) {
  for (const SampleLog& one : kSampleLogs) {
    const TrainingFormat* format = training_format_of({one.text, one.file});
    ASSERT_NE(format, nullptr) << one.format;
    EXPECT_STREQ(format->name, one.format);
    int known = 0;
    for (const TrainingFormat& other : training_formats())
      known += other.recognises(one.text, true) ? 1 : 0;
    EXPECT_EQ(known, 1) << one.format;
  }
}

TEST(TrainingFormats, OtherTextsAreNoLogs) {
  for (const std::string_view text :
       {"task,accuracy,n\nmmlu,.5,14042\n", "# Report\n| Task | MID |\n|---|---|\n| MMLU | .3 |\n",
        "{\"results\": {\"mmlu\": {\"acc\": 0.5}}}", "step\n1\n", "step 5 of the recipe | loss\n",
        "The iteration took long | elapsed time per iteration\n", "item,outcome\n1,0\n", "",
        "metric,value\nval_bpb,0.838\n", "step,task,accuracy\n1,mmlu,.5\n"})
    EXPECT_EQ(training_format_of({text, "f"}), nullptr) << text;
}

TEST(NanochatLog, TrainingsOfOneFileAreKeptApart) {
  const TrainingLog log = log_of(kNanochat2025);
  ASSERT_EQ(log.trainings.size(), 3u);
  const Training& base = log.trainings[0];
  EXPECT_EQ(base.stage, "");
  EXPECT_EQ(value_at(base, "train_loss", 1), 10.80);
  EXPECT_EQ(value_at(base, "grad_norm", 1), 1.5);
  EXPECT_EQ(value_at(base, "lr_multiplier", 1), .5);
  EXPECT_NEAR(value_at(base, "step_time_ns", 1), 487.57e6, 1e-3);
  EXPECT_EQ(value_at(base, "throughput_tok_s", 1), 1075308);
  EXPECT_NEAR(value_at(base, "mfu", 1), .4746, 1e-12);
  EXPECT_EQ(value_at(base, "tokens", 1), 524288);
  EXPECT_EQ(value_at(base, "val_bpb", 0), 3.2);
  EXPECT_EQ(base.stated.at("iterations"), "300");
  EXPECT_EQ(log.trainings[1].stage, "training 2");
  EXPECT_EQ(value_at(log.trainings[1], "train_loss", 1), 1.1345);
  EXPECT_EQ(value_at(log.trainings[1], "val_loss", 0), 1.5);
  EXPECT_EQ(value_at(log.trainings[2], "reward", 1), .25);
}

TEST(NanochatLog, LinesOf2026AreRead) {
  const Training training = log_of(kNanochat2026).trainings.at(0);
  EXPECT_NEAR(value_at(training, "mfu", 7), .462, 1e-12);
  EXPECT_EQ(value_at(training, "core", 8), .1234);
}

TEST(NanochatLog, AResumedTrainingCountsOnce) {
  std::string text;
  const auto step = [&](int number, double loss) {
    text += "step 0000" + std::to_string(number) +
            "/00300 (0.00%) | loss: " + std::to_string(loss) +
            " | lrm: 1.00 | dt: 487.57ms | tok/sec: 1,075 | mfu: 4 |\n";
  };
  for (int i = 0; i < 4; ++i) step(i, 5 - i);
  for (int i = 2; i < 5; ++i) step(i, 5 - i + .5);
  const TrainingLog log = log_of(text);
  ASSERT_EQ(log.trainings.size(), 1u);
  EXPECT_EQ(log.trainings[0].curve.steps, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(value_at(log.trainings[0], "train_loss", 2), 3.5);
  EXPECT_EQ(log.ignored.size(), 1u);
}

TEST(MegatronLog, LossesTimesAndMemoryAreColumns) {
  const Training training = log_of(kMegatron).trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{43, 44}));
  EXPECT_EQ(value_at(training, "train_loss", 43), 1.825991);
  EXPECT_EQ(value_at(training, "learning_rate", 44), 8.8e-6);
  EXPECT_NEAR(value_at(training, "step_time_ns", 44), 5533.8e6, 1);
  EXPECT_EQ(value_at(training, "flop_s_card", 43), 239.8e12);
  EXPECT_EQ(value_at(training, "samples", 44), 5632);
  EXPECT_EQ(value_at(training, "load_balancing_loss", 43), 1.019746);
  EXPECT_EQ(value_at(training, "peak_memory_bytes", 43), 5670.5 * 1024 * 1024);
  EXPECT_EQ(value_at(training, "val_loss", 44), 2.123);
  EXPECT_EQ(training.curve.find("load_balancing_loss")->direction, Direction::kNone);
  EXPECT_EQ(training.curve.find("train_loss")->not_finite_from, 44);
  EXPECT_EQ(training.stated.at("iterations"), "100");
}

TEST(TorchtitanLog, RanksWithoutALossDoNotCount) {
  const Training training = log_of(kTorchtitan).trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(value_at(training, "train_loss", 3), 4.9925);
  EXPECT_EQ(value_at(training, "throughput_tok_s_card", 3), 30768);
  EXPECT_EQ(value_at(training, "peak_memory_bytes", 4), 512. * 1024 * 1024);
  EXPECT_EQ(value_at(training, "val_loss", 4), 5.125);
  EXPECT_NEAR(value_at(training, "mfu", 4), .0036, 1e-12);
}

TEST(NanogptLog, TheListingOfTheProgramIsNoStep) {
  const Training training = log_of(kNanogpt).trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(value_at(training, "val_loss", 0), 10.8258);
  EXPECT_EQ(value_at(training, "step_time_ns", 3), 100e6);
  EXPECT_EQ(value_at(training, "peak_memory_bytes", 3), 1024. * 1024 * 1024);
}

TEST(TrainerState, TotalsOfTheWholeTrainingAreNoPoints) {
  const Training training = log_of(kTrainerState).trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(value_at(training, "train_loss", 20), 2.25);
  EXPECT_EQ(value_at(training, "val_loss", 10), 2.625);
  EXPECT_EQ(value_at(training, "learning_rate", 20), 5e-6);
  EXPECT_EQ(training.curve.find("grad_norm")->not_finite_from, 20);
  EXPECT_EQ(training.curve.find("eval_runtime"), nullptr);
}

TEST(TrainerLines, MemoryAndTokensHaveTheirUnits) {
  const Training training = log_of(kTrainerLines).trainings.at(0);
  EXPECT_EQ(value_at(training, "learning_rate", 5), 1e-5);
  EXPECT_EQ(value_at(training, "tokens", 5), 50000);
  EXPECT_EQ(value_at(training, "peak_memory_bytes", 5), 2. * 1024 * 1024 * 1024);
  EXPECT_EQ(value_at(training, "throughput_tok_s", 5), 5000.5);
  EXPECT_EQ(value_at(training, "val_loss", 10), 2.25);
  EXPECT_EQ(training.stated.at("iterations"), "20");
}

TEST(SwiftLines, StepsAreTextsAndTheSummaryIsNoStep) {
  const TrainingLog log = log_of(kSwift);
  const Training& training = log.trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{1, 5, 94}));
  EXPECT_EQ(value_at(training, "train_loss", 5), 1.58882141);
  EXPECT_EQ(value_at(training, "token_accuracy", 1), 0.65511727);
  EXPECT_EQ(value_at(training, "val_loss", 5), 1.5);
  EXPECT_EQ(value_at(training, "val_token_accuracy", 5), 0.625);
  EXPECT_EQ(value_at(training, "peak_memory_bytes", 94), 6.5 * 1024 * 1024 * 1024);
  EXPECT_TRUE(std::isnan(value_at(training, "train_loss", 94)));  // a total of the training
  EXPECT_EQ(training.stated.at("iterations"), "94");
  EXPECT_EQ(texts_of(log.ignored),
            (std::vector<std::string>{"line 5: the summary of the training"}));
}

TEST(SwiftLines, AResumedTrainingCountsOnce) {
  const Training training = log_of(kSwiftMegatron).trainings.at(0);
  EXPECT_EQ(training.curve.steps, (std::vector<std::int64_t>{5, 8}));
  EXPECT_EQ(value_at(training, "train_loss", 8), 2.0);
}

// They were taken for runs, and losses for accuracies: "0/accuracy 0.1082".
TEST(WandbChart, RangesAreNoRuns) {
  const TrainingLog log = log_of(kWandb);
  ASSERT_EQ(log.trainings.size(), 2u);
  EXPECT_EQ(log.trainings[0].name, "d20");
  EXPECT_EQ(log.trainings[1].name, "d20 - b");
  EXPECT_EQ(value_at(log.trainings[0], "train_loss", 100), 5.91);
  EXPECT_EQ(log.trainings[1].curve.steps, (std::vector<std::int64_t>{0}));
}

TEST(TensorboardChart, TheFilesNameSaysWhatTheValuesAre) {
  EXPECT_EQ(value_at(log_of(kTensorboard, "x/run-d20-tag-train_loss.csv").trainings.at(0),
                     "train_loss", 10),
            6.25);
  const TrainingLog unnamed = log_of(kTensorboard, "gpu.csv");
  EXPECT_EQ(unnamed.trainings.at(0).curve.columns.at(0).name, "value");
  EXPECT_EQ(unnamed.trainings.at(0).curve.columns.at(0).direction, Direction::kNone);
  EXPECT_EQ(unnamed.ignored.size(), 1u);
}

TEST(StepsCsv, WordsAreLeftOutAndSaid) {
  const TrainingLog log = log_of(kSteps);
  EXPECT_EQ(value_at(log.trainings.at(0), "train_loss", 2), 2.25);
  EXPECT_EQ(value_at(log.trainings.at(0), "learning_rate", 1), .001);
  EXPECT_EQ(texts_of(log.ignored),
            (std::vector<std::string>{"1 cells of note that are no numbers"}));
}

TEST(TrainingLogs, DamagedNumbersAreNamedWithTheirLine) {
  const auto refused = [](std::string text, std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
    const TrainingFormat* format = training_format_of({text, "f"});
    if (format == nullptr) return std::string("not recognised");
    const auto read = format->read({text, "f"});
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(refused(std::string(kNanochat2025), "10.80", "10x80").find("f:4: "), 0u);
  EXPECT_EQ(refused(std::string(kMegatron), "1.825991E+00", "1.8q5991E+00").find("f:2: "), 0u);
  EXPECT_EQ(refused(std::string(kTorchtitan), "4.6671", "4.x671").find("f:4: "), 0u);
  EXPECT_EQ(refused(std::string(kWandb), "\"5.91\"", "\"5,91\"").find("f:3: "), 0u);
  EXPECT_EQ(
      refused(std::string(kTrainerLines), "\"total_steps\": 20, \"eval", "\"eval").find("f:2: "),
      std::string::npos);  // the second line needs no total
  EXPECT_EQ(refused(std::string(kTrainerLines), "\"current_steps\": 10", "\"x\": 10").find("f:2: "),
            0u);
  EXPECT_EQ(refused(std::string(kSwift), "5/94\", \"elapsed_time\": \"10s", "5\", \"e\": \"")
                .find("f:2: "),
            0u);
}

TEST(TrainingLogs, MutatedTextsAreReadOrRefusedNeverCrash) {
  std::mt19937_64 random(40);
  std::size_t read = 0, refused = 0;
  for (const SampleLog& one : kSampleLogs)
    for (int round = 0; round < 1000; ++round) {
      std::string text(one.text);
      for (std::uint64_t i = 0; i < 1 + random() % 4; ++i) {
        const std::size_t at = random() % text.size();
        const std::size_t size = std::min<std::size_t>(random() % 40, text.size() - at);
        if (const auto kind = random() % 3; kind == 0)
          text.erase(at, size);
        else if (kind == 1)
          text.insert(at, text.substr(at, size));
        else
          text[at] = "\",|:-\n\r0e%{}[]xN/"[random() % 17];
        if (text.empty()) text = " ";
      }
      const TrainingFormat* format = training_format_of({text, one.file});
      if (format == nullptr) continue;
      const auto log = format->read({text, one.file});
      ++(log ? read : refused);
      if (!log) {
        EXPECT_FALSE(log.error().message.empty());
        continue;
      }
      for (const Training& training : log->trainings)
        for (const CurveColumn& column : training.curve.columns)
          ASSERT_EQ(column.values.size(), training.curve.steps.size());
    }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 100u);
}

std::size_t stated(const Curve& curve, std::string_view column) {
  const CurveColumn* found = curve.find(column);
  std::size_t count = 0;
  if (found != nullptr)
    for (const double value : found->values) count += std::isfinite(value) ? 1 : 0;
  return count;
}

// expected.json of the data folder: counted by a script without this project's code.
TEST(TrainingLogs, RealOnesHaveTheirPoints) {
  const fs::path logs = test::data_dir() / "imports" / "training_logs";
  if (!fs::exists(logs)) GTEST_SKIP() << "skipped: no data";
  struct Real {
    const char* file;
    std::size_t train, val;
    std::int64_t last_val_step;
    double last_val, last_train;
  };
  for (const Real& real : {
           Real{"KellerJordan__modded-nanogpt/track_1_short/2024-06-06_AdamW/"
                "f66d43d7-e449-4029-8adf-e8537bab49ea.log",
                9536, 76, 9536, 3.275959, 3.340180},
           Real{"KellerJordan__modded-nanogpt/track_1_short/2024-11-08_CastBf16/"
                "a833bed8-2fa8-4cfe-af05-58c1cc48bc30.txt",
                3242, 27, 3242, 3.2781, 3.2329},
           Real{"openai__parameter-golf/track_10min_16mb/2026-03-17_NaiveBaseline/train.log", 285,
                70, 13780, 2.0606, 1.9910},
       }) {
    const auto text = read_file(logs / real.file);
    ASSERT_TRUE(text);
    const TrainingLog log = log_of(*text, real.file);
    const Training& training = log.trainings.at(0);
    EXPECT_EQ(stated(training.curve, "train_loss"), real.train) << real.file;
    EXPECT_EQ(stated(training.curve, "val_loss"), real.val) << real.file;
    EXPECT_EQ(value_at(training, "val_loss", real.last_val_step), real.last_val);
    const CurveColumn& loss = *training.curve.find("train_loss");
    double last = 0;
    for (const double value : loss.values)
      if (std::isfinite(value)) last = value;
    EXPECT_EQ(last, real.last_train) << real.file;
  }
}

TEST(TrainingFormats, NoRealFileIsKnownToTwo) {
  if (!fs::exists(test::data_dir() / "imports")) GTEST_SKIP() << "skipped: no data";
  for (const char* folder : {"imports", "nanochat_reports", "core", "reference"}) {
    if (!fs::exists(test::data_dir() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(test::data_dir() / folder)) {
      if (!entry.is_regular_file() || entry.file_size() > (std::size_t{8} << 20)) continue;
      const auto text = read_file(entry.path());
      ASSERT_TRUE(text);
      int known = 0;
      for (const TrainingFormat& format : training_formats())
        known += format.recognises(*text, true) ? 1 : 0;
      EXPECT_LE(known, 1) << entry.path();
    }
  }
}

}  // namespace
}  // namespace nb
