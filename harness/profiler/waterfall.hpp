// Two profiles: where the difference of their steps comes from. The parts add up to the difference
// to the nanosecond. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/profiler/analysis.hpp"

namespace nb::profiler {

struct WaterfallPart {
  std::string key;  // a class, "part.free", …
  std::int64_t a_ns = 0, b_ns = 0;
  std::int64_t difference_ns() const { return b_ns - a_ns; }
};

struct Waterfall {
  std::vector<WaterfallPart> parts;  // by the size of the difference
  std::int64_t a_ns = 0, b_ns = 0;   // a step of each: the sums of the parts
  std::vector<std::string> largest;  // keys of the parts that together make 80 %
  Table table, pairs;
  std::vector<Said> notes;
};

// Tokens of a step, of A and of B, where they are known.
using Tokens = std::optional<std::pair<double, double>>;

// Why the two may not be compared (exit 3); nullopt: they may.
std::optional<std::string> refusal(const Analysis& a, const Analysis& b, const Tokens& tokens);
// Of the first rank of each, a step's mean; with tokens B is scaled to A's.
Waterfall waterfall_of(const Analysis& a, const Analysis& b, const Tokens& tokens, std::size_t top);

std::string text_of(const Waterfall& waterfall, Language language);
Json json_of(const Waterfall& waterfall, const Analysis& a, const Analysis& b, Language language);

}  // namespace nb::profiler
