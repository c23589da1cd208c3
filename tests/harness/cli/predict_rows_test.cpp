// The command line gives what `predict validate` gives: every calibration row through the verb,
// once by flags and, of Megatron's jobs, once by a model's file.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/predict_megatron.hpp"
#include "harness/cli/verb.hpp"
#include "model/predict/dense_rows.hpp"
#include "model/predict/nanochat_validation.hpp"
#include "model/predict/validate.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::cli {
namespace {

// `npubench predict FLAGS --json`: its document, whether or not the run fits.
Json predicted(std::vector<std::string> flags) {
  ::CLI::App app;
  CLI::App options(app);
  const Action action = add_predict_step(options);
  flags.emplace_back("--json");
  std::ranges::reverse(flags);  // as CLI11 wants them
  app.parse(flags);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = action();
  const std::string text = testing::internal::GetCapturedStdout();
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(code == kExitOk || code == kExitRun) << errors;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << text << errors;
  return json.is_object() ? json : Json::object();
}

std::vector<std::string> flags_of(const MegatronRun& run, const std::string& machine,
                                  const fs::path& model) {
  std::vector<std::string> flags = {"--device", machine, "--model", model.string()};
  const auto add = [&](const std::string& flag, const std::string& text) {
    flags.push_back(flag);
    flags.push_back(text);
  };
  add("--tp", std::to_string(run.tp));
  add("--pp", std::to_string(run.pp));
  add("--vpp", std::to_string(run.vpp));
  add("--optimizer", run.distributed_optimizer ? "distributed" : "adam");
  add("--recompute", run.recompute == MegatronRecompute::kFull ? "full" : "none");
  add("--sequence-len", std::to_string(run.sequence_len));
  add("--cards", std::to_string(run.ranks));
  if (run.nodes) add("--nodes", std::to_string(*run.nodes));
  add("--device-batch-size", std::to_string(run.micro_batch));
  add("--total-batch-tokens", std::to_string(run.global_batch * run.sequence_len));
  const Json values = print_struct(run);
  for (const Field& field : megatron_run_flags()) {
    const Json& value = values.at(field.name);
    add(flag_of(field.name), value.is_boolean()  ? (value == true ? "on" : "off")
                             : value.is_string() ? value.get<std::string>()
                                                 : value.dump());
  }
  return flags;
}

const Validation& validation() {
  static const Validation made = *validate(*calibration_tables(""));
  return made;
}

const ValidationRow* row_of(const std::string& id, const std::string& machine) {
  for (const ValidationGroup& group : validation().groups)
    for (const ValidationRow& row : group.rows)
      if (row.id == id && row.machine == machine && row.predicted) return &row;
  return nullptr;
}

TEST(PredictRows, TheVerbGivesWhatTheValidationGivesOfEveryJobOfMegatron) {
  const test::TempDir folder;
  const fs::path sizes = folder.path() / "sizes.json", whole = folder.path() / "whole.json";
  int compared = 0;
  double worst = 0;
  for (const char* file : {"megatron_readme", "megatron_ci"}) {
    const auto jobs = measured_jobs(file);
    ASSERT_TRUE(jobs) << jobs.error().message;
    for (const MeasuredJob& measured : *jobs) {
      const Json model = print_struct(measured.job.model);
      Json all = model;
      all.update(print_struct(measured.job.run));
      ASSERT_TRUE(write_json(sizes, model) && write_json(whole, all));
      for (const std::string& machine : measured.machines) {
        SCOPED_TRACE(measured.job.name + " on " + machine);
        const ValidationRow* row = row_of(measured.job.name, machine);
        ASSERT_NE(row, nullptr);
        const double expected_ns = measured.step_ns * (1 + *row->error);
        for (const Json& json : {predicted(flags_of(measured.job.run, machine, sizes)),
                                 predicted({"--device", machine, "--model", whole.string()})}) {
          ASSERT_TRUE(json.contains("step_time_ns"));
          const double ratio = json.at("step_time_ns").get<double>() / expected_ns;
          EXPECT_NEAR(ratio, 1, 1e-3);
          worst = std::max(worst, std::abs(ratio - 1));
          EXPECT_TRUE(json.at("assumed").empty()) << json.at("assumed");
        }
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 33 + 56);
  RecordProperty("largest_difference", std::to_string(worst));
}

TEST(PredictRows, TheVerbGivesWhatTheValidationGivesOfEveryRunOfNanochat) {
  const auto rows = calibration_rows("nanochat");
  ASSERT_TRUE(rows) << rows.error().message;
  int compared = 0;
  for (const CalibrationRow& row : *rows) {
    if (row.use == RowUse::kExclude) continue;
    SCOPED_TRACE(row.id);
    const auto run = nanochat_run(row);
    ASSERT_TRUE(run) << run.error().message;
    std::vector<std::string> flags = {"--device", run->machine, "--stack", run->stack};
    const Json settings = print_struct(run->settings);
    for (const char* field : {"model", "depth", "vocab_size", "sequence_len", "device_batch_size",
                              "total_batch_tokens", "cards"}) {
      if (!settings.contains(field) || settings.at(field).is_null()) continue;
      const Json& value = settings.at(field);
      flags.push_back(flag_of(field));
      flags.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    const Json json = predicted(flags);
    const ValidationRow* validated = row_of(row.id, run->machine);
    ASSERT_NE(validated, nullptr);
    if (row.unit == "fits") {
      EXPECT_EQ(json.at("fits").get<bool>(), *validated->predicted == 1);
    } else {
      const double rate =
          json.at("throughput_tok_s").get<double>() * static_cast<double>(run->replicas);
      EXPECT_NEAR(rate / *validated->predicted, 1, 1e-3);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

}  // namespace
}  // namespace nb::cli
