// CSV as profilers write it, row by row: columns by name; a row of another width is left out and
// counted, because one cut line must not cost the other million. Not thread-safe.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/base/result.hpp"

namespace nb::profiler {

class CsvRow {
 public:
  CsvRow(const std::unordered_map<std::string, std::size_t>& columns,
         const std::vector<std::string>& cells)
      : columns_(columns), cells_(cells) {}
  // Trimmed; "" where there is no such column, and of N/A: absent is not 0.
  std::string_view operator[](const std::string& column) const;
  // The first of those columns that there is: names differ by version.
  std::string_view any(std::initializer_list<const char*> columns) const;
  bool has(const std::string& column) const { return columns_.contains(column); }

 private:
  const std::unordered_map<std::string, std::size_t>& columns_;
  const std::vector<std::string>& cells_;
};

struct CsvRead {
  std::size_t rows = 0;
  std::size_t ragged = 0, first_ragged_line = 0;  // left out
  std::size_t first_ragged_cells = 0, width = 0;
};

// needed: columns without which it is another file: bad_input that names the missing one. bad_input
// of an empty file and of a quoted cell that is never closed.
Result<CsvRead> read_csv_rows(std::istream& bytes, const std::string& where,
                              std::initializer_list<const char*> needed,
                              const std::function<void(const CsvRow&)>& take);

}  // namespace nb::profiler
