// Reductions in a fixed order. A row or chunk is summed in 16 virtual lanes (lane = index mod 16),
// each lane in index order from +0, missing elements skipped; then lane i += lane i+8, +4, +2, +1.
#pragma once

#include <cstdint>
#include <span>

namespace nb::kernels {

// Σ x²: chunks of 4096 elements, each Σ fma(x,x,·) in fp32 lanes; the chunks are added in order in
// double.
double sum_of_squares(std::span<const float> values);
// Σ x in double, in index order (losses).
double sum_in_order(std::span<const float> values);
bool all_finite(std::span<const float> values);
// Index of the first that equals the largest, NaN never greater; 0 when there is none. One thread.
std::int64_t first_largest(std::span<const float> values);

}  // namespace nb::kernels
