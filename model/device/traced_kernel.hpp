// What a kernel was asked to do, in the label of its slice in a trace, so that who reads the trace
// can price it again: "transformer.h.0.mlp.c_fc.weight [matrix bf16 batch=1 m=512 n=1280 k=320
// read=983040 write=1310720]". Pure; the two functions undo each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/device/lowering.hpp"

namespace nb {

struct TracedKernel {
  Kernel kernel;           // without name and flops, which the slice has beside its label
  std::int64_t ranks = 1;  // of a collective, whose bytes are kernel.read_bytes
};
// label: the op's own, may be empty.
std::string traced_label(std::string_view label, const TracedKernel& traced);
// nullopt: no such label.
std::optional<TracedKernel> kernel_of_label(std::string_view text);

}  // namespace nb
