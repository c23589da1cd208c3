// Single kernels and collectives beside measured ones, on the machine's own stack. Thread-safe.
#pragma once

#include <span>

#include "model/predict/family_values.hpp"
#include "model/predict/validation.hpp"

namespace nb {

// Rows of gemm.csv: "gemm", the fitted ones, and "skinny", the reported products of CATLASS.
struct ProductValidation {
  ValidationGroup gemm, skinny;
};
Result<ProductValidation> validate_products(std::span<const CalibrationRow> rows,
                                            const OwnConstants& own = {});
// Of attention.csv, vector.csv, collective.csv.
Result<ValidationGroup> validate_attention(std::span<const CalibrationRow> rows,
                                           const OwnConstants& own = {});
Result<ValidationGroup> validate_vector(std::span<const CalibrationRow> rows,
                                        const OwnConstants& own = {});
Result<ValidationGroup> validate_collectives(std::span<const CalibrationRow> rows,
                                             const OwnConstants& own = {});

// Time of the product that a row of gemm.csv describes.
Result<double> product_ns(const CalibrationRow& row, const DeviceProfile& profile);

}  // namespace nb
