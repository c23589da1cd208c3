#include "results/store/series.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/table.hpp"

namespace nb {
namespace {

constexpr int kRowsPerWrite = 64;

std::string header_line(const std::vector<std::string>& columns) {
  std::vector<std::string> cells = {"step"};
  cells.insert(cells.end(), columns.begin(), columns.end());
  return csv_line(cells) + "\n";
}

constexpr std::array<std::string_view, 3> kNotFinite = {"nan", "inf", "-inf"};

bool is_not_finite(std::string_view cell) {
  return std::ranges::find(kNotFinite, cell) != kNotFinite.end();
}

std::string cell_text(double value) {
  if (std::isfinite(value)) return number_text(value);
  return std::string(kNotFinite[std::isnan(value) ? 0 : value > 0 ? 1 : 2]);
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<SeriesWriter> SeriesWriter::open(const fs::path& path,
                                        const std::vector<std::string>& columns,
                                        std::int64_t first_step) {
  SeriesWriter writer;
  writer.path_ = path;
  writer.columns_ = columns;
  const std::string header = header_line(columns);
  std::string kept = header;
  std::error_code ignored;
  if (first_step > 0) {
    if (!fs::exists(path, ignored))
      return bad_input(
          fmt::format("{}: is missing; cannot resume the series at step {}; start over",
                      path.string(), first_step));
    NB_TRY(const std::string text, read_file(path));
    if (!text.starts_with(header))
      return bad_input(fmt::format("{}:1: other columns than \"{}\"; start over", path.string(),
                                   header.substr(0, header.size() - 1)));
    int line_number = 1;
    for (std::size_t begin = header.size(); begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      if (end == std::string::npos) break;  // torn by a kill: later than the checkpoint anyway
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      std::int64_t step = 0;
      ++line_number;
      if (!parse_number(line.substr(0, line.find(',')), step) || step <= writer.last_step_)
        return bad_input(fmt::format("{}:{}: steps must be rising integers; start over",
                                     path.string(), line_number));
      if (step >= first_step) break;
      kept += text.substr(begin, end - begin + 1);
      writer.last_step_ = step;
      begin = end + 1;
    }
  }
  NB_TRY_VOID(write_file(path, kept));
  return writer;
}

Result<void> SeriesWriter::append(std::int64_t step,
                                  const std::vector<std::optional<double>>& values) {
  NB_CHECK(step > last_step_, "[series] step {} after step {}", step, last_step_);
  NB_CHECK(values.size() == columns_.size(), "[series] {} values for {} columns", values.size(),
           columns_.size());
  std::vector<std::string> cells = {fmt::format("{}", step)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    cells.push_back(values[i] ? cell_text(*values[i]) : std::string());
  }
  pending_ += csv_line(cells) + "\n";
  last_step_ = step;
  if (++pending_rows_ >= kRowsPerWrite) return flush();
  return {};
}

Result<void> SeriesWriter::flush() {
  if (pending_.empty()) return {};
  NB_TRY_VOID(append_file(path_, pending_));
  pending_.clear();
  pending_rows_ = 0;
  return {};
}

std::optional<std::size_t> Series::column(const std::string& name) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == name) return i;
  return std::nullopt;
}

Result<Series> read_series(const fs::path& path) {
  NB_TRY(const CsvTable table, read_csv(path, CsvFormulas::kUnquoted));
  if (table.header.empty() || table.header.front() != "step")
    return bad_input(path.string() + ":1: the first column is not \"step\"");
  Series series;
  series.columns.assign(table.header.begin() + 1, table.header.end());
  series.values.resize(series.columns.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto bad = [&](const std::string& column) {
      return bad_input(fmt::format("{}:{}: {} is not a number", path.string(), row + 2, column));
    };
    std::int64_t step = 0;
    if (!parse_number(table.rows[row][0], step)) return bad("step");
    series.steps.push_back(step);
    for (std::size_t i = 0; i < series.columns.size(); ++i) {
      const std::string& cell = table.rows[row][i + 1];
      double value = 0;
      const bool is_there = !cell.empty() && !is_not_finite(cell);
      if (is_there && (!parse_number(cell, value) || !std::isfinite(value)))
        return bad(series.columns[i]);
      series.values[i].push_back(is_there ? std::optional(value) : std::nullopt);
    }
  }
  return series;
}

}  // namespace nb
