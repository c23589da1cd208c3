// predict validate and calibrate as a user runs them: rows of a folder, files that are written,
// and what is wrong with rows or constants in one sentence.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

const fs::path kDeviceFolder = fs::path(NB_SOURCE_DIR) / "model/device";

// A copy of the measured rows in which one text stands for another.
void copy_rows(const fs::path& folder, const std::string& file, const std::string& from,
               const std::string& to) {
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(kDeviceFolder / "calibration")) {
    if (entry.path().extension() != ".csv") continue;
    std::string text = *read_file(entry.path());
    if (entry.path().filename() == file) {
      const std::size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    }
    ASSERT_TRUE(write_file(folder / entry.path().filename(), text));
  }
}

TEST(PredictValidate, WritesEveryRowAsTextJsonAndCsv) {
  Bench bench;
  bench.environment = {{"COLUMNS", "80"}};
  const TempDir folder;
  const fs::path csv = folder / "rows.csv";
  const auto text = bench({"predict", "validate", "--rows", csv.string()});
  EXPECT_NE(text.out.find("\nsteps: training steps of dense decoders"), std::string::npos);
  EXPECT_NE(text.out.find("nanochat: V1, peak"), std::string::npos);
  // However narrow the terminal: names are whole.
  for (const char* id : {"llama2-70b@master", "v6-d12-910b-2", "h100-d20-theogbrand2"})
    EXPECT_NE(text.out.find(id), std::string::npos) << id;
  const auto json = bench({"predict", "validate", "--json"});
  const Json parsed = *parse_json(json.out, "stdout");
  // It exits 0 exactly where every figure holds.
  EXPECT_EQ(json.exit_code, parsed.at("holds").get<bool>() ? 0 : 4);
  EXPECT_EQ(text.exit_code, json.exit_code);
  std::size_t rows = 0;
  for (const Json& group : parsed.at("groups")) rows += group.at("rows").size();
  const std::string lines = *read_file(csv);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(lines, '\n')), rows + 1);
}

TEST(PredictValidate, ARowWithoutUnitOrSourceIsOneSentence) {
  const Bench bench;
  const TempDir folder;
  copy_rows(folder / "unit", "gemm.csv", "none: one kernel,us,", "none: one kernel,,");
  expect_sentence(bench({"predict", "validate", "--calibration", (folder / "unit").string()}), 64,
                  {"gemm.csv:2", "a row without unit"});
  copy_rows(folder / "source", "gemm.csv",
            "PTO-ISA/pto-isa kernels/manual/a2a3/gemm_performance README @ e612db81", "");
  expect_sentence(bench({"predict", "validate", "--calibration", (folder / "source").string()}), 64,
                  {"gemm.csv:2", "a row without source", "name the repository, file and commit"});
}

TEST(PredictCalibrate, FewerRowsThanConstantsAreOneSentence) {
  const Bench bench;
  const TempDir folder;
  copy_rows(folder / "rows", "nanochat.csv", "h100-d20-royam,fit", "h100-d20-royam,report");
  expect_sentence(bench({"predict", "calibrate", "--family", "nanochat_gpu", "--calibration",
                         (folder / "rows").string()}),
                  64, {"nanochat_gpu", "1 constants cannot be fitted on 0 rows"});
}

TEST(PredictCalibrate, AConstantOutsideItsRangeIsOneSentence) {
  const Bench bench;
  const TempDir folder;
  Json family = *read_json(kDeviceFolder / "families/megatron_npu.json");
  family["constants"]["matrix_efficiency"]["value"] = 0.97;
  ASSERT_TRUE(write_json(folder / "f.json", family));
  expect_sentence(bench({"predict", "calibrate", "--family", (folder / "f.json").string()}), 64,
                  {"f.json", "/constants/matrix_efficiency/value", "0.97", "0.6 to 0.95"});
}

TEST(PredictCalibrate, WritesTheFamilyThatItPrints) {
  const Bench bench;
  const TempDir folder;
  const auto result = bench({"predict", "calibrate", "--family", "megatron_npu", "--json", "--out",
                             (folder / "out").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json printed = parse_json(result.out, "stdout")->at(0);
  const Json written = *read_json(folder / "out/megatron_npu.json");
  for (const auto& [name, constant] : printed.at("constants").items())
    EXPECT_EQ(written.at("constants").at(name).at("value"), constant.at("after")) << name;
  EXPECT_LT(printed.at("error_after").get<double>(), 0.06);
}

TEST(PredictCalibrate, AConstantAtItsBoundWritesNothing) {
  const Bench bench;
  const TempDir folder;
  // An H100 of 1.9 M tokens per second would need more than its kernels can give.
  copy_rows(folder / "rows", "nanochat.csv", "tok/s,1083595,", "tok/s,1983595,");
  const auto result = bench({"predict", "calibrate", "--family", "nanochat_gpu", "--calibration",
                             (folder / "rows").string(), "--out", (folder / "out").string()});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.out.find("AT ITS BOUND"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("nanochat_gpu matrix_efficiency at the bound"), std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Predict, WithoutADeviceItSaysSo) {
  const Bench bench;
  expect_sentence(bench({"predict", "--depth", "4"}), 64, {"--device is required"});
}

}  // namespace
}  // namespace nb::test
