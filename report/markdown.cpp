#include <fmt/core.h>

#include "report/document.hpp"

namespace nb {
namespace {

constexpr std::size_t kMarkdownItems = 100;

// Characters that Markdown or the HTML inside it would take as markup.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '*' || c == '_' || c == '`' || c == '[' || c == ']' || c == '\\')
      (safe += '\\') += c;
    else
      safe += c;
  }
  return safe;
}

TextTable escaped(TextTable table) {
  for (auto& cell : table.header) cell = escaped(cell);
  for (auto& row : table.rows)
    for (auto& cell : row) cell = escaped(cell);
  return table;
}

// GitHub shows <br> and <details>; a line break ends the row of a table.
TextTable table_of(const TextTable& plain) {
  TextTable table = escaped(plain);
  const auto join = [](std::string& cell) {
    for (std::size_t at = cell.find('\n'); at != std::string::npos; at = cell.find('\n', at))
      cell.replace(at, 1, "<br>");
  };
  for (auto& cell : table.header) join(cell);
  for (auto& row : table.rows)
    for (auto& cell : row) join(cell);
  return table;
}

struct Renderer {
  const Words& say;
  std::string& out;
  void operator()(const Banner& block) const { out += "**" + escaped(block.text) + "**\n\n"; }
  void operator()(const Paragraph& block) const {
    out += (block.is_warning ? "**" + escaped(block.text) + "**" : escaped(block.text)) + "\n\n";
  }
  void operator()(const BulletList& block) const {
    for (const std::string& item : block.items) out += "- " + escaped(item) + "\n";
    if (!block.items.empty()) out += "\n";
  }
  void operator()(const CodeBlock& block) const { out += "```sh\n" + block.text + "```\n\n"; }
  void operator()(const TableBlock& block) const {
    const std::string table = to_markdown(table_of(block.table));
    if (block.folded) {
      out += fmt::format("<details><summary>{} ({})</summary>\n\n{}\n</details>\n\n",
                         escaped(block.caption), block.table.rows.size(), table);
      return;
    }
    if (!block.caption.empty()) out += escaped(block.caption) + ":\n\n";
    out += table + "\n";
  }
  void operator()(const ItemsBlock& block) const {
    (*this)(TableBlock{say("flip_items"), flip_table(block.list, say, kMarkdownItems), true});
    if (block.list.count > std::int64_t{kMarkdownItems})
      out += say("flips_left_out", kMarkdownItems, block.list.count) + "\n\n";
  }
  void operator()(const PlotBlock& block) const {
    if (block.svg.empty()) return;
    out += "![" + escaped(block.plot.title) + "](plots/" + block.plot.name + ".svg)\n\n";
    if (!block.plot.note.empty()) out += escaped(block.plot.note) + "\n\n";
  }
};

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + escaped(document.title) + "\n\n";
  for (const SectionContent& section : document.sections) {
    out += "## " + escaped(section.title) + "\n\n";
    if (section.folded)
      out += "<details><summary>" + escaped(document.say("open_item")) + "</summary>\n\n";
    for (const Block& block : section.blocks) std::visit(Renderer{document.say, out}, block);
    if (section.folded) out += "</details>\n\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace nb
