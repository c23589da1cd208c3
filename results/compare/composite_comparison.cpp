#include "results/compare/composite_comparison.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// Sums of a few dozen doubles agree much better than this, other sets of tasks do not.
constexpr double kSame = 1e-9;

std::optional<double> value_of(const Record& record, const std::string& name) {
  const Metric* metric = find_metric(record, name);
  return metric == nullptr ? std::nullopt : metric->value;
}

struct Part {
  CompositeTask task;
  double centred_a = 0, centred_b = 0;
};

// A task whose accuracy is that of its paired items; nothing for scores of several samples.
std::optional<Part> part_of(const RecordPair& pair, const ItemComparison& items) {
  const Record &a = pair.a->record, &b = pair.b->record;
  const auto accuracy_a = value_of(a, metric::of_task(items.task, metric::kAccuracy));
  const auto accuracy_b = value_of(b, metric::of_task(items.task, metric::kAccuracy));
  const auto centred_a = value_of(a, metric::of_task(items.task, metric::kCentred));
  const auto centred_b = value_of(b, metric::of_task(items.task, metric::kCentred));
  if (!items.error.empty() || !accuracy_a || !accuracy_b || !centred_a || !centred_b)
    return std::nullopt;
  const double n = static_cast<double>(items.counts.n());
  const double right_a = static_cast<double>(items.counts.both + items.counts.only_a) / n;
  const double right_b = static_cast<double>(items.counts.both + items.counts.only_b) / n;
  if (n < 2 || std::fabs(right_a - *accuracy_a) > kSame || std::fabs(right_b - *accuracy_b) > kSame)
    return std::nullopt;
  // centred = (a − r)/(1 − r); of a perfect score r cannot be told.
  const bool from_a = *centred_a < *centred_b;
  const double accuracy = from_a ? *accuracy_a : *accuracy_b;
  const double centred = from_a ? *centred_a : *centred_b;
  if (centred >= 1) return std::nullopt;
  Part part;
  part.task = {items.task, *accuracy_b - *accuracy_a, paired_standard_error(items.counts),
               (accuracy - centred) / (1 - centred)};
  part.centred_a = *centred_a;
  part.centred_b = *centred_b;
  return part;
}

bool is_mean(const std::vector<Part>& parts, double a, double b) {
  double sum_a = 0, sum_b = 0;
  for (const Part& part : parts) {
    sum_a += part.centred_a;
    sum_b += part.centred_b;
  }
  const double count = static_cast<double>(parts.size());
  return !parts.empty() && std::fabs(sum_a / count - a) <= kSame &&
         std::fabs(sum_b / count - b) <= kSame;
}

// All of them, or all but one (ChatCORE of five beside a sixth task).
std::vector<Part> parts_of(const std::vector<Part>& all, double a, double b) {
  if (is_mean(all, a, b)) return all;
  for (std::size_t without = 0; without < all.size(); ++without) {
    std::vector<Part> parts = all;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(without));
    if (is_mean(parts, a, b)) return parts;
  }
  return {};
}

}  // namespace

std::optional<CompositeDifference> composite_of(const RecordPair& pair, const std::string& metric) {
  const auto a = value_of(pair.a->record, metric), b = value_of(pair.b->record, metric);
  if (pair.a->record.kind != "eval" || !a || !b) return std::nullopt;
  std::vector<Part> all;
  for (const ItemComparison& items : pair.items)
    if (auto part = part_of(pair, items)) all.push_back(std::move(*part));
  const std::vector<Part> parts = parts_of(all, *a, *b);
  if (parts.size() < 2) return std::nullopt;
  std::vector<CompositeTask> tasks;
  for (const Part& part : parts) tasks.push_back(part.task);
  return composite_difference(tasks, tasks.size());
}

std::string contributors_text(const CompositeDifference& composite) {
  std::vector<std::string> parts;
  for (const CompositeContributor& one : composite.largest)
    parts.push_back(fmt::format("{} {:.0f} %", one.task, 100 * one.share));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace nb
