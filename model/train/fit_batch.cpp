#include "model/train/fit_batch.hpp"

#include <fmt/core.h>

#include "model/train/dry_step.hpp"

namespace nb {
namespace {

constexpr std::int64_t kMostRows = 1 << 20;
constexpr double kResolution = 1e-3;  // of the capacity

DryStepRequest with_rows(DryStepRequest request, std::int64_t rows) {
  request.device_batch_size = rows;
  request.accumulation_steps = 2;
  if (request.rollout) request.rollout->samples = rows;
  return request;
}

// Shares of the capacity: `good` fits, `bad` does not (0: nothing does). Memory that is needed
// grows with neither, so halves will do.
double smallest_share(const DryStepRequest& request, const DeviceProfile& profile, double bad,
                      double good) {
  while (good - bad > kResolution) {
    const double middle = (good + bad) / 2;
    (step_fits(request, with_capacity(profile, middle)) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

DeviceProfile with_capacity(DeviceProfile profile, double share) {
  profile.memory.usable.value *= share;
  return profile;
}

double FittingBatch::margin() const {
  return 1 - static_cast<double>(needed_bytes) / static_cast<double>(capacity_bytes);
}
double FittingBatch::next_lack() const {
  return static_cast<double>(next_needed_bytes) / static_cast<double>(capacity_bytes) - 1;
}
bool FittingBatch::is_borderline() const {
  return (rows > 0 && margin() <= kBorderlineShare) || next_lack() <= kBorderlineShare;
}

Result<FittingBatch> fit_batch(const PredictSettings& settings, const DeviceProfile& profile,
                               const std::optional<NodeLinkProfile>& between_nodes) {
  PredictSettings any = settings;
  any.device_batch_size.reset();
  if (any.stage == TrainingStage::kBase || any.stage == TrainingStage::kMid)
    any.total_batch_tokens = any.cards * any.sequence_len;
  NB_TRY(const DryStepRequest request, dry_step_request(any, profile, between_nodes, 1));
  const auto fits = [&](std::int64_t rows) { return step_fits(with_rows(request, rows), profile); };
  std::int64_t good = 0, bad = 1;
  while (bad <= kMostRows && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  if (bad > kMostRows)
    return bad_input(fmt::format("{} rows fit: memory limits nothing here", good));
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  FittingBatch batch;
  batch.rows = good;
  batch.capacity_bytes = profile.memory_budget(static_cast<int>(any.cards)).capacity_bytes;
  const auto bytes_of = [&](double share) {
    return static_cast<std::uint64_t>(share * static_cast<double>(batch.capacity_bytes));
  };
  if (good > 0)
    batch.needed_bytes = bytes_of(smallest_share(with_rows(request, good), profile, 0, 1));
  double roomy = 2;
  while (!step_fits(with_rows(request, bad), with_capacity(profile, roomy))) roomy *= 2;
  batch.next_needed_bytes = bytes_of(smallest_share(with_rows(request, bad), profile, 1, roomy));
  return batch;
}

}  // namespace nb
