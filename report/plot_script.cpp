#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/base/visible_text.hpp"
#include "report/plot.hpp"

namespace nb {
namespace {

// Okabe and Ito's colours: told apart by colour-blind readers too.
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#555555"};
constexpr int kWidth = 860;
constexpr double kBarShare = 0.76;  // of the distance between two categories, for all its bars

// A gnuplot text in single quotes. Text is not enhanced, so only the quote itself is special.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : visible_line(text)) {
    if (c == '\'') safe += '\'';
    safe += c;
  }
  return safe + "'";
}

std::size_t rows_per_category(const Plot& plot) {
  if (plot.is_one_row) return 1;
  std::size_t rows = 0;
  for (const PlotSeries& series : plot.series) rows += series.is_reference ? 0 : 1;
  return std::max<std::size_t>(1, rows);
}

// Pixels: title, axis and legend, then 20 for each bar or interval and some air between categories;
// less for a long list of single intervals.
int height_of(const Plot& plot) {
  const int legend = 22 * static_cast<int>((plot.series.size() + 2) / 3);
  if (is_over_x(plot)) return 360 + legend;
  const int rows = static_cast<int>(plot.categories.size() * rows_per_category(plot));
  if (plot.kind == PlotKind::kIntervals && rows > 12 && rows_per_category(plot) == 1)
    return 120 + legend + 20 * rows;
  return 130 + legend + 20 * rows + 14 * static_cast<int>(plot.categories.size());
}

std::string frame(const Plot& plot) {
  std::string text =
      fmt::format("set title {}\nset xlabel {}\n", quoted(plot.title), quoted(plot.x_label));
  text += "set key outside top center horizontal\nset border 3 lc rgb '#888888'\n";
  text += "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n";
  text += "set grid lc rgb '#e4e4e4' lt 1 lw 1\n";
  if (!plot.y_label.empty()) text += "set ylabel " + quoted(plot.y_label) + "\n";
  return text;
}

std::string category_axis(const Plot& plot) {
  // Category c stands at y = −c, so that the list reads from the top.
  std::string tics;
  for (std::size_t c = 0; c < plot.categories.size(); ++c)
    tics += fmt::format("{}{} -{}", c == 0 ? "" : ", ", quoted(plot.categories[c]), c);
  return fmt::format(
      "set ytics ({})\nset yrange [{}:0.6]\nunset grid\nset grid xtics lc rgb '#e4e4e4' lt 1 lw "
      "1\n",
      tics, 0.4 - static_cast<double>(plot.categories.size()));
}

// Centre of a series' mark within a category, and half its height.
struct Slot {
  double centre, half;
};
Slot slot_of(const Plot& plot, std::size_t category, std::size_t series) {
  if (plot.series[series].is_reference)
    return {-static_cast<double>(category), kBarShare / 2 + 0.04};
  std::size_t row = 0;  // references take no row
  for (std::size_t s = 0; s < series && !plot.is_one_row; ++s)
    row += plot.series[s].is_reference ? 0 : 1;
  const double count = static_cast<double>(rows_per_category(plot));
  const double step = kBarShare / count;
  const double offset = (static_cast<double>(row) - (count - 1) / 2) * step;
  return {-static_cast<double>(category) - offset, step * 0.42};
}

// Losses fall steeply and then slowly: on a logarithmic axis both parts can be read.
std::string value_axis(const Plot& plot) {
  double least = 0, most = 0;
  for (const PlotSeries& series : plot.series)
    for (const double y : series.y) {
      least = most == 0 ? y : std::min(least, y);
      most = std::max(most, y);
    }
  std::string text = plot.kind == PlotKind::kAreas ? "set yrange [0:*]\n" : "";
  if (plot.is_log_y && least > 0) {
    const double low = std::exp2(std::floor(std::log2(least)));
    // Within a factor of two no power would be left: then the tics are gnuplot's own.
    text += most > 2 * low ? "set logscale y 2\n" : "";
  }
  if (plot.x_tics.empty()) return text;
  text += "set xtics (";
  for (std::size_t i = 0; i < plot.x_tics.size(); ++i)
    text += fmt::format("{}{} {:.17g}", i == 0 ? "" : ", ", quoted(plot.x_tics[i].second),
                        plot.x_tics[i].first);
  return text + ")\n";
}

using Rows = std::vector<std::array<double, 6>>;

Rows line_rows(const PlotSeries& series) {
  Rows rows;
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
    rows.push_back({series.x[i], series.y[i], series.x[i], series.x[i], series.y[i], series.y[i]});
  return rows;
}

// Each on top of those before it: y, y low and y high are where it ends, begins and ends.
Rows area_rows(const Plot& plot, std::size_t s) {
  Rows rows = line_rows(plot.series[s]);
  if (plot.series[s].is_reference) return rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [x, y, x_low, x_high, y_low, y_high] = rows[i];
    y_low = 0;
    for (std::size_t below = 0; below < s; ++below)
      if (!plot.series[below].is_reference) y_low += plot.series[below].y[i];
    y = y_high = y_low + plot.series[s].y[i];
  }
  return rows;
}

Rows category_rows(const Plot& plot, std::size_t s) {
  const PlotSeries& series = plot.series[s];
  Rows rows;
  for (std::size_t c = 0; c < std::min(plot.categories.size(), series.values.size()); ++c) {
    if (!series.values[c]) continue;
    const double value = *series.values[c];
    const auto [y, half] = slot_of(plot, c, s);
    if (plot.kind == PlotKind::kBars) {
      const double start = c < series.starts.size() ? series.starts[c] : 0;
      rows.push_back({start + value / 2, y, start, start + value, y - half, y + half});
      continue;
    }
    const bool has = c < series.intervals.size() && series.intervals[c];
    const Interval interval = has ? *series.intervals[c] : Interval{value, value};
    rows.push_back({value, y, interval.low, interval.high, y - half, y + half});
  }
  return rows;
}

Rows rows_of(const Plot& plot, std::size_t s) {
  if (plot.kind == PlotKind::kLines) return line_rows(plot.series[s]);
  return plot.kind == PlotKind::kAreas ? area_rows(plot, s) : category_rows(plot, s);
}

double right_end(const PlotSeries& series, std::size_t category) {
  const double start = category < series.starts.size() ? series.starts[category] : 0;
  return std::max(start, start + series.values[category].value_or(0));
}

std::string bar_labels(const Plot& plot) {
  std::string text;
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    for (std::size_t c = 0; c < plot.series[s].labels.size(); ++c)
      if (plot.series[s].values[c])
        text += fmt::format("set label {} at {:.17g},{:.17g} left offset 0.6,0 font ',11'\n",
                            quoted(plot.series[s].labels[c]), right_end(plot.series[s], c),
                            slot_of(plot, c, s).centre);
  return text;
}

std::string style_of(const Plot& plot, std::size_t s) {
  const char* colour = kColours[s % kColours.size()];
  // Every other line is dashed: two curves that lie on each other are both seen.
  const std::string line = fmt::format("lc rgb '{}' lw 2 dt {}", colour, s % 2 == 0 ? 1 : 2);
  if (plot.kind == PlotKind::kAreas)
    return plot.series[s].is_reference
               ? "using 1:2 with lines lw 2 dt 3 lc rgb '#222222'"
               : fmt::format("using 1:5:6 with filledcurves fs solid 0.85 noborder lc rgb '{}'",
                             colour);
  if (plot.kind == PlotKind::kBars)
    return fmt::format("using 1:2:3:4:5:6 with boxxyerror fs solid 0.85 noborder lc rgb '{}'",
                       colour);
  if (plot.series[s].is_reference)
    return "using 1:5:(0):($6-$5) with vectors nohead lw 2 dt 3 lc rgb '#555555'";
  if (plot.kind == PlotKind::kIntervals)
    return fmt::format("using 1:2:3:4 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb '{}'", colour);
  if (plot.series[s].with_points) return "using 1:2 with linespoints pt 7 ps 0.5 " + line;
  return "using 1:2 with lines " + line;
}

}  // namespace

std::string plot_terminal(const Plot& plot, PlotFormat format) {
  if (format == PlotFormat::kSvg)
    return fmt::format(
        "set terminal svg size {},{} dynamic noenhanced font 'sans-serif,13' background rgb "
        "'white'\n",
        kWidth, height_of(plot));
  // Inches: the same proportions at 110 pixels an inch, so that 13 pixels are 9 points.
  return fmt::format(
      "set terminal pdfcairo size {:.2f}in,{:.2f}in noenhanced font 'sans-serif,9'\n",
      kWidth / 110.0, height_of(plot) / 110.0);
}

PlotScript plot_script(const Plot& plot) {
  PlotScript script;
  script.commands = frame(plot);
  script.commands += is_over_x(plot) ? value_axis(plot) : category_axis(plot);
  if (plot.kind == PlotKind::kBars) {
    double largest = 0, smallest = 0;
    for (const PlotSeries& series : plot.series)
      for (std::size_t i = 0; i < series.values.size(); ++i) {
        largest = std::max(largest, right_end(series, i));
        const double start = i < series.starts.size() ? series.starts[i] : 0;
        smallest = std::min(smallest, start + std::min(0.0, series.values[i].value_or(0)));
      }
    // Room on the right for the labels.
    const double end = smallest < 0 ? largest + 0.22 * (largest - smallest) : largest * 1.22;
    script.commands +=
        fmt::format("set xrange [{:.17g}:{:.17g}]\n", smallest, end > smallest ? end : 1);
    script.commands += bar_labels(plot);
  }
  std::string parts;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    Rows rows = rows_of(plot, s);
    if (rows.empty()) continue;
    parts += fmt::format("{}'-' {} title {}", parts.empty() ? "plot " : ", ", style_of(plot, s),
                         quoted(plot.series[s].title));
    script.data.push_back(std::move(rows));
  }
  script.commands += parts.empty() ? "" : parts + "\n";
  return script;
}

}  // namespace nb
