#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "results/compare/factorial.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

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

Json estimate_json(const EffectEstimate& one) {
  return {{"effect", one.value},
          {"interval95", interval_json(one.interval95)},
          {"share", optional_json(one.share)},
          {"share_interval95", interval_json(one.share95)}};
}

}  // namespace

Sentence alias_sentence(const Factorial& f) {
  if (f.aliases.words.empty()) return message("effects.full_design", f.configurations.size());
  std::string all = "I";
  for (const std::string& word : f.aliases.words) all += " = " + word;
  std::vector<Sentence> aliased;
  const auto add = [&](const std::vector<std::string>& names) {
    std::vector<Sentence> parts;
    for (const std::string& name : names) parts.push_back(verbatim(name));
    aliased.push_back(joined("join.with", std::move(parts)));
  };
  for (std::size_t i = 0; i < f.factors.size(); ++i)
    if (const auto& others = f.aliases.of_factor[i]; !others.empty())
      add({std::string(1, kLetters[i]), fmt::format("{}", fmt::join(others, ", "))});
  for (const auto& group : f.aliases.pairs) add(group);
  const std::size_t combinations = std::size_t{1} << f.factors.size();
  const std::string resolution = roman(f.aliases.resolution);
  Sentence list = joined("join.semicolon", std::move(aliased));
  return f.aliases.resolution == 4 ? message("effects.resolution_four", f.configurations.size(),
                                             combinations, resolution, all, std::move(list))
                                   : message("effects.part_design", f.configurations.size(),
                                             combinations, resolution, all, std::move(list));
}

std::vector<EffectRow> effect_rows(const Factorial& f, const MetricEffects& m) {
  const EffectTable& t = m.table;
  std::vector<EffectRow> rows;
  // Shares are rounded to a tenth of a percent; what rounding leaves falls to the last row, so that
  // what is printed adds up.
  long tenths_left = 1000;
  const auto row_of = [&](Sentence name, const EffectEstimate& one) {
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
    rows.push_back(row_of(verbatim(fmt::format("{} {}", kLetters[i], f.factors[i])), t.effects[i]));
    if (!t.effects[i].share) continue;
    const long tenths = std::lround(1000 * *t.effects[i].share);
    tenths_left -= tenths;
    rows.back().share = share_text(tenths);
  }
  rows.push_back(row_of(message("effects.rest"), t.rest));
  if (t.rest.share) rows.back().share = share_text(tenths_left);
  rows.push_back(row_of(message("effects.gap"), t.gap));
  if (t.gap.share) rows.back().share = share_text(1000);
  rows.back().share_interval = "";
  return rows;
}

Sentence effects_caption(const Factorial& f, const MetricEffects& m) {
  const std::string what =
      fmt::format("{} {}{}", m.node, m.metric, has_plain_unit(m.unit) ? " (" + m.unit + ")" : "");
  const std::string low = f.configurations.front() + " " + plain_value(m.table.low, m.unit);
  const std::string high = f.configurations.back() + " " + plain_value(m.table.high, m.unit);
  Sentence caption = m.direction == Direction::kLower
                         ? message("effects.lower_is_better", what, low, high)
                         : message("effects.higher_is_better", what, low, high);
  append(caption, m.table.df == 0 ? message("effects.one_seed")
                                  : message("effects.spread", rounded_value(m.table.sd, m.unit),
                                            fmt::format("{}", m.table.df)));
  return caption;
}

Sentence effects_method() { return message("effects.method"); }

std::string factorial_text(const Factorial& f) {
  std::string text = wrapped(fmt::format(
      "main effects of {} factors on emulated devices: high minus low, and its share of "
      "the emulated gap between {} (all low) and {} (all high)",
      f.factors.size(), f.configurations.front(), f.configurations.back()));
  text += wrapped(text_of(alias_sentence(f)), 2, "  ");
  for (const MetricEffects& m : f.metrics) {
    text += "\n" + wrapped(text_of(effects_caption(f, m)));
    std::vector<NarrowRow> rows;
    for (const EffectRow& row : effect_rows(f, m))
      rows.push_back(
          {{text_of(row.name), row.effect, row.interval, row.share, row.share_interval}, ""});
    text += narrow_table({"factor", "high − low", "95 % interval", "share", "95 %, %"}, rows);
  }
  if (!f.metrics.empty()) text += "\n" + wrapped(text_of(effects_method()));
  for (const Sentence& note : f.notes) text += wrapped(text_of(note), 4, "  ");
  for (const std::string& one : f.damaged) text += wrapped(one, 4, "  damaged or failed: ");
  return text;
}

Json factorial_json(const Factorial& f) {
  Json configurations = Json::array(), metrics = Json::array();
  for (std::size_t a = 0; a < f.configurations.size(); ++a) {
    Json levels = Json::object();
    for (std::size_t i = 0; i < f.factors.size(); ++i)
      levels[f.factors[i]] = f.levels[a][i] ? "high" : "low";
    configurations.push_back({{"device", f.configurations[a]}, {"levels", levels}});
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
          {"low_arm", f.configurations.front()},
          {"high_arm", f.configurations.back()},
          {"arms", configurations},
          {"design",
           {{"words", f.aliases.words},
            {"resolution", f.aliases.resolution},
            {"aliases", aliased},
            {"aliased_pairs", f.aliases.pairs}}},
          {"metrics", metrics},
          {"notes", texts_of(f.notes)},
          {"notes_message", json_of(f.notes)},
          {"damaged", f.damaged}};
}

}  // namespace nb
