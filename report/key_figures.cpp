#include "report/key_figures.hpp"

#include <fmt/format.h>

#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

std::string times(double ratio) { return fmt::format("{:.3g} ×", ratio); }

const Cost* cost_of(const Comparison& c, const char* metric) {
  const Cost* first = nullptr;
  for (const Cost& cost : c.costs) {
    if (cost.metric != metric || cost.b <= 0) continue;
    if (cost.place.starts_with("train ")) return &cost;
    if (first == nullptr) first = &cost;
  }
  return first;
}

std::string clock_of(const Words& say, Clock clock) {
  if (clock == Clock::kSim) return say("on_sim_clock");
  return clock == Clock::kHost ? say("on_host_clock") : say("on_device_clock");
}

void add_quality(KeyFigures& figures, const Words& say, const Comparison& c,
                 const HeadNames& names) {
  double a = 0, b = 0;
  std::size_t n = 0;
  for (const Score& score : c.scores)
    if (score.is_share && score.a && score.b && score.direction == Direction::kHigher)
      a += *score.a, b += *score.b, ++n;
  if (n > 0 && a > 0)
    figures.figures.push_back(
        {fmt::format("{:.1f} %", 100 * b / a),
         n == 1 ? say("figure_quality_one", names.a) : say("figure_quality", names.a, n)});
}

void add_answers(KeyFigures& figures, const Words& say, const Comparison& c) {
  std::int64_t lost = 0, won = 0, items = 0;
  for (const RecordPair& pair : c.pairs)
    for (const ItemComparison& one : pair.items) {
      lost += one.counts.only_a;
      won += one.counts.only_b;
      items += one.counts.n();
    }
  if (items > 0)
    figures.figures.push_back({say("figure_answers", with_commas(lost + won), with_commas(items)),
                               say("figure_lost_won", with_commas(lost), with_commas(won))});
}

}  // namespace

KeyFigures key_figures(const Words& say, const Comparison& c, const HeadNames& names) {
  KeyFigures figures;
  if (const Cost* step = cost_of(c, metric::kStepTime))
    figures.figures.push_back({times(1 / step->ratio()), say("figure_speed", names.a, step->place,
                                                             clock_of(say, step->clock))});
  if (const Cost* memory = cost_of(c, metric::kPeakMemory))
    figures.figures.push_back(
        {times(memory->ratio()), say("figure_memory", names.a, memory->place)});
  if (c.scores.empty()) return figures;  // answers that may not be judged are not counted either
  add_quality(figures, say, c, names);
  add_answers(figures, say, c);
  return figures;
}

}  // namespace nb
