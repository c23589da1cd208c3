#include "report/json.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"

namespace nb {
namespace {

Json scores_json(const std::vector<ScoreTable>& tables) {
  Json list = Json::array();
  for (const ScoreTable& table : tables)
    for (std::size_t m = 0; m < table.models.size(); ++m)
      for (std::size_t t = 0; t < table.tasks.size(); ++t) {
        const ScoreCell& cell = table.cells[m][t];
        if (!cell.raw) continue;
        const ScoreModel& model = table.models[m];
        Json one = {{"model", model.name},
                    {"device", model.device},
                    {"task", table.tasks[t]},
                    {"raw", *cell.raw},
                    {"unit", cell.unit},
                    {"centred", optional_json(cell.centred)},
                    {"chance", optional_json(cell.chance)},
                    {"interval95", Json()},
                    {"interval_over", cell.seeds > 1 ? "seeds" : "items"},
                    {"items", cell.items},
                    {"seeds", cell.seeds},
                    {"verdict", cell.verdict ? Json(name(*cell.verdict)) : Json()},
                    {"shown", cell.shown ? Json(name(*cell.shown)) : Json()},
                    {"against", model.against}};
        if (cell.interval) one["interval95"] = {cell.interval->low, cell.interval->high};
        list.push_back(std::move(one));
      }
  return list;
}

Json flip_groups_json(const ItemList& list) {
  Json groups = Json::array();
  for (const FlipGroup& group : list.groups)
    groups.push_back({{"a", group.pair_a},
                      {"b", group.pair_b},
                      {"task", group.task},
                      {"same_weights", group.same_weights},
                      {"items", group.items},
                      {"lost", group.lost},
                      {"won", group.won},
                      {"near_tie", group.near_tie},
                      {"hard", group.hard},
                      {"near_tie_limit_nat", group.limit}});
  return groups;
}

struct Text {
  Json& list;
  void add(const char* kind, const std::string& text) const {
    list.push_back({{"kind", kind}, {"text", text}});
  }
  void operator()(const Banner& block) const {
    add("headline", block.text);
    for (const std::string& line : block.more) add("paragraph", line);
  }
  void operator()(const KeyFigures& block) const {
    Json figures = Json::array();
    for (const KeyFigures::Figure& one : block.figures)
      figures.push_back({{"value", one.value}, {"text", one.text}});
    list.push_back({{"kind", "figures"}, {"figures", std::move(figures)}});
  }
  void operator()(const Columns& block) const {
    for (const Columns::Column& column : block.columns)
      list.push_back({{"kind", "list"}, {"title", column.title}, {"items", column.items}});
  }
  void operator()(const Paragraph& block) const {
    add(block.is_warning ? "warning" : "paragraph", block.text);
  }
  void operator()(const BulletList& block) const {
    list.push_back({{"kind", "list"}, {"items", block.items}});
  }
  void operator()(const CodeBlock& block) const { add("commands", block.text); }
  void operator()(const TableBlock& block) const {
    if (block.folded) return;  // csv/ has it
    list.push_back({{"kind", "table"},
                    {"caption", block.caption},
                    {"header", block.table.header},
                    {"rows", block.table.rows}});
  }
  void operator()(const PlotBlock& block) const {
    if (block.svg.empty()) return;
    list.push_back({{"kind", "plot"},
                    {"title", block.plot.title},
                    {"svg", "plots/" + block.plot.name + ".svg"},
                    {"pdf", "plots/" + block.plot.name + ".pdf"}});
  }
  void operator()(const ItemsBlock&) const {}  // csv/flips.csv
};

}  // namespace

Json report_json(const ReportContext& context, const Document& document) {
  const ReportInput& input = context.input;
  Json json = {{"schema", kReportSchema},
               {"title", document.title},
               {"subtitle", document.subtitle},
               {"language", name(document.say.language())},
               {"gate", input.gate ? gate_json(*input.gate) : Json()},
               {"scores", scores_json(context.scores)},
               {"comparisons", Json::array()},
               {"flips", flip_groups_json(context.flips)},
               {"sections", Json::array()}};
  for (const Comparison& comparison : input.comparisons)
    json["comparisons"].push_back(comparison_json(comparison));
  for (const SectionContent& section : document.sections) {
    Json blocks = Json::array();
    for (const Block& block : section.blocks) std::visit(Text{blocks}, block);
    json["sections"].push_back(
        {{"id", section.id}, {"title", section.title}, {"blocks", std::move(blocks)}});
  }
  return json;
}

}  // namespace nb
