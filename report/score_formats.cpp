#include "report/score_formats.hpp"

#include <optional>

#include "harness/base/csv.hpp"
#include "harness/base/table.hpp"
#include "report/document.hpp"
#include "results/compare/score_table.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

std::string cell(const std::optional<double>& value) { return value ? number_text(*value) : ""; }

}  // namespace

std::string scores_markdown(const Comparison& comparison) {
  return to_markdown(score_rows(comparison));
}

std::string scores_latex(const Comparison& comparison) {
  SectionContent section;
  section.blocks.emplace_back(TableBlock{"A: " + comparison.label_a + "; B: " + comparison.label_b,
                                         score_rows(comparison)});
  Document document;
  document.sections.push_back(std::move(section));
  return render_latex(document);
}

std::string scores_csv(const Comparison& comparison) {
  std::string text =
      csv_line({"score", "unit", "a", "b", "difference", "low", "high", "verdict"}) + "\n";
  for (const Score& score : comparison.scores) {
    std::optional<double> low, high;
    if (score.interval95) {
      low = score.interval95->low;
      high = score.interval95->high;
    }
    text += csv_line({score.name + score.place, score.unit, cell(score.a), cell(score.b),
                      cell(score.difference), cell(low), cell(high),
                      text_of(words_of(score.outcome))}) +
            "\n";
  }
  return text;
}

}  // namespace nb
