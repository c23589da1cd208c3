#include "harness/base/markdown.hpp"

#include <fmt/core.h>

#include "harness/base/visible_text.hpp"
#include "report/document.hpp"

namespace nb {
namespace {

constexpr std::size_t kMarkdownItems = 100;

// Cells of several lines: GitHub shows <br>; a line break ends the row of a table.
std::string cell_of(const std::string& plain) {
  std::string cell;
  for (std::size_t at = 0;;) {
    const std::size_t end = plain.find('\n', at);
    cell += markdown_text(std::string_view(plain).substr(at, end - at));
    if (end == std::string::npos) return cell;
    cell += "<br>";
    at = end + 1;
  }
}

TextTable table_of(TextTable table) {
  for (auto& cell : table.header) cell = cell_of(cell);
  for (auto& row : table.rows)
    for (auto& cell : row) cell = cell_of(cell);
  return table;
}

// A fence that nothing in the text closes.
std::string fence_of(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != text.npos) fence += '`';
  return fence;
}

struct MarkdownRenderer {
  const Words& say;
  std::string& out;
  void operator()(const Banner& block) const {
    out += "**" + markdown_text(block.text) + "**\n\n";
    for (const std::string& line : block.more) (*this)(Paragraph{line});
  }
  void operator()(const KeyFigures& block) const {
    for (const KeyFigures::Figure& one : block.figures)
      out += "- **" + markdown_text(one.value) + "** " + markdown_line(one.text) + "\n";
    if (!block.figures.empty()) out += "\n";
  }
  void operator()(const Columns& block) const {
    for (const Columns::Column& column : block.columns) {
      out += markdown_line(column.title) + ":\n\n";
      (*this)(BulletList{column.items});
    }
  }
  void operator()(const Paragraph& block) const {
    out +=
        (block.is_warning ? "**" + markdown_text(block.text) + "**" : markdown_line(block.text)) +
        "\n\n";
  }
  void operator()(const BulletList& block) const {
    for (const std::string& item : block.items) out += "- " + markdown_line(item) + "\n";
    if (!block.items.empty()) out += "\n";
  }
  void operator()(const CodeBlock& block) const {
    const std::string text = visible_text(block.text), fence = fence_of(text);
    out += fence + "sh\n" + text + fence + "\n\n";
  }
  void operator()(const TableBlock& block) const {
    const std::string table = to_markdown(table_of(block.table));
    if (block.folded) {
      out += fmt::format("<details><summary>{} ({})</summary>\n\n{}\n</details>\n\n",
                         markdown_text(block.caption), block.table.rows.size(), table);
      return;
    }
    if (!block.caption.empty()) out += markdown_line(block.caption) + ":\n\n";
    out += table + "\n";
    if (!block.note.empty()) (*this)(Paragraph{block.note});
  }
  void operator()(const ItemsBlock& block) const {
    (*this)(TableBlock{say("flip_items"), flip_table(block.list, say, kMarkdownItems), true});
    if (block.list.count > std::int64_t{kMarkdownItems})
      out += say("flips_left_out", kMarkdownItems, block.list.count) + "\n\n";
  }
  void operator()(const PlotBlock& block) const {
    if (block.svg.empty()) return;
    out += "![" + markdown_text(block.plot.title) + "](plots/" + block.plot.name + ".svg)\n\n";
    if (!block.plot.note.empty()) out += markdown_line(block.plot.note) + "\n\n";
  }
};

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + markdown_text(document.title) + "\n\n";
  if (!document.subtitle.empty()) out += markdown_line(document.subtitle) + "\n\n";
  for (const SectionContent& section : document.sections) {
    out += "## " + markdown_text(section.title) + "\n\n";
    if (section.folded)
      out += "<details><summary>" + markdown_text(document.say("open_item")) + "</summary>\n\n";
    for (const Block& block : section.blocks)
      std::visit(MarkdownRenderer{document.say, out}, block);
    if (section.folded) out += "</details>\n\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace nb
