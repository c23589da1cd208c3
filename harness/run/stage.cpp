// Apart from the table of stages, so that a stage does not reach all others through it.
#include "harness/run/stage.hpp"

#include <fmt/format.h>

#include "harness/base/check.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/suite/device_entry.hpp"

namespace nb {

const ParentRun& StageContext::parent(NodeKind kind) const {
  const ParentRun* found = nullptr;
  for (const ParentRun& candidate : parents)
    if (candidate.kind == kind) {
      NB_CHECK(found == nullptr, "[run] {} has two parents of kind {}", node.name, info(kind).name);
      found = &candidate;
    }
  NB_CHECK(found != nullptr, "[run] {} has no parent of kind {}", node.name, info(kind).name);
  return *found;
}

PortDefects tell_defects(const StageContext& context) {
  const DeviceEntry* device = device_of(context.node.work);
  if (device == nullptr || device->defects.empty()) return {};
  context.log(fmt::format("defects asked for: {}", fmt::join(device->defects, ", ")));
  return defects_of(*device);
}

}  // namespace nb
