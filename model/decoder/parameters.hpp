// The parameters of a decoder: which there are, in which order, and their first values. One list;
// counts, checkpoints and optimizers follow from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/decoder/config.hpp"
#include "model/device/device.hpp"

namespace nb {

// The first value of element i, a function of (seed, name, i).
struct FirstValues {
  enum class Kind { kZero, kNormal, kUniform, kRamp };
  Kind kind = Kind::kZero;
  // kNormal: N(first, second²). kUniform: [first, second). kRamp: from first to second over the
  // elements. All alike: a ramp from a value to itself.
  double first = 0, second = 0;
};

struct ParameterSpec {
  std::string name;  // nanochat's tensor name (gpt.py), or one made in its manner
  ParameterRole role = ParameterRole::kMatrix;
  Shape shape;
  FirstValues first_values;
  bool is_multiplied = false;  // by every token: counts in flops_per_token
};

std::vector<ParameterSpec> parameter_specs(const DecoderConfig& config);
// Contents unspecified.
std::vector<Parameter> make_parameters(const std::vector<ParameterSpec>& specs, Device& device);
void init_parameters(const std::vector<ParameterSpec>& specs, std::vector<Parameter>& parameters,
                     Device& device, std::uint64_t seed);

}  // namespace nb
