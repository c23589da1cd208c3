#include "results/audit/table_filler.hpp"

namespace nb {

TableFiller::TableFiller(ReportedTable& table) : table_(table), index_(table.runs.size()) {
  for (std::size_t r = 0; r < table.runs.size(); ++r) {
    runs_.try_emplace(table.runs[r].name, r);
    for (std::size_t s = 0; s < table.runs[r].stages.size(); ++s) know(r, s);
  }
}

// The first of a name counts, as for ReportedTable::run and ReportedStage::find.
void TableFiller::know(std::size_t run, std::size_t stage) {
  const ReportedStage& known = table_.runs[run].stages[stage];
  index_[run].stages.try_emplace(known.name, stage);
  StageIndex& index = index_[run].index.emplace_back();
  for (std::size_t i = 0; i < known.cells.size(); ++i)
    index.cells.try_emplace(known.cells[i].task, i);
}

TableFiller::Place TableFiller::place(const std::string& run, const std::string& stage) {
  const auto [run_at, is_new_run] = runs_.try_emplace(run, table_.runs.size());
  if (is_new_run) {
    table_.runs.emplace_back().name = run;
    index_.emplace_back();
  }
  const std::size_t r = run_at->second;
  std::vector<ReportedStage>& stages = table_.runs[r].stages;
  const auto stage_at = index_[r].stages.find(stage);
  if (stage_at != index_[r].stages.end()) return {r, stage_at->second};
  stages.emplace_back().name = stage;
  know(r, stages.size() - 1);
  return {r, stages.size() - 1};
}

const ReportedCell* TableFiller::find(Place at, const std::string& task) const {
  const auto& cells = index_[at.run].index[at.stage].cells;
  const auto found = cells.find(task);
  return found == cells.end() ? nullptr
                              : &table_.runs[at.run].stages[at.stage].cells[found->second];
}

void TableFiller::add(Place at, ReportedCell cell) {
  std::vector<ReportedCell>& cells = stage(at).cells;
  index_[at.run].index[at.stage].cells.try_emplace(cell.task, cells.size());
  cells.push_back(std::move(cell));
}

}  // namespace nb
