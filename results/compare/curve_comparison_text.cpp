#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/compare/curve_comparison.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

std::string name_with_unit(const ColumnComparison& column) {
  return has_plain_unit(column.unit) ? fmt::format("{} ({})", column.name, column.unit)
                                     : column.name;
}

// "+1.2000 nat (41 %)"
std::string gap_text(const ColumnComparison& column, const CurveWindow& window) {
  std::string text = signed_text(window.difference, column.unit);
  if (window.a != 0)
    text += fmt::format(" ({:.2g} %)", 100 * std::fabs(window.difference / window.a));
  return text;
}

std::string place_text(const CurveWindow& window, const std::string& by) {
  if (window.from == window.to) return fmt::format("at {} {}", by, window.from);
  return fmt::format("at {} {} to {}", by, window.from, window.to);
}

Sentence broken_sentence(const ColumnComparison& column) {
  std::vector<Sentence> parts;
  if (column.broken_a) parts.push_back(message("curve.not_finite", "A", *column.broken_a));
  if (column.broken_b) parts.push_back(message("curve.not_finite", "B", *column.broken_b));
  return joined("join.clauses", std::move(parts));
}

// Where the curves part, in words.
Sentence parting_sentence(const ColumnComparison& column, const std::string& by) {
  if (column.points > 0 && column.equal_points == column.points) return message("curve.equal");
  std::vector<Sentence> parts;
  if (column.last_equal) parts.push_back(message("curve.equal_up_to", by, *column.last_equal));
  if (const auto& side = column.steady) {
    const std::string mean = signed_text(side->mean, column.unit),
                      interval = interval_text(side->interval95, column.unit);
    parts.push_back(side->mean > 0
                        ? message("curve.above", side->same_side, side->points, mean, interval)
                        : message("curve.below", side->same_side, side->points, mean, interval));
    return joined("join.clauses", std::move(parts));
  }
  if (column.apart_from && column.one_sided_from && *column.one_sided_from < *column.apart_from)
    parts.push_back(message("curve.one_sided", by, *column.one_sided_from, *column.apart_from));
  else if (column.apart_from)
    parts.push_back(message("curve.apart", by, *column.apart_from));
  else
    parts.push_back(message("curve.not_apart"));
  return joined("join.clauses", std::move(parts));
}

std::string end_text(const ColumnComparison& column, const CurveEnd& end) {
  return fmt::format("{} ({})", plain_value(end.best, column.unit), end.best_at);
}

NarrowRow value_row(const ColumnComparison& column, const std::string& by) {
  NarrowRow row;
  row.cells = {
      name_with_unit(column), plain_value(column.end_a.last, column.unit),
      plain_value(column.end_b.last, column.unit),
      plain_signed(column.last->difference, column.unit),
      column.equal_points == column.points ? "" : "±" + plain_value(column.limit, column.unit)};
  if (column.worse) row.note = "B worse: ";
  if (column.better) row.note = "B better: ";
  row.note += text_of(parting_sentence(column, by));
  if (const Sentence broken = broken_sentence(column); !broken.empty())
    row.note += "; " + text_of(broken);
  if (column.equal_points == column.points) return row;
  row.note += fmt::format("; largest lasting difference {} {}", gap_text(column, *column.largest),
                          place_text(*column.largest, by));
  if (column.was_worse) row.note += ", which is gone at the end";
  if (column.direction != Direction::kNone)
    row.note += fmt::format("; best A {}, B {}", end_text(column, column.end_a),
                            end_text(column, column.end_b));
  if (!column.worse && !column.better && !column.basis.empty())
    row.note += fmt::format("; limit: {}", text_of(column.basis));
  return row;
}

std::string exact_line(const ColumnComparison& column) {
  if (!column.differs_at)
    return fmt::format("{}: equal at all {} common steps", column.name, column.points);
  return fmt::format("{} differs: {:.6g} → {:.6g} at step {}, {} of {} common steps differ",
                     column.name, column.exact_a, column.exact_b, *column.differs_at,
                     column.differing_points, column.points);
}

Json window_json(const std::optional<CurveWindow>& window) {
  if (!window) return {};
  return {{"from", window->from},
          {"to", window->to},
          {"a", window->a},
          {"b", window->b},
          {"difference", window->difference}};
}

Json steady_json(const std::optional<SteadySide>& side) {
  if (!side) return {};
  return {{"points", side->points},
          {"same_side", side->same_side},
          {"mean_difference", side->mean},
          {"low", side->interval95.low},
          {"high", side->interval95.high}};
}

Json end_json(const CurveEnd& end) {
  return {{"last", end.last}, {"best", end.best}, {"best_at", end.best_at}};
}

}  // namespace

Sentence column_sentence(const ColumnComparison& column, const std::string& by) {
  if (Sentence broken = broken_sentence(column); !broken.empty())
    return message("about", column.name, std::move(broken));
  return message("curve.sentence", column.name, parting_sentence(column, by),
                 gap_text(column, *column.last));
}

Sentence curves_sentence(const CurveComparison& curves) {
  std::vector<Sentence> worse, better, steady;
  std::vector<std::string> open, equal;
  for (const ColumnComparison& column : curves.columns) {
    if (column.direction == Direction::kNone || column.clock != Clock::kNone) continue;
    if (column.worse)
      worse.push_back(column_sentence(column, curves.aligned_by));
    else if (!column.last)
      continue;
    else if (column.better)
      better.push_back(column_sentence(column, curves.aligned_by));
    else if (column.equal_points == column.points)
      equal.push_back(column.name);
    else if (column.steady)
      steady.push_back(column_sentence(column, curves.aligned_by));
    else
      open.push_back(column.name);
  }
  std::vector<Sentence> parts;
  if (!worse.empty())
    parts.push_back(message("headline.worse", joined("join.semicolon", std::move(worse))));
  if (!better.empty())
    parts.push_back(message("headline.better", joined("join.semicolon", std::move(better))));
  if (!steady.empty())
    parts.push_back(message("curve.steady", joined("join.semicolon", std::move(steady))));
  if (const std::string names = fmt::format("{}", fmt::join(open, ", ")); !open.empty())
    parts.push_back(parts.empty() ? message("curve.none_beyond_first", names)
                                  : message("curve.none_beyond", names));
  if (!equal.empty())
    parts.push_back(message("curve.all_equal", fmt::format("{}", fmt::join(equal, ", "))));
  if (parts.empty()) return {};
  return message("headline.end", joined("join.semicolon", std::move(parts)));
}

std::string curves_text(const CurveComparison& curves) {
  if (curves.points == 0 && curves.why_not_by_step.empty())
    return wrapped(fmt::format("  curves: no step in common ({} and {} steps)", curves.steps_a,
                               curves.steps_b));
  std::string text = wrapped(
      curves.why_not_by_step.empty()
          ? fmt::format("curves by step: {} common steps, {} to {}", curves.points, curves.from,
                        curves.to)
          : fmt::format("curves by {}: {}", curves.aligned_by, text_of(curves.why_not_by_step)),
      4, "  ");
  if (curves.points != curves.steps_a || curves.points != curves.steps_b)
    text += wrapped(fmt::format("A has {} steps, B {}", curves.steps_a, curves.steps_b), 4, "  ");
  std::vector<NarrowRow> values, clocks;
  std::vector<std::string> lines;
  for (const ColumnComparison& column : curves.columns) {
    if (column.is_exact) {
      lines.push_back(exact_line(column));
    } else if (column.clock != Clock::kNone) {
      clocks.push_back(
          {{column.name, value_text(column.typical_a, column.unit),
            value_text(column.typical_b, column.unit),
            column.typical_a != 0 ? fmt::format("×{:.3g}", column.typical_b / column.typical_a)
                                  : "—"},
           ""});
    } else if (column.last && column.direction != Direction::kNone) {
      values.push_back(value_row(column, curves.aligned_by));
    } else if (column.direction != Direction::kNone) {
      const std::string broken = text_of(broken_sentence(column));
      lines.push_back(fmt::format(
          "{}: {}", column.name,
          broken.empty()
              ? fmt::format("no {} in common; it ends at {} in A, {} in B", curves.aligned_by,
                            plain_value(column.end_a.last, column.unit),
                            plain_value(column.end_b.last, column.unit))
              : broken));
    }
  }
  if (!values.empty())
    text += narrow_table({"curve", "A, end", "B, end", "B − A, lasting", "limit"}, values);
  if (!clocks.empty())
    text += narrow_table({"rates and memory, the device's clock", "A", "B", "B / A"}, clocks);
  for (const std::string& line : lines) text += wrapped(line, 4, "  ");
  const auto only = [&](const char* side, const std::vector<std::string>& names) {
    if (!names.empty())
      text += wrapped(fmt::format("only in {}: {}", side, fmt::join(names, ", ")), 4, "  ");
  };
  only("A", curves.only_a);
  only("B", curves.only_b);
  return text;
}

Json curves_json(const CurveComparison& curves) {
  Json columns = Json::array();
  for (const ColumnComparison& column : curves.columns) {
    Json one = {{"name", column.name},
                {"unit", column.unit},
                {"direction", name(column.direction)},
                {"clock", name(column.clock)},
                {"points", column.points},
                {"not_finite_from_a", optional_json(column.broken_a)},
                {"not_finite_from_b", optional_json(column.broken_b)}};
    if (column.is_exact) {
      one["differs_at"] = optional_json(column.differs_at);
      one["differing_points"] = column.differing_points;
      if (column.differs_at) one.update({{"a", column.exact_a}, {"b", column.exact_b}});
    } else if (column.clock != Clock::kNone) {
      one.update({{"a", column.typical_a}, {"b", column.typical_b}});
    } else if (column.last) {
      one.update({{"a", end_json(column.end_a)},
                  {"b", end_json(column.end_b)},
                  {"equal_points", column.equal_points},
                  {"last_equal", optional_json(column.last_equal)},
                  {"one_sided_from", optional_json(column.one_sided_from)},
                  {"apart_from", optional_json(column.apart_from)},
                  {"largest_lasting", window_json(column.largest)},
                  {"lasting_at_end", window_json(column.last)},
                  {"limit", column.limit},
                  {"limit_from", text_of(column.basis)},
                  {"limit_from_message", json_of(column.basis)},
                  {"steady", steady_json(column.steady)},
                  {"shown", column.worse    ? "B worse"
                            : column.better ? "B better"
                                            : ""}});
    }
    columns.push_back(std::move(one));
  }
  return {{"aligned_by", curves.aligned_by},
          {"why_not_by_step", text_of(curves.why_not_by_step)},
          {"why_not_by_step_message", json_of(curves.why_not_by_step)},
          {"common_steps", curves.points},
          {"from", curves.from},
          {"to", curves.to},
          {"steps_a", curves.steps_a},
          {"steps_b", curves.steps_b},
          {"columns", columns},
          {"only_a", curves.only_a},
          {"only_b", curves.only_b}};
}

}  // namespace nb
