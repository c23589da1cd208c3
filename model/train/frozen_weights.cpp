#include "model/train/frozen_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/table.hpp"

namespace nb {
namespace {

double total(const SentBytes& sent) {
  double sum = 0;
  for (const auto& [kind, bytes] : sent) sum += bytes;
  return sum;
}

// Two digits: 5,597 is 5,600.
std::int64_t rounded(double factor) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(factor)) - 1));
  return static_cast<std::int64_t>(std::round(factor / unit) * unit);
}

}  // namespace

std::string frozen_weights_finding(const MeshStepRequest& request, const MeshStep& step,
                                   const DeviceProfile& profile) {
  if (!request.lora || !request.mesh.is_sharded()) return "";
  MeshStepRequest copies = request;
  copies.mesh = {.dp = request.mesh.ranks(), .reduce = request.mesh.reduce};
  try {
    const MeshStep other = run_mesh_step(copies, profile);
    const double factor = total(step.sent) / total(other.sent);
    if (factor < 2) return "";
    return fmt::format(
        "frozen weights are gathered for every micro-batch, {} a step and rank, for {} of "
        "gradients: dp {} sends {} × less here, and its {} fit",
        human_bytes(total(step.sent)), human_bytes(total(other.sent)), copies.mesh.dp,
        with_commas(rounded(factor)), human_bytes(static_cast<double>(other.peak.allocated_bytes)));
  } catch (const OutOfMemory&) {
    return "";
  }
}

}  // namespace nb
