#include "model/predict/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "harness/base/fs.hpp"
#include "harness/base/table.hpp"
#include "model/predict/dense_validation.hpp"

namespace nb {
namespace {

void say_nothing(const std::string&) {}

const FamilyConstant& constant_of(const Family& family, const std::string& name) {
  for (const FamilyConstant& c : family.constants)
    if (c.name == name) return c;
  std::abort();
}

TEST(Calibrate, AFamilysFileIsWrittenAsItStands) {
  for (const std::string& name : family_names()) {
    const auto family = load_family(name);
    ASSERT_TRUE(family.has_value()) << family.error().message;
    EXPECT_EQ(family_text(*family),
              *read_file(fs::path(NB_SOURCE_DIR) / "model/device/families" / (name + ".json")))
        << name;
  }
}

// Rows that the closed form itself made with other constants: the fit finds steps like them.
TEST(Calibrate, FindsTheConstantsThatMadeTheRows) {
  CalibrationTables tables = *calibration_tables();
  std::vector<CalibrationRow>& rows = tables["megatron_readme"];
  const std::vector<MeasuredJob> jobs = *measured_jobs(rows);
  DenseModel model = *DenseModel::make(jobs, "megatron_mindspeed");
  std::vector<FamilyConstant> truth = *family_constants("megatron_npu");
  const std::map<std::string, double> values = {
      {"attention_efficiency", 0.45}, {"hidden_share", 0.3}, {"link_bandwidth", 24}};
  for (FamilyConstant& c : truth)
    if (const auto value = values.find(c.name); value != values.end()) c.value = value->second;
  model.set(truth);
  for (CalibrationRow& row : rows)
    for (const MeasuredJob& job : jobs)
      if (job.job.name == row.id && row.use == RowUse::kFit)
        row.value = job.value * job.step_ns / *model.step_ns(job.job, job.machines.front());
  const auto fitted = calibrate("megatron_npu", tables, say_nothing);
  ASSERT_TRUE(fitted.has_value()) << fitted.error().message;
  EXPECT_GT(fitted->error_before, 0.02);
  EXPECT_LT(fitted->error_after, 0.01);
  EXPECT_NEAR(constant_of(fitted->after, "attention_efficiency").value, 0.45, 0.02);
  EXPECT_NEAR(constant_of(fitted->after, "link_bandwidth").value, 24, 1);
  EXPECT_TRUE(fitted->at_bound.empty());
}

// Machines twice as fast as these do not exist: every efficiency runs against its end.
TEST(Calibrate, AConstantAtItsBoundIsAFailureOfTheModel) {
  CalibrationTables tables = *calibration_tables();
  for (CalibrationRow& row : tables["megatron_readme"])
    if (row.value) *row.value *= 2;
  const auto fitted = calibrate("megatron_npu", tables, say_nothing);
  ASSERT_TRUE(fitted.has_value()) << fitted.error().message;
  EXPECT_NE(std::ranges::find(fitted->at_bound, "attention_efficiency"), fitted->at_bound.end());
}

TEST(Calibrate, FewerRowsThanConstantsAreAnError) {
  CalibrationTables tables = *calibration_tables();
  int kept = 0;
  for (CalibrationRow& row : tables["megatron_readme"])
    if (row.use == RowUse::kFit && ++kept > 2) row.use = RowUse::kReport;
  const auto fitted = calibrate("megatron_npu", tables, say_nothing);
  ASSERT_FALSE(fitted.has_value());
  EXPECT_EQ(fitted.error().message,
            "family megatron_npu: 3 constants cannot be fitted on 2 rows: mark more rows as fit, "
            "or fit fewer constants");
}

// A fit that starts where the last one ended, and elsewhere, ends there again, to the last digit.
TEST(Calibrate, TheFamiliesAreWhatTheirRowsGive) {
  for (const std::string& name : calibrated_families()) {
    const auto fitted = calibrate(name, *calibration_tables(), say_nothing);
    ASSERT_TRUE(fitted.has_value()) << fitted.error().message;
    EXPECT_TRUE(fitted->at_bound.empty()) << name;
    for (const FamilyConstant& c : fitted->before.constants)
      EXPECT_EQ(constant_of(fitted->after, c.name).value, c.value) << name << " " << c.name;
  }
}

// Whole steps do not determine them (model/predict/README.md).
TEST(Calibrate, MegatronsProductsAndStreamsAreThoseOfTheSameLibraryUnderNanochat) {
  for (const std::string device : {"npu", "gpu"})
    for (const std::string name : {"matrix_efficiency", "memory_efficiency"})
      EXPECT_EQ(constant_of(*load_family("megatron_" + device), name).value,
                constant_of(*load_family("nanochat_" + device), name).value)
          << device << " " << name;
}

TEST(Calibrate, AFamilyWithoutFitRowsSaysWhyItIsNotFitted) {
  const auto kept = calibrate("megatron_gpu", *calibration_tables(), say_nothing);
  ASSERT_TRUE(kept.has_value()) << kept.error().message;
  EXPECT_EQ(kept->why_not, "no fit row: the reference column names no machine");
  EXPECT_FALSE(calibrate("megatron_gppu", *calibration_tables(), say_nothing).has_value());
}

}  // namespace
}  // namespace nb
