#include "harness/cli/memory_plot.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace nb::cli {
namespace {

constexpr int kParts = 400;  // two pixels each
constexpr double kGiB = 1024.0 * 1024 * 1024;
// From what stays to what comes and goes.
constexpr BlockUse kFromBelow[] = {BlockUse::kParameter,  BlockUse::kOptimizer,
                                   BlockUse::kGradient,   BlockUse::kCache,
                                   BlockUse::kActivation, BlockUse::kWorkspace};

std::uint64_t sum_of(const BytesByUse& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

// Parts of equal length, each with its fullest moment: a peak of one kernel is seen, too.
struct Part {
  double begin_ms, end_ms;
  const BytesByUse* fullest;
};
std::vector<Part> parts_of(const MemoryOverStep& memory) {
  std::vector<Part> parts;
  if (memory.by_use.empty()) return parts;
  const double length_ms = static_cast<double>(memory.time_ns.back()) / 1e6 / kParts;
  std::size_t next = 0;
  const BytesByUse* held = &memory.by_use.front();  // since the last launch
  for (int part = 0; part < kParts; ++part) {
    const double end_ms = (part + 1) * length_ms;
    const BytesByUse* fullest = held;
    for (; next < memory.by_use.size() &&
           (part + 1 == kParts || static_cast<double>(memory.time_ns[next]) / 1e6 < end_ms);
         ++next) {
      held = &memory.by_use[next];
      if (sum_of(*held) > sum_of(*fullest)) fullest = held;
    }
    parts.push_back({part * length_ms, end_ms, fullest});
  }
  return parts;
}

}  // namespace

Plot memory_plot(const MemoryOverStep& memory, const std::string& title) {
  Plot plot;
  plot.name = "memory";
  plot.title = title;
  plot.kind = PlotKind::kAreas;
  plot.x_label = "ms of the step, when a kernel is launched";
  plot.y_label = "GiB";
  const std::vector<Part> parts = parts_of(memory);
  for (const BlockUse use : kFromBelow) {
    PlotSeries series;
    series.title = name(use);
    for (const Part& part : parts)
      for (const double x : {part.begin_ms, part.end_ms}) {
        series.x.push_back(x);
        series.y.push_back(static_cast<double>((*part.fullest)[static_cast<std::size_t>(use)]) /
                           kGiB);
      }
    if (std::ranges::any_of(series.y, [](double y) { return y > 0; }))
      plot.series.push_back(std::move(series));
  }
  PlotSeries capacity;
  capacity.title = "capacity";
  capacity.is_reference = true;
  if (!parts.empty()) capacity.x = {parts.front().begin_ms, parts.back().end_ms};
  capacity.y.assign(capacity.x.size(), static_cast<double>(memory.capacity_bytes) / kGiB);
  plot.series.push_back(std::move(capacity));
  return plot;
}

}  // namespace nb::cli
