// The difference of a composite (CORE, ChatCORE) of two records on the same items, from the paired
// items of its tasks. Which tasks those are the records do not say: the ones whose centred
// accuracies have the composite as their mean on both sides. For compare_metrics.cpp.
#pragma once

#include <optional>
#include <string>

#include "results/compare/compare.hpp"
#include "results/stats/stats_composite.hpp"

namespace nb {

// Nothing where `metric` is no such mean, or where the items of a task are not paired.
std::optional<CompositeDifference> composite_of(const RecordPair& pair, const std::string& metric);
// The largest shares of the variance: "copa 51 %, winograd 18 %, …".
std::string contributors_text(const CompositeDifference& composite);

}  // namespace nb
