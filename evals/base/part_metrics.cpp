#include "evals/base/part_metrics.hpp"

#include <fmt/core.h>

#include <cmath>

namespace nb {
namespace {

// A field of CSV: file names may hold commas and quotes.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Metric as_part(Metric metric, std::string_view part) {
  metric.name.insert(metric.task.size(), fmt::format("/{}", part));
  return metric;
}

std::string_view part_of(std::string_view metric, std::string_view task) {
  if (!metric.starts_with(task) || !metric.substr(task.size()).starts_with('/')) return "";
  const std::string_view rest = metric.substr(task.size() + 1);
  const std::size_t slash = rest.rfind('/');
  return slash == std::string_view::npos ? "" : rest.substr(0, slash);
}

std::optional<double> standard_error(const Metric& metric) {
  if (!metric.value || metric.n < 2) return std::nullopt;
  return std::sqrt(*metric.value * (1 - *metric.value) / static_cast<double>(metric.n - 1));
}

std::string parts_csv(std::span<const EvalResult> results) {
  std::string rows;
  for (const EvalResult& result : results)
    for (const Metric& metric : result.metrics) {
      const std::string_view part = part_of(metric.name, result.task);
      if (part.empty() || !metric.value) continue;
      const auto error = metric.unit == "1" ? standard_error(metric) : std::nullopt;
      rows += fmt::format("{},{},{},{},{},{}\n", field(metric.task), field(part),
                          metric.name.substr(metric.name.rfind('/') + 1), *metric.value,
                          error ? fmt::format("{:.6f}", *error) : "", metric.n);
    }
  return rows.empty() ? "" : "task,part,metric,value,standard_error,n\n" + rows;
}

}  // namespace nb
