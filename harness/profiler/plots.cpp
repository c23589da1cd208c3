#include "harness/profiler/plots.hpp"

namespace nb::profiler {
namespace {

double ms(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1e6; }

}  // namespace

Plot parts_plot(const Analysis& analysis, Language language) {
  Plot plot;
  plot.name = "profile";
  plot.title = analysis.profile->source;
  plot.x_label = "ms";
  plot.kind = PlotKind::kBars;
  constexpr const char* kKeys[] = {"sum.computing", "sum.not_overlapped", "sum.copies", "sum.free"};
  for (const char* key : kKeys) plot.series.emplace_back().title = word(key, language);
  for (const RankFigures& one : analysis.figures) {
    if (!one.has_parts()) continue;
    plot.categories.push_back("rank " + std::to_string(one.rank->rank));
    const Parts& parts = one.parts();
    const std::int64_t times[] = {parts.computing_ns, parts.not_overlapped_ns, parts.copies_ns,
                                  parts.free_ns};
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
      plot.series[i].values.emplace_back(ms(times[i]));
      plot.series[i].labels.push_back(milliseconds_text(times[i]));
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
  plot.series.emplace_back().title = "B − A";
  for (const WaterfallPart& part : waterfall.parts) {
    plot.categories.push_back(word(part.key, language));
    plot.series[0].values.emplace_back(ms(part.difference_ns()));
    plot.series[0].labels.push_back(milliseconds_text(part.difference_ns()));
  }
  return plot;
}

}  // namespace nb::profiler
