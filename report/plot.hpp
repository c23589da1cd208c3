// Plots as values, the gnuplot commands they become, and drawing them to SVG and PDF. Only
// gnuplot.cpp knows how gnuplot is run; everything else is text and can be tested without it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "results/stats/stats.hpp"

namespace nb {

// kAreas: values of the series on top of each other, the first at the bottom; a reference is a
// line.
enum class PlotKind { kLines, kAreas, kBars, kIntervals };

struct PlotSeries {
  std::string title;                               // legend
  std::vector<double> x, y;                        // kLines; kAreas: the same x in all
  bool with_points = false;                        // kLines: few values, mark them
  std::vector<std::optional<double>> values;       // kBars, kIntervals: one per category
  std::vector<std::optional<Interval>> intervals;  // kIntervals: of the value itself
  bool is_reference = false;  // kIntervals: a mark across the whole category ("chance"), not a row
                              // of its own; kAreas: a line ("capacity")
  std::vector<std::string> labels;  // kBars: text at the end of each bar
  std::vector<double> starts;       // kBars: where each bar begins; empty: all at 0
};

struct Plot {
  std::string name;  // file name without folder and extension
  std::string title;
  std::string x_label, y_label;  // with unit: "step", "validation loss (bit/byte)"
  PlotKind kind = PlotKind::kLines;
  std::vector<std::string> categories;  // kBars, kIntervals: top to bottom
  bool is_one_row = false;  // kBars: all series of a category lie in one row, one behind the other
  std::vector<PlotSeries> series;
  std::string note;  // one sentence below the plot
  // kLines: tics at powers of 2, where every value is above 0; else it is as if not asked for.
  bool is_log_y = false;
  std::vector<std::pair<double, std::string>> x_tics;  // kLines: in place of numbers
};

inline bool is_over_x(const Plot& plot) {
  return plot.kind == PlotKind::kLines || plot.kind == PlotKind::kAreas;
}

// Commands that end in one plot command reading inline data, and the data: rows of x, y, x low, x
// high, y low, y high.
struct PlotScript {
  std::string commands;
  std::vector<std::vector<std::array<double, 6>>> data;
};
// A pure function of the plot. Empty data (nothing to draw) for a plot without any value.
PlotScript plot_script(const Plot& plot);

enum class PlotFormat { kSvg, kPdf };
// The "set terminal" line that comes before these commands.
std::string plot_terminal(const Plot& plot, PlotFormat format);
// What gnuplot drew, with the plot's own title and those of its series where gnuplot writes
// "Gnuplot" and "gnuplot_plot_1": browsers show them, screen readers read them.
std::string svg_with_titles(std::string svg, const Plot& plot);
// Points that say their value under the mouse: added to an SVG's script, and put into what gnuplot
// drew of it.
void add_hover(PlotScript& script, const Plot& plot);
std::string svg_with_hover(const std::string& svg, const Plot& plot);

// Is that program there and does it answer --version?
bool has_gnuplot(const std::string& program);
// Draws <stem>.svg and <stem>.pdf; the error carries gnuplot's own message. `program` must be
// has_gnuplot.
Result<void> draw_plot(const Plot& plot, const std::filesystem::path& stem,
                       const std::string& program);
// By the file's extension; another than .svg and .pdf: bad_input.
Result<PlotFormat> plot_format_of(const std::filesystem::path& file);
// Draws this file alone, whole or not at all; looks for the program itself.
Result<void> draw_plot_file(const Plot& plot, const std::filesystem::path& file,
                            const std::string& program);

}  // namespace nb
