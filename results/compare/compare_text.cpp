#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "results/compare/compare.hpp"
#include "results/compare/headline.hpp"
#include "results/compare/score_table.hpp"
#include "results/store/captured.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

std::string value_cell(const std::optional<double>& value, const std::string& unit) {
  return value ? plain_value(*value, unit) : "—";
}

std::string name_cell(const std::string& metric, const std::string& unit) {
  return has_plain_unit(unit) ? metric + " (" + unit + ")" : metric;
}

std::string could_see(const std::optional<double>& min_detectable, const std::string& unit) {
  return min_detectable ? fmt::format(" (a change of {} would have shown)",
                                      rounded_value(*min_detectable, unit))
                        : "";
}

std::string pair_title(const RecordPair& pair) {
  const Record &a = pair.a->record, &b = pair.b->record;
  return describe(a) == describe(b) ? describe(a) : describe(a) + "  |  " + describe(b);
}

std::string list_text(const std::string& title, std::span<const std::string> lines) {
  if (lines.empty()) return {};
  std::string text = "\n" + title + "\n";
  for (const std::string& line : lines) text += wrapped(line, 4, "  ");
  return text;
}

// "template:mmlu_anatomy" and 56 more of the kind are one: "template of 57 tasks".
std::string fields_text(const std::vector<std::string>& fields) {
  constexpr std::size_t kNamed = 3;
  const auto kind_of = [](const std::string& field) { return field.substr(0, field.find(':')); };
  std::vector<std::string> texts;
  for (const std::string& field : fields) {
    const auto of_kind =
        static_cast<std::size_t>(std::ranges::count(fields, kind_of(field), kind_of));
    const std::string text =
        of_kind > kNamed ? fmt::format("{} of {} tasks", kind_of(field), of_kind) : field;
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string confounder_text(const Comparison& c) {
  std::string text;
  if (c.pairs.empty() && c.unmatched.empty()) return text;
  const bool confounded =
      std::any_of(c.confounders.begin(), c.confounders.end(), [](const auto& x) {
        return x.category == "settings" || x.category == "data" || x.category == "code";
      });
  const bool imported = std::any_of(c.pairs.begin(), c.pairs.end(),
                                    [](const RecordPair& pair) { return pair.imported; });
  const auto model_alone = [](const Confounder& one) { return one.category == "model"; };
  if (imported && !confounded)
    text += wrapped(fmt::format("{}; stated alike by both sides: {}",
                                std::all_of(c.confounders.begin(), c.confounders.end(), model_alone)
                                    ? "no setting that both sides state differs"
                                    : "what differs besides the results, as far as both sides say",
                                fields_text(c.stated_equal)));
  else if (confounded)
    text += wrapped(
        "CONFOUNDED: settings, data or code differ, so no difference below can be attributed to "
        "the device alone");
  else if (!c.only_device_differs())
    text += wrapped("what differs besides the results, as far as it is known");
  else if (c.confounders.empty())
    text += "confounders: none; settings and code are equal\n";
  else
    text += "differences besides the results (settings and code are equal)\n";
  const auto any_pair = [&](auto is) { return std::ranges::any_of(c.pairs, is); };
  if (!imported && !c.stated_equal.empty() && any_pair([](const RecordPair& pair) {
        return is_captured(pair.a->record) || is_captured(pair.b->record);
      }))
    text += wrapped(fmt::format("{} settings that both sides state", c.stated_equal.size()), 12,
                    "  equal     ");
  for (const Sentence& sentence : c.unknown) text += wrapped(text_of(sentence), 4, "  unknown   ");
  for (const Confounder& one : c.confounders)
    text += wrapped(fmt::format("{}: {} → {} ({} pair{})", one.field, one.a, one.b,
                                one.where.size(), one.where.size() == 1 ? "" : "s") +
                        (one.named.empty() ? "" : ": " + text_of(one.named)),
                    12, fmt::format("  {:<9} ", one.category));
  return text;
}

// What stands below a row: its note, or what its difference shows.
std::string note_of(const MetricDifference& row, bool fixed_weights) {
  std::string text = text_of(row.note);
  if (row.counts && row.counts->only_a + row.counts->only_b == 0)
    return fmt::format("{}{}no score of {} changed", text, text.empty() ? "" : ": ",
                       row.counts->n());
  if (row.shown == Shown::kNotShown && row.counts && !row.note.empty() && fixed_weights)
    text +=
        std::string("; ") + std::string(name(row.shown)) + could_see(row.min_detectable, row.unit);
  if (text.empty() && row.shown == Shown::kNotShown && (fixed_weights || row.interval95))
    text = fixed_weights ? std::string(name(row.shown)) + could_see(row.min_detectable, row.unit)
                         : "these two checkpoints only";
  else if (text.empty() && row.clock != Clock::kSim &&
           (row.shown == Shown::kBetter || row.shown == Shown::kWorse))
    text = name(row.shown);
  if (row.counts)
    text +=
        fmt::format("{}{} lost, {} won of {}; p {}", text.empty() ? "" : ": ", row.counts->only_a,
                    row.counts->only_b, row.counts->n(), p_text(*row.p_two_sided));
  else if (row.of_tasks)
    text += (text.empty() ? "" : "; ") + text_of(row.method);
  return text;
}

// The interval, or the direction of an exact count.
std::string last_cell(const MetricDifference& row) {
  if (row.clock == Clock::kSim) return std::string(name(row.shown));
  return row.interval95 ? interval_text(*row.interval95, row.unit) : "";
}

constexpr const char* kClockTitle[] = {"", ", simulated", ", this computer's clock",
                                       ", the device's clock"};

// One table a clock: what a real clock measured never stands beside what was simulated.
std::string metrics_text(const RecordPair& pair) {
  std::string text;
  for (const Clock clock : {Clock::kNone, Clock::kSim, Clock::kHost, Clock::kDevice}) {
    std::vector<NarrowRow> rows;
    bool one_seed = false;
    for (const MetricDifference& row : pair.metrics) {
      if (row.clock != clock) continue;
      const bool fixed = pair.fixed_weights || pair.imported;
      one_seed |= row.shown == Shown::kNotShown && !fixed;
      rows.push_back(
          {{name_cell(row.name, row.unit), value_cell(row.a, row.unit), value_cell(row.b, row.unit),
            row.difference ? plain_signed(*row.difference, row.unit) : "—", last_cell(row)},
           note_of(row, fixed)});
    }
    if (rows.empty()) continue;
    const auto title = kClockTitle[static_cast<std::size_t>(clock)];
    const std::string last = clock == Clock::kSim ? "exact" : "95 % interval";
    text += narrow_table({std::string("metric") + title, "A", "B", "B − A", last}, rows);
    if (one_seed)
      text += wrapped(
          "one training run per side: run-to-run variation is unknown, so no direction is given", 4,
          "    ");
  }
  return text;
}

constexpr std::size_t kNamedItems = 5;

std::string numerics_text(const RecordPair& pair) {
  std::string text;
  for (const ItemComparison& items : pair.items) {
    if (!items.shift) continue;
    const MarginShift& shift = *items.shift;
    const ChoiceAgreement& same = items.agreement;
    text += wrapped(
        fmt::format(
            "numerics of {}: same top choice {:.2f} %, KL divergence {:.2g} ± {:.1g} (99.9 %: "
            "{:.2g}) nat; margins moved by {:+.2g} nat on average (p {}), noise {:.2g}; {} flips, "
            "{:.1f} expected of that noise (p {}), {} beyond {:.2g} nat{}{}",
            items.task, 100 * static_cast<double>(same.same_top) / static_cast<double>(same.items),
            same.mean_divergence, 2 * same.divergence_error, same.p999_divergence,
            shift.bias.difference, p_text(shift.bias.p_two_sided), shift.scale, shift.flips,
            shift.expected_flips, p_text(shift.p_excess), shift.hard_flips, shift.hard_limit,
            shift.hardest.empty() ? "" : ", as ",
            fmt::join(std::span(shift.hardest).first(std::min(shift.hardest.size(), kNamedItems)),
                      ", ")),
        4, "  ");
  }
  return text;
}

// Of the same weights, where no score differs: what was compared, and what of it is not the same to
// the last digit.
std::string equal_marks_text(const RecordPair& pair) {
  std::int64_t items = 0, changed = 0;
  for (const ItemComparison& task : pair.items) {
    if (!task.error.empty() || task.fractions || task.counts.only_a + task.counts.only_b > 0)
      return {};
    items += task.counts.n();
    changed += task.changed;
  }
  if (!pair.fixed_weights || pair.imported || pair.bit_identical || items == 0) return {};
  return wrapped(
      fmt::format("every score is the same: {} items of {} task{}{}", items, pair.items.size(),
                  pair.items.size() == 1 ? "" : "s",
                  changed == 0 ? ", and every answer"
                               : fmt::format("; the answer, text or log-probabilities of {} differ",
                                             changed)),
      4, "  ");
}

std::string pair_text(const RecordPair& pair) {
  std::string text =
      "\n" + wrapped(pair_title(pair) + (pair.bit_identical ? ": bit-identical" : ""));
  if (!pair.note.empty()) text += wrapped(text_of(pair.note), 4, "  ");
  if (!pair.incomparable.empty())
    text += wrapped("INCOMPARABLE: " + text_of(pair.incomparable), 4, "  ");
  text += equal_marks_text(pair);
  if (pair.curves_agree)
    text += "  the first steps agree up to rounding: the training procedure is the same\n";
  if (pair.other_start && !pair.departure)
    text +=
        wrapped("it began with other weights: of its first steps only rates and data were compared",
                4, "  ");
  if (pair.wrote_otherwise)
    text += "  the models wrote different numbers of tokens: simulated costs go with them\n";
  if (pair.curves) text += curves_text(*pair.curves);
  return text + metrics_text(pair) + numerics_text(pair);
}

std::string seed_text(const Comparison& comparison) {
  std::string text, group;
  std::vector<NarrowRow> rows;
  const auto flush = [&] {
    if (rows.empty()) return;
    text += "\n" + wrapped("over seeds: " + group) +
            narrow_table({"metric", "mean A", "mean B", "B − A", "95 % interval"}, rows);
    rows.clear();
  };
  for (const SeedDifference& s : comparison.seeds) {
    if (!s.test) continue;
    if (s.group != group) flush();
    group = s.group;
    std::string note = fmt::format(
        "{}{}; {}, {}", name(s.shown),
        s.shown == Shown::kNotShown ? could_see(s.min_detectable(), s.unit) : "", name(s.method),
        s.paired ? fmt::format("{} pairs", s.a.size())
                 : fmt::format("{} against {}", s.a.size(), s.b.size()));
    if (s.shown == Shown::kNothing) note = note.substr(2);
    if (s.metrics.size() > 1)
      note += fmt::format("; equal to {}", fmt::join(s.metrics.begin() + 1, s.metrics.end(), ", "));
    rows.push_back({{name_cell(s.metrics[0], s.unit), plain_value(mean(s.a), s.unit),
                     plain_value(mean(s.b), s.unit), plain_signed(s.test->difference, s.unit),
                     s.test->df == 0 ? "no spread" : interval_text(s.test->interval95, s.unit)},
                    note});
  }
  flush();
  return text;
}

Json metric_json(const MetricDifference& row) {
  Json counts;
  if (row.counts)
    counts = {{"both", row.counts->both},
              {"only_a", row.counts->only_a},
              {"only_b", row.counts->only_b},
              {"neither", row.counts->neither}};
  return {{"name", row.name},
          {"unit", row.unit},
          {"direction", name(row.direction)},
          {"clock", name(row.clock)},
          {"a", optional_json(row.a)},
          {"b", optional_json(row.b)},
          {"difference", optional_json(row.difference)},
          {"relative", optional_json(row.relative)},
          {"interval95", interval_json(row.interval95)},
          {"method", text_of(row.method)},
          {"method_message", json_of(row.method)},
          {"items", counts},
          {"p_two_sided", optional_json(row.p_two_sided)},
          {"q_benjamini_hochberg", optional_json(row.q)},
          {"shown", name(row.shown)},
          {"visible", optional_json(row.min_detectable)},
          {"note", text_of(row.note)},
          {"note_message", json_of(row.note)}};
}

Json numerics_json(const RecordPair& pair) {
  Json list = Json::array();
  for (const ItemComparison& items : pair.items) {
    if (!items.shift) continue;
    const MarginShift& shift = *items.shift;
    const ChoiceAgreement& same = items.agreement;
    list.push_back({{"task", items.task},
                    {"items", same.items},
                    {"same_top", same.same_top},
                    {"mean_divergence_nat", same.mean_divergence},
                    {"divergence_standard_error_nat", same.divergence_error},
                    {"p999_divergence_nat", same.p999_divergence},
                    {"mean_margin_change_nat", shift.bias.difference},
                    {"p_bias", shift.bias.p_two_sided},
                    {"median_margin_change_nat", shift.typical},
                    {"noise_nat", shift.scale},
                    {"flips", shift.flips},
                    {"expected_flips", shift.expected_flips},
                    {"p_excess", shift.p_excess},
                    {"hard_limit_nat", shift.hard_limit},
                    {"hard_flips", shift.hard_flips},
                    {"hardest_flips", shift.hardest}});
  }
  return list;
}

Json pair_json(const RecordPair& pair) {
  Json rows = Json::array(), departure;
  for (const MetricDifference& row : pair.metrics) rows.push_back(metric_json(row));
  if (pair.departure)
    departure = {{"column", pair.departure->column},
                 {"step", pair.departure->step},
                 {"a", pair.departure->a},
                 {"b", pair.departure->b},
                 {"relative", pair.departure->relative},
                 {"limit", pair.departure->limit}};
  return {{"a", describe(pair.a->record)},
          {"b", describe(pair.b->record)},
          {"paired_by", pair.note.empty() ? "identity" : text_of(pair.note)},
          {"paired_by_message", json_of(pair.note)},
          {"bit_identical", pair.bit_identical},
          {"incomparable", text_of(pair.incomparable)},
          {"incomparable_message", json_of(pair.incomparable)},
          {"fixed_weights", pair.fixed_weights},
          {"first_steps_agree", pair.curves_agree},
          {"began_with_other_weights", pair.other_start},
          {"departure", departure},
          {"curves", pair.curves ? curves_json(*pair.curves) : Json()},
          {"changed_metrics", pair.changed_metrics},
          {"numerics", numerics_json(pair)},
          {"metrics", rows}};
}

Json seed_json(const SeedDifference& s) {
  return {{"group", s.group},
          {"metric", s.metrics.front()},
          {"equal_metrics", std::vector<std::string>(s.metrics.begin() + 1, s.metrics.end())},
          {"unit", s.unit},
          {"method", name(s.method)},
          {"seeds", s.seeds},
          {"a", s.a},
          {"b", s.b},
          {"difference", s.test->difference},
          {"interval95", interval_json(s.test->interval95)},
          {"p_two_sided", s.test->p_two_sided},
          {"shown", name(s.shown)},
          {"visible", optional_json(s.min_detectable())}};
}

Json score_json(const Score& score) {
  Json json = {{"score", score.name + score.place},
               {"unit", score.unit},
               {"a", optional_json(score.a)},
               {"b", optional_json(score.b)},
               {"difference", score.difference},
               {"interval95", interval_json(score.interval95)},
               {"visible", optional_json(score.min_detectable)}};
  add_message(json, "verdict", words_of(score.outcome));
  return json;
}

Json cost_json(const Cost& cost) {
  return {{"metric", cost.metric},     {"of", cost.place}, {"unit", cost.unit},
          {"clock", name(cost.clock)}, {"a", cost.a},      {"b", cost.b},
          {"ratio", cost.ratio()}};
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  if (const Sentence why = comparison.why_incomparable();
      !why.empty() && comparison.findings.empty())
    text += wrapped("none of the paired records can be compared: " + text_of(why), 2, "! ");
  for (const Sentence& sentence : comparison.findings) text += wrapped(text_of(sentence), 2, "! ");
  const Sentence cause = comparison.likely_cause();
  const std::string cause_text =
      cause.empty() ? "" : wrapped("likely cause: " + text_of(cause), 4, "  ");
  const bool has_findings = !text.empty();
  if (has_findings) text += cause_text;
  if (const Sentence first = headline(comparison); !first.empty()) text += wrapped(text_of(first));
  // Two servers: what is known of them explains what differs.
  if (!has_findings && std::ranges::any_of(comparison.confounders, is_of_servers) &&
      !std::ranges::all_of(comparison.pairs, &RecordPair::bit_identical))
    text += cause_text;
  for (const Sentence& sentence : comparison.cautions) text += wrapped(text_of(sentence), 2, "! ");
  if (!text.empty()) text += "\n";
  text += wrapped(comparison.label_a, 3, "A: ") + wrapped(comparison.label_b, 3, "B: ") + "\n";
  for (const std::string& table : {score_table(comparison), cost_table(comparison)})
    if (!table.empty()) text += table + "\n";
  text += confounder_text(comparison);
  for (const RecordPair& pair : comparison.pairs)
    if (!pair.metrics.empty() || !pair.incomparable.empty() || pair.bit_identical || pair.curves)
      text += pair_text(pair);  // failed ones: below
  text += seed_text(comparison);
  if (comparison.pairs.empty() && comparison.unmatched.empty())
    text += "no records pair: kind, name, device and seed must be equal\n";
  text += list_text("not compared", texts_of(comparison.unpaired));
  text += list_text("notes", texts_of(comparison.skipped));
  text += list_text("damaged or failed", comparison.damaged);
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"schema", kCompareSchema},
               {"a", comparison.label_a},
               {"b", comparison.label_b},
               {"only_device_differs", comparison.only_device_differs()},
               {"stated_equal", comparison.stated_equal},
               {"confounders", Json::array()},
               {"pairs", Json::array()},
               {"seeds", Json::array()},
               {"scores", Json::array()},
               {"costs", Json::array()},
               {"damaged", comparison.damaged}};
  add_message(json, "headline", headline(comparison));
  add_message(json, "likely_cause", comparison.likely_cause());
  add_message(json, "incomparable", comparison.why_incomparable());
  add_messages(json, "findings", comparison.findings);
  add_messages(json, "cautions", comparison.cautions);
  add_messages(json, "unknown", comparison.unknown);
  add_messages(json, "unpaired", comparison.unpaired);
  add_messages(json, "skipped", comparison.skipped);
  for (const Confounder& c : comparison.confounders)
    json["confounders"].push_back({{"category", c.category},
                                   {"field", c.field},
                                   {"a", c.a},
                                   {"b", c.b},
                                   {"where", c.where},
                                   {"named", text_of(c.named)},
                                   {"named_message", json_of(c.named)}});
  for (const RecordPair& pair : comparison.pairs) json["pairs"].push_back(pair_json(pair));
  for (const SeedDifference& s : comparison.seeds)
    if (s.test) json["seeds"].push_back(seed_json(s));
  for (const Score& score : comparison.scores) json["scores"].push_back(score_json(score));
  for (const Cost& cost : comparison.costs) json["costs"].push_back(cost_json(cost));
  return json;
}

}  // namespace nb
