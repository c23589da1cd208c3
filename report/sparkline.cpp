#include "report/sparkline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/markup.hpp"

namespace nb {
namespace {

constexpr double kWidth = 150, kHeight = 26, kEdge = 3;

// From 0, the lowest, to 1; .5 where all are equal.
double share_of(double value, std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high > *low ? (value - *low) / (*high - *low) : .5;
}

double x_of(std::size_t i, std::size_t count) {
  const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : .5;
  return kEdge + share * (kWidth - 2 * kEdge);
}

}  // namespace

std::string sparkline_text(std::span<const double> values, std::size_t most) {
  constexpr std::array<const char*, 7> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇"};
  values = values.last(std::min(most, values.size()));
  std::string text;
  for (const double value : values)
    text += kBlocks[static_cast<std::size_t>(std::lround(share_of(value, values) * 6))];
  return text;
}

std::string sparkline_svg(std::span<const double> values, std::span<const std::size_t> changes,
                          const std::string& label) {
  if (values.empty()) return {};
  const auto y_of = [&](double value) {
    return kHeight - kEdge - share_of(value, values) * (kHeight - 2 * kEdge);
  };
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i)
    points +=
        fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x_of(i, values.size()), y_of(values[i]));
  std::string svg = fmt::format(
      "<svg class=spark width={0} height={1} viewBox=\"0 0 {0} {1}\" role=img aria-label=\"{2}\">",
      kWidth, kHeight, markup_escaped(label));
  for (const std::size_t change : changes) {
    const double x = (x_of(change, values.size()) + x_of(change - 1, values.size())) / 2;
    svg += fmt::format(
        "<line x1={0:.1f} y1=0 x2={0:.1f} y2={1} stroke=currentColor stroke-dasharray=\"2 2\"/>", x,
        kHeight);
  }
  svg += fmt::format("<polyline points=\"{}\" fill=none stroke=currentColor stroke-width=1.5 />",
                     points);
  return svg + fmt::format("<circle cx={:.1f} cy={:.1f} r=2.5 fill=currentColor /></svg>",
                           x_of(values.size() - 1, values.size()), y_of(values.back()));
}

std::string interval_svg(double value, const std::optional<Interval>& interval, double scale,
                         const std::string& label) {
  const auto x = [&](double at) {
    const double share = std::clamp(at / scale, -1.0, 1.0);
    return kWidth / 2 + share * (kWidth / 2 - kEdge);
  };
  std::string svg = fmt::format(
      "<svg class=spark width={0} height={1} viewBox=\"0 0 {0} {1}\" role=img aria-label=\"{2}\">"
      "<line x1={3} y1=0 x2={3} y2={1} stroke=currentColor stroke-dasharray=\"2 2\"/>",
      kWidth, kHeight, markup_escaped(label), kWidth / 2);
  if (interval)
    svg += fmt::format(
        "<line x1={0:.1f} y1={2} x2={1:.1f} y2={2} stroke=currentColor stroke-width=2 />",
        x(interval->low), x(interval->high), kHeight / 2);
  return svg + fmt::format("<circle cx={:.1f} cy={} r=3.5 fill=currentColor /></svg>", x(value),
                           kHeight / 2);
}

}  // namespace nb
