#include <fmt/format.h>

#include "harness/cli/predict_validate.hpp"

namespace nb::cli {
namespace {

PlotSeries series_of(const std::string& title) {
  PlotSeries series;
  series.title = title;
  return series;
}

std::optional<double> in_percent(const std::optional<double>& share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

// Rows from the top; a mark where the prediction would be exact.
Plot plot_of(const ValidationGroup& group) {
  Plot plot;
  plot.name = group.name;
  plot.title = fmt::format("{}: {}", group.name, group.title);
  plot.x_label = "error: predicted over measured, less 1 (%)";
  plot.kind = PlotKind::kIntervals;
  PlotSeries error = series_of(group.family == "none" ? "predicted, nothing fitted"
                                                      : "with the family's constants"),
             left_out = series_of("left out"), baseline = series_of("one utilisation for all"),
             exact = series_of("exact");
  exact.is_reference = true;
  bool has_left_out = false;
  for (const ValidationRow& row : group.rows) {
    if (!row.error) continue;
    plot.categories.push_back(group.name == "records"
                                  ? row.id + " " + row.machine
                                  : fmt::format("{} ({})", row.id, name(row.use)));
    error.values.push_back(in_percent(row.error));
    left_out.values.push_back(in_percent(row.left_out));
    baseline.values.push_back(in_percent(row.baseline));
    exact.values.push_back(0.0);
    has_left_out = has_left_out || row.left_out;
  }
  plot.series.push_back(std::move(error));
  if (has_left_out) {
    plot.series.push_back(std::move(left_out));
    plot.series.push_back(std::move(baseline));
  }
  plot.series.push_back(std::move(exact));
  return plot;
}

}  // namespace

std::vector<Plot> residual_plots(const Validation& validation) {
  std::vector<Plot> plots;
  for (const ValidationGroup& group : validation.groups) {
    Plot plot = plot_of(group);
    if (!plot.categories.empty()) plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace nb::cli
