#include "report/document.hpp"

#include <gtest/gtest.h>

#include "tests/report/has.hpp"

namespace nb {
namespace {

using test::has;

Document hostile() {
  Document document{"a <script>alert('x')</script> & \"b\"", Words(), {}};
  PlotBlock plot;
  plot.plot.name = "p";
  plot.plot.title = "plot \"of\" <x>";
  plot.svg =
      "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 1 1\"><defs><circle id='gpDot'/></defs>"
      "<use xlink:href='#gpDot'/><g id=\"canvas\" fill=\"url(#grad)\"></g></svg>\n";
  PlotBlock second = plot;
  second.plot.name = "q";
  document.sections = {{"one",
                        "One & two",
                        {Paragraph{"x < y", true}, BulletList{{"<li>"}},
                         TableBlock{"cap|tion",
                                    {{"a|b", "<th>", "n"},
                                     {{"1|2", "<img src=x>", "2"}, {"REGRESSED", "", "−3.5"}}}},
                         plot, second},
                        false}};
  return document;
}

TEST(Html, EscapesEveryText) {
  const std::string html = render_html(hostile());
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "<img"));
  EXPECT_FALSE(has(html, "<li><li>"));
  EXPECT_TRUE(has(html, "a &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;b&quot;"));
  EXPECT_TRUE(has(html, "aria-label=\"plot &quot;of&quot; &lt;x&gt;\""));
}

TEST(Html, InlinesPlotsWithIdsOfTheirOwn) {
  const std::string html = render_html(hostile());
  EXPECT_FALSE(has(html, "<?xml"));
  for (const char* part : {"id='p-gpDot'", "href='#p-gpDot'", "id='q-gpDot'", "href='#q-gpDot'",
                           "url(#p-grad)", "id=\"q-canvas\""})
    EXPECT_TRUE(has(html, part)) << part;
  EXPECT_FALSE(has(html, "src=\"")) << "one file: nothing is fetched";
  EXPECT_FALSE(has(html, "<link"));
}

TEST(Html, CellsKnowTheirHeadersAndWideTablesBecomeCards) {
  Document document{"t", Words(), {}};
  document.sections = {
      {"s", "S", {TableBlock{"", {{"a", "b", "c\"d", "e"}, {{"1", "x", "y", "z"}}}}}, false}};
  const std::string html = render_html(document);
  EXPECT_TRUE(has(html, "<th scope=col>b</th>"));
  EXPECT_TRUE(has(html, "#t0 tbody tr>:nth-child(3){--name:\"c\\22 d\"}")) << html;
}

TEST(Html, LanguageIsSaid) {
  Document document{"t", Words(Language::kZh), {}};
  EXPECT_TRUE(has(render_html(document), "<html lang=\"zh-CN\">"));
}

TEST(Html, MarksVerdictsAndNumbers) {
  const std::string html = render_html(hostile());
  EXPECT_TRUE(has(html, "<th scope=row class=bad>REGRESSED</th>"));
  EXPECT_TRUE(has(html, "<td class=n>−3.5</td>"));
}

TEST(Latex, EscapesWhatMeansSomethingToIt) {
  Document document{"a_b", Words(), {}};
  document.sections = {
      {"s",
       "50 %",
       {TableBlock{"c_d", {{"a&b", "n"}, {{"x\\y{z}", "[1, 2]"}, {"two\nlines", "−3"}}}}},
       false}};
  const std::string text = render_latex(document);
  for (const char* part :
       {"% a\\_b", "\\section*{50 \\%}", "\\caption{c\\_d}", "a\\&b & n \\\\",
        "x\\textbackslash{}y\\{z\\} & {[}1, 2] \\\\",
        "\\begin{tabular}[t]{@{}l@{}}two \\\\ lines\\end{tabular} & $-$3 \\\\", "\\end{document}"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(Markdown, EscapesMarkupAndCells) {
  const std::string text = render_markdown(hostile());
  EXPECT_FALSE(has(text, "<script"));
  EXPECT_FALSE(has(text, "<img"));
  EXPECT_TRUE(has(text, "1\\|2"));
  EXPECT_TRUE(has(text, "**x &lt; y**"));
  EXPECT_TRUE(has(text, "![plot \"of\" &lt;x&gt;](plots/p.svg)"));
}

TEST(Markdown, LeavesOutPlotsThatWereNotDrawn) {
  Document document = hostile();
  std::get<PlotBlock>(document.sections[0].blocks[3]).svg.clear();
  EXPECT_FALSE(has(render_markdown(document), "plots/p.svg"));
  EXPECT_TRUE(has(render_markdown(document), "plots/q.svg"));
  EXPECT_FALSE(has(render_html(document), "id='p-gpDot'"));
}

}  // namespace
}  // namespace nb
