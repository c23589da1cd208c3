#include "harness/cli/planted_ends.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/cli/common.hpp"
#include "harness/faults/failure.hpp"

namespace nb::cli {

bool is_ended_by_fault(const NodeReport& report) {
  std::error_code error;
  return report.outcome == NodeOutcome::kFailed && fs::exists(report.folder / kFailureFile, error);
}

PlantedEnds planted_ends(const Plan& plan, const RunSummary& summary) {
  PlantedEnds ends;
  RunSummary unexcused;
  bool is_otherwise = false;
  for (const NodeReport& report : summary.nodes) {
    const auto* training = std::get_if<TrainWork>(&plan.nodes[report.node].work);
    const bool is_fault = is_ended_by_fault(report);
    Json failure;
    if (is_fault) {
      auto json = read_json(report.folder / kFailureFile);
      if (json) failure = std::move(*json);
      ends.text += read_file(report.folder / kFailureText).value_or("");
    }
    const bool has_ended = report.outcome != NodeOutcome::kSkipped &&
                           (report.outcome != NodeOutcome::kFailed || is_fault);
    if (training == nullptr || !training->device.planted.expect || !has_ended) {
      unexcused.nodes.push_back(report);
      continue;
    }
    const std::string why = unexpected(*training->device.planted.expect, failure);
    ends.text += fmt::format("{}: {}\n", plan.nodes[report.node].name,
                             why.empty() ? "ended as expected" : "NOT as expected: " + why);
    is_otherwise = is_otherwise || !why.empty();
  }
  const auto error = unexcused.error();
  ends.exit_code = error ? static_cast<int>(*error) : is_otherwise ? 1 : kExitOk;
  return ends;
}

}  // namespace nb::cli
