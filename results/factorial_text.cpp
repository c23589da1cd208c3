#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/factorial.hpp"
#include "results/format.hpp"
#include "results/narrow_text.hpp"

namespace nb {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHJKLM";

std::string roman(std::size_t number) {
  constexpr std::string_view kNumerals[] = {"",    "I",    "II", "III", "IV", "V",  "VI",
                                            "VII", "VIII", "IX", "X",   "XI", "XII"};
  return std::string(kNumerals[number]);
}

std::string percent(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", std::fabs(value), decimals);
  const bool is_zero = text.find_first_not_of("0.") == text.npos;
  return (value < 0 && !is_zero ? "−" : "") + text;
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

Json estimate_json(const EffectEstimate& one) {
  return {{"effect", one.value},
          {"interval95", interval_json(one.interval95)},
          {"share", one.share ? Json(*one.share) : Json()},
          {"share_interval95", interval_json(one.share95)}};
}

}  // namespace

std::string alias_text(const Factorial& f) {
  std::string text = fmt::format("{} arms", f.arms.size());
  if (f.aliases.words.empty())
    return text + ": all combinations of the factors, so that no effect contains another";
  std::string all = "I";
  for (const std::string& word : f.aliases.words) all += " = " + word;
  text += fmt::format(" of {}, resolution {}: {}. ", std::size_t{1} << f.factors.size(),
                      roman(f.aliases.resolution), all);
  text += "Aliased, so that one cannot be told from the other: ";
  for (std::size_t i = 0; i < f.factors.size(); ++i)
    if (const auto& others = f.aliases.of_factor[i]; !others.empty())
      text += fmt::format("{} with {}; ", kLetters[i], fmt::join(others, ", "));
  for (const auto& group : f.aliases.pairs) text += fmt::format("{}; ", fmt::join(group, " with "));
  text.resize(text.size() - 2);
  if (f.aliases.resolution == 4)
    text +=
        ". A factor's effect contains no interaction of two factors, and such interactions drop "
        "out "
        "of the gap";
  return text;
}

std::vector<EffectRow> effect_rows(const Factorial& f, const MetricEffects& m) {
  const EffectTable& t = m.table;
  std::vector<EffectRow> rows;
  // Shares are rounded to a tenth of a percent; what rounding leaves falls to the last row, so that
  // what is printed adds up.
  long tenths_left = 1000;
  const auto row_of = [&](std::string name, const EffectEstimate& one) {
    EffectRow row{std::move(name), plain_signed(one.value, m.unit), "—", "—", "—"};
    if (one.interval95) row.interval = interval_text(*one.interval95, m.unit);
    if (one.share95)
      row.share_interval = fmt::format("[{}, {}]", percent(100 * one.share95->low, 0),
                                       percent(100 * one.share95->high, 0));
    return row;
  };
  const auto share_text = [](long tenths) {
    return percent(static_cast<double>(tenths) / 10, 1) + " %";
  };
  for (std::size_t i = 0; i < f.factors.size(); ++i) {
    rows.push_back(row_of(fmt::format("{} {}", kLetters[i], f.factors[i]), t.effects[i]));
    if (!t.effects[i].share) continue;
    const long tenths = std::lround(1000 * *t.effects[i].share);
    tenths_left -= tenths;
    rows.back().share = share_text(tenths);
  }
  rows.push_back(row_of("interactions and noise", t.rest));
  if (t.rest.share) rows.back().share = share_text(tenths_left);
  rows.push_back(row_of("all of them: the gap", t.gap));
  if (t.gap.share) rows.back().share = share_text(1000);
  rows.back().share_interval = "";
  return rows;
}

std::string effects_caption(const Factorial& f, const MetricEffects& m) {
  const char* better = m.direction == Direction::kLower ? "lower" : "higher";
  std::string text = fmt::format("{} {}{}, {} is better: {} {}, {} {}", m.node, m.metric,
                                 has_plain_unit(m.unit) ? " (" + m.unit + ")" : "", better,
                                 f.arms.front(), plain_value(m.table.low, m.unit), f.arms.back(),
                                 plain_value(m.table.high, m.unit));
  if (m.table.df == 0) return text + "; one seed, so no intervals";
  return text + fmt::format("; SD of one training {}, {} degrees of freedom",
                            rounded_value(m.table.sd, m.unit), m.table.df);
}

std::string factorial_text(const Factorial& f) {
  std::string text = wrapped(fmt::format(
      "main effects of {} factors on emulated devices: high minus low, and its share of "
      "the emulated gap between {} (all low) and {} (all high)",
      f.factors.size(), f.arms.front(), f.arms.back()));
  text += wrapped(alias_text(f), 2, "  ");
  for (const MetricEffects& m : f.metrics) {
    text += "\n" + wrapped(effects_caption(f, m));
    std::vector<NarrowRow> rows;
    for (const EffectRow& row : effect_rows(f, m))
      rows.push_back({{row.name, row.effect, row.interval, row.share, row.share_interval}, ""});
    text += narrow_table({"factor", "high − low", "95 % interval", "share", "95 %, %"}, rows);
  }
  if (!f.metrics.empty()) text += "\n" + wrapped(kEffectsMethod);
  for (const std::string& note : f.notes) text += wrapped(note, 4, "  ");
  for (const std::string& one : f.damaged) text += wrapped(one, 4, "  damaged or failed: ");
  return text;
}

Json factorial_json(const Factorial& f) {
  Json arms = Json::array(), metrics = Json::array();
  for (std::size_t a = 0; a < f.arms.size(); ++a) {
    Json levels = Json::object();
    for (std::size_t i = 0; i < f.factors.size(); ++i)
      levels[f.factors[i]] = f.levels[a][i] ? "high" : "low";
    arms.push_back({{"device", f.arms[a]}, {"levels", levels}});
  }
  for (const MetricEffects& m : f.metrics) {
    Json effects = Json::array();
    for (std::size_t i = 0; i < f.factors.size(); ++i) {
      Json one = estimate_json(m.table.effects[i]);
      one["factor"] = f.factors[i];
      effects.push_back(std::move(one));
    }
    metrics.push_back({{"node", m.node},
                       {"metric", m.metric},
                       {"unit", m.unit},
                       {"direction", name(m.direction)},
                       {"seeds", m.seeds},
                       {"low", m.table.low},
                       {"high", m.table.high},
                       {"gap", estimate_json(m.table.gap)},
                       {"effects", effects},
                       {"interactions_and_noise", estimate_json(m.table.rest)},
                       {"sd", m.table.sd},
                       {"degrees_of_freedom", m.table.df}});
  }
  Json aliased = Json::object();
  for (std::size_t i = 0; i < f.factors.size(); ++i) aliased[f.factors[i]] = f.aliases.of_factor[i];
  return {{"emulated", true},
          {"factors", f.factors},
          {"low_arm", f.arms.front()},
          {"high_arm", f.arms.back()},
          {"arms", arms},
          {"design",
           {{"words", f.aliases.words},
            {"resolution", f.aliases.resolution},
            {"aliases", aliased},
            {"aliased_pairs", f.aliases.pairs}}},
          {"metrics", metrics},
          {"notes", f.notes},
          {"damaged", f.damaged}};
}

}  // namespace nb
