#include "harness/cli/predict_sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/predict_output.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t kMostPoints = 1000, kMostLines = 6;

struct Axis {
  std::string field;
  std::vector<std::string> values;
};

Result<Axis> axis_of(const std::string& spec) {
  const std::size_t equals = spec.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == spec.size())
    return bad_input(fmt::format(
        "sweep: \"{}\" is not FIELD=a,b,c: cards=1,2,4,8 or device=ascend_910b3,h100_sxm", spec));
  Axis axis{spec.substr(0, equals), {}};
  for (std::size_t at = equals + 1; at <= spec.size();) {
    // Entries of an allocator's options are separated by commas: its values by semicolons.
    const char comma = axis.field.starts_with("alloc") ? ';' : ',';
    const std::size_t end = std::min(spec.find(comma, at), spec.size());
    if (end == at)
      return bad_input(fmt::format("sweep: \"{}\" has an empty value; write FIELD=a,b,c", spec));
    axis.values.push_back(spec.substr(at, end - at));
    at = end + 1;
  }
  return axis;
}

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

std::string point_text(const Sweep& sweep, const std::vector<std::string>& values,
                       std::size_t count) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i)
    words.push_back(fmt::format("{}={}", sweep.fields[i], values[i]));
  return fmt::format("{}", fmt::join(words, ", "));
}

// Of Megatron's models beside the fields of predict_ask.
constexpr std::array<std::string_view, 4> kCuts = {"tp", "pp", "vpp", "optimizer"};

const std::vector<std::string_view>& megatron_fields() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all(kCuts.begin(), kCuts.end());
    for (const Field& field : megatron_run_flags()) all.push_back(field.name);
    return all;
  }();
  return names;
}

std::string* cut_of(MegatronFlags& flags, std::string field) {
  std::ranges::replace(field, '-', '_');
  const std::array<std::string*, 4> texts = {&flags.tp, &flags.pp, &flags.vpp, &flags.optimizer};
  const auto found = std::ranges::find(kCuts, field);
  if (found != kCuts.end()) return texts[static_cast<std::size_t>(found - kCuts.begin())];
  return std::ranges::count(megatron_fields(), field) > 0 ? &flags.run[field] : nullptr;
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

Result<void> ask_point(SweepPoint& point) {
  NB_TRY(const bool is_megatron, asks_megatron(point.question, point.megatron_flags));
  if (is_megatron) {
    NB_TRY(point.megatron, ask_megatron(point.question, point.megatron_flags));
    return {};
  }
  NB_TRY(point.subject, subject_of(point.question));
  NB_TRY(point.prediction,
         predict(point.subject.settings, point.subject.profile, point.subject.between_nodes));
  return {};
}

Result<void> add_points(const PredictQuestion& question, const MegatronFlags& flags,
                        const std::vector<Axis>& axes, std::vector<std::string> values,
                        Sweep& sweep) {
  if (values.size() == axes.size()) {
    SweepPoint point{std::move(values), question, flags, {}, {}, {}, {}};
    if (const auto asked = ask_point(point); !asked) point.error = asked.error().message;
    sweep.points.push_back(std::move(point));
    return {};
  }
  const Axis& axis = axes[values.size()];
  for (const std::string& value : axis.values) {
    PredictQuestion next = question;
    MegatronFlags next_flags = flags;
    if (std::string* cut = cut_of(next_flags, axis.field)) {
      *cut = value;
    } else {
      NB_TRY(next, with_entry(question, axis.field, value, megatron_fields()));
    }
    std::vector<std::string> longer = values;
    longer.push_back(value);
    NB_TRY_VOID(add_points(next, next_flags, axes, std::move(longer), sweep));
  }
  return {};
}

}  // namespace

double SweepPoint::throughput_tok_s() const {
  if (!megatron) return prediction.throughput_tok_s;
  return megatron->step.rate_tok_s_card * static_cast<double>(megatron->job.run.ranks);
}

Result<Sweep> run_sweep(const PredictQuestion& question, const std::vector<std::string>& specs,
                        const MegatronFlags& flags) {
  std::vector<Axis> axes;
  Sweep sweep;
  std::size_t count = 1;
  for (const std::string& spec : specs) {
    NB_TRY(const Axis axis, axis_of(spec));
    if (std::ranges::count(sweep.fields, axis.field) > 0)
      return bad_input(fmt::format("sweep: {} is swept twice; list all values once", axis.field));
    count *= axis.values.size();
    sweep.fields.push_back(axis.field);
    axes.push_back(axis);
  }
  if (count > kMostPoints)
    return bad_input(
        fmt::format("sweep: {} points are more than {}; sweep fewer values", count, kMostPoints));
  NB_TRY_VOID(add_points(question, flags, axes, {}, sweep));
  // Nothing at all was answered: what is wrong is no matter of the swept values.
  if (std::ranges::all_of(sweep.points, [](const SweepPoint& one) { return !one.error.empty(); }))
    return bad_input(fmt::format("sweep: {}: {}",
                                 point_text(sweep, sweep.points.front().values, axes.size()),
                                 sweep.points.front().error));
  return sweep;
}

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
    Json prediction = point.megatron
                          ? megatron_json(point.question, *point.megatron)
                          : prediction_json({point.question.device, point.subject.profile,
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
