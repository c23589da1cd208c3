#include "report/document.hpp"

namespace nb {
namespace {

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
      safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

TextTable escaped(TextTable table) {
  for (auto& cell : table.header) cell = escaped(cell);
  for (auto& row : table.rows)
    for (auto& cell : row) cell = escaped(cell);
  return table;
}

struct Renderer {
  std::string& out;
  void operator()(const Paragraph& block) const {
    out += (block.is_warning ? "**" + escaped(block.text) + "**" : escaped(block.text)) + "\n\n";
  }
  void operator()(const BulletList& block) const {
    for (const std::string& item : block.items) out += "- " + escaped(item) + "\n";
    if (!block.items.empty()) out += "\n";
  }
  void operator()(const TableBlock& block) const {
    if (!block.caption.empty()) out += escaped(block.caption) + ":\n\n";
    out += to_markdown(escaped(block.table)) + "\n";
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
    for (const Block& block : section.blocks) std::visit(Renderer{out}, block);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace nb
