// The definition of exp, log and tanh in scalar C++, operation by operation. Also the row sum.
#pragma once

#include <cstdint>

namespace nb::kernels::reference {

float exp(float x);
float log(float x);
float tanh(float x);

// term(acc, i) for each i into lane i mod 16, then lane i += lane i+8, +4, +2, +1.
template <class Term>
float lane_sum(std::int64_t count, const Term& term) {
  float lanes[16] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i % 16] = term(lanes[i % 16], i);
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i] + lanes[i + width];
  }
  return lanes[0];
}

}  // namespace nb::kernels::reference
