#include "harness/cli/memory_plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nb::cli {
namespace {

// A peak of one kernel in a million is drawn at its full height, where it is and of what holds it.
TEST(MemoryPlot, ShowsAPeakOfOneKernel) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  MemoryOverStep memory;
  memory.capacity_bytes = 60 * kGiB;
  for (int i = 0; i < 1'000'000; ++i) {
    memory.time_ns.push_back(i * 1000);
    BytesByUse& bytes = memory.by_use.emplace_back();
    bytes[static_cast<std::size_t>(BlockUse::kParameter)] = 2 * kGiB;
    bytes[static_cast<std::size_t>(BlockUse::kWorkspace)] = i == 250'001 ? 8 * kGiB : 0;
  }
  const Plot plot = memory_plot(memory, "title");
  ASSERT_EQ(plot.series.size(), 3U) << "uses that hold nothing are left out";
  const PlotSeries &parameters = plot.series[0], &workspace = plot.series[1],
                   &capacity = plot.series[2];
  EXPECT_EQ(parameters.title, "parameters");
  EXPECT_EQ(std::ranges::min(parameters.y), 2);
  EXPECT_EQ(workspace.title, "workspace");
  EXPECT_EQ(workspace.x, parameters.x);
  EXPECT_EQ(std::ranges::count(workspace.y, 8), 2) << "of one part, where it begins and ends";
  const auto at = std::ranges::find(workspace.y, 8) - workspace.y.begin();
  EXPECT_LE(workspace.x[static_cast<std::size_t>(at)], 250.001);
  EXPECT_GE(workspace.x[static_cast<std::size_t>(at) + 1], 250.001);
  EXPECT_TRUE(capacity.is_reference);
  EXPECT_EQ(capacity.y, (std::vector<double>{60, 60}));
}

}  // namespace
}  // namespace nb::cli
