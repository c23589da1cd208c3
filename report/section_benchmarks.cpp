#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/sections.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

constexpr std::string_view kTime = "/time_ns";  // of a microbenchmark (harness/microbench)

// How much longer B takes than A, benchmark by benchmark, and their geometric mean: the mean of
// ratios that does not depend on which side is the baseline.
void add_ratios(std::vector<Block>& blocks, const Words& say, const Comparison& c, Clock clock,
                const std::string& name) {
  Plot plot;
  plot.kind = PlotKind::kIntervals;
  plot.name = name;
  plot.title = say("plot_ratios", c.label_b, c.label_a);
  plot.x_label = say("axis_ratio", c.label_b, c.label_a);
  PlotSeries ratios, equal;
  ratios.title = say("ratio");
  equal.title = say("equally_fast");
  equal.is_reference = true;
  double log_sum = 0, least = 0, most = 0;
  for (const RecordPair& pair : c.pairs) {
    if (pair.a->record.kind != "micro" || !pair.incomparable.empty()) continue;
    for (const MetricDifference& metric : pair.metrics) {
      if (metric.clock != clock || !metric.name.ends_with(kTime)) continue;
      if (metric.a.value_or(0) <= 0 || metric.b.value_or(0) <= 0) continue;
      const double ratio = *metric.b / *metric.a;
      least = plot.categories.empty() ? ratio : std::min(least, ratio);
      most = std::max(most, ratio);
      log_sum += std::log(ratio);
      plot.categories.push_back(metric.name.substr(0, metric.name.size() - kTime.size()));
      ratios.values.emplace_back(ratio);
      equal.values.emplace_back(1);
    }
  }
  const std::size_t n = plot.categories.size();
  if (n < 2) return;
  blocks.emplace_back(Paragraph{say(
      "ratios_mean", c.label_b, fmt::format("{:.3g}", std::exp(log_sum / static_cast<double>(n))),
      c.label_a, n, fmt::format("{:.3g}", least), fmt::format("{:.3g}", most))});
  plot.series = {std::move(ratios), std::move(equal)};
  blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

}  // namespace

std::vector<Block> benchmark_blocks(const ReportContext& context) {
  const Words& say = context.say;
  auto records = records_of(*context.input.run, "micro");
  const auto collectives = records_of(*context.input.run, "collective");
  records.insert(records.end(), collectives.begin(), collectives.end());
  if (records.empty()) return {Paragraph{say("no_benchmark")}};
  std::vector<Block> blocks;
  for (const auto& [clock, caption] :
       {std::pair{Clock::kSim, say("micro_sim")}, std::pair{Clock::kDevice, say("micro_device")},
        std::pair{Clock::kHost, say("micro_host")}}) {
    TextTable table{{say("node"), say("device"), say("metric"), say("value"), "n"}, {}};
    for (const StoredRecord* stored : records)
      for (const auto* list : {&stored->record.metrics, &stored->record.host_metrics})
        for (const Metric& metric : *list)
          if (metric.clock == clock)
            table.rows.push_back({stored->record.name, series_title(say, stored->record),
                                  metric.name, value_text(metric),
                                  metric.n == 0 ? "" : with_commas(metric.n)});
    if (table.rows.empty()) continue;
    // The host's time is that of the emulation, no device's.
    for (std::size_t i = 0; i < context.input.comparisons.size() && clock != Clock::kHost; ++i)
      add_ratios(blocks, say, context.input.comparisons[i], clock,
                 fmt::format("ratios_{}_{}", name(clock), i + 1));
    blocks.emplace_back(TableBlock{caption, std::move(table)});
  }
  if (blocks.empty()) return {Paragraph{say("benchmarks_empty")}};
  return blocks;
}

}  // namespace nb
