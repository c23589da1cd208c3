// Body of chain_sum, included by matmul.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/kernels/reference/matmul.hpp"

namespace nb::kernels::reference {

// One chain from `sum` over k in [begin, end).
template <class Element>
float chain(float sum, std::int64_t begin, std::int64_t end, DType inputs, const Element& element) {
  const auto step = [&](std::int64_t k) {
    const Pair p = k < end ? element(k) : Pair{0.0f, 0.0f};  // the padded pair member
    sum = std::fma(matmul_input(p.a, inputs), matmul_input(p.b, inputs), sum);
  };
  if (inputs == DType::kBf16) {
    for (std::int64_t k = begin; k < end; k += 2) {
      step(k + 1);
      step(k);
    }
  } else {
    for (std::int64_t k = begin; k < end; ++k) step(k);
  }
  return sum;
}

// Values of k that one chain takes, of `count`.
inline std::int64_t part_length(std::int64_t count, const MatmulPolicy& policy) {
  if (policy.accumulation == Accumulation::kBlock16) return 16;
  if (policy.accumulation == Accumulation::kSplitK) {
    const std::int64_t share = (count + policy.split_k - 1) / policy.split_k;
    return std::max<std::int64_t>(16, (share + 15) / 16 * 16);
  }
  return std::max<std::int64_t>(count, 1);
}

template <class Element>
float chain_sum(std::int64_t count, const MatmulPolicy& policy, const Element& element) {
  const std::int64_t part = part_length(count, policy);
  float sum = chain(0.0f, 0, std::min(part, count), policy.inputs, element);
  for (std::int64_t begin = part; begin < count; begin += part) {
    sum = sum + chain(0.0f, begin, std::min(begin + part, count), policy.inputs, element);
  }
  return sum + 0.0f;
}

}  // namespace nb::kernels::reference
