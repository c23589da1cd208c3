#include <fmt/core.h>

#include "harness/base/table.hpp"
#include "report/sections.hpp"
#include "results/format.hpp"

namespace nb {

std::vector<Block> verdict_blocks(const ReportContext& context) {
  if (!context.input.gate)
    return {Paragraph{"Not gated: no baseline was given (npubench gate BASE CANDIDATE)."}};
  const GateResult& gate = *context.input.gate;

  const bool green = gate.night == Verdict::kPass || gate.night == Verdict::kImproved;
  std::vector<Block> blocks = {Paragraph{gate_headline(gate), !green}};
  if (gate.uncalibrated)
    blocks.emplace_back(
        Paragraph{"Uncalibrated: there is no noise card, so margins are max(1 pp, 6/n) and do not "
                  "account for flips between healthy runs."});
  TextTable table{{"verdict", "what", "base", "candidate", "95 % interval", "why"}, {}};
  std::size_t passed = 0;
  for (const TaskVerdict& v : gate.verdicts) {
    if (v.verdict == Verdict::kPass && v.test == "identical") {
      ++passed;
      continue;
    }
    const auto plain = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.6g}", *value) : std::string("—");
    };
    table.rows.push_back({std::string(name(v.verdict)), v.task(), plain(v.a), plain(v.b),
                          v.interval95 ? interval_text(*v.interval95, "1") : "", v.reason});
  }
  if (passed > 0)
    blocks.emplace_back(
        Paragraph{fmt::format("{} bit-identical (PASS).",
                              passed == 1 ? "1 check is" : count_text(passed, "check") + " are")});
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{"", table});
  if (!gate.notes.empty()) blocks.emplace_back(BulletList{gate.notes});
  return blocks;
}

}  // namespace nb
