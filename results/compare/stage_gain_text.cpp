#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "results/compare/stage_gain.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

// "gsm8k"; of a table of several models "gsm8k of GPU".
std::vector<std::string> metrics_that_are(const StageGains& gains, Shown shown) {
  const bool several = std::ranges::any_of(gains.gains, [&](const StageGain& gain) {
    return gain.evaluation != gains.gains.front().evaluation;
  });
  std::vector<std::string> names;
  for (const StageGain& gain : gains.gains) {
    if (gain.shown != shown) continue;
    names.push_back(metric::shown_name(gain.metric));
    if (gains.imported && several) names.back() += " of " + gain.evaluation;
  }
  return names;
}

std::int64_t tested(const StageGains& gains, bool parts) {
  return std::ranges::count_if(
      gains.gains, [&](const StageGain& gain) { return gain.p && gain.is_part == parts; });
}

std::string verdict_text(const StageGain& gain) {
  switch (gain.shown) {
    case Shown::kBetter:
      return "better";
    case Shown::kWorse:
      return "worse";
    case Shown::kEqual:
      return "equal";
    default:
      break;
  }
  return gain.p ? "not shown" : "not tested";
}

std::string note_of(const StageGain& gain) {
  if (gain.shown == Shown::kNotShown && gain.min_detectable)
    return fmt::format("a change of {} would have shown",
                       rounded_value(*gain.min_detectable, gain.unit));
  return "";
}

// What was compared, and by what.
std::string method_text(const StageGains& gains) {
  if (gains.imported)
    return "One checkpoint a stage, so another training may differ; without answers to items an "
           "unpaired test, which misses what a paired one would see";
  return fmt::format("{} on {}; {}", count_text(static_cast<std::int64_t>(gains.seeds), "seed"),
                     fmt::join(gains.devices, ", "),
                     gains.seeds > 1 ? "means over devices, paired by seed (t test)"
                                     : "one seed: paired items (mid-p McNemar) of these "
                                       "checkpoints alone, another training may differ");
}

// "sft.chat"; of an imported one "d32.sft".
std::string evaluation_text(const StageGains& gains, const std::string& stage,
                            const std::string& evaluation) {
  if (evaluation.empty()) return stage;
  return gains.imported ? fmt::format("{}.{}", evaluation, stage)
                        : fmt::format("{}.{}", stage, evaluation);
}

std::string families_text(const StageGains& gains) {
  std::string text = count_text(tested(gains, false), "metric");
  if (const std::int64_t parts = tested(gains, true); parts > 0)
    text += fmt::format(" and, apart, over {} of them", count_text(parts, "part"));
  return text;
}

}  // namespace

std::string stage_headline(const StageGains& gains) {
  const auto better = metrics_that_are(gains, Shown::kBetter),
             worse = metrics_that_are(gains, Shown::kWorse);
  if (gains.gains.empty())
    return fmt::format("{} and {}: nothing that both evaluated can be compared", gains.stage_a,
                       gains.stage_b);
  std::string text = fmt::format("{} after {}: ", gains.stage_b, gains.stage_a);
  text += better.empty() ? "better in none" : fmt::format("better in {}", fmt::join(better, ", "));
  text += worse.empty() ? "; worse in none" : fmt::format("; worse in {}", fmt::join(worse, ", "));
  const std::size_t left = gains.gains.size() - better.size() - worse.size();
  if (left > 0) text += fmt::format("; not established in {}", left);
  return text;
}

std::string stage_gains_text(const StageGains& gains) {
  std::string text = wrapped(stage_headline(gains), 2);
  text +=
      wrapped(fmt::format("{}; Holm over {}. Settings are not compared: stages differ by design.",
                          method_text(gains), families_text(gains)),
              2);
  std::string evaluation;
  std::vector<NarrowRow> rows;
  const auto flush = [&] {
    if (rows.empty()) return;
    text += "\n" + wrapped(evaluation_text(gains, gains.stage_a, evaluation) + ", " +
                           evaluation_text(gains, gains.stage_b, evaluation));
    text += narrow_table(
        {"metric", gains.stage_a, gains.stage_b, "difference", "95 % interval", "p (Holm)", ""},
        rows);
    rows.clear();
  };
  for (const StageGain& gain : gains.gains) {
    if (gain.evaluation != evaluation) flush();
    evaluation = gain.evaluation;
    rows.push_back({{metric::shown_name(gain.metric), plain_value(mean(gain.a), gain.unit),
                     plain_value(mean(gain.b), gain.unit), plain_signed(gain.difference, gain.unit),
                     gain.interval95 ? interval_text(*gain.interval95, gain.unit) : "—",
                     gain.p_holm ? p_text(*gain.p_holm) : "—", verdict_text(gain)},
                    note_of(gain)});
  }
  flush();
  for (const std::string& note : gains.notes) text += wrapped(note, 2);
  for (const std::string& one : gains.damaged) text += wrapped(one, 4, "  damaged or failed: ");
  return text;
}

Json stage_gains_json(const StageGains& gains) {
  Json rows = Json::array();
  for (const StageGain& gain : gains.gains)
    rows.push_back({{"evaluation", gain.evaluation},
                    {"metric", gain.metric},
                    {"unit", gain.unit},
                    {"n", gain.n},
                    {"seeds", gain.seeds},
                    {"a", gain.a},
                    {"b", gain.b},
                    {"difference", gain.difference},
                    {"interval95", interval_json(gain.interval95)},
                    {"p", optional_json(gain.p)},
                    {"p_holm", optional_json(gain.p_holm)},
                    {"is_part", gain.is_part},
                    {"detectable", optional_json(gain.min_detectable)},
                    {"verdict", verdict_text(gain)}});
  return {{"schema", "npubench.stages/1"},
          {"first_line", stage_headline(gains)},
          {"stages", {gains.stage_a, gains.stage_b}},
          {"devices", gains.devices},
          {"gains", rows},
          {"notes", gains.notes},
          {"damaged", gains.damaged}};
}

}  // namespace nb
