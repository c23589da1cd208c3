// What the figures mean, each verdict with its numbers, the threshold that made it one, and what to
// do. A verdict needs its own numbers: without them there is none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/profiler/figures.hpp"

namespace nb::profiler {

enum class VerdictState { kNote, kWarn };

struct Verdict {
  std::string id;  // "host_limits"; what --explain takes
  VerdictState state = VerdictState::kWarn;
  Said said;
  std::optional<Said> remedy;
  std::vector<std::pair<std::string, double>> numbers;
};

// A threshold of one of them, and where it is known from.
struct Threshold {
  std::string_view verdict, name;
  double value = 0;
  std::string_view unit, source;
};
std::span<const Threshold> thresholds();
double threshold(std::string_view verdict, std::string_view name);  // NB_CHECK: there is none

// all: of every rank; the first is the one whose details are asked for.
std::vector<Verdict> verdicts_of(const Profile& profile, std::span<const RankFigures> all);

}  // namespace nb::profiler
