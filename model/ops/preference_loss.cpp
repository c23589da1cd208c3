#include "model/ops/preference_loss.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/objective.hpp"
#include "model/ops/transfer.hpp"

namespace nb::ops {

Tensor preference_loss(const Tensor& losses, std::span<const PreferencePair> pairs,
                       const PreferenceOptions& options, double scale,
                       std::shared_ptr<PreferenceMetrics> metrics) {
  NB_CHECK(options.label_smoothing >= 0 && options.label_smoothing < 0.5,
           "[preference_loss] label smoothing {} is outside [0, 0.5)", options.label_smoothing);
  Tensor reference = upload_numbers(losses.device(), 2 * std::ssize(pairs), "reference_log_probs");
  return objective(
      losses,
      {.kind = OpKind::kPreferenceLoss,
       .label = "preference_loss",
       .has_second_term = options.label_smoothing > 0,
       .count = std::ssize(pairs)},
      OpKind::kPreferenceLossBackward,
      kernels::PreferenceObjective{
          .options = options, .pairs = {pairs.begin(), pairs.end()}, .metrics = std::move(metrics)},
      scale, {reference});
}

}  // namespace nb::ops
