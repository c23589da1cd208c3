#include <fmt/format.h>

#include "report/html.hpp"

namespace nb {

namespace {

// Light, dark and paper by variables alone. Words in tables are not broken; only long ones are,
// where html_table.cpp allows it.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--text:#1d2126;--soft:#59636e;--page:#fff;--line:#dfe3e8;--head:#f3f5f7;--link:#0060a0;
--good:#00693c;--bad:#b00020;--unsure:#8a5a00;--warn:#fff4d6;--warnline:#d08a00;--plain:#eef3f8;--plainline:#5b87ad}
@media (prefers-color-scheme:dark){:root{--text:#e3e6ea;--soft:#a3adb8;--page:#15181c;--line:#343b44;--head:#20252b;--link:#7cc0f5;
--good:#5fd39a;--bad:#ff8a8f;--unsure:#f0c060;--warn:#3a2f12;--warnline:#d0a040;--plain:#1d2731;--plainline:#5b87ad}}
@media print{:root{color-scheme:light;--text:#000;--soft:#444;--page:#fff;--line:#bbb;--head:#eee;--link:#000;
--good:#00693c;--bad:#b00020;--unsure:#8a5a00;--warn:#fff;--warnline:#888;--plain:#fff;--plainline:#888}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Noto Sans CJK SC","Microsoft YaHei",sans-serif;color:var(--text);background:var(--page);max-width:80rem;margin:0 auto;padding:1.25rem}
h1{font-size:1.6rem;margin:0 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
nav{font-size:.9rem;margin-bottom:1rem;display:flex;flex-wrap:wrap;gap:.15rem 1rem}
a{color:var(--link)}
p,li{max-width:60rem;overflow-wrap:anywhere}
.banner{font-size:1.12rem;max-width:none;padding:.7rem 1rem;margin:.6rem 0;border-left:6px solid var(--plainline);background:var(--plain)}
.banner.good{border-color:var(--good)}.banner.bad{border-color:var(--bad)}.banner.unsure{border-color:var(--unsure)}
.banner p{max-width:none;margin:.2rem 0}.soft,.note,.subtitle{color:var(--soft)}.banner .soft{font-size:.92rem}
.subtitle{margin:0 0 1rem;max-width:none}.note{font-size:.86rem;margin:-1rem 0 1.6rem}
.unseen{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
.figures{display:flex;flex-wrap:wrap;margin:1rem 0;border:1px solid var(--line);border-radius:8px}
.figures div{display:flex;flex-direction:column-reverse;justify-content:flex-end;flex:1 1 11rem;padding:.6rem 1rem;border-left:1px solid var(--line)}
.figures div:first-child{border-left:0}
.figures dd{margin:0;font-size:1.45rem;font-weight:600;font-variant-numeric:tabular-nums}.figures dt{font-size:.86rem;color:var(--soft)}
.columns{display:flex;flex-wrap:wrap;gap:0 2rem}.columns>div{flex:1 1 20rem;min-width:0}
h3{font-size:1rem;margin:.6rem 0 .2rem}.columns ul{margin:.2rem 0 1rem;padding-left:1.2rem}
td.drawn{white-space:nowrap}td.drawn .spark{display:inline-block;max-width:none;vertical-align:middle;margin-right:.6rem}
.warning{background:var(--warn);border-left:4px solid var(--warnline);padding:.5rem .8rem}
pre{background:var(--head);padding:.7rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.86rem;line-height:1.4;margin:.4rem 0 1.4rem;font-variant-numeric:tabular-nums;max-width:100%}
caption{text-align:left;font-weight:600;padding:.3rem 0;max-width:60rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:break-word;min-width:2.5rem}
thead th{background:var(--head);vertical-align:bottom}
th small{font-weight:400;color:var(--soft)}
tbody th{font-weight:400}
th.n,td.n{text-align:right}.w{white-space:nowrap}.d{overflow-wrap:anywhere}
td small,th small{color:var(--soft);display:block}
.good{color:var(--good)}.bad{color:var(--bad)}.unsure{color:var(--unsure)}
td.good,td.bad,td.unsure,small.good,small.bad,small.unsure{font-weight:600}
td small.good{color:var(--good)}td small.bad{color:var(--bad)}td small.unsure{color:var(--unsure)}
.banner.good,.banner.bad,.banner.unsure{color:var(--text)}
details>summary{cursor:pointer;font-weight:600;padding:.25rem 0}
details>summary h2{display:inline-block;border:0;margin:.6rem 0 0}
.spark{display:block;max-width:100%}
figure{margin:1rem 0 1.8rem}figure svg{max-width:100%;height:auto;display:block}
figcaption{font-size:.86rem;color:var(--soft)}
.filters{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:.5rem 0}
.filters label{display:flex;flex-direction:column;font-size:.8rem;color:var(--soft)}
.filters input,.filters select,button{font:inherit;font-size:.9rem;color:var(--text);background:var(--page);border:1px solid var(--line);border-radius:4px;padding:.25rem .5rem;max-width:18rem}
.open td{background:var(--head)}
.sides{display:grid;grid-template-columns:1fr 1fr;gap:1rem}
.sides pre{margin:.2rem 0}
@media (prefers-color-scheme:dark){@media screen{figure svg{filter:invert(1) hue-rotate(180deg)}}}
@media (max-width:900px){th,td{padding:.25rem .3rem}td.drawn .spark{width:5rem;height:auto;margin-right:.3rem}}
@media (max-width:700px){body{padding:.8rem}.sides{grid-template-columns:1fr}}
@media print{
body{font-size:10pt;max-width:none;padding:0}
table{font-size:7.5pt}th,td{padding:.15rem .35rem}
nav,.filters,button{display:none}
h2{break-after:avoid}tr,figure{break-inside:avoid}
thead{display:table-header-group}
.scroll{overflow:visible}
a{text-decoration:none}
}
)";

// A row is a card, a cell a line of it; its column's name, which html_table.cpp gives each, stands
// in front. A float, so that the cell's words wrap as they do in a table.
constexpr std::string_view kCards = R"(
table.@,table.@ tbody,table.@ tr,table.@ th,table.@ td{display:block;min-width:0}
table.@ caption{display:block}
table.@ thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table.@ tr{border:1px solid var(--line);border-radius:4px;margin:0 0 .6rem;padding:.2rem .5rem}
table.@ th,table.@ td{border:0;padding:.12rem 0;text-align:right;display:flow-root}
table.@ th::before,table.@ td::before{content:var(--name);float:left;margin-right:1rem;color:var(--soft);text-align:left;max-width:45%;overflow-wrap:anywhere;font-weight:400}
table.@ tbody th{font-weight:600}
table.@ td:empty{display:none}
table.@ .v small{display:inline;margin-left:.5em}
)";

std::string cards_below(int pixels, std::string_view of) {
  std::string style = fmt::format("@media screen and (max-width:{}px){{", pixels);
  for (const char c : kCards)
    if (c == '@')
      style += of;
    else
      style += c;
  return style + "}\n";
}

}  // namespace

std::string html_style() {
  return std::string(kStyle) + cards_below(900, "wide") + cards_below(700, "cards");
}

}  // namespace nb
