#include "harness/base/csv.hpp"

#include <csv.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>
#include <utility>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"

namespace nb {

namespace {

using Row = std::vector<std::string>;

struct NumberedRow {
  Row cells;
  std::size_t line;  // where it begins
};

// libcsv calls back for each cell and each end of a row; lines are counted by whoever feeds it.
class Parser {
 public:
  Parser() {
    NB_CHECK(csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0,
             "[csv] libcsv does not start");
    // Spaces belong to the cell (RFC 4180); libcsv would trim them.
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool feed(std::string_view line) {
    return csv_parse(&parser_, line.data(), line.size(), on_cell, on_row, this) == line.size();
  }
  bool end() { return csv_fini(&parser_, on_cell, on_row, this) == 0; }

  std::vector<Row> rows;

 private:
  static void on_cell(void* data, std::size_t size, void* self) {
    auto& row = static_cast<Parser*>(self)->row_;
    row.emplace_back(data == nullptr ? "" : static_cast<const char*>(data), size);
  }
  static void on_row(int, void* self) {
    auto* parser = static_cast<Parser*>(self);
    parser->rows.push_back(std::exchange(parser->row_, {}));
  }

  csv_parser parser_{};
  Row row_;
};

// -0.5, +3, -1e-7, -inf.
bool is_number(std::string_view cell) {
  if (cell.starts_with('+') || cell.starts_with('-')) cell.remove_prefix(1);
  if (cell.empty() || cell.front() == '+' || cell.front() == '-') return false;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error != std::errc::invalid_argument && end == cell.data() + cell.size();
}

// Whether a spreadsheet would compute it. Japanese ones take the wide signs too.
bool is_formula(std::string_view cell) {
  constexpr std::array<std::string_view, 11> kSigns = {
      "=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::ranges::any_of(kSigns,
                             [&](std::string_view sign) { return cell.starts_with(sign); }) &&
         !is_number(cell);
}

// Behind any number of apostrophes, so that ours can be told from the text's own.
bool is_formula_or_quoted(std::string_view cell) {
  return is_formula(cell.substr(std::min(cell.find_first_not_of('\''), cell.size())));
}

Result<std::vector<NumberedRow>> numbered_rows(std::string_view text, const std::string& where) {
  Parser parser;
  std::vector<NumberedRow> rows;
  std::size_t line = 0;
  std::size_t first_line = 1;  // of the row that is being read
  const auto collect = [&] {
    for (Row& row : parser.rows) rows.push_back({std::move(row), first_line});
    if (!parser.rows.empty()) first_line = line + 1;
    parser.rows.clear();
  };
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    ++line;
    // An empty line is no row; inside quotes it belongs to the cell, and no row is complete there.
    const std::string_view content = text.substr(0, size);
    if (!parser.feed(content))
      return bad_input(
          fmt::format("{}:{}: unexpected quote: quote the whole cell and double the quotes in it",
                      where, line));
    text.remove_prefix(size);
    collect();
    if (content.find_first_not_of("\r\n") == content.npos && first_line == line)
      first_line = line + 1;
  }
  if (!parser.end())
    return bad_input(
        fmt::format("{}:{}: the quoted cell that begins here is never closed", where, first_line));
  collect();
  return rows;
}

}  // namespace

Result<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  return bad_input(fmt::format("{}: no column \"{}\"{}; the columns are {}", where, name,
                               did_you_mean(name, header), fmt::join(header, ", ")));
}

Result<CsvTable> parse_csv(std::string_view text, const std::string& where, CsvFormulas formulas) {
  NB_TRY(std::vector<NumberedRow> rows, numbered_rows(without_byte_order_mark(text), where));
  if (rows.empty()) return bad_input(where + ":1: no header line");
  if (formulas == CsvFormulas::kUnquoted)
    for (NumberedRow& row : rows)
      for (std::string& cell : row.cells)
        if (cell.starts_with('\'')) cell = csv_cell_text(cell);
  CsvTable table;
  table.where = where;
  table.header = std::move(rows.front().cells);
  std::set<std::string_view> seen;
  for (const std::string& name : table.header)
    if (!seen.insert(name).second)
      return bad_input(
          fmt::format("{}:{}: column \"{}\" appears twice", where, rows.front().line, name));
  for (NumberedRow& row : std::span(rows).subspan(1)) {
    if (row.cells.size() != table.header.size())
      return bad_input(fmt::format("{}:{}: {} cells, but the header has {}", where, row.line,
                                   row.cells.size(), table.header.size()));
    table.rows.push_back(std::move(row.cells));
    table.lines.push_back(row.line);
  }
  return table;
}

Result<CsvTable> read_csv(const std::filesystem::path& path, CsvFormulas formulas) {
  NB_TRY(const std::string text, read_file(path));
  return parse_csv(text, path.string(), formulas);
}

std::string csv_cell_text(std::string_view cell) {
  return std::string(cell.substr(cell.starts_with('\'') && is_formula_or_quoted(cell) ? 1 : 0));
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    const std::string quoted = is_formula_or_quoted(cells[i]) ? "'" + cells[i] : std::string();
    const std::string& cell = quoted.empty() ? cells[i] : quoted;
    // A row of one empty cell would be an empty line, which readers skip.
    if (cell.find_first_of(",\"\r\n") == cell.npos && !(cell.empty() && cells.size() == 1)) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line;
}

}  // namespace nb
