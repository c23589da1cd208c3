#include <fmt/core.h>

#include <string_view>

#include "report/document.hpp"

namespace nb {
namespace {

constexpr std::string_view kStyle = R"(
body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:70rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.7rem;margin:0 0 1rem}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-bottom:.2rem;border-bottom:1px solid #ddd}
nav{font-size:.9rem;margin-bottom:1.5rem}nav a{margin-right:1rem;color:#0060a0}
p{max-width:52rem}
.warning{background:#fff4d6;border-left:4px solid #d08a00;padding:.5rem .8rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;margin:.4rem 0 1.4rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .7rem;border-bottom:1px solid #e4e4e4;text-align:left;vertical-align:top}
th{background:#f5f5f5;white-space:nowrap}
td.number{text-align:right;white-space:nowrap}
td.PASS,td.IMPROVED{color:#00693c;font-weight:600}
td.REGRESSED,td.SUSPICIOUS,td.ERROR{color:#b00020;font-weight:600}
td.INCOMPARABLE,td.INCONCLUSIVE{color:#8a5a00;font-weight:600}
figure{margin:1rem 0 1.8rem}figure svg{max-width:100%;height:auto}
figcaption{font-size:.88rem;color:#555}
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

bool is_number(const std::string& cell) {
  std::string_view text = cell;
  for (const std::string_view sign : {"+", "-", "−", "±", "["})
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  for (const std::string_view sign : {"+", "-", "−"})
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  return (!text.empty() && text[0] >= '0' && text[0] <= '9') || cell == "—";
}

std::string table_html(const TableBlock& block) {
  std::string out = "<div class=\"scroll\"><table>";
  if (!block.caption.empty()) out += "<caption>" + escaped(block.caption) + "</caption>";
  out += "<thead><tr>";
  for (const std::string& cell : block.table.header) out += "<th>" + escaped(cell) + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : block.table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < block.table.header.size(); ++c) {
      const std::string cell = c < row.size() ? row[c] : std::string();
      std::string style;
      for (const std::string_view verdict :
           {"PASS", "IMPROVED", "REGRESSED", "SUSPICIOUS", "ERROR", "INCOMPARABLE", "INCONCLUSIVE"})
        if (cell == verdict) style = fmt::format(" class=\"{}\"", verdict);
      if (is_number(cell)) style = " class=\"number\"";
      out += "<td" + style + ">" + escaped(cell) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

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
  replace_all(svg, "id=\"", "id=\"" + prefix);
  replace_all(svg, "id='", "id='" + prefix);
  replace_all(svg, "url(#", "url(#" + prefix);
  replace_all(svg, "href=\"#", "href=\"#" + prefix);
  replace_all(svg, "href='#", "href='#" + prefix);
  return svg;
}

struct Renderer {
  std::string& out;
  void operator()(const Paragraph& block) const {
    out += (block.is_warning ? "<p class=\"warning\">" : "<p>") + escaped(block.text) + "</p>\n";
  }
  void operator()(const BulletList& block) const {
    if (block.items.empty()) return;
    out += "<ul>\n";
    for (const std::string& item : block.items) out += "<li>" + escaped(item) + "</li>\n";
    out += "</ul>\n";
  }
  void operator()(const TableBlock& block) const { out += table_html(block); }
  void operator()(const PlotBlock& block) const {
    if (block.svg.empty()) return;
    out += "<figure role=\"img\" aria-label=\"" + escaped(block.plot.title) + "\">" +
           inline_svg(block.svg, block.plot.name + "-");
    if (!block.plot.note.empty())
      out += "<figcaption>" + escaped(block.plot.note) + "</figcaption>";
    out += "</figure>\n";
  }
};

}  // namespace

std::string render_html(const Document& document) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         escaped(document.title) + "</title>\n<style>" + std::string(kStyle) +
         "</style></head>\n<body>\n<h1>" + escaped(document.title) + "</h1>\n<nav>";
  for (std::size_t s = 0; s < document.sections.size(); ++s)
    out += fmt::format("<a href=\"#s{}\">{}</a>", s, escaped(document.sections[s].title));
  out += "</nav>\n";
  for (std::size_t s = 0; s < document.sections.size(); ++s) {
    out += fmt::format("<h2 id=\"s{}\">{}</h2>\n", s, escaped(document.sections[s].title));
    for (const Block& block : document.sections[s].blocks) std::visit(Renderer{out}, block);
  }
  return out + "</body></html>\n";
}

}  // namespace nb
