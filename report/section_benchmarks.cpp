#include <fmt/core.h>

#include "report/sections.hpp"
#include "results/text/format.hpp"

namespace nb {

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
    if (!table.rows.empty()) blocks.emplace_back(TableBlock{caption, std::move(table)});
  }
  if (blocks.empty()) return {Paragraph{say("benchmarks_empty")}};
  return blocks;
}

}  // namespace nb
