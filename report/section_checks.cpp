// Every check of the gate but those that are equal to the last bit.
#include <fmt/core.h>

#include "report/sections.hpp"
#include "results/text/format.hpp"

namespace nb {

std::vector<Block> check_blocks(const ReportContext& context) {
  const Words& say = context.say;
  if (!context.input.gate) return {Paragraph{say("not_gated")}};
  const GateResult& gate = *context.input.gate;
  std::vector<Block> blocks;
  if (gate.uncalibrated) blocks.emplace_back(Paragraph{say("uncalibrated")});
  TextTable table{{say("verdict"), say("what"), say("baseline"), say("candidate"),
                   say("interval95"), say("why")},
                  {}};
  long long passed = 0;
  for (const TaskVerdict& v : gate.verdicts) {
    if (v.verdict == Verdict::kPass && v.test == "identical") {
      ++passed;
      continue;
    }
    const auto plain = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.6g}", *value) : std::string("—");
    };
    table.rows.push_back({std::string(name(v.verdict)), v.task(), plain(v.a), plain(v.b),
                          v.interval95 ? interval_text(*v.interval95, "1") : "", say(v.reason)});
  }
  if (passed > 0) blocks.emplace_back(Paragraph{say.count("n_identical_checks", passed)});
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{"", std::move(table)});
  if (!gate.notes.empty()) blocks.emplace_back(BulletList{texts_of(gate.notes, say.language())});
  if (blocks.empty()) blocks.emplace_back(Paragraph{say("nothing_judged")});
  return blocks;
}

}  // namespace nb
