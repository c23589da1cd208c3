// The parameters of a GPT: which there are, and their first values. nanochat's gpt.py.
#pragma once

#include <cstdint>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/decoder/config.hpp"
#include "model/device/device.hpp"

namespace nb {

// wte, blocks in order (c_q c_k c_v c_proj c_fc c_proj), lm_head; contents unspecified.
std::vector<Parameter> make_parameters(const DecoderConfig& config, Device& device);
inline constexpr std::size_t kBlockParameters = 6;

// N(0, 1) for wte, zeros for lm_head and every c_proj, else N(0, std), std = min(1, √(out/in)) /
// √in. Element i of a tensor is a function of (seed, name, i).
void init_parameters(std::vector<Parameter>& parameters, Device& device, std::uint64_t seed);

}  // namespace nb
