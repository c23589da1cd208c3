// steps.csv: one row per training step, appended while training runs, cut back on resume so that an
// interrupted and resumed run has the same bytes as an undisturbed one. One writer per file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

class SeriesWriter {
 public:
  // Columns after "step". first_step: rows with step >= first_step are dropped (0: start afresh).
  // An existing file with other columns is an error; a torn last line (killed while writing) is
  // dropped.
  static Result<SeriesWriter> open(const std::filesystem::path& path,
                                   const std::vector<std::string>& columns,
                                   std::int64_t first_step);
  // Steps rise strictly (NB_CHECK). nullopt: empty cell. What is not finite: nan, inf, -inf.
  Result<void> append(std::int64_t step, const std::vector<std::optional<double>>& values);
  Result<void>
  flush();  // rows reach the file here, and every 64 rows; call it at each checkpoint and end

 private:
  SeriesWriter() = default;
  std::filesystem::path path_;
  std::vector<std::string> columns_;
  std::string pending_;
  int pending_rows_ = 0;
  std::int64_t last_step_ = -1;
};

struct Series {
  std::vector<std::string> columns;  // without "step"
  std::vector<std::int64_t> steps;
  std::vector<std::vector<std::optional<double>>> values;  // [column][row]
  // Index of a column, or empty.
  std::optional<std::size_t> column(const std::string& name) const;
};
// What is not finite is no point of a curve: as an empty cell.
Result<Series> read_series(const std::filesystem::path& path);

}  // namespace nb
