#include "evals/base/eval_metrics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "results/store/metric_names.hpp"
#include "results/store/no_score.hpp"

namespace nb {
namespace {

constexpr const char* kNumbersNotFinite = "the model's numbers are not finite";

}  // namespace

double centred(double accuracy, double baseline_percent) {
  const double chance = 0.01 * baseline_percent;
  return (accuracy - chance) / (1.0 - chance);
}

Metric task_metric(std::string_view task, std::string_view name, double value, std::int64_t n) {
  Metric metric;
  metric.name = metric::of_task(task, name);
  metric.task = task;
  metric.value = value;
  metric.unit = "1";
  metric.direction = Direction::kHigher;
  metric.n = n;
  return metric;
}

Metric task_metric(std::string_view task, std::string_view name, double value, std::int64_t n,
                   Interval interval) {
  Metric metric = task_metric(task, name, value, n);
  metric.low = interval.low;
  metric.high = interval.high;
  return metric;
}

Metric count_metric(std::string_view task, std::string_view name, std::int64_t count,
                    std::int64_t n) {
  Metric metric = task_metric(task, name, static_cast<double>(count), n);
  metric.unit = "item";
  metric.direction = Direction::kNone;
  return metric;
}

std::string not_scored_reason(std::span<const ItemRecord> items) {
  const auto count = std::ranges::count_if(items, has_no_score);
  if (count == 0) return "";
  const auto untold = std::ranges::count(items, kNoLetters, &ItemRecord::reason);
  const std::string its = count == 1 ? "its" : "their";
  std::string why;
  if (untold < count) why = kNumbersNotFinite;
  if (untold > 0)
    why += fmt::format("{}{} letters are not among what the server tells",
                       why.empty() ? "" : ", or ", its);
  return fmt::format("{} of {} item{} ha{} no score: {}", count, items.size(),
                     items.size() == 1 ? "" : "s", count == 1 ? "s" : "ve", why);
}

std::string why_unscored(std::string_view reason) {
  constexpr std::string_view kBefore = " no score: ";
  const std::size_t at = reason.find(kBefore);
  return at == std::string_view::npos ? kNumbersNotFinite
                                      : std::string(reason.substr(at + kBefore.size()));
}

Metric without_value(Metric metric, const std::string& reason) {
  metric.value = metric.low = metric.high = std::nullopt;
  metric.reason_if_null = reason;
  return metric;
}

std::optional<Metric> not_scored_metric(std::string_view task, std::span<const ItemRecord> items) {
  const auto count = std::ranges::count_if(items, has_no_score);
  if (count == 0) return std::nullopt;
  const auto n = static_cast<std::int64_t>(items.size());
  const double share = static_cast<double>(count) / static_cast<double>(n);
  Metric metric = task_metric(task, metric::kNotScored, share, n);
  metric.direction = Direction::kLower;
  return metric;
}

std::vector<Metric> accuracy_metrics(std::string_view task, std::span<const ItemRecord> items,
                                     double baseline_percent) {
  const auto n = static_cast<std::int64_t>(items.size());
  if (const std::string unscored = not_scored_reason(items); !unscored.empty()) {
    Metric not_scored = not_scored_metric(task, items).value();
    return {without_value(task_metric(task, metric::kAccuracy, 0, n), unscored),
            without_value(task_metric(task, metric::kCentred, 0, n), unscored),
            std::move(not_scored)};
  }
  const auto right =
      std::count_if(items.begin(), items.end(), [](const ItemRecord& item) { return item.ok; });
  const double accuracy = static_cast<double>(right) / static_cast<double>(n);
  const Interval interval = wilson(right, n);
  const auto centre = [&](double value) { return centred(value, baseline_percent); };
  return {task_metric(task, metric::kAccuracy, accuracy, n, interval),
          task_metric(task, metric::kCentred, centre(accuracy), n,
                      {centre(interval.low), centre(interval.high)})};
}

}  // namespace nb
