// What a stage of a pipeline does, in which order. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nb {

// Both accumulate gradients in the order of micro-batches, so that all bits are those of one card.
enum class PipelineSchedule : std::uint8_t {
  kGpipe,  // all forwards, then all backwards (arXiv:1811.06965, whose backwards go the other way)
  k1f1b,  // one forward, one backward once min(p − i − 1, m) are under way (arXiv:2104.04473, 2.2)
};
PipelineSchedule pipeline_schedule(std::string_view name);  // "gpipe", "1f1b" (NB_CHECK)

struct PipelineAction {
  bool is_forward = true;
  std::int64_t micro_batch = 0;
  bool operator==(const PipelineAction&) const = default;
};
// Of stage `stage` of `stages`, with m micro-batches.
std::vector<PipelineAction> pipeline_actions(PipelineSchedule schedule, int stage, int stages,
                                             std::int64_t micro_batches);
// Idle share of ideal time, (p − 1) / m.
double pipeline_bubble(std::int64_t stages, std::int64_t micro_batches);

}  // namespace nb
