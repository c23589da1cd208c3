// CSV through libcsv, strict: byte order mark and CRLF accepted, quoted newlines kept, a row of
// another width is an error with its line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines;  // of each row: where it begins in the file, from 1

  // Column of that name, or an error that lists the names there are.
  Result<std::size_t> column(std::string_view name) const;
  std::string where;  // file, for messages
};

// Whose cells have csv_line's apostrophe: of files that we write, or that people make of them. Data
// sets are read as they are.
enum class CsvFormulas { kAsTheyAre, kUnquoted };
// The first row is the header. A quote inside a cell that is not quoted (5" long) is an error.
Result<CsvTable> parse_csv(std::string_view text, const std::string& where,
                           CsvFormulas formulas = CsvFormulas::kAsTheyAre);
Result<CsvTable> read_csv(const std::filesystem::path& path,
                          CsvFormulas formulas = CsvFormulas::kAsTheyAre);
// One line without newline; quotes only where needed (RFC 4180). A cell that a spreadsheet would
// compute (it begins with = + - @, a tab or a line break, and is no number) gets an apostrophe in
// front, as OWASP has it ("CSV Injection"): spreadsheets then show it as text.
std::string csv_line(const std::vector<std::string>& cells);
// The cell as it was before csv_line.
std::string csv_cell_text(std::string_view cell);

}  // namespace nb
