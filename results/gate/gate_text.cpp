#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "results/gate/gate.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

constexpr std::size_t kMaxNotes = 20;

std::size_t count(const GateResult& result, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(result.verdicts.begin(), result.verdicts.end(),
                    [&](const TaskVerdict& v) { return v.verdict == verdict; }));
}

// Numbers of what is below, for the first line or behind it.
Sentence counts_of(const GateResult& result) {
  std::size_t identical = 0;
  for (const TaskVerdict& v : result.verdicts) identical += v.test == "identical" ? 1 : 0;
  const bool green = result.night == Verdict::kPass || result.night == Verdict::kImproved;
  const std::size_t checks = result.verdicts.size();
  if (!green) return message("gate.not_pass", checks - count(result, Verdict::kPass), checks);
  Sentence counts = message("gate.checks", checks, identical);
  if (result.night == Verdict::kImproved)
    append(counts, result.asked_for_another ? message("gate.accept") : message("gate.what_did_it"));
  return counts;
}

std::string value_cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : std::string();
}

// One table a node, in the order of the worst verdict. Records that are whole and equal are
// counted.
std::string tables_text(const GateResult& result) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<NarrowRow>> nodes;
  std::size_t identical = 0;
  for (const TaskVerdict& v : result.verdicts) {
    if (v.metric.empty() && v.verdict == Verdict::kPass) {
      ++identical;
      continue;
    }
    if (!nodes.contains(v.where)) order.push_back(v.where);
    const std::string interval =
        v.interval95 ? fmt::format("[{:+.4g}, {:+.4g}]", v.interval95->low, v.interval95->high)
                     : "";
    NarrowRow row{{v.metric.empty() ? "(the record)" : v.metric, std::string(name(v.verdict)),
                   value_cell(v.a), value_cell(v.b), interval},
                  ""};
    if (v.verdict == Verdict::kPass && v.test != "identical" && v.test != "exact")
      row.note = text_of(v.reason);
    if (v.min_detectable)
      row.note += fmt::format("{}detectable difference (80 % power): {:.2g}",
                              row.note.empty() ? "" : "; ", *v.min_detectable);
    nodes[v.where].push_back(std::move(row));
  }
  std::string text;
  for (const std::string& node : order)
    text +=
        "\n" + wrapped(node) +
        narrow_table({"metric", "verdict", "base", "candidate", "95 % interval"}, nodes.at(node));
  if (identical > 0)
    text +=
        fmt::format("\n{} record{} bit-identical\n", identical, identical == 1 ? " is" : "s are");
  return text;
}

}  // namespace

Sentence first_line_of(const GateResult& result) {
  if (result.verdicts.empty()) return message("gate.nothing_compared", result.exit_code);
  const bool open = result.night == Verdict::kInconclusive;
  const Sentence night =
      open ? message("gate.cannot_tell") : verbatim(std::string(name(result.night)));
  const TaskVerdict& worst = result.verdicts.front();
  const bool green = result.night == Verdict::kPass || result.night == Verdict::kImproved;
  Sentence what;
  if (!result.findings.empty())
    what = result.findings[0];
  else if (open)
    what = message("about", worst.task(), worst.reason);
  else if (green)
    what = counts_of(result);
  else
    what = message("remark", worst.task(), counts_of(result));
  return message("gate.first_line", night, result.exit_code, what);
}

std::string gate_headline(const GateResult& result, Language language) {
  return text_of(first_line_of(result), language);
}

std::string gate_text(const GateResult& result) {
  std::string text = wrapped(gate_headline(result), 2);
  for (std::size_t i = 1; i < result.findings.size(); ++i)
    text += wrapped(text_of(result.findings[i]), 2, "! ");
  if (!result.findings.empty()) text += text_of(counts_of(result)) + "\n";
  for (const Sentence& alert : result.alerts) text += wrapped(text_of(alert), 2);
  if (!result.likely_cause.empty() && result.night != Verdict::kPass)
    text += wrapped("likely cause: " + text_of(result.likely_cause), 2);
  for (const TaskVerdict& v : result.verdicts)
    if (v.verdict != Verdict::kPass)
      text += wrapped(fmt::format("{}: {}", v.task(), text_of(v.reason)), 4,
                      fmt::format("{}  ", name(v.verdict)));
  if (result.uncalibrated)
    text += wrapped(
        "uncalibrated: no noise profile; margins are max(1 pp, 6/n) for answers and the baseline's "
        "own "
        "spread for seeds");
  text += tables_text(result);
  if (!result.notes.empty()) text += "\nnotes\n";
  for (std::size_t i = 0; i < result.notes.size() && i < kMaxNotes; ++i)
    text += wrapped(text_of(result.notes[i]), 4, "  ");
  if (result.notes.size() > kMaxNotes)
    text += fmt::format("  … and {} more (--json has all)\n", result.notes.size() - kMaxNotes);
  return text;
}

Json gate_json(const GateResult& result) {
  Json json = {{"schema", kGateSchema},
               {"night", name(result.night)},
               {"exit_code", result.exit_code},
               {"uncalibrated", result.uncalibrated},
               {"verdicts", Json::array()}};
  add_message(json, "first_line", first_line_of(result));
  add_message(json, "likely_cause", result.likely_cause);
  add_messages(json, "findings", result.findings);
  add_messages(json, "alerts", result.alerts);
  add_messages(json, "notes", result.notes);
  for (const TaskVerdict& v : result.verdicts) {
    Json counts;
    if (v.counts)
      counts = {{"both", v.counts->both},
                {"only_base", v.counts->only_a},
                {"only_candidate", v.counts->only_b},
                {"neither", v.counts->neither}};
    json["verdicts"].push_back(
        {{"task", v.task()},
         {"metric", v.metric},
         {"where", v.where},
         {"verdict", name(v.verdict)},
         {"test", v.test},
         {"reason", text_of(v.reason)},
         {"reason_message", json_of(v.reason)},
         {"base", optional_json(v.a)},
         {"candidate", optional_json(v.b)},
         {"difference", optional_json(v.difference)},
         {"interval95", v.interval95 ? Json{v.interval95->low, v.interval95->high} : Json()},
         {"low90", optional_json(v.low90)},
         {"p_worse", optional_json(v.p_worse)},
         {"p_worse_holm", optional_json(v.p_worse_holm)},
         {"p_better_holm", optional_json(v.p_better_holm)},
         {"margin", optional_json(v.margin)},
         {"mde80", optional_json(v.min_detectable)},
         {"items", counts},
         {"uncalibrated", v.uncalibrated}});
  }
  return json;
}

}  // namespace nb
