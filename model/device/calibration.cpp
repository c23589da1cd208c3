#include "model/device/calibration.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "model/device/embedded_calibration.hpp"

namespace nb {
namespace {

constexpr std::array<std::string_view, 3> kRowUses = {"fit", "report", "exclude"};
constexpr std::array<std::string_view, 7> kCommon = {"id",     "use",  "reason", "source",
                                                     "script", "unit", "value"};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string not_a_number(const CalibrationRow& row, std::string_view column) {
  return fmt::format("{}: column {}: \"{}\" is not a number", row.where, column, row.text(column));
}

Result<RowUse> use_of(std::string_view text, const std::string& where) {
  for (std::size_t i = 0; i < kRowUses.size(); ++i)
    if (kRowUses[i] == text) return static_cast<RowUse>(i);
  const std::vector<std::string> known(kRowUses.begin(), kRowUses.end());
  return bad_input(fmt::format("{}: unknown use \"{}\"{} (fit, report or exclude)", where, text,
                               did_you_mean(text, known)));
}

Result<std::optional<double>> value_of(std::string_view text, const std::string& unit,
                                       const std::string& where) {
  if (unit == "none") {
    if (text.empty()) return std::optional<double>();
    return bad_input(
        fmt::format("{}: a value, {}, of unit none: name what was measured", where, text));
  }
  const std::optional<double> value = number_in<double>(text);
  const bool may_be_zero = unit == "fits";
  if (!value || !std::isfinite(*value) || *value < 0 || (*value == 0 && !may_be_zero))
    return bad_input(
        fmt::format("{}: value \"{}\" is not a positive number of {}", where, text, unit));
  return value;
}

Result<CalibrationRow> row_of(const CsvTable& table, std::size_t index) {
  CalibrationRow row;
  row.where = fmt::format("{}:{}", table.where, table.lines[index]);
  for (std::size_t i = 0; i < table.header.size(); ++i)
    row.cells.emplace(table.header[i], table.rows[index][i]);
  for (const std::string_view column : kCommon)
    if (column != "value" && row.text(column).empty())
      return bad_input(fmt::format("{}: a row without {}{}", row.where, column,
                                   column == "unit" ? "; none where only memory was measured"
                                   : column == "source"
                                       ? "; name the repository, file and commit it is from"
                                       : ""));
  row.id = row.text("id");
  row.reason = row.text("reason");
  row.source = row.text("source");
  row.script = row.text("script");
  row.unit = row.text("unit");
  NB_TRY(row.use, use_of(row.text("use"), row.where));
  NB_TRY(row.value, value_of(row.text("value"), row.unit, row.where));
  return row;
}

}  // namespace

std::string_view name(RowUse use) { return kRowUses[static_cast<std::size_t>(use)]; }

std::string_view CalibrationRow::text(std::string_view column) const {
  const auto cell = cells.find(column);
  NB_CHECK(cell != cells.end(), "[calibration] {}: no column {}", where, column);
  return cell->second;
}

Result<std::optional<double>> CalibrationRow::number(std::string_view column) const {
  if (text(column).empty()) return std::optional<double>();
  const auto parsed = number_in<double>(text(column));
  if (!parsed || !std::isfinite(*parsed)) return bad_input(not_a_number(*this, column));
  return parsed;
}

Result<std::optional<std::int64_t>> CalibrationRow::whole(std::string_view column) const {
  if (text(column).empty()) return std::optional<std::int64_t>();
  const auto parsed = number_in<std::int64_t>(text(column));
  if (!parsed) return bad_input(not_a_number(*this, column) + " without a fraction");
  return parsed;
}

Result<std::vector<CalibrationRow>> parse_calibration(std::string_view csv,
                                                      const std::string& where) {
  NB_TRY(const CsvTable table, parse_csv(csv, where));
  for (const std::string_view column : kCommon) NB_TRY_VOID(table.column(column));
  std::vector<CalibrationRow> rows;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    NB_TRY(CalibrationRow row, row_of(table, i));
    if (!ids.insert(row.id).second)
      return bad_input(fmt::format("{}: id \"{}\" came before: ids are unique", row.where, row.id));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> calibration_files() {
  std::vector<std::string> names;
  for (const EmbeddedCalibration& file : embedded_calibration()) names.emplace_back(file.name);
  return names;
}

Result<std::vector<CalibrationRow>> calibration_rows(std::string_view file) {
  for (const EmbeddedCalibration& built_in : embedded_calibration())
    if (built_in.name == file)
      return parse_calibration(built_in.text, fmt::format("model/device/calibration/{}.csv", file));
  NB_CHECK(false, "[calibration] no file {}", file);
}

Result<CalibrationTables> calibration_tables(const std::string& folder) {
  CalibrationTables tables;
  std::map<std::string, std::string> seen;  // id → where
  for (const std::string& file : calibration_files()) {
    Result<std::vector<CalibrationRow>> rows;
    if (folder.empty()) {
      rows = calibration_rows(file);
    } else {
      const fs::path path = fs::path(folder) / (file + ".csv");
      NB_TRY(const std::string text, read_file(path));
      rows = parse_calibration(text, path.string());
    }
    if (!rows) return tl::unexpected<Error>(rows.error());
    for (const CalibrationRow& row : *rows)
      if (const auto [first, is_new] = seen.emplace(row.id, row.where); !is_new)
        return bad_input(fmt::format("{}: id \"{}\" stands in {} too: ids are unique", row.where,
                                     row.id, first->second));
    tables.emplace(file, std::move(*rows));
  }
  return tables;
}

}  // namespace nb
