// How much a kernel has to do, from its shapes: FLOP and bytes where the class is known. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/profiler/profile.hpp"
#include "model/device/lowering.hpp"

namespace nb::profiler {

// "32,9216;4096,9216;" → {{32, 9216}, {4096, 9216}, {}}; nullopt: not of that form, or too large.
using Shape = std::vector<std::int64_t>;
std::optional<std::vector<Shape>> shapes_of(std::string_view text);
double elements_of(const Shape& shape);  // 0: an empty one

struct Work {
  double flop = -1, bytes = -1;  // -1: not known
  double largest_input_bytes = -1;
  // What the device model prices; absent where the class is none that it knows.
  std::optional<nb::Kernel> model;
  std::int64_t ranks = 1;  // of a collective in our own traces
};
// Bytes are those of all operands, once; FLOP of products 2mnk, of attention 4·b·h·s²·d, half of it
// where a mask of s × s says that it is causal.
// Of a kernel of a GPU the operands are those of the framework's operator that launched it, and
// only where its class is that operator's own: products, elementwise operators, copies.
Work work_of(const Kernel& kernel, const Texts& texts);
// Operators of PyTorch whose work their operands say ("aten::mm").
bool has_known_work(std::string_view op);

}  // namespace nb::profiler
