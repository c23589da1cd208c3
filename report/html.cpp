#include "report/html.hpp"

#include <fmt/core.h>

#include <span>

#include "report/markup.hpp"

namespace nb {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The <svg> element alone, its ids and references prefixed: several plots share one document.
std::string inline_svg(std::string svg, const std::string& prefix) {
  const std::size_t begin = svg.find("<svg");
  if (begin == std::string::npos) return {};
  svg.erase(0, begin);
  // The page's own colour is behind it.
  replace_all(svg, "fill=\"#ffffff\"/>", "fill=\"none\"/>");
  replace_all(svg, "id=\"", "id=\"" + prefix);
  replace_all(svg, "id='", "id='" + prefix);
  replace_all(svg, "url(#", "url(#" + prefix);
  replace_all(svg, "href=\"#", "href=\"#" + prefix);
  replace_all(svg, "href='#", "href='#" + prefix);
  return svg;
}

std::string_view banner_class(Tone tone) {
  constexpr std::string_view kClasses[] = {"banner", "banner good", "banner bad", "banner unsure"};
  return kClasses[static_cast<std::size_t>(tone)];
}

struct HtmlRenderer {
  const Words& say;
  std::string& out;
  std::string& column_names;
  std::size_t& tables;
  bool& has_script;

  void operator()(const Banner& block) const {
    out += fmt::format("<div class=\"{}\"><p>{}</p>", banner_class(block.tone),
                       markup_escaped(block.text));
    for (const std::string& line : block.more)
      out += "<p class=soft>" + markup_escaped(line) + "</p>";
    out += "</div>\n";
  }
  void operator()(const KeyFigures& block) const {
    out += "<dl class=figures>";
    for (const KeyFigures::Figure& one : block.figures)
      out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", markup_escaped(one.text),
                         markup_escaped(one.value));
    out += "</dl>\n";
  }
  void operator()(const Columns& block) const {
    out += "<div class=columns>\n";
    for (const Columns::Column& column : block.columns) {
      out += "<div><h3>" + markup_escaped(column.title) + "</h3>\n";
      (*this)(BulletList{column.items});
      out += "</div>\n";
    }
    out += "</div>\n";
  }
  void operator()(const Paragraph& block) const {
    out += (block.is_warning ? "<p class=warning>" : "<p>") + markup_escaped(block.text) + "</p>\n";
  }
  void operator()(const BulletList& block) const {
    if (block.items.empty()) return;
    out += "<ul>\n";
    for (const std::string& item : block.items) out += "<li>" + markup_escaped(item) + "</li>\n";
    out += "</ul>\n";
  }
  void operator()(const CodeBlock& block) const {
    out += "<pre><code>" + markup_escaped(block.text) + "</code></pre>\n";
  }
  void operator()(const TableBlock& block) const {
    if (block.folded)
      out += fmt::format("<details><summary>{} ({})</summary>\n", markup_escaped(block.caption),
                         block.table.rows.size());
    out += html_table(block.table, block.folded ? "" : block.caption, tables++, column_names,
                      block.pictures);
    if (block.folded) out += "</details>\n";
    if (!block.note.empty()) out += "<p class=note>" + markup_escaped(block.note) + "</p>\n";
  }
  void operator()(const PlotBlock& block) const {
    if (block.svg.empty()) return;
    out += "<figure role=img aria-label=\"" + markup_escaped(block.plot.title) + "\">" +
           inline_svg(block.svg, block.plot.name + "-");
    if (!block.plot.note.empty())
      out += "<figcaption>" + markup_escaped(block.plot.note) + "</figcaption>";
    out += "</figure>\n";
  }
  void operator()(const ItemsBlock& block) const {
    out += html_items(block.list, say, tables++, column_names);
    has_script = true;
  }
};

}  // namespace

std::string render_html(const Document& document) {
  const Words& say = document.say;
  std::string body = "<body>\n<main>\n<h1>" + markup_escaped(document.title) + "</h1>\n";
  if (!document.subtitle.empty())
    body += "<p class=subtitle>" + markup_escaped(document.subtitle) + "</p>\n";
  std::string column_names;
  std::size_t tables = 0;
  bool has_script = false;
  const auto nav = [&] {
    body += fmt::format("<nav aria-label=\"{}\">", markup_escaped(say("contents")));
    for (const SectionContent& section : std::span(document.sections).subspan(1))
      body += fmt::format("<a href=\"#{}\">{}</a>", section.id, markup_escaped(section.title));
    body += "</nav>\n";
  };
  for (std::size_t s = 0; s < document.sections.size(); ++s) {
    const SectionContent& section = document.sections[s];
    // The title is the first screen's heading for those who see it.
    const std::string heading =
        fmt::format("<h2 id={}{}>{}</h2>", section.id, s == 0 ? " class=unseen" : "",
                    markup_escaped(section.title));
    body += section.folded ? "<details><summary>" + heading + "</summary>\n" : heading + "\n";
    for (const Block& block : section.blocks)
      std::visit(HtmlRenderer{say, body, column_names, tables, has_script}, block);
    if (section.folded) body += "</details>\n";
    if (s == 0) nav();  // the verdict comes before everything
  }
  const std::string style = html_style() + column_names;
  std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n",
      say.language() == Language::kZh ? "zh-CN" : "en",
      html_policy(style, has_script ? html_script() : ""), markup_escaped(document.title));
  head += "<style>" + style + "</style></head>\n";
  return head + body + "</main></body></html>\n";
}

}  // namespace nb
