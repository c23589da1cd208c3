#include <fmt/core.h>

#include "report/markup.hpp"
#include "report/plot.hpp"

namespace nb {
namespace {

void replace_first(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
}

}  // namespace

std::string svg_with_titles(std::string svg, const Plot& plot) {
  replace_first(svg, "<title>Gnuplot</title>", "<title>" + markup_escaped(plot.title) + "</title>");
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    replace_first(svg, fmt::format("<title>gnuplot_plot_{}</title>", i + 1),
                  "<title>" + markup_escaped(plot.series[i].title) + "</title>");
  constexpr std::string_view kOthers = "<title>gnuplot_plot_", kEnd = "</title>";  // plot_hover.cpp
  for (std::size_t at; (at = svg.find(kOthers)) != svg.npos;)
    svg.erase(at, svg.find(kEnd, at) + kEnd.size() - at);
  return svg;
}

}  // namespace nb
