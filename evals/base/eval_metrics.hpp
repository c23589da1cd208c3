// Metrics of evaluations, in the words of results/store/record.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/stats/stats.hpp"
#include "results/store/items.hpp"
#include "results/store/record.hpp"

namespace nb {

// (accuracy − chance) / (1 − chance); nanochat's base_eval.py.
double centred(double accuracy, double baseline_percent);

// "<task>/<name>", unit 1, higher is better.
Metric task_metric(std::string_view task, std::string_view name, double value, std::int64_t n);
Metric task_metric(std::string_view task, std::string_view name, double value, std::int64_t n,
                   Interval interval);

// How many of the n items are so; unit "item", neither better higher nor lower.
Metric count_metric(std::string_view task, std::string_view name, std::int64_t count,
                    std::int64_t n);

// Accuracy and centred accuracy of the items, with Wilson's interval. At least one item.
// "3 of 100 items have no score: …", of items without a score (no_score.hpp); empty: none.
std::string not_scored_reason(std::span<const ItemRecord> items);
// What stands behind the colon of such a reason; of any other one that the numbers are not finite.
std::string why_unscored(std::string_view reason);
Metric without_value(Metric metric, const std::string& reason);

// The share of items without a score; nothing: all have one.
std::optional<Metric> not_scored_metric(std::string_view task, std::span<const ItemRecord> items);

std::vector<Metric> accuracy_metrics(std::string_view task, std::span<const ItemRecord> items,
                                     double baseline_percent);

}  // namespace nb
