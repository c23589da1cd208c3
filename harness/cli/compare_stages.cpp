#include "harness/cli/compare_stages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "results/compare/stage_gain.hpp"

namespace nb::cli {

int compare_stages(const RunRecords& run, const StageOptions& options, bool json) {
  constexpr int kExitWorse = 1;
  const auto gains = stage_gains(run, options.stages[0], options.stages[1], options.metrics);
  if (!gains) return fail(gains.error());
  if (!json)
    say("{}", stage_gains_text(*gains));
  else if (const int printed = print_json(stage_gains_json(*gains)); printed != kExitOk)
    return printed;
  const bool is_worse = std::ranges::any_of(
      gains->gains, [](const StageGain& gain) { return gain.shown == Shown::kWorse; });
  if (is_worse) return kExitWorse;
  if (const int damaged = fail_for_damaged(gains->damaged); damaged != kExitOk) return damaged;
  return gains->gains.empty() ? kExitIncomparable : kExitOk;
}

}  // namespace nb::cli
