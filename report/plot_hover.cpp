// What a point says under the mouse: browsers show the <title> of an SVG's element, without a
// script.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "report/markup.hpp"
#include "report/plot.hpp"

namespace nb {
namespace {

constexpr std::size_t kMostPoints = 100;  // of a series: each takes 200 bytes of the page

std::string number_text(double value) {
  const std::string text = fmt::format("{:.5g}", value);
  return text.starts_with('-') ? "−" + text.substr(1) : text;
}

std::string place_on_x(const Plot& plot, double x) {
  if (plot.x_tics.empty()) return plot.x_label + " " + number_text(x);
  const auto tic =
      std::ranges::find_if(plot.x_tics, [&](const auto& one) { return one.first == x; });
  return tic == plot.x_tics.end() ? "" : tic->second;
}

std::string text_of_point(const Plot& plot, std::size_t s, std::size_t i) {
  if (s >= plot.series.size()) return "";
  const PlotSeries& series = plot.series[s];
  if (is_over_x(plot)) {
    if (i >= series.x.size() || i >= series.y.size()) return "";
    const std::string place = place_on_x(plot, series.x[i]);
    return fmt::format("{}{}{}: {}", series.title, place.empty() ? "" : ", ", place,
                       number_text(series.y[i]));
  }
  if (i >= plot.categories.size() || i >= series.values.size() || !series.values[i]) return "";
  std::string text = fmt::format("{}, {}: ", plot.categories[i], series.title);
  if (i < series.labels.size()) return text + series.labels[i];
  text += number_text(*series.values[i]);
  if (i < series.intervals.size() && series.intervals[i])
    text += fmt::format(" [{}, {}]", number_text(series.intervals[i]->low),
                        number_text(series.intervals[i]->high));
  return text;
}

std::size_t number_at(std::string_view text, std::size_t& at) {
  std::size_t number = 0;
  at = static_cast<std::size_t>(
      std::from_chars(text.data() + at, text.data() + text.size(), number).ptr - text.data());
  return number;
}

}  // namespace

// gnuplot writes the numbers of series and point, which svg_with_hover replaces.
void add_hover(PlotScript& script, const Plot& plot) {
  if (script.data.empty()) return;
  script.commands.erase(script.commands.find_last_not_of('\n') + 1);
  std::size_t drawn = 0;  // series without values are not
  const std::vector<std::vector<std::array<double, 6>>> data = script.data;
  for (std::size_t s = 0; s < plot.series.size() && drawn < data.size(); ++s) {
    const auto& series = plot.series[s];
    const bool is_line = is_over_x(plot);
    std::vector<std::size_t> points;  // the indices of its rows
    for (std::size_t i = 0; i < (is_line ? std::min(series.x.size(), series.y.size())
                                         : std::min(plot.categories.size(), series.values.size()));
         ++i)
      if (is_line || series.values[i]) points.push_back(i);
    if (points.empty()) continue;
    const auto& rows = data[drawn++];
    if (series.is_reference) continue;
    const std::size_t stride = (points.size() + kMostPoints - 1) / kMostPoints;
    std::vector<std::array<double, 6>> marks;
    for (std::size_t row = 0; row < rows.size(); row += stride)
      marks.push_back({rows[row][0], rows[row][1], static_cast<double>(points[row]), 0, 0, 0});
    script.commands += fmt::format(
        ", '-' using 1:2:(sprintf('%d.%d',{},$3)) with labels hypertext point pt 7 ps 1.2 lc rgb "
        "'#ff000000' notitle",
        s);
    script.data.push_back(std::move(marks));
  }
  script.commands += "\n";
}

std::string svg_with_hover(const std::string& svg, const Plot& plot) {
  constexpr std::string_view kBegin = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";
  constexpr std::string_view kTitle = "<title> </title>";
  std::string text;
  std::size_t at = 0;
  for (std::size_t begin; (begin = svg.find(kBegin, at)) != svg.npos;) {
    text += std::string_view(svg).substr(at, begin - at);
    std::size_t number = begin + kBegin.size();
    const std::size_t s = number_at(svg, number);
    ++number;  // the point between them
    const std::size_t i = number_at(svg, number);
    at = svg.find(kTitle, number);
    if (at == svg.npos) return svg;  // another gnuplot writes it differently
    at += kTitle.size();
    text += "<g><title>" + markup_escaped(text_of_point(plot, s, i)) + "</title>";
  }
  return text + svg.substr(at);
}

}  // namespace nb
