// Direct preference optimisation over the losses of tokens; kernels/objectives.hpp has the formula
// and its sources.
#pragma once

#include <memory>
#include <span>

#include "model/device/device.hpp"
#include "model/kernels/objectives.hpp"

namespace nb::ops {

using PreferenceMetrics = kernels::PreferenceMetrics;
using PreferenceOptions = kernels::PreferenceOptions;
using PreferencePair = kernels::PreferencePair;
using RowSpan = kernels::RowSpan;

// losses: of head_losses(); rows without a target add nothing to an answer. (1), the root of a
// tape: its gradient is that of scale × the mean over pairs. metrics: filled when that is read, in
// execute mode; may be null. A dry device reads the number of pairs alone.
Tensor preference_loss(const Tensor& losses, std::span<const PreferencePair> pairs,
                       const PreferenceOptions& options, double scale = 1,
                       std::shared_ptr<PreferenceMetrics> metrics = nullptr);

}  // namespace nb::ops
