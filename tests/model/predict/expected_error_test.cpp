#include "model/train/expected_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/device/profile.hpp"
#include "model/predict/validate.hpp"

namespace nb {
namespace {

void expect_error(const ExpectedError& said, const std::vector<double>& errors) {
  ASSERT_FALSE(errors.empty());
  double sum = 0, largest = 0;
  for (const double error : errors) {
    sum += std::fabs(error);
    largest = std::max(largest, std::fabs(error));
  }
  EXPECT_EQ(said.rows, static_cast<int>(errors.size())) << said.of;
  EXPECT_NEAR(said.mean, sum / static_cast<double>(errors.size()), .0006) << said.of;
  EXPECT_NEAR(said.largest, largest, .0006) << said.of;
}

IdentityProfile device_of(const std::string& kind) {
  IdentityProfile device;
  device.kind = kind;
  return device;
}

TEST(ExpectedError, IsWhatTheValidationFinds) {
  const auto tables = calibration_tables("");
  ASSERT_TRUE(tables) << tables.error().message;
  const auto validation = validate(*tables);
  ASSERT_TRUE(validation) << validation.error().message;
  std::vector<double> left_out, on_npu, on_gpu;
  for (const ValidationRow& row : validation->find("steps")->rows)
    if (row.left_out) left_out.push_back(*row.left_out);
  for (const ValidationRow& row : validation->find("nanochat")->rows) {
    if (!row.error) continue;
    if (row.machine.starts_with("ascend"))
      on_npu.push_back(*row.error);
    else if (row.use == RowUse::kReport)
      on_gpu.push_back(*row.error);
  }
  expect_error(*expected_error(true, device_of("npu")), left_out);
  expect_error(*expected_error(false, device_of("npu")), on_npu);
  expect_error(*expected_error(false, device_of("gpu")), on_gpu);
  EXPECT_NE(validation->reference.find("a800_sxm 5.2 %"), std::string::npos)
      << validation->reference;
  EXPECT_FALSE(expected_error(false, device_of("cpu")));
}

TEST(ExpectedError, OfAMachineKnownByItsDataSheetIsNotKnown) {
  EXPECT_TRUE(expected_error(false, load_profile("h100_sxm")->identity));
  EXPECT_FALSE(expected_error(false, load_profile("rtx_4090")->identity));
}

}  // namespace
}  // namespace nb
