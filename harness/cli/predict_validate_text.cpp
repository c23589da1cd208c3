#include <fmt/format.h>

#include <cmath>
#include <map>
#include <sstream>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/predict_validate.hpp"

namespace nb::cli {
namespace {

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:+.1f} %", 100 * *share) : "";
}
std::string plain_percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "no row";
}
std::string figure(const std::optional<double>& value) {
  if (!value) return "";
  return std::abs(*value) >= 1000 ? with_commas(std::llround(*value))
                                  : fmt::format("{:.4g}", *value);
}

// "steps: training steps …; family megatron_npu" and what it says of the whole group.
std::string heading(const ValidationGroup& group) {
  std::string text = fmt::format("\n{}: {}\nfamily: {}\n", group.name, group.title, group.family);
  const auto fit = errors_in(group, &ValidationRow::error, RowUse::kFit);
  const auto reported = errors_in(group, &ValidationRow::error, RowUse::kReport);
  const auto say = [&](std::string_view what, const std::vector<double>& errors) {
    if (errors.empty()) return;
    text +=
        fmt::format("{}: {}, mean |error| {}, worst {}\n", what,
                    count_text(static_cast<long long>(errors.size()), "row"),
                    plain_percent(mean_absolute(errors)), plain_percent(largest_absolute(errors)));
  };
  say("fit", fit);
  say("report", reported);
  // Of the rows that the own constants speak of: what the shipped ones make of them.
  const auto shipped = errors_in(group, &ValidationRow::shipped);
  std::vector<double> own;
  for (const ValidationRow& row : group.rows)
    if (row.shipped && row.error) own.push_back(*row.error);
  say("own constants", own);
  say("the same rows, shipped constants", shipped);
  return text;
}

bool has_left_out(const ValidationGroup& group) {
  return !errors_in(group, &ValidationRow::left_out).empty();
}

TextTable rows_table(const ValidationGroup& group) {
  const bool left_out = has_left_out(group);
  const bool own = !errors_in(group, &ValidationRow::shipped).empty();
  TextTable table;
  table.header = {"row", "use", "measured", "predicted", "error"};
  if (own) table.header.emplace_back("shipped");
  if (left_out) table.header.insert(table.header.end(), {"left out", "one util."});
  std::string unit;
  for (const ValidationRow& row : group.rows) {
    if (row.use == RowUse::kExclude) continue;
    std::string id = row.id;
    if (group.name == "records") id += " on " + row.machine;
    if (!row.note.empty()) id += fmt::format(" ({})", row.note);
    std::vector<std::string> cells = {id, std::string(name(row.use)),
                                      fmt::format("{} {}", figure(row.measured), row.unit),
                                      figure(row.predicted), percent(row.error)};
    if (own) cells.push_back(percent(row.shipped));
    if (left_out) cells.insert(cells.end(), {percent(row.left_out), percent(row.baseline)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Rows that are left out, by reason.
std::string excluded_text(const ValidationGroup& group) {
  std::map<std::string, int> reasons;
  for (const ValidationRow& row : group.rows)
    if (row.use == RowUse::kExclude) ++reasons[row.reason];
  if (reasons.empty()) return "";
  TextTable table{{"excluded", "why"}, {}};
  for (const auto& [reason, count] : reasons) table.rows.push_back({std::to_string(count), reason});
  return to_text(table, output_width());
}

std::string left_out_text(const ValidationGroup& group) {
  if (!has_left_out(group)) return "";
  const auto mean = [&](RowError error) {
    return plain_percent(mean_absolute(errors_in(group, error, RowUse::kFit)));
  };
  return fmt::format(
      "mean |error| of fit rows in sample {}, each left out of the fit {}; of one\n"
      "utilisation of the peak for all rows {}, left out {}\n",
      mean(&ValidationRow::error), mean(&ValidationRow::left_out), mean(&ValidationRow::baseline),
      mean(&ValidationRow::baseline_left_out));
}

// In lines of the terminal's width.
std::string wrapped(const std::string& text) {
  std::string lines, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > sentence_width()) {
      lines += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string sides_text(const Validation& validation) {
  TextTable table{{"NPU over reference GPU", "measured", "predicted", "side"}, {}};
  for (const SideRow& side : validation.sides)
    table.rows.push_back({side.id, fmt::format("{:.2f}", side.measured),
                          fmt::format("{:.2f}", side.predicted), std::string(name(side.side))});
  return "\n" + wrapped("reference: " + validation.reference) + to_text(table, output_width());
}

std::string constants_text(const Validation& validation) {
  TextTable table{{"constant of the steps", "fitted", "each row left out", "range"}, {}};
  for (const ConstantSpread& c : validation.constants)
    table.rows.push_back({c.name, fmt::format("{:.4g} {}", c.value, c.unit),
                          fmt::format("{:.4g} to {:.4g}", c.lowest, c.highest),
                          fmt::format("{:.4g} to {:.4g}", c.min, c.max)});
  return "\n" + to_text(table, output_width());
}

std::string figures_text(const Validation& validation) {
  TextTable table{{"figure", "value", "limit", ""}, {}};
  for (const ValidationFigure& f : validation.figures)
    table.rows.push_back({f.name, plain_percent(f.value), fmt::format("{:.0f} %", 100 * f.limit),
                          f.holds() ? "holds" : "FAILS"});
  return "\n" + to_text(table, output_width());
}

}  // namespace

std::string validation_text(const Validation& validation) {
  std::string text =
      "Errors are of the time, or of the bytes: predicted over measured, less 1.\n"
      "fit: constants of the family were fitted on it; report: never.\n";
  for (const ValidationGroup& group : validation.groups) {
    text += heading(group) + left_out_text(group) + to_text(rows_table(group), output_width());
    text += excluded_text(group);
  }
  return text + constants_text(validation) + sides_text(validation) + figures_text(validation);
}

}  // namespace nb::cli
