#include "harness/cli/predict_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/predict_megatron.hpp"
#include "harness/cli/predict_output.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t kMostLines = 6;

std::string_view largest_limit(const Prediction& p) {
  const auto& parts = p.account.limit_ns;
  return name(static_cast<TimeLimit>(std::ranges::max_element(parts) - parts.begin()));
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// A point as tables show it, whatever predicted it.
struct Row {
  bool fits = false, is_borderline = false;
  std::int64_t rows = 0, accumulation_steps = 0;
  double step_time_ns = 0, communication_time_ns = 0, throughput_tok_s = 0;
  std::optional<double> mfu;
  double peak_allocated_bytes = 0;
  std::optional<std::uint64_t> peak_reserved_bytes;  // a closed form has no allocator
  std::string limited_by;

  std::string fit_text() const {
    return fmt::format("{}{}", fits ? "yes" : "no", is_borderline ? ", borderline" : "");
  }
};

Row row_of(const SweepPoint& point) {
  if (point.megatron) {
    const MegatronAnswer& a = *point.megatron;
    return {.fits = a.fits(),
            .is_borderline = a.is_borderline(),
            .rows = a.job.run.micro_batch,
            .accumulation_steps = a.job.run.micro_batches(),
            .step_time_ns = a.step.step_ns,
            .communication_time_ns = a.step.communication_ns + a.step.data_parallel_ns,
            .throughput_tok_s = point.throughput_tok_s(),
            .mfu = a.mfu(),
            .peak_allocated_bytes = a.memory.steady_peak_bytes,
            .peak_reserved_bytes = {},
            .limited_by = std::string(largest_part(a.step))};
  }
  const Prediction& p = point.prediction;
  return {.fits = p.fits,
          .is_borderline = p.is_borderline,
          .rows = p.device_batch_size,
          .accumulation_steps = p.accumulation_steps,
          .step_time_ns = p.step_time_ns,
          .communication_time_ns = p.communication_time_ns,
          .throughput_tok_s = p.throughput_tok_s,
          .mfu = p.mfu,
          .peak_allocated_bytes = static_cast<double>(p.peak_allocated_bytes),
          .peak_reserved_bytes = p.peak_reserved_bytes,
          .limited_by = std::string(largest_limit(p))};
}

}  // namespace

std::string sweep_text(const Sweep& sweep) {
  TextTable table{sweep.fields, {}};
  for (const char* column : {"rows", "step", "tok/s", "MFU", "peak memory", "limited by", "fits"})
    table.header.emplace_back(column);
  int reasons = 0;  // why a cell has no answer
  std::string below;
  for (const SweepPoint& point : sweep.points) {
    std::vector<std::string> row = point.values;
    if (!point.error.empty()) {
      row.insert(row.end(), {"—", "—", "—", "—", "—", "—", fmt::format("({})", ++reasons)});
      for (const std::string& line :
           broken_lines(fmt::format("({}) {}", reasons, point.error), sentence_width()))
        below += line + "\n";
      table.rows.push_back(std::move(row));
      continue;
    }
    const Row p = row_of(point);
    row.push_back(std::to_string(p.rows));
    if (p.fits) {
      row.push_back(human_time_ns(p.step_time_ns));
      row.push_back(human_rate(p.throughput_tok_s, ""));
      row.push_back(p.mfu ? fmt::format("{:.1f} %", 100 * *p.mfu) : "—");
      row.push_back(human_bytes(p.peak_allocated_bytes));
      row.push_back(p.limited_by);
    } else {
      row.insert(row.end(), {"—", "—", "—", "—", "—"});
    }
    row.push_back(p.fit_text());
    table.rows.push_back(std::move(row));
  }
  return to_text(table, output_width()) + below;
}

std::string sweep_csv(const Sweep& sweep) {
  std::vector<std::string> header = sweep.fields;
  for (const char* column : {"fits", "borderline", "rows", "accumulation_steps", "step_time_ns",
                             "communication_time_ns", "throughput_tok_s", "mfu",
                             "peak_allocated_bytes", "peak_reserved_bytes", "limited_by", "error"})
    header.emplace_back(column);
  std::string csv = csv_line(header) + "\n";
  for (const SweepPoint& point : sweep.points) {
    std::vector<std::string> row = point.values;
    if (!point.error.empty()) {
      row.resize(header.size() - 1);
      row.push_back(point.error);
      csv += csv_line(row) + "\n";
      continue;
    }
    const Row p = row_of(point);
    row.insert(row.end(),
               {p.fits ? "1" : "0", p.is_borderline ? "1" : "0", std::to_string(p.rows)});
    if (p.fits)
      row.insert(
          row.end(),
          {std::to_string(p.accumulation_steps), number_text(p.step_time_ns),
           number_text(p.communication_time_ns), number_text(p.throughput_tok_s),
           p.mfu ? number_text(*p.mfu) : "", fmt::format("{:.0f}", p.peak_allocated_bytes),
           p.peak_reserved_bytes ? std::to_string(*p.peak_reserved_bytes) : "", p.limited_by});
    row.resize(header.size());
    csv += csv_line(row) + "\n";
  }
  return csv;
}

Json sweep_json(const Sweep& sweep) {
  Json points = Json::array();
  for (const SweepPoint& point : sweep.points) {
    Json values = Json::object();
    for (std::size_t i = 0; i < sweep.fields.size(); ++i) values[sweep.fields[i]] = point.values[i];
    if (!point.error.empty()) {
      points.push_back({{"values", std::move(values)}, {"error", point.error}});
      continue;
    }
    Json prediction = point.megatron ? megatron_json(point.request, *point.megatron)
                                     : prediction_json({point.request.device, point.subject.profile,
                                                        point.subject.settings, point.prediction});
    points.push_back({{"values", std::move(values)}, {"prediction", std::move(prediction)}});
  }
  return {{"fields", sweep.fields}, {"points", std::move(points)}};
}

Result<Plot> sweep_plot(const Sweep& sweep) {
  Plot plot;
  plot.name = "sweep";
  plot.title = "predicted throughput, simulated clock";
  const std::size_t last = sweep.fields.size() - 1;
  plot.x_label = sweep.fields[last];
  plot.y_label = "tok/s";
  const bool is_numeric = std::ranges::all_of(sweep.points, [&](const SweepPoint& point) {
    return number_of(point.values[last]).has_value();
  });
  bool fits = false;
  std::map<std::string, std::size_t> places;  // of a line in plot.series
  for (const SweepPoint& point : sweep.points) {
    const std::string line = is_numeric ? point_text(sweep, point.values, last) : "";
    const auto [place, is_new] = places.emplace(line, plot.series.size());
    if (is_new) {
      plot.series.emplace_back();
      plot.series.back().title = line.empty() ? "tok/s" : line;
      plot.series.back().with_points = true;
    }
    PlotSeries& series = plot.series[place->second];
    fits = fits || point.fits();
    if (is_numeric) {
      if (!point.fits()) continue;
      series.x.push_back(*number_of(point.values[last]));
      series.y.push_back(point.throughput_tok_s());
    } else {
      plot.kind = PlotKind::kBars;
      plot.categories.push_back(point_text(sweep, point.values, last + 1));
      series.values.push_back(point.fits() ? std::optional(point.throughput_tok_s())
                                           : std::nullopt);
      series.labels.push_back(point.fits() ? human_rate(point.throughput_tok_s(), "tok/s")
                                           : "does not fit");
    }
  }
  if (plot.kind == PlotKind::kBars) std::swap(plot.x_label, plot.y_label), plot.y_label.clear();
  if (!fits) return bad_input("--plot: nothing of the sweep fits, so nothing can be drawn");
  if (plot.series.size() > kMostLines)
    return bad_input(
        fmt::format("--plot: {} lines are more than can be told apart; sweep at most "
                    "{} values in all fields but the last",
                    plot.series.size(), kMostLines));
  return plot;
}

}  // namespace nb::cli
