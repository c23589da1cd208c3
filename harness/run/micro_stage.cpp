#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"

namespace nb {

Result<void> run_micro(const MicroWork&, const StageContext&, Record&) {
  return run_error("microbenchmarks are not joined yet");
}

}  // namespace nb
