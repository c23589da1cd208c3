#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "results/format.hpp"
#include "results/gate.hpp"

namespace nb {
namespace {

constexpr std::size_t kMostNotes = 20;

std::size_t count(const GateResult& result, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(result.verdicts.begin(), result.verdicts.end(),
                    [&](const TaskVerdict& v) { return v.verdict == verdict; }));
}

std::string first_line(const GateResult& result) {
  const std::string code = fmt::format("(exit {})", result.exit_code);
  if (result.verdicts.empty()) return "ERROR " + code + ": nothing was compared";
  const TaskVerdict& worst = result.verdicts.front();
  if (result.night == Verdict::kInconclusive)
    return fmt::format("can't tell {}: {}: {}", code, worst.task, worst.reason);
  if (result.night == Verdict::kPass || result.night == Verdict::kImproved) {
    std::size_t identical = 0;
    for (const TaskVerdict& v : result.verdicts) identical += v.test == "identical" ? 1 : 0;
    return fmt::format("{} {}: {} checks, {} bit-identical{}", name(result.night), code,
                       result.verdicts.size(), identical,
                       result.night == Verdict::kImproved ? "; new baseline?" : "");
  }
  return fmt::format("{} {}: {} of {} checks are not PASS", name(result.night), code,
                     result.verdicts.size() - count(result, Verdict::kPass),
                     result.verdicts.size());
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kImproved:
      return "IMPROVED";
    case Verdict::kInconclusive:
      return "INCONCLUSIVE";
    case Verdict::kSuspicious:
      return "SUSPICIOUS";
    case Verdict::kRegressed:
      return "REGRESSED";
    case Verdict::kIncomparable:
      return "INCOMPARABLE";
    case Verdict::kError:
      return "ERROR";
  }
  return "ERROR";
}

std::string gate_text(const GateResult& result) {
  std::string text = first_line(result) + "\n";
  for (const TaskVerdict& v : result.verdicts)
    if (v.verdict != Verdict::kPass)
      text += fmt::format("{}  {}: {}\n", name(v.verdict), v.task, v.reason);
  if (result.uncalibrated)
    text +=
        "uncalibrated: no noise card; margins are max(1 pp, 6/n) and know nothing of healthy "
        "flips\n";
  TextTable table{
      {"verdict", "test", "what", "base", "candidate", "95 % of the difference", "finds (80 %)"},
      {}};
  for (const TaskVerdict& v : result.verdicts) {
    const auto plain = [](const std::optional<double>& value) {
      return value ? number_text(*value) : std::string();
    };
    const std::string interval =
        v.interval95 ? fmt::format("[{:+.5g}, {:+.5g}]", v.interval95->low, v.interval95->high)
                     : "";
    table.rows.push_back({std::string(name(v.verdict)), v.test, v.task, plain(v.a), plain(v.b),
                          interval, v.mde80 ? fmt::format("±{:.4g}", *v.mde80) : ""});
  }
  if (!table.rows.empty()) text += "\n" + to_text(table);
  if (!result.notes.empty()) text += "\nnotes\n";
  for (std::size_t i = 0; i < result.notes.size() && i < kMostNotes; ++i)
    text += "  " + result.notes[i] + "\n";
  if (result.notes.size() > kMostNotes)
    text += fmt::format("  … and {} more (--json has all)\n", result.notes.size() - kMostNotes);
  return text;
}

Json gate_json(const GateResult& result) {
  Json json = {{"night", name(result.night)},
               {"exit_code", result.exit_code},
               {"uncalibrated", result.uncalibrated},
               {"first_line", first_line(result)},
               {"notes", result.notes},
               {"verdicts", Json::array()}};
  for (const TaskVerdict& v : result.verdicts) {
    Json counts;
    if (v.counts)
      counts = {{"both", v.counts->both},
                {"only_base", v.counts->only_a},
                {"only_candidate", v.counts->only_b},
                {"neither", v.counts->neither}};
    json["verdicts"].push_back(
        {{"task", v.task},
         {"verdict", name(v.verdict)},
         {"test", v.test},
         {"reason", v.reason},
         {"base", optional_json(v.a)},
         {"candidate", optional_json(v.b)},
         {"difference", optional_json(v.difference)},
         {"interval95", v.interval95 ? Json{v.interval95->low, v.interval95->high} : Json()},
         {"low90", optional_json(v.low90)},
         {"p_worse", optional_json(v.p_worse)},
         {"p_worse_holm", optional_json(v.p_worse_holm)},
         {"p_better_holm", optional_json(v.p_better_holm)},
         {"margin", optional_json(v.margin)},
         {"mde80", optional_json(v.mde80)},
         {"items", counts},
         {"uncalibrated", v.uncalibrated}});
  }
  return json;
}

}  // namespace nb
