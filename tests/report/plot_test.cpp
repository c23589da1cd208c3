#include "report/plot.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Plot lines() {
  Plot plot;
  plot.name = "loss";
  plot.title = "it's \"base\": loss";
  plot.x_label = "step";
  plot.y_label = "loss (nat)";
  PlotSeries a, b;
  a.title = "ascend_910b3";
  a.x = {0, 1, 2};
  a.y = {5.5, 4.25, 4};
  b = a;
  b.title = "h100_sxm";
  b.with_points = true;
  plot.series = {a, b};
  return plot;
}

Plot bars() {
  Plot plot;
  plot.name = "memory";
  plot.title = "peak memory";
  plot.x_label = "GiB";
  plot.kind = PlotKind::kBars;
  plot.categories = {"base", "d20x8"};
  PlotSeries a, b;
  a.title = "ascend_910b3";
  a.values = {1.5, 40};
  a.labels = {"1.50 GiB", "40.0 GiB"};
  b.title = "h100_sxm";
  b.values = {std::nullopt, 30};
  b.labels = {"", "30.0 GiB"};
  plot.series = {a, b};
  return plot;
}

Plot intervals() {
  Plot plot;
  plot.name = "accuracy";
  plot.title = "accuracy";
  plot.x_label = "share";
  plot.kind = PlotKind::kIntervals;
  plot.categories = {"mw/facts"};
  PlotSeries a, chance;
  a.title = "h100_sxm";
  a.values = {0.5};
  a.intervals = {Interval{0.4, 0.6}};
  chance.title = "chance";
  chance.values = {0.25};
  chance.is_reference = true;
  plot.series = {a, chance};
  return plot;
}

std::string text_of(const PlotScript& script) {
  std::string text = script.commands;
  for (const auto& rows : script.data) {
    for (const auto& row : rows) {
      for (const double value : row) text += std::to_string(value) + " ";
      text += "\n";
    }
    text += "e\n";
  }
  return text;
}

TEST(PlotScript, IsWhatWasReviewed) {
  for (const auto& [file, plot] :
       {std::pair("report/plot_lines.txt", lines()), std::pair("report/plot_bars.txt", bars()),
        std::pair("report/plot_intervals.txt", intervals())})
    NB_EXPECT_GOLDEN(file, plot_terminal(plot, PlotFormat::kSvg) +
                               plot_terminal(plot, PlotFormat::kPdf) + text_of(plot_script(plot)));
}

TEST(PlotScript, QuotesTextAndLeavesOutMissingValues) {
  EXPECT_NE(plot_script(lines()).commands.find("set title 'it''s \"base\": loss'"),
            std::string::npos);
  EXPECT_EQ(plot_script(bars()).data.at(1).size(), 1U);
  Plot empty = lines();
  for (PlotSeries& series : empty.series) series.x.clear();
  EXPECT_TRUE(plot_script(empty).data.empty());
}

// Bars of one category must not overlap each other or the next category.
TEST(PlotScript, BarsKeepApart) {
  const PlotScript script = plot_script(bars());
  const auto& a = script.data[0][1];  // d20x8, first device: y low, y high at 4, 5
  const auto& b = script.data[1][0];
  EXPECT_GT(a[4], b[5]) << "the first device stands above the second";
  EXPECT_GT(script.data[0][0][4], a[5]) << "categories follow downwards";
}

// The third lies on the first two, not on the second alone; a reference on nothing.
TEST(PlotScript, AreasLieOnEachOther) {
  Plot plot;
  plot.kind = PlotKind::kAreas;
  for (const double y : {1, 2, 4, 9}) {
    PlotSeries& series = plot.series.emplace_back();
    series.x = {0, 1};
    series.y = {y, 10 * y};
    series.is_reference = y == 9;
  }
  const PlotScript script = plot_script(plot);
  ASSERT_EQ(script.data.size(), 4U);
  EXPECT_EQ(script.data[2][0], (std::array<double, 6>{0, 7, 0, 0, 3, 7}));
  EXPECT_EQ(script.data[2][1], (std::array<double, 6>{1, 70, 1, 1, 30, 70}));
  EXPECT_EQ(script.data[3][0][1], 9);
}

TEST(DrawPlot, DrawsAllKindsAsSvgAndPdf) {
  if (!has_gnuplot("gnuplot")) GTEST_SKIP() << "skipped: no gnuplot";
  const test::TempDir dir;
  for (const Plot& plot : {lines(), bars(), intervals()}) {
    const auto stem = dir / "it's a folder" / plot.name;
    const auto drawn = draw_plot(plot, stem, "gnuplot");
    ASSERT_TRUE(drawn) << drawn.error().message;
    const auto svg = read_file(stem.string() + ".svg");
    ASSERT_TRUE(svg);
    EXPECT_NE(svg->find("h100_sxm</text>"), std::string::npos) << "the legend";
    EXPECT_NE(svg->find("<title>h100_sxm</title>"), std::string::npos) << "the series' own name";
    EXPECT_EQ(svg->find("gnuplot_plot_"), svg->find("gnuplot_plot_1\""));
    EXPECT_EQ(svg->find("gnuplot_plot_1</title>"), std::string::npos);
    EXPECT_EQ(svg->find("onmousemove"), std::string::npos) << "no script";
    EXPECT_EQ(svg->find("<title>Gnuplot"), std::string::npos);
    const auto pdf = read_file(stem.string() + ".pdf");
    ASSERT_TRUE(pdf);
    EXPECT_TRUE(pdf->starts_with("%PDF-"));
    EXPECT_EQ(pdf->find("CreationDate"), std::string::npos) << "two reports would differ";
    EXPECT_FALSE(fs::exists(stem.string() + ".messages"));
  }
}

// Every value can be read under the mouse; of a long series a hundred.
TEST(DrawPlot, PointsSayTheirValueUnderTheMouse) {
  if (!has_gnuplot("gnuplot")) GTEST_SKIP() << "skipped: no gnuplot";
  const test::TempDir dir;
  const auto svg_of = [&](const Plot& plot) {
    EXPECT_TRUE(draw_plot(plot, dir / plot.name, "gnuplot"));
    return read_file(dir / (plot.name + ".svg")).value();
  };
  const auto count = [](const std::string& text, std::string_view part) {
    int times = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++times;
    return times;
  };
  Plot plot;
  plot.name = "long";
  plot.x_label = "step";
  PlotSeries series;
  series.title = "a <b>";
  for (int i = 0; i < 250; ++i) {
    series.x.push_back(i);
    series.y.push_back(-i / 8.0);
  }
  plot.series = {{}, series};  // the first has nothing to draw
  const std::string line = svg_of(plot);
  EXPECT_EQ(count(line, "<title>a &lt;b&gt;, step "), 84);
  EXPECT_NE(line.find("<title>a &lt;b&gt;, step 102: −12.75</title>"), line.npos);
  EXPECT_NE(svg_of(intervals()).find("<title>mw/facts, h100_sxm: 0.5 [0.4, 0.6]</title>"),
            std::string::npos);
  EXPECT_NE(svg_of(bars()).find("<title>d20x8, h100_sxm: 30.0 GiB</title>"), std::string::npos);
}

TEST(SvgTitles, AreThePlotsOwnAndEscaped) {
  const std::string svg = svg_with_titles(
      "<svg><title>Gnuplot</title><g id=\"gnuplot_plot_1\"><title>gnuplot_plot_1</title></g>"
      "<g id=\"gnuplot_plot_2\"><title>gnuplot_plot_2</title></g></svg>",
      lines());
  EXPECT_EQ(svg,
            "<svg><title>it&#39;s &quot;base&quot;: loss</title><g id=\"gnuplot_plot_1\"><title>"
            "ascend_910b3</title></g><g id=\"gnuplot_plot_2\"><title>h100_sxm</title></g></svg>");
}

TEST(DrawPlot, AGnuplotThatFailsIsAnErrorNotACrash) {
  const test::TempDir dir;
  EXPECT_FALSE(has_gnuplot((dir / "none").string()));
  const auto dead = draw_plot(lines(), dir / "a", "/bin/false");
  ASSERT_FALSE(dead);
  EXPECT_NE(dead.error().message.find("/bin/false did not draw it"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir / "a.svg"));
}

}  // namespace
}  // namespace nb
