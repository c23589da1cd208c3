// Two sides, metric by metric, confounders first. Device against device in one run, and this run
// against another.
#include <fmt/format.h>

#include <algorithm>

#include "report/sections.hpp"
#include "results/format.hpp"

namespace nb {
namespace {

void add_confounders(std::vector<Block>& blocks, const Comparison& c) {
  const bool devices = !c.device_a.empty();
  for (const std::string& finding : c.findings) blocks.emplace_back(Paragraph{finding, true});
  for (const std::string& sentence : c.unknown) blocks.emplace_back(Paragraph{sentence, true});
  const bool confounded =
      std::any_of(c.confounders.begin(), c.confounders.end(), [](const auto& confounder) {
        return confounder.category == "settings" || confounder.category == "data" ||
               confounder.category == "code";
      });
  if (confounded)
    blocks.emplace_back(
        Paragraph{"Confounded: settings, data or code differ between the sides, so no difference "
                  "below can be attributed to the device alone.",
                  true});
  else if (devices && c.only_device_differs())
    blocks.emplace_back(
        Paragraph{"Settings and code are equal on both sides: all differences come from the "
                  "emulated devices."});
  const bool numerics =
      std::any_of(c.confounders.begin(), c.confounders.end(),
                  [](const auto& confounder) { return confounder.category == "numerics"; });
  if (devices && !numerics && !c.pairs.empty())
    blocks.emplace_back(
        Paragraph{"Both sides have the same numerics policy: arithmetic can explain no difference "
                  "between them."});
  TextTable table{{"what", "field", "A: " + c.label_a, "B: " + c.label_b, "pairs"}, {}};
  for (const Confounder& confounder : c.confounders)
    table.rows.push_back({confounder.category, confounder.field, confounder.a, confounder.b,
                          fmt::format("{}", confounder.where.size())});
  if (!table.rows.empty())
    blocks.emplace_back(TableBlock{"Differences besides the results", table});
}

// A direction where the difference shows one, else what could be seen.
std::string shown_text(Shown shown, const std::optional<double>& visible, const std::string& unit) {
  if (shown == Shown::kNotShown && visible)
    return fmt::format("{} (could see ≥ {})", name(shown), rounded_value(*visible, unit));
  return std::string(name(shown));
}

void add_pairs(std::vector<Block>& blocks, const Comparison& c) {
  TextTable table{{"node", "metric", "A: " + c.label_a, "B: " + c.label_b, "B − A", "relative",
                   "95 % interval", "shown", "note"},
                  {}};
  std::vector<std::string> identical;
  for (const RecordPair& pair : c.pairs) {
    Record node = pair.a->record;
    if (!c.device_a.empty()) node.device = node.trained_on = "";
    if (pair.bit_identical) identical.push_back(describe(node));
    for (const MetricDifference& row : pair.metrics) {
      if (row.clock == Clock::kHost)
        continue;  // a real clock's noise has no place beside gated values
      const auto cell = [&](const std::optional<double>& value) {
        return value ? value_text(*value, row.unit) : std::string("—");
      };
      std::string note = row.note;
      if (row.counts)
        note =
            fmt::format("{} lost, {} won of {}; p {}; {}", row.counts->only_a, row.counts->only_b,
                        row.counts->n(), p_text(*row.p_two_sided), row.method);
      table.rows.push_back({describe(node), row.name, cell(row.a), cell(row.b),
                            row.difference ? signed_text(*row.difference, row.unit) : "—",
                            row.relative ? percent_text(*row.relative) : "",
                            row.interval95 ? interval_text(*row.interval95, row.unit) : "",
                            shown_text(row.shown, row.visible, row.unit), note});
    }
  }
  if (!identical.empty()) {
    blocks.emplace_back(Paragraph{"Bit-identical on both sides:"});
    blocks.emplace_back(BulletList{identical});
  }
  if (!table.rows.empty())
    blocks.emplace_back(TableBlock{c.label_a + " (A) and " + c.label_b + " (B)", table});
}

void add_seeds(std::vector<Block>& blocks, const Comparison& c) {
  TextTable table{{"over seeds", "metric", "mean A", "mean B", "B − A", "95 % interval", "shown",
                   "method", "seeds"},
                  {}};
  for (const SeedDifference& s : c.seeds) {
    if (!s.test) continue;
    table.rows.push_back({s.group, fmt::format("{}", fmt::join(s.metrics, " = ")),
                          value_text(mean(s.a), s.unit), value_text(mean(s.b), s.unit),
                          signed_text(s.test->difference, s.unit),
                          s.test->df == 0 ? "no spread" : interval_text(s.test->interval95, s.unit),
                          shown_text(s.shown, s.visible(), s.unit), s.method,
                          s.paired ? fmt::format("{}", s.a.size())
                                   : fmt::format("{} and {}", s.a.size(), s.b.size())});
  }
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{"Over seeds", table});
}

void add_comparison(std::vector<Block>& blocks, const Comparison& c) {
  add_confounders(blocks, c);
  if (c.pairs.empty())
    blocks.emplace_back(Paragraph{
        fmt::format("No records of {} and {} pair: nothing to compare.", c.label_a, c.label_b),
        true});
  add_pairs(blocks, c);
  add_seeds(blocks, c);
  std::vector<std::string> missing = c.unpaired;
  missing.insert(missing.end(), c.skipped.begin(), c.skipped.end());
  missing.insert(missing.end(), c.damaged.begin(), c.damaged.end());
  if (!missing.empty()) {
    blocks.emplace_back(Paragraph{"Not compared:"});
    blocks.emplace_back(BulletList{missing});
  }
}

}  // namespace

std::vector<Block> device_blocks(const ReportContext& context) {
  std::vector<Block> blocks;
  for (const Comparison& c : context.input.comparisons)
    if (!c.device_a.empty()) add_comparison(blocks, c);
  if (blocks.empty()) return {Paragraph{"The run has records of fewer than two devices."}};
  blocks.insert(
      blocks.begin(),
      Paragraph{
          "Separately trained models differ by seed as well as by device: an interval over items "
          "describes other questions, not another training run."});
  return blocks;
}

std::vector<Block> other_run_blocks(const ReportContext& context) {
  std::vector<Block> blocks;
  for (const Comparison& c : context.input.comparisons)
    if (c.device_a.empty()) add_comparison(blocks, c);
  if (blocks.empty()) return {Paragraph{"Not compared with another run (npubench compare A B)."}};
  return blocks;
}

}  // namespace nb
