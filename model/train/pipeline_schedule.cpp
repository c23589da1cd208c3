#include "model/train/pipeline_schedule.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb {

PipelineSchedule pipeline_schedule(std::string_view name) {
  NB_CHECK(name == "gpipe" || name == "1f1b", "[pipeline] schedule {}", name);
  return name == "gpipe" ? PipelineSchedule::kGpipe : PipelineSchedule::k1f1b;
}

std::vector<PipelineAction> pipeline_actions(PipelineSchedule schedule, int stage, int stages,
                                             std::int64_t micro_batches) {
  NB_CHECK(stage >= 0 && stage < stages && micro_batches > 0,
           "[pipeline] stage {} of {}, {} micro-batches", stage, stages, micro_batches);
  const std::int64_t ahead = schedule == PipelineSchedule::kGpipe
                                 ? micro_batches
                                 : std::min<std::int64_t>(stages - stage - 1, micro_batches);
  std::vector<PipelineAction> actions;
  for (std::int64_t forward = 0; forward < ahead; ++forward) actions.push_back({true, forward});
  for (std::int64_t forward = ahead; forward < micro_batches; ++forward) {
    actions.push_back({true, forward});
    actions.push_back({false, forward - ahead});
  }
  for (std::int64_t backward = micro_batches - ahead; backward < micro_batches; ++backward)
    actions.push_back({false, backward});
  return actions;
}

double pipeline_bubble(std::int64_t stages, std::int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches);
}

}  // namespace nb
