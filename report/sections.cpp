#include "report/sections.hpp"

#include <fmt/core.h>

#include <array>

namespace nb {

std::span<const Section> sections() {
  static constexpr std::array kSections = {
      Section{"Summary", summary_blocks},
      Section{"Verdicts", verdict_blocks},
      Section{"Main effects", effect_blocks},
      Section{"Device against device", device_blocks},
      Section{"Training", training_blocks},
      Section{"Speed and memory", speed_blocks},
      Section{"Evaluations", evaluation_blocks},
      Section{"Microbenchmarks", benchmark_blocks},
      Section{"Against other runs", other_run_blocks},
      Section{"Numerics card", numerics_blocks},
      Section{"Environment", environment_blocks},
  };
  return kSections;
}

std::string series_title(const Record& record) {
  std::string title = record.device.empty() ? record.name : record.device;
  if (!record.trained_on.empty() && record.trained_on != record.device)
    title += " (trained on " + record.trained_on + ")";
  if (record.seed) title += fmt::format(", seed {}", *record.seed);
  return title;
}

std::vector<const StoredRecord*> records_of(const RunRecords& run, std::string_view kind) {
  std::vector<const StoredRecord*> found;
  for (const StoredRecord& stored : run.records)
    if (stored.record.kind == kind && stored.record.status == "ok") found.push_back(&stored);
  return found;
}

}  // namespace nb
