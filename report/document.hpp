// A report before it is Markdown or HTML: sections of paragraphs, lists, tables and plots. Plain
// text everywhere; each renderer escapes for itself.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "harness/base/table.hpp"
#include "report/plot.hpp"

namespace nb {

struct Paragraph {
  std::string text;
  bool is_warning = false;
};
struct BulletList {
  std::vector<std::string> items;
};
struct TableBlock {
  std::string caption;
  TextTable table;
};
// A plot that was drawn: its SVG goes into the HTML, its file name into the Markdown.
struct PlotBlock {
  Plot plot;
  std::string svg;  // filled by report.cpp; empty: not drawn, renderers leave it out
};

using Block = std::variant<Paragraph, BulletList, TableBlock, PlotBlock>;

struct SectionContent {
  std::string title;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  std::vector<SectionContent> sections;
};

std::string render_markdown(const Document& document);
// One file: style inside, SVGs inline with their ids made unique, all text escaped.
std::string render_html(const Document& document);

}  // namespace nb
