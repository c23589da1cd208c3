// Sums, products and scales of activations, element by element.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/base/rng.hpp"
#include "model/autograd/parameter.hpp"

namespace nb::ops {

// a and b of one shape, as in residual sums.
Tensor add(const Tensor& a, const Tensor& b, std::string_view label);
// a and b of one shape, as in gated MLPs.
Tensor multiply(const Tensor& a, const Tensor& b, std::string_view label);

// Times one number, which is a constant or is learnt (one element).
Tensor scale(const Tensor& x, double factor, std::string_view label);
Tensor scale(const Tensor& x, Parameter& factor, std::string_view label);
// Element `index` of a vector, whose gradient has zeros elsewhere.
Tensor scale(const Tensor& x, Parameter& factors, std::int64_t index, std::string_view label);

// A gate for each head of each row: x (rows, H·D), gate (rows, H); head h of x times gate h.
Tensor gate_heads(const Tensor& x, const Tensor& gate, std::string_view label);

// Inverted dropout: elements become 0 with probability `rate`, the others grow by 1 / (1 - rate).
// Which ones is a function of rng and the element's index alone: give every call of a step another
// purpose. rate 0: x itself, and nothing is launched.
Tensor dropout(const Tensor& x, double rate, const Rng& rng, std::string_view label);

}  // namespace nb::ops
