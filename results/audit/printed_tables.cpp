#include "results/audit/printed_tables.hpp"

#include <algorithm>
#include <array>

#include "harness/base/ascii.hpp"
#include "results/audit/read_parts.hpp"

namespace nb {
namespace {

// Lines of frames: U+2500 to U+257F is E2 94 80 to E2 95 BF in UTF-8.
constexpr auto kUprights = std::to_array<std::string_view>({"│", "┃", "║", "╎", "┆", "┊"});

bool is_frame_at(std::string_view text, std::size_t at) {
  return text.size() - at >= 3 && text[at] == '\xE2' &&
         (text[at + 1] == '\x94' || text[at + 1] == '\x95');
}

// Box characters as ASCII, so that one reader is enough: uprights become |, all others +.
std::string plain_frame(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    if (!is_frame_at(line, at)) {
      plain += line[at++];
      continue;
    }
    const std::string_view one = line.substr(at, 3);
    plain += std::ranges::find(kUprights, one) != kUprights.end() ? '|' : '+';
    at += 3;
  }
  return plain;
}

std::string_view without_quote(std::string_view line) {
  std::string_view rest = line;
  while (!rest.empty() && (rest.front() == '>' || rest.front() == ' ' || rest.front() == '#'))
    rest.remove_prefix(1);
  return rest.starts_with('|') || rest.starts_with('+') ? rest : line;
}

// kShortRule: |-|-|, a rule below a header, else a row of blanks.
enum class Kind { kOther, kRow, kShortRule, kMarkdownRule, kGridRule };

Kind kind_of(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return Kind::kOther;
  const bool has_pipe = text.find('|') != text.npos;
  // +----+----+ and what a frame without pipes becomes.
  if (text.starts_with('+') && text.find_first_not_of("+-=: ") == text.npos && text.size() > 2)
    return Kind::kGridRule;
  if (!has_pipe) return Kind::kOther;
  if (text.find_first_not_of("|-: ") == text.npos && text.find('-') != text.npos)
    return text.find("--") != text.npos ? Kind::kMarkdownRule : Kind::kShortRule;
  // |====+====| and |----+----|, as tabulate's "orgtbl" and others write.
  if (text.find_first_not_of("|+-=: ") == text.npos &&
      (text.find("--") != text.npos || text.find("==") != text.npos))
    return Kind::kGridRule;
  return Kind::kRow;
}

struct RawRow {
  std::vector<std::string> cells;  // as they stand, with their spaces
  std::size_t line = 0;
};

RawRow raw_row(std::string_view line, std::size_t number) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  const std::size_t begin = line.find_first_not_of(" \t");
  line.remove_prefix(std::min(begin, line.size()));
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  RawRow row;
  row.line = number;
  for (std::size_t bar = line.find('|');; bar = line.find('|')) {
    row.cells.emplace_back(line.substr(0, bar));
    if (bar == line.npos) return row;
    line.remove_prefix(bar + 1);
  }
}

// Rows between two rules of a grid that has one after every row are one row, broken in its cells.
RawRow joined(const std::vector<RawRow>& parts) {
  RawRow row = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts[i].cells.size() && j < row.cells.size(); ++j) {
      const std::string_view more = trimmed(parts[i].cells[j]);
      if (more.empty()) continue;
      std::string& cell = row.cells[j];  // its spaces before the text say how deep it stands
      cell.erase(cell.find_last_not_of(' ') + 1);
      cell += (trimmed(cell).empty() ? "" : " ") + std::string(more);
    }
  return row;
}

PrintedTable finished(const std::vector<RawRow>& rows) {
  PrintedTable table;
  for (const RawRow& row : rows) {
    const std::string& first = row.cells.front();
    const std::size_t indent = first.find_first_not_of(' ');
    table.indents.push_back(indent == first.npos ? 0 : indent);
    table.lines.push_back(row.line);
    table.rows.emplace_back();
    for (const std::string& cell : row.cells) table.rows.back().emplace_back(trimmed(cell));
  }
  return table;
}

// Lines of one block without a break: sections between its rules.
class Block {
 public:
  void add(std::string_view line, std::size_t number, Kind kind) {
    if (kind == Kind::kShortRule)
      kind = has_rule_ || sections_.back().empty() ? Kind::kRow : Kind::kMarkdownRule;
    if (kind == Kind::kRow) {
      // Before the first rule the last row alone can be a header: logs have bars in every line.
      if (!has_rule_) sections_.back().clear();
      sections_.back().push_back(raw_row(line, number));
      return;
    }
    is_grid_ = is_grid_ || kind == Kind::kGridRule;
    has_rule_ = true;
    if (!sections_.back().empty()) sections_.emplace_back();
  }

  void close(std::vector<PrintedTable>& tables) {
    if (sections_.back().empty()) sections_.pop_back();
    if (has_rule_ && !sections_.empty()) is_grid_ ? close_grid(tables) : close_pipes(tables);
    *this = {};
  }

 private:
  void close_grid(std::vector<PrintedTable>& tables) const {
    std::vector<RawRow> rows = {joined(sections_.front())};
    for (std::size_t i = 1; i < sections_.size(); ++i) {
      if (sections_.size() > 2)
        rows.push_back(joined(sections_[i]));
      else
        rows.insert(rows.end(), sections_[i].begin(), sections_[i].end());
    }
    tables.push_back(finished(rows));
  }

  // In Markdown a rule stands below each header; what stands before is no row of the table.
  void close_pipes(std::vector<PrintedTable>& tables) const {
    for (std::size_t i = 0; i + 1 < sections_.size(); ++i) {
      std::vector<RawRow> rows = {sections_[i].back()};
      const bool is_last = i + 2 == sections_.size();
      // The last row of all but the last section is the header of the next table.
      rows.insert(rows.end(), sections_[i + 1].begin(), sections_[i + 1].end() - (is_last ? 0 : 1));
      tables.push_back(finished(rows));
    }
  }

  std::vector<std::vector<RawRow>> sections_{1};
  bool is_grid_ = false, has_rule_ = false;
};

}  // namespace

std::vector<PrintedTable> printed_tables(std::string_view text) {
  std::vector<PrintedTable> tables;
  Block block;
  for (const Line& line : lines_of(text)) {
    std::string plain;
    std::string_view content = line.text;
    if (content.find('\xE2') != content.npos) content = plain = plain_frame(content);
    content = without_quote(content);
    const Kind kind = kind_of(content);
    if (kind == Kind::kOther)
      block.close(tables);
    else
      block.add(content, line.number, kind);
  }
  block.close(tables);
  return tables;
}

std::string without_marks(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != '*' && c != '`') plain += c;
  return std::string(trimmed(plain));
}

std::string without_arrow(std::string_view text) {
  std::string plain(trimmed(text));
  for (const std::string_view sign : {"↑", "↓"})
    if (plain.starts_with(sign)) plain.erase(0, sign.size());
  return std::string(trimmed(plain));
}

std::size_t column_of(const std::vector<std::string>& header, std::string_view name) {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (lowered(without_marks(header[i])) == name) return i;
  return std::string_view::npos;
}

}  // namespace nb
