#include "model/predict/kernel_validation.hpp"

#include <gtest/gtest.h>

#include "model/predict/memory_validation.hpp"
#include "model/predict/nanochat_validation.hpp"

namespace nb {
namespace {

double worst_row(const ValidationGroup& group, std::optional<RowUse> use = {}) {
  return *largest_absolute(errors_in(group, &ValidationRow::error, use));
}

TEST(KernelValidation, ProductsAndStreamsAreWithinTheirLimits) {
  const auto products = validate_products(*calibration_rows("gemm"));
  ASSERT_TRUE(products.has_value()) << products.error().message;
  EXPECT_LE(worst_row(products->gemm, RowUse::kFit), 0.08);
  EXPECT_LE(worst_row(products->skinny), 0.20);
  const auto streams = validate_vector(*calibration_rows("vector"));
  ASSERT_TRUE(streams.has_value()) << streams.error().message;
  EXPECT_LE(worst_row(*streams), 0.20);
}

TEST(KernelValidation, AnotherUnitIsAnError) {
  std::vector<CalibrationRow> rows = *calibration_rows("gemm");
  rows[0].unit = "ms";
  const auto products = validate_products(rows);
  ASSERT_FALSE(products.has_value());
  EXPECT_EQ(products.error().message,
            "model/device/calibration/gemm.csv:2: unit ms: rows of this file are in us");
}

TEST(KernelValidation, EveryCollectiveRowHasAPrediction) {
  const auto group = validate_collectives(*calibration_rows("collective"));
  ASSERT_TRUE(group.has_value()) << group.error().message;
  for (const ValidationRow& row : group->rows)
    EXPECT_EQ(row.error.has_value(), row.use != RowUse::kExclude) << row.id;
}

// 1.08 M tok/s within 5 %, 75,422 MiB within 3 %; 293,600 tok/s within 5 %, 33,720.95 within 3 %.
TEST(NanochatValidation, AnchorsHold) {
  const auto nanochat = validate_nanochat(*calibration_rows("nanochat"));
  ASSERT_TRUE(nanochat.has_value()) << nanochat.error().message;
  int seen = 0;
  for (const ValidationGroup* group : {&nanochat->rates, &nanochat->memory})
    for (const ValidationRow& row : group->rows) {
      if (row.id != "v1-d20-910c-16" && row.id != "h100-d20-royam") continue;
      EXPECT_EQ(row.use, RowUse::kFit);
      EXPECT_LE(std::abs(*row.error), group == &nanochat->rates ? 0.05 : 0.03) << row.id;
      ++seen;
    }
  EXPECT_EQ(seen, 4);
  // 186, 164, 178 ms on 1, 2, 4 cards: within 20 %, flat, and the host decides.
  for (const ValidationRow& row : nanochat->rates.rows) {
    if (!row.id.starts_with("v6-")) continue;
    EXPECT_LE(std::abs(*row.error), 0.20) << row.id;
    EXPECT_NE(row.note.find("limiter host"), std::string::npos) << row.note;
  }
  for (const ValidationRow& row : nanochat->rates.rows)
    if (row.unit == "fits") {
      EXPECT_EQ(row.predicted, 0.0) << "batch 16 is out of memory there";
    }
}

TEST(NanochatValidation, ARowWithoutASizeIsAnError) {
  std::vector<CalibrationRow> rows = *calibration_rows("nanochat");
  rows[0].cells.find("depth")->second = "";
  const auto nanochat = validate_nanochat(rows);
  ASSERT_FALSE(nanochat.has_value());
  EXPECT_EQ(nanochat.error().message,
            "model/device/calibration/nanochat.csv:2: v1-d20-910c-16 has no depth: its run cannot "
            "be predicted");
}

TEST(MemoryValidation, RecordsOfEveryJobHaveBothPredictions) {
  const auto memory = validate_memory(*calibration_rows("megatron_ci"));
  ASSERT_TRUE(memory.has_value()) << memory.error().message;
  EXPECT_EQ(memory->standing.rows.size(), memory->peak.rows.size());
  EXPECT_GE(errors_in(memory->standing, &ValidationRow::error, RowUse::kFit).size(), 6U);
  // Which Adam a record had, of which step its peak is, and whether its master was reused.
  for (const double error : errors_in(memory->peak, &ValidationRow::error, RowUse::kFit))
    EXPECT_NEAR(error, 0, 0.03);
  int reused = 0;
  for (const ValidationRow& row : memory->standing.rows) {
    if (row.id.find("swap") == std::string::npos && row.id.find("_ring") == std::string::npos)
      continue;
    EXPECT_NEAR(row.error.value(), 0, 0.015) << row.id;
    ++reused;
  }
  EXPECT_EQ(reused, 7);
}

}  // namespace
}  // namespace nb
