#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/curve_comparison.hpp"
#include "results/format.hpp"
#include "results/narrow_text.hpp"

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

std::string broken_text(const ColumnComparison& column) {
  std::string text;
  const auto add = [&](const char* side, const std::optional<std::int64_t>& from) {
    if (from)
      text +=
          fmt::format("{}{} is not finite from step {} on", text.empty() ? "" : ", ", side, *from);
  };
  add("A", column.broken_a);
  add("B", column.broken_b);
  return text;
}

// Where the curves part, in words.
std::string parting_text(const ColumnComparison& column, const std::string& by) {
  if (column.points > 0 && column.equal_points == column.points) return "equal to the last digit";
  std::string text;
  if (column.last_equal) text = fmt::format("equal up to {} {}", by, *column.last_equal);
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (column.apart_from && column.one_sided_from && *column.one_sided_from < *column.apart_from)
    add(fmt::format("B on one side from {} {} on, beyond the noise from {} on", by,
                    *column.one_sided_from, *column.apart_from));
  else if (column.apart_from)
    add(fmt::format("apart from {} {} on", by, *column.apart_from));
  else
    add("not apart beyond the noise");
  return text;
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
  row.note += parting_text(column, by);
  if (const std::string broken = broken_text(column); !broken.empty()) row.note += "; " + broken;
  if (column.equal_points == column.points) return row;
  row.note += fmt::format("; largest lasting difference {} {}", gap_text(column, *column.largest),
                          place_text(*column.largest, by));
  if (column.was_worse) row.note += ", which is gone at the end";
  if (column.direction != Direction::kNone)
    row.note += fmt::format("; best A {}, B {}", end_text(column, column.end_a),
                            end_text(column, column.end_b));
  if (!column.worse && !column.better && !column.basis.empty())
    row.note += fmt::format("; limit: {}", column.basis);
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

Json step_json(const std::optional<std::int64_t>& step) { return step ? Json(*step) : Json(); }

Json end_json(const CurveEnd& end) {
  return {{"last", end.last}, {"best", end.best}, {"best_at", end.best_at}};
}

}  // namespace

std::string column_sentence(const ColumnComparison& column, const std::string& by) {
  if (const std::string broken = broken_text(column); !broken.empty())
    return fmt::format("{}: {}", column.name, broken);
  return fmt::format("{}: {}; {} at the end", column.name, parting_text(column, by),
                     gap_text(column, *column.last));
}

std::string curves_sentence(const CurveComparison& curves) {
  std::vector<std::string> worse, better, open, equal;
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
    else
      open.push_back(column.name);
  }
  std::vector<std::string> parts;
  if (!worse.empty()) parts.push_back(fmt::format("B is worse on {}", fmt::join(worse, "; ")));
  if (!better.empty()) parts.push_back(fmt::format("B is better on {}", fmt::join(better, "; ")));
  if (!open.empty())
    parts.push_back(fmt::format("no difference of {} beyond the noise", fmt::join(open, ", ")));
  if (!equal.empty())
    parts.push_back(fmt::format("{} equal to the last digit", fmt::join(equal, ", ")));
  if (parts.empty()) return {};
  std::string text = fmt::format("{}.", fmt::join(parts, "; "));
  if (text[0] == 'n') text[0] = 'N';
  return text;
}

std::string curves_text(const CurveComparison& curves) {
  if (curves.points == 0 && curves.why_not_by_step.empty())
    return wrapped(fmt::format("  curves: no step in common ({} and {} steps)", curves.steps_a,
                               curves.steps_b));
  std::string text =
      wrapped(curves.why_not_by_step.empty()
                  ? fmt::format("curves by step: {} common steps, {} to {}", curves.points,
                                curves.from, curves.to)
                  : fmt::format("curves by {}: {}", curves.aligned_by, curves.why_not_by_step),
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
      const std::string broken = broken_text(column);
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
                {"not_finite_from_a", step_json(column.broken_a)},
                {"not_finite_from_b", step_json(column.broken_b)}};
    if (column.is_exact) {
      one["differs_at"] = step_json(column.differs_at);
      one["differing_points"] = column.differing_points;
      if (column.differs_at) one.update({{"a", column.exact_a}, {"b", column.exact_b}});
    } else if (column.clock != Clock::kNone) {
      one.update({{"a", column.typical_a}, {"b", column.typical_b}});
    } else if (column.last) {
      one.update({{"a", end_json(column.end_a)},
                  {"b", end_json(column.end_b)},
                  {"equal_points", column.equal_points},
                  {"last_equal", step_json(column.last_equal)},
                  {"one_sided_from", step_json(column.one_sided_from)},
                  {"apart_from", step_json(column.apart_from)},
                  {"largest_lasting", window_json(column.largest)},
                  {"lasting_at_end", window_json(column.last)},
                  {"limit", column.limit},
                  {"limit_from", column.basis},
                  {"shown", column.worse    ? "B worse"
                            : column.better ? "B better"
                                            : ""}});
    }
    columns.push_back(std::move(one));
  }
  return {{"aligned_by", curves.aligned_by},
          {"why_not_by_step", curves.why_not_by_step},
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
