#include "harness/profiler/csv_rows.hpp"

#include <csv.h>
#include <fmt/core.h>

#include "harness/base/ascii.hpp"
#include "harness/base/byte_order_mark.hpp"
#include "harness/base/check.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // what is longer is no CSV

// libcsv calls back for each cell and each end of a row.
class Parser {
 public:
  Parser() {
    NB_CHECK(csv_init(&parser_, CSV_APPEND_NULL) == 0, "[profiler] libcsv does not start");
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool feed(std::string_view line) {
    return csv_parse(&parser_, line.data(), line.size(), on_cell, on_row, this) == line.size();
  }

  std::vector<std::string> cells;
  std::function<void()> on_whole_row;

 private:
  static void on_cell(void* data, std::size_t size, void* self) {
    static_cast<Parser*>(self)->cells.emplace_back(
        data == nullptr ? "" : static_cast<const char*>(data), size);
  }
  static void on_row(int, void* self) {
    auto* parser = static_cast<Parser*>(self);
    parser->on_whole_row();
    parser->cells.clear();
  }
  csv_parser parser_{};
};

}  // namespace

std::string_view CsvRow::operator[](const std::string& column) const {
  const auto found = columns_.find(column);
  if (found == columns_.end()) return {};
  const std::string_view text = trimmed(cells_[found->second]);
  return text == "N/A" ? std::string_view() : text;
}

std::string_view CsvRow::any(std::initializer_list<const char*> columns) const {
  for (const char* column : columns)
    if (columns_.contains(column)) return (*this)[column];
  return {};
}

Result<CsvRead> read_csv_rows(std::istream& bytes, const std::string& where,
                              std::initializer_list<const char*> needed,
                              const std::function<void(const CsvRow&)>& take) {
  Parser parser;
  CsvRead read;
  std::unordered_map<std::string, std::size_t> columns;
  std::size_t line = 0, first_line = 1;
  bool has_header = false;
  std::string missing;
  parser.on_whole_row = [&] {
    const std::size_t at = first_line;
    first_line = line + 1;
    if (!has_header) {
      has_header = true;
      read.width = parser.cells.size();
      for (std::size_t i = 0; i < parser.cells.size(); ++i)
        columns.emplace(std::string(trimmed(parser.cells[i])), i);
      for (const char* name : needed)
        if (!columns.contains(name) && missing.empty()) missing = name;
      return;
    }
    if (!missing.empty()) return;
    if (parser.cells.size() != read.width) {
      if (read.ragged++ == 0) {
        read.first_ragged_line = at;
        read.first_ragged_cells = parser.cells.size();
      }
      return;
    }
    ++read.rows;
    take(CsvRow(columns, parser.cells));
  };
  std::string text;
  while (missing.empty() && std::getline(bytes, text)) {
    ++line;
    if (line == 1 && text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    if (text.size() > kLongestLine)
      return bad_input(
          fmt::format("{}:{}: a line of more than 64 MiB; this is no table", where, line));
    text += '\n';
    if (!parser.feed(text))
      return bad_input(fmt::format("{}:{}: not readable as CSV", where, line));
    if (trimmed(text).empty() && first_line == line) first_line = line + 1;
  }
  // Each line was given with its end: only quotes keep a row open behind the last.
  if (missing.empty() && first_line <= line)
    return bad_input(fmt::format(
        "{}:{}: the quoted cell that begins here is never closed: the file is cut; copy it again",
        where, first_line));
  if (!has_header) return bad_input(where + ": empty: no header line; copy it again");
  if (!missing.empty()) return bad_input(fmt::format("{}:1: no column \"{}\"", where, missing));
  return read;
}

}  // namespace nb::profiler
