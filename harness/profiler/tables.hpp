// The tables of a profile, one function each, from its figures.
#pragma once

#include <span>
#include <vector>

#include "harness/profiler/figures.hpp"
#include "harness/profiler/table.hpp"
#include "harness/profiler/work.hpp"

namespace nb::profiler {

// Kernels of one name with the same operands.
struct KernelGroup {
  std::size_t example = 0;  // of Rank::kernels
  std::int64_t count = 0, total_ns = 0, shortest_ns = 0;
  Work work;         // of one
  double ratio = 0;  // the best sibling's rate over its own; 0: no rate is known
};
// By total time. Siblings: the same type and data types, kept busy by the same unit.
std::vector<KernelGroup> kernel_groups(const Profile& profile, const RankFigures& figures);
double rate_of(const KernelGroup& group);  // byte/ns = GB/s; 0: not known

// What keeps a kernel's core busy: "compute" (cube at least 0.8), "memory" (loads at least 0.95),
// "vector" (0.8), "none"; "": no counters.
std::string bound_of(const Kernel& kernel);

Table steps_table(const Profile& profile, std::span<const RankFigures> all);
Table classes_table(std::span<const RankFigures> all);
// Types of kernels that compute, beside op_statistic.csv's totals where it is there.
Table types_table(const Profile& profile, std::span<const RankFigures> all);
Table kernels_table(const Profile& profile, const RankFigures& figures, std::size_t top);
Table communication_table(const RankFigures& figures, std::size_t top);
// hccs.csv, pcie.csv, nic.csv, roce.csv: lowest, highest and mean rates.
Table traffic_table(const RankFigures& figures);
Table idle_table(const Profile& profile, const RankFigures& figures);
Table host_table(const RankFigures& figures, std::size_t top);
Table memory_table(const Profile& profile, const RankFigures& figures, std::size_t top);
Table ranks_table(std::span<const RankFigures> all);
Table environment_table(const RankFigures& figures);

// The allocation at which most was allocated; nullptr: none is known.
const Allocation* peak_of(const Rank& rank);

}  // namespace nb::profiler
