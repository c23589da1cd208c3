#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "results/compare.hpp"
#include "results/format.hpp"

namespace nb {
namespace {

std::string value_cell(const std::optional<double>& value, const std::string& unit) {
  return value ? value_text(*value, unit) : "—";
}

std::string better_word(const MetricDifference& row) {
  if (!row.difference || *row.difference == 0 || row.direction == Direction::kNone) return "";
  const bool better = (*row.difference > 0) == (row.direction == Direction::kHigher);
  return better ? "B better" : "B worse";
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

std::string pair_title(const RecordPair& pair) {
  const Record &a = pair.a->record, &b = pair.b->record;
  return describe(a) == describe(b) ? describe(a) : describe(a) + "  |  " + describe(b);
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "\n" + title + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string confounder_text(const Comparison& comparison) {
  if (comparison.confounders.empty()) return "confounders: none; settings and code are equal\n";
  TextTable table{{"what", "field", "A", "B", "pairs"}, {}};
  for (const Confounder& c : comparison.confounders)
    table.rows.push_back({c.category, c.field, c.a, c.b, fmt::format("{}", c.where.size())});
  std::string text =
      comparison.only_device_differs()
          ? "differences besides the results (settings and code are equal):\n"
          : "CONFOUNDED: settings or code differ, so no difference below is the device's alone:\n";
  return text + to_text(table);
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format("A: {}\nB: {}\n\n", comparison.label_a, comparison.label_b);
  text += confounder_text(comparison);
  for (const RecordPair& pair : comparison.pairs) {
    if (pair.metrics.empty() && pair.incomparable.empty() && !pair.bit_identical)
      continue;  // failed: below
    text += "\n" + pair_title(pair) + (pair.bit_identical ? ": bit-identical\n" : "\n");
    if (!pair.incomparable.empty()) text += "  INCOMPARABLE: " + pair.incomparable + "\n";
    if (pair.metrics.empty()) continue;
    TextTable table{{"metric", "clock", "A", "B", "B − A", "95 % interval", "note"}, {}};
    for (const MetricDifference& row : pair.metrics) {
      std::string last = row.note.empty() ? better_word(row) : row.note;
      if (row.counts)
        last += fmt::format(" ({} lost, {} won of {}; p {})", row.counts->only_a,
                            row.counts->only_b, row.counts->n(), p_text(*row.p_two_sided));
      table.rows.push_back({row.name, std::string(name(row.clock)), value_cell(row.a, row.unit),
                            value_cell(row.b, row.unit),
                            row.difference ? signed_text(*row.difference, row.unit) : "—",
                            row.interval95 ? interval_text(*row.interval95, row.unit) : "", last});
    }
    text += to_text(table);
  }
  if (!comparison.seeds.empty()) {
    TextTable table{{"over seeds", "metric", "mean A", "mean B", "B − A", "95 % interval", "seeds"},
                    {}};
    for (const SeedDifference& s : comparison.seeds)
      table.rows.push_back({s.group, s.metric, value_text(mean(s.a), s.unit),
                            value_text(mean(s.b), s.unit), signed_text(s.test.difference, s.unit),
                            s.test.df == 0 ? "no spread" : interval_text(s.test.interval95, s.unit),
                            fmt::format("{}", s.a.size())});
    text += "\n" + to_text(table);
  }
  if (comparison.pairs.empty())
    text += "\nno records pair: kind, name, device and seed must be equal\n";
  text += list_text("not compared:", comparison.unpaired);
  text += list_text("damaged or failed:", comparison.damaged);
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"a", comparison.label_a},
               {"b", comparison.label_b},
               {"only_device_differs", comparison.only_device_differs()},
               {"confounders", Json::array()},
               {"pairs", Json::array()},
               {"seeds", Json::array()},
               {"unpaired", comparison.unpaired},
               {"damaged", comparison.damaged}};
  for (const Confounder& c : comparison.confounders)
    json["confounders"].push_back(
        {{"category", c.category}, {"field", c.field}, {"a", c.a}, {"b", c.b}, {"where", c.where}});
  for (const RecordPair& pair : comparison.pairs) {
    Json rows = Json::array();
    for (const MetricDifference& row : pair.metrics) {
      Json counts;
      if (row.counts)
        counts = {{"both", row.counts->both},
                  {"only_a", row.counts->only_a},
                  {"only_b", row.counts->only_b},
                  {"neither", row.counts->neither}};
      rows.push_back({{"name", row.name},
                      {"unit", row.unit},
                      {"direction", name(row.direction)},
                      {"clock", name(row.clock)},
                      {"a", optional_json(row.a)},
                      {"b", optional_json(row.b)},
                      {"difference", optional_json(row.difference)},
                      {"relative", optional_json(row.relative)},
                      {"interval95", interval_json(row.interval95)},
                      {"method", row.method},
                      {"items", counts},
                      {"p_two_sided", optional_json(row.p_two_sided)},
                      {"note", row.note}});
    }
    json["pairs"].push_back({{"a", describe(pair.a->record)},
                             {"b", describe(pair.b->record)},
                             {"bit_identical", pair.bit_identical},
                             {"incomparable", pair.incomparable},
                             {"fixed_weights", pair.fixed_weights},
                             {"metrics", rows}});
  }
  for (const SeedDifference& s : comparison.seeds)
    json["seeds"].push_back({{"group", s.group},
                             {"metric", s.metric},
                             {"unit", s.unit},
                             {"a", s.a},
                             {"b", s.b},
                             {"difference", s.test.difference},
                             {"interval95", interval_json(s.test.interval95)},
                             {"p_two_sided", s.test.p_two_sided}});
  return json;
}

}  // namespace nb
