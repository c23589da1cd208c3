// A report before it is Markdown, HTML or LaTeX: sections of paragraphs, lists, tables and plots.
// Plain text everywhere; each renderer escapes for itself.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "harness/base/table.hpp"
#include "report/plot.hpp"
#include "report/words.hpp"
#include "results/compare/flips.hpp"

namespace nb {

// What colour a word has: a verdict, or what a difference shows.
enum class Tone { kPlain, kGood, kBad, kUnsure };

// The verdict in words, above all else.
struct Banner {
  std::string text;
  Tone tone = Tone::kPlain;
  std::vector<std::string> more = {};  // in smaller letters below it
};
// A few numbers that a reader takes away: "0.21 ×" and what it is.
struct KeyFigures {
  struct Figure {
    std::string value, text;
  };
  std::vector<Figure> figures;
};
// Lists beside each other.
struct Columns {
  struct Column {
    std::string title;
    std::vector<std::string> items;
  };
  std::vector<Column> columns;
};
struct Paragraph {
  std::string text;
  bool is_warning = false;
};
struct BulletList {
  std::vector<std::string> items;
};
// Commands, to be copied; one per line.
struct CodeBlock {
  std::string text;
};
// In the cells of one column, a row each, markup of ours for HTML: instead of the text, which LaTeX
// leaves out too, or in front of it.
struct Pictures {
  std::size_t column = 0;
  std::vector<std::string> svgs;
  bool beside_text = false;
};
// A cell may have several lines: the first is its value, the others say more about it.
struct TableBlock {
  std::string caption;
  TextTable table;
  bool folded = false;  // shown when asked for; the caption says what is inside
  Pictures pictures = {};
  std::string note = {};  // below it, in small letters
};
// A plot that was drawn: its SVG goes into the HTML, its file name into the Markdown.
struct PlotBlock {
  Plot plot;
  std::string svg;  // filled by report.cpp; empty: not drawn, renderers leave it out
};
// Items to filter, search and open in HTML; elsewhere, and without JavaScript, a table.
struct ItemsBlock {
  ItemList list;
};

using Block = std::variant<Banner, KeyFigures, Columns, Paragraph, BulletList, CodeBlock,
                           TableBlock, PlotBlock, ItemsBlock>;

struct SectionContent {
  std::string id;  // anchor: "scores"
  std::string title;
  std::vector<Block> blocks;
  bool folded = false;
};

struct Document {
  std::string title;
  Words say;
  std::vector<SectionContent> sections;
  std::string subtitle = {};  // below the title; empty: none
};

// The first `most` flips as rows, for renderers without a filter.
TextTable flip_table(const ItemList& list, const Words& say, std::size_t most);
// Of a whole cell or line: "REGRESSED", "B worse", and the same in the other languages.
Tone tone_of(const std::string& text);

std::string render_markdown(const Document& document);
// One file: style and script inside, SVGs inline with their ids made unique, all text escaped.
std::string render_html(const Document& document);
// The tables, for \input in a paper: needs the packages booktabs and longtable.
std::string render_latex(const Document& document);

}  // namespace nb
