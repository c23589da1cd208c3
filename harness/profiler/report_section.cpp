#include "harness/profiler/report_section.hpp"

namespace nb::profiler {

BroughtSection report_section(const Analysis& analysis, Language language) {
  BroughtSection section;
  section.id = "profile";
  section.title = text_of(Said{"report.title", {analysis.profile->source}}, language);
  section.text = summary_text(analysis, language);
  for (const Verdict& verdict : analysis.verdicts) {
    std::string point = text_of(verdict.said, language);
    if (verdict.remedy) point += " → " + text_of(*verdict.remedy, language);
    section.points.push_back(std::move(point));
  }
  for (const Said& note : analysis.notes) section.points.push_back(text_of(note, language));
  for (const Table& table : analysis.tables)
    if (!table.rows.empty())
      section.tables.emplace_back(word("table." + std::string(table.key), language),
                                  shown_table(table, language));
  return section;
}

}  // namespace nb::profiler
