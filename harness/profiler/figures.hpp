// The numbers of a rank that tables and verdicts are made of: parts of the step, classes, gaps,
// collectives. Pure. Every time is whole ns, and parts of a whole add up to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/profiler/profile.hpp"

namespace nb::profiler {

// stage = computing + not_overlapped + copies + free - bubble, but for what a file's own rounding
// leaves (defect_ns).
struct Parts {
  std::int64_t stage_ns = 0;
  std::int64_t computing_ns = 0;       // at least one kernel that computes
  std::int64_t not_overlapped_ns = 0;  // communication alone
  std::int64_t overlapped_ns = 0;      // of communication, beside computing
  std::int64_t copies_ns = 0;          // memory copies alone
  std::int64_t free_ns = 0;            // nothing runs
  std::int64_t bubble_ns = 0;          // of not_overlapped: waiting in a pipeline
  std::int64_t communication_ns() const { return not_overlapped_ns + overlapped_ns; }
  std::int64_t defect_ns() const {
    return stage_ns - (computing_ns + not_overlapped_ns + copies_ns + free_ns - bubble_ns);
  }
};

struct ClassFigures {
  std::int64_t count = 0, total_ns = 0, shortest_ns = 0, longest_ns = 0;
  // Of the time in which anything computes, what no kernel that started earlier covers: these add
  // up to Parts::computing_ns.
  std::int64_t exclusive_ns = 0;
};

enum class GapCause { kHost, kKernel, kSynchronize, kLoader, kCollector, kUnknown };
inline constexpr std::size_t kGapCauses = 6;
std::string_view name(GapCause cause);  // keys of sentences: "gap.host"
struct Gap {
  std::int64_t start_ns = 0, end_ns = 0;
  std::size_t before = 0, after = 0;  // kernels of Rank::kernels that bound it
  GapCause cause = GapCause::kUnknown;
  std::int64_t time_ns() const { return end_ns - start_ns; }
};

struct CollectiveFigures {
  std::int64_t count = 0, elapse_ns = 0, transfer_ns = 0, wait_ns = 0, idle_ns = 0;
};

struct RankFigures {
  const Rank* rank = nullptr;
  std::string step;  // of what: "50", "all"
  std::int64_t steps = 1;
  std::optional<Parts> from_file, from_kernels;
  std::vector<std::size_t> kernels;  // of Rank::kernels, in the chosen steps
  std::array<ClassFigures, kOpClasses> classes{};
  std::int64_t compute_count = 0, compute_sum_ns = 0, short_count = 0;  // short: under 10 us
  std::int64_t communication_sum_ns = 0, copies_sum_ns = 0;
  std::vector<Gap> gaps;
  CollectiveFigures collective, point_to_point;
  // The file's, where there is one: its profiler saw what its tables may leave out.
  const Parts& parts() const { return from_file ? *from_file : *from_kernels; }
  bool has_parts() const { return from_file || from_kernels; }
};

// step: a name, "all", or "steady": all but the first. bad_input with the steps there are.
Result<RankFigures> figures_of(const Profile& profile, const Rank& rank, const std::string& step);
// Names of the rank's steps, in order.
std::vector<std::string> steps_of(const Profile& profile, const Rank& rank);

bool computes(OpClass one);  // neither communication nor a copy

inline constexpr std::int64_t kShortKernelNs = 10'000;  // HTA and msprof-analyze call these short
inline constexpr std::int64_t kLongGapNs = 100'000;

}  // namespace nb::profiler
