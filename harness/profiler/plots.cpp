#include "harness/profiler/plots.hpp"

#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

void add_bar(PlotSeries& series, double start, double value, std::string label) {
  series.starts.push_back(start);
  series.values.emplace_back(value);
  series.labels.push_back(std::move(label));
}

}  // namespace

Plot parts_plot(const Analysis& analysis, Language language) {
  Plot plot;
  plot.name = "profile";
  plot.title = analysis.profile->source;
  plot.x_label = "ms";
  plot.kind = PlotKind::kBars;
  plot.is_one_row = true;
  constexpr const char* kKeys[] = {"sum.computing", "sum.not_overlapped", "sum.copies", "sum.free"};
  for (const char* key : kKeys) plot.series.emplace_back().title = word(key, language);
  for (const RankFigures& one : analysis.figures) {
    if (!one.has_parts()) continue;
    plot.categories.push_back("rank " + std::to_string(one.rank->rank));
    const Parts& parts = one.parts();
    const std::int64_t times[] = {parts.computing_ns, parts.not_overlapped_ns, parts.copies_ns,
                                  parts.free_ns};
    std::int64_t start_ns = 0;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
      // The whole, behind the last part.
      add_bar(plot.series[i], ms(start_ns), ms(times[i]),
              i + 1 < plot.series.size() ? "" : milliseconds_text(start_ns + times[i]));
      start_ns += times[i];
    }
  }
  return plot;
}

Plot waterfall_plot(const Waterfall& waterfall, Language language) {
  Plot plot;
  plot.name = "waterfall";
  plot.title = "B − A " + milliseconds_text(waterfall.b_ns - waterfall.a_ns) + " ms";
  plot.x_label = "ms";
  plot.kind = PlotKind::kBars;
  plot.is_one_row = true;
  for (const char* key : {"plot.whole", "plot.longer", "plot.shorter"})
    plot.series.emplace_back().title = word(key, language);
  // Each part begins where the one before it ended.
  const auto add = [&](const std::string& category, std::size_t at, std::int64_t start_ns,
                       std::int64_t time_ns) {
    plot.categories.push_back(category);
    for (PlotSeries& series : plot.series) {
      series.starts.push_back(ms(start_ns));
      series.values.emplace_back();
      series.labels.emplace_back();
    }
    plot.series[at].values.back() = ms(time_ns);
    plot.series[at].labels.back() = milliseconds_text(time_ns);
  };
  add("A", 0, 0, waterfall.a_ns);
  std::int64_t sum_ns = waterfall.a_ns;
  for (const WaterfallPart& part : waterfall.parts) {
    const std::int64_t time_ns = part.difference_ns();
    add(word(part.key, language), time_ns < 0 ? 2 : 1, sum_ns, time_ns);
    sum_ns += time_ns;
  }
  add("B", 0, 0, waterfall.b_ns);
  return plot;
}

}  // namespace nb::profiler
