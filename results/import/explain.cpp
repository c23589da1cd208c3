#include "results/import/explain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/visible_text.hpp"
#include "results/import/to_records.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

constexpr std::size_t kListed = 40;  // rows and files in the text; the others are counted

double mean_of_items(const ForeignSeries& series) {
  double sum = 0;
  for (const ItemRecord& item : series.items) sum += item.value ? *item.value : (item.ok ? 1 : 0);
  return sum / static_cast<double>(series.items.size());
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "—";
}

std::string series_note(const ForeignSeries& series) {
  std::string text = series.primary ? "" : "shown beside its task's headline number";
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  for (const auto& [key, value] : series.must_match) add(key + " " + value);
  const auto n =
      series.items.empty() ? series.reported_n : static_cast<std::int64_t>(series.items.size());
  if (series.available_n > n && n > 0)
    add(fmt::format("limited: {} of {} items", n, series.available_n));
  return text;
}

// Where a column begins and ends: its stated values.
struct Ends {
  std::size_t count = 0;
  double first = 0, last = 0;
};
Ends ends_of(const CurveColumn& column) {
  Ends ends;
  for (const double value : column.values) {
    if (!std::isfinite(value)) continue;
    if (ends.count++ == 0) ends.first = value;
    ends.last = value;
  }
  return ends;
}

std::string curve_text(const Curve& curve) {
  if (curve.empty()) return {};
  std::string text = fmt::format("  curve: steps {} to {}, {} of them\n", curve.steps.front(),
                                 curve.steps.back(), curve.steps.size());
  std::vector<NarrowRow> rows;
  for (const CurveColumn& column : curve.columns) {
    if (rows.size() == kListed) break;
    const Ends ends = ends_of(column);
    const std::string unit = column.unit.empty() || column.unit == "1" ? "" : column.unit;
    rows.push_back({{unit.empty() ? column.name : fmt::format("{} ({})", column.name, unit),
                     fmt::format("{}", ends.count), fmt::format("{:.6g}", ends.first),
                     fmt::format("{:.6g}", ends.last)},
                    column.not_finite_from
                        ? fmt::format("not finite from step {} on", *column.not_finite_from)
                        : ""});
  }
  text += narrow_table({"column", "values", "first", "last"}, rows);
  if (curve.columns.size() > kListed)
    text += fmt::format("  and {} more; --json lists all\n", curve.columns.size() - kListed);
  return text;
}

Json curve_json(const Curve& curve) {
  if (curve.empty()) return {};
  Json columns = Json::array();
  for (const CurveColumn& column : curve.columns) {
    const Ends ends = ends_of(column);
    columns.push_back({{"name", column.name},
                       {"unit", column.unit},
                       {"direction", name(column.direction)},
                       {"clock", name(column.clock)},
                       {"values", ends.count},
                       {"first", ends.count > 0 ? Json(ends.first) : Json()},
                       {"last", ends.count > 0 ? Json(ends.last) : Json()},
                       {"not_finite_from", optional_json(column.not_finite_from)}});
  }
  return {{"first_step", curve.steps.front()},
          {"last_step", curve.steps.back()},
          {"steps", curve.steps.size()},
          {"columns", columns}};
}

}  // namespace

std::string explain_text(const ForeignResults& results) {
  std::string text;
  for (const ForeignRun& run : results.runs) {
    text += wrapped(fmt::format("{}: {}{}", run.harness,
                                run.model.empty() ? "model not stated" : run.model,
                                run.stage.empty() ? "" : ", stage " + run.stage));
    for (const auto& [key, value] : run.provenance)
      text += wrapped(value, 16, fmt::format("  {:<13} ", visible_line(key)));
    std::vector<NarrowRow> rows;
    for (const ForeignSeries& series : run.series) {
      if (rows.size() == kListed) break;
      rows.push_back(
          {{item_key(series.name),
            series.items.empty() ? "totals" : fmt::format("{}", series.items.size()),
            series.items.empty() ? "—" : number(mean_of_items(series)), number(series.reported)},
           series_note(series)});
    }
    if (!rows.empty()) text += narrow_table({"score", "items", "mean", "reported"}, rows);
    if (run.series.size() > kListed)
      text += fmt::format("  and {} more; --json lists all\n", run.series.size() - kListed);
    for (const Metric& metric : run.metrics)
      if (metric.value)
        text +=
            visible_line(fmt::format("  {} {} {}", metric.name, *metric.value, metric.unit)) + "\n";
    text += curve_text(run.curve);
    for (const Sentence& note : run.notes) text += wrapped(text_of(note), 4, "  note: ");
    text += "\n";
  }
  text += "files\n";
  std::size_t listed = 0;
  for (const auto& file : results.files) {
    if (++listed > kListed) continue;
    text += wrapped(fmt::format("{}: {}", file.path.string(),
                                file.format.empty() ? "not recognised, ignored" : file.format),
                    4, "  ");
  }
  if (listed > kListed) text += fmt::format("  and {} more; --json lists all\n", listed - kListed);
  if (!results.ignored.empty()) text += "left out\n";
  for (const Sentence& sentence : results.ignored) text += wrapped(text_of(sentence), 4, "  ");
  return text;
}

Json explain_json(const ForeignResults& results) {
  Json runs = Json::array(), files = Json::array();
  for (const ForeignRun& run : results.runs) {
    Json series_list = Json::array();
    for (const ForeignSeries& series : run.series)
      series_list.push_back({{"task", series.name.task},
                             {"filter", series.name.filter},
                             {"metric", series.name.metric},
                             {"primary", series.primary},
                             {"items", series.items.size()},
                             {"mean", series.items.empty() ? Json() : Json(mean_of_items(series))},
                             {"reported", optional_json(series.reported)},
                             {"reported_stderr", optional_json(series.reported_stderr)},
                             {"reported_n", series.reported_n},
                             {"available_n", series.available_n},
                             {"must_match", series.must_match}});
    Json metrics = Json::array();
    for (const Metric& metric : run.metrics)
      metrics.push_back({{"name", metric.name},
                         {"unit", metric.unit},
                         {"clock", name(metric.clock)},
                         {"value", optional_json(metric.value)}});
    Json read_from = Json::array();
    for (const auto& file : run.files) read_from.push_back(file.string());
    runs.push_back({{"harness", run.harness},
                    {"model", run.model},
                    {"stage", run.stage},
                    {"files", read_from},
                    {"provenance", run.provenance},
                    {"series", series_list},
                    {"metrics", metrics},
                    {"curve", curve_json(run.curve)},
                    {"notes", texts_of(run.notes)},
                    {"notes_message", json_of(run.notes)}});
  }
  for (const auto& file : results.files)
    files.push_back({{"path", file.path.string()}, {"format", file.format}});
  return {{"schema", "npubench.import/1"},
          {"runs", runs},
          {"files", files},
          {"left_out", texts_of(results.ignored)},
          {"left_out_message", json_of(results.ignored)}};
}

}  // namespace nb
