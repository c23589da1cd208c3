#include "harness/profiler/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "harness/profiler/add_time.hpp"

namespace nb::profiler {
namespace {

// Total of the union of intervals that come by start.
class Union {
 public:
  // What of it was not covered yet.
  std::int64_t add(std::int64_t start_ns, std::int64_t end_ns) {
    const std::int64_t from = std::max(start_ns, end_ns_);
    const std::int64_t fresh = std::max<std::int64_t>(0, end_ns - from);
    end_ns_ = std::max(end_ns_, end_ns);
    total_ns_ += fresh;
    return fresh;
  }
  std::int64_t end_ns() const { return end_ns_; }
  std::int64_t total_ns() const { return total_ns_; }

 private:
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t total_ns_ = 0;
};

// One of them covers more than half of the gap.
bool is_covered(const Gap& gap, const std::vector<StepWindow>& windows) {
  return std::ranges::any_of(windows, [&](const StepWindow& one) {
    return std::min(one.end_ns, gap.end_ns) - std::max(one.start_ns, gap.start_ns) >
           gap.time_ns() / 2;
  });
}

GapCause cause_of(const Gap& gap, const Rank& rank) {
  const Kernel& next = rank.kernels[gap.after];
  if (gap.time_ns() < kShortKernelNs) return GapCause::kKernel;
  if (is_covered(gap, rank.loading)) return GapCause::kLoader;
  if (is_covered(gap, rank.collecting)) return GapCause::kCollector;
  if (next.issued_ns == kUnknownTime) return GapCause::kUnknown;
  return next.issued_ns > gap.start_ns ? GapCause::kHost : GapCause::kSynchronize;
}

// Kernels are sorted by start.
void measure_kernels(const Profile&, RankFigures& figures) {
  const Rank& rank = *figures.rank;
  if (figures.kernels.empty()) return;
  Union computing, busy_both, busy;
  Parts parts;
  const std::int64_t first_ns = rank.kernels[figures.kernels.front()].start_ns;
  std::size_t last_ending = figures.kernels.front();
  Union communication;
  for (const std::size_t i : figures.kernels) {
    const Kernel& kernel = rank.kernels[i];
    const std::int64_t end_ns = kernel.start_ns + kernel.duration_ns;
    ClassFigures& of_class = figures.classes[static_cast<std::size_t>(kernel.op_class)];
    if (of_class.count++ == 0) of_class.shortest_ns = kernel.duration_ns;
    of_class.total_ns += kernel.duration_ns;
    of_class.shortest_ns = std::min(of_class.shortest_ns, kernel.duration_ns);
    of_class.longest_ns = std::max(of_class.longest_ns, kernel.duration_ns);
    if (i != figures.kernels.front() && kernel.start_ns > busy.end_ns()) {
      Gap gap{busy.end_ns(), kernel.start_ns, last_ending, i, GapCause::kUnknown};
      gap.cause = cause_of(gap, rank);
      figures.gaps.push_back(gap);
      parts.free_ns += gap.time_ns();
    }
    if (end_ns > busy.end_ns()) last_ending = i;
    busy.add(kernel.start_ns, end_ns);
    if (kernel.op_class == OpClass::kMemoryCopy) {
      figures.copies_sum_ns += kernel.duration_ns;
      continue;
    }
    busy_both.add(kernel.start_ns, end_ns);
    if (kernel.op_class == OpClass::kCommunication) {
      figures.communication_sum_ns += kernel.duration_ns;
      communication.add(kernel.start_ns, end_ns);
      continue;
    }
    ++figures.compute_count;
    figures.compute_sum_ns += kernel.duration_ns;
    if (kernel.duration_ns < kShortKernelNs) ++figures.short_count;
    of_class.exclusive_ns += computing.add(kernel.start_ns, end_ns);
  }
  parts.stage_ns = busy.end_ns() - first_ns;
  if (rank.whole && figures.kernels.size() == rank.kernels.size()) {
    const std::int64_t before_ns = first_ns - rank.whole->start_ns;
    const std::int64_t behind_ns = rank.whole->end_ns - busy.end_ns();
    if (before_ns >= 0 && behind_ns >= 0) {
      parts.stage_ns += before_ns + behind_ns;
      parts.free_ns += before_ns + behind_ns;
    }
  }
  parts.computing_ns = computing.total_ns();
  parts.not_overlapped_ns = busy_both.total_ns() - computing.total_ns();
  parts.overlapped_ns = communication.total_ns() - parts.not_overlapped_ns;
  parts.copies_ns = busy.total_ns() - busy_both.total_ns();
  figures.from_kernels = parts;
}

void measure_collectives(RankFigures& figures, const std::set<std::string>& chosen) {
  for (const Collective& one : figures.rank->collectives) {
    if (!chosen.empty() && !chosen.contains(one.step)) continue;
    CollectiveFigures& sum = one.is_point_to_point ? figures.point_to_point : figures.collective;
    ++sum.count;
    add_time(sum.elapse_ns, one.elapse_ns);
    add_time(sum.transfer_ns, one.transfer_ns);
    add_time(sum.wait_ns, one.wait_ns);
    add_time(sum.idle_ns, one.idle_ns);
  }
}

Parts sum_of(const Rank& rank, const std::set<std::string>& chosen) {
  Parts sum;
  for (const StepRow& row : rank.step_rows) {
    if (!chosen.contains(row.step)) continue;
    add_time(sum.stage_ns, row.stage_ns);
    add_time(sum.computing_ns, row.computing_ns);
    add_time(sum.not_overlapped_ns, row.not_overlapped_ns);
    add_time(sum.overlapped_ns, row.overlapped_ns);
    add_time(sum.free_ns, row.free_ns);
    add_time(sum.bubble_ns, row.bubble_ns);
  }
  return sum;
}

}  // namespace

std::string_view name(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"ascend", "msprof", "cluster", "torch",
                                                      "npubench"};
  return kNames[static_cast<std::size_t>(kind)];
}
std::string_view name(Clock clock) { return clock == Clock::kDevice ? "device" : "sim"; }

std::string_view name(GapCause cause) {
  constexpr std::array<std::string_view, kGapCauses> kNames = {
      "gap.host", "gap.kernel", "gap.synchronize", "gap.loader", "gap.collector", "gap.unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

bool computes(OpClass one) { return one != OpClass::kCommunication && one != OpClass::kMemoryCopy; }

std::vector<std::string> steps_of(const Profile&, const Rank& rank) {
  std::vector<std::string> steps;
  const auto add = [&](const std::string& step) {
    if (std::ranges::find(steps, step) == steps.end()) steps.push_back(step);
  };
  for (const StepRow& row : rank.step_rows) add(row.step);
  if (steps.empty())
    for (const StepWindow& window : rank.windows) add(window.step);
  return steps;
}

Result<RankFigures> figures_of(const Profile& profile, const Rank& rank, const std::string& step) {
  const std::vector<std::string> steps = steps_of(profile, rank);
  std::set<std::string> chosen(steps.begin(), steps.end());
  if (step == "steady") {
    if (steps.size() < 2)
      return bad_input(fmt::format("{}: --step steady leaves out the first step, and there is {}",
                                   rank.source, steps.empty() ? "none" : "only one"));
    chosen.erase(steps.front());
  } else if (step != "all") {
    if (!chosen.contains(step))
      return bad_input(
          fmt::format("{}: no step {}; its steps are {}", rank.source, step,
                      steps.empty() ? "not named" : fmt::format("{}", fmt::join(steps, ", "))));
    chosen = {step};
  }
  RankFigures figures;
  figures.rank = &rank;
  figures.step = step == "all" && steps.size() == 1 ? steps.front() : step;
  figures.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(chosen.size()));
  if (!rank.step_rows.empty()) figures.from_file = sum_of(rank, chosen);
  std::set<TextId> ids;
  for (TextId id = 0; step != "all" && id < profile.texts.size(); ++id)
    if (chosen.contains(profile.texts[id])) ids.insert(id);
  for (std::size_t i = 0; i < rank.kernels.size(); ++i)
    if (step == "all" || ids.contains(rank.kernels[i].step)) figures.kernels.push_back(i);
  measure_kernels(profile, figures);
  measure_collectives(figures, step == "all" ? std::set<std::string>{} : chosen);
  return figures;
}

}  // namespace nb::profiler
