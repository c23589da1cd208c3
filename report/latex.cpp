#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "harness/base/visible_text.hpp"
#include "report/document.hpp"

namespace nb {
namespace {

// Longer texts than that are set in a column that breaks lines.
constexpr std::size_t kMaxLine = 26;

// Signs that LaTeX's fonts lack, or that mean something to it.
constexpr std::array<std::array<std::string_view, 2>, 20> kSigns = {{{"\\", "\\textbackslash{}"},
                                                                     {"&", "\\&"},
                                                                     {"%", "\\%"},
                                                                     {"$", "\\$"},
                                                                     {"#", "\\#"},
                                                                     {"_", "\\_"},
                                                                     {"{", "\\{"},
                                                                     {"}", "\\}"},
                                                                     {"~", "\\textasciitilde{}"},
                                                                     {"^", "\\textasciicircum{}"},
                                                                     {"<", "\\textless{}"},
                                                                     {">", "\\textgreater{}"},
                                                                     {"|", "\\textbar{}"},
                                                                     {"−", "$-$"},
                                                                     {"×", "$\\times$"},
                                                                     {"±", "$\\pm$"},
                                                                     {"≥", "$\\geq$"},
                                                                     {"→", "$\\to$"},
                                                                     {"—", "---"},
                                                                     {"…", "\\dots{}"}}};

std::string escaped(std::string_view plain) {
  const std::string shown = visible_text(plain);
  std::string_view text = shown;
  std::string safe;
  while (!text.empty()) {
    const auto sign =
        std::ranges::find_if(kSigns, [&](const auto& pair) { return text.starts_with(pair[0]); });
    if (sign != kSigns.end()) {
      safe += (*sign)[1];
      text.remove_prefix((*sign)[0].size());
      continue;
    }
    // A [ after the \\ of a row would be its argument.
    if (text[0] == '[')
      safe += "{[}";
    else
      safe += text[0] == '\n' ? ' ' : text[0];
    text.remove_prefix(1);
  }
  return safe;
}

// Several lines stand below each other.
std::string cell_of(const std::string& cell, bool right) {
  if (cell.find('\n') == std::string::npos) return escaped(cell);
  std::string out = fmt::format("\\begin{{tabular}}[t]{{@{{}}{}@{{}}}}", right ? 'r' : 'l');
  for (std::size_t at = 0;;) {
    const std::size_t end = cell.find('\n', at);
    out += escaped(std::string_view(cell).substr(at, end - at));
    if (end == std::string::npos) break;
    out += " \\\\ ";
    at = end + 1;
  }
  return out + "\\end{tabular}";
}

bool is_number(const std::string& cell) {
  const std::size_t at = cell.find_first_not_of("+-[< ");
  if (cell.empty() || cell == "—" || cell == "-" || cell.starts_with("−")) return true;
  return at != std::string::npos && cell[at] >= '0' && cell[at] <= '9';
}

std::size_t longest_line(const std::string& cell) {
  std::size_t longest = 0, line = 0;
  for (const char c : cell) {
    line = c == '\n' ? 0 : line + 1;
    longest = std::max(longest, line);
  }
  return longest;
}

std::string table_of(const TableBlock& block, const std::string& id) {
  TextTable table = block.table;
  if (!block.pictures.svgs.empty() && !block.pictures.beside_text) {
    const auto column = static_cast<std::ptrdiff_t>(block.pictures.column);
    table.header.erase(table.header.begin() + column);
    for (auto& row : table.rows)
      if (std::ssize(row) > column) row.erase(row.begin() + column);
  }
  const auto at = [&](const std::vector<std::string>& row, std::size_t c) {
    return c < row.size() ? row[c] : std::string();
  };
  const std::size_t columns = table.header.size();
  std::vector<bool> right(columns), broken(columns);
  std::size_t broken_columns = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    right[c] = std::ranges::all_of(table.rows, [&](const auto& r) { return is_number(at(r, c)); });
    broken[c] = std::ranges::any_of(
        table.rows, [&](const auto& r) { return longest_line(at(r, c)) > kMaxLine; });
    broken_columns += broken[c] ? 1 : 0;
  }
  std::string spec;
  for (std::size_t c = 0; c < columns; ++c) {
    if (broken[c])
      spec += fmt::format(">{{\\raggedright\\arraybackslash}}p{{{:.2f}\\linewidth}}",
                          0.55 / static_cast<double>(broken_columns));
    else
      spec += right[c] ? 'r' : 'l';
  }
  std::string out = fmt::format("\n% {}\n{{\\footnotesize\n\\begin{{longtable}}{{{}}}\n", id, spec);
  if (!block.caption.empty()) out += "\\caption{" + escaped(block.caption) + "} \\\\\n";
  out += "\\toprule\n";
  const auto add_row = [&](const std::vector<std::string>& row) {
    for (std::size_t c = 0; c < columns; ++c)
      out += (c == 0 ? "" : " & ") + cell_of(at(row, c), right[c]);
    out += " \\\\\n";
  };
  add_row(table.header);
  out += "\\midrule\n\\endhead\n";
  for (const auto& row : table.rows) add_row(row);
  return out + "\\bottomrule\n\\end{longtable}}\n";
}

}  // namespace

std::string render_latex(const Document& document) {
  const bool chinese = document.say.language() == Language::kZh;
  std::string out = fmt::format(
      "% {}\n"
      "% Compiles as it is ({}), or copy the tables: they need booktabs, longtable and array.\n"
      "\\documentclass[a4paper,landscape]{{article}}\n{}"
      "\\usepackage[margin=1.5cm]{{geometry}}\n\\usepackage{{booktabs,longtable,array}}\n"
      "\\begin{{document}}\n",
      escaped(document.title), chinese ? "xelatex" : "pdflatex",
      chinese ? "\\usepackage{ctex}\n"
              : "\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n");
  for (const SectionContent& section : document.sections) {
    std::string tables;
    std::size_t number = 0;
    for (const Block& block : section.blocks)
      if (const auto* table = std::get_if<TableBlock>(&block); table && !table->folded)
        tables += table_of(*table, fmt::format("{} {}", section.id, ++number));
      else if (const auto* banner = std::get_if<Banner>(&block))
        tables += "\n\\noindent " + escaped(banner->text) + "\n";
    if (!tables.empty()) out += "\n\\section*{" + escaped(section.title) + "}\n" + tables;
  }
  return out + "\n\\end{document}\n";
}

}  // namespace nb
