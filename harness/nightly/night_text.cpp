// The summary of a night: for the screen, for summary.txt, for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/nightly/night.hpp"

namespace nb {
namespace {

constexpr std::size_t kLinesOfTheGate = 12;

// What the gate says before its tables.
std::string head_of(const GateResult& result) {
  const std::string text = gate_text(result);
  std::size_t end = 0;
  for (std::size_t line = 0; line < kLinesOfTheGate && end < text.size(); ++line) {
    if (text[end] == '\n') break;
    end = text.find('\n', end) + 1;
  }
  return text.substr(0, end);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::string night_text(const Night& night) {
  std::string text;
  if (night.gate)
    text = head_of(*night.gate);
  else if (night.baseline.empty())
    text = fmt::format("no baseline yet: nothing was judged. To accept this night:\n  {}\n",
                       night.accept);
  else
    text = "the gate failed: nothing was judged\n";
  text += fmt::format("\nnight     {}\njudged    {}\nagainst   {}\n", night.name, night.candidate,
                      night.baseline.empty() ? "nothing" : night.baseline);
  if (!night.counts.empty()) text += fmt::format("run       {}\n", night.counts);
  for (const NightStep& step : night.steps) text += fmt::format("  {}\n", step_text(step));
  text += fmt::format("disk      {}\n", human_bytes(static_cast<double>(night.disk_bytes)));
  if (!night.report.empty()) text += fmt::format("report    {}\n", night.report.string());
  return text + fmt::format("exit      {}\n", night.exit_code);
}

Json night_json(const Night& night) {
  Json steps = Json::array();
  for (const NightStep& step : night.steps)
    steps.push_back({{"name", step.name},
                     {"exit_code", step.exit_code},
                     {"host_time_s", step.seconds},
                     {"log", step.log.string()}});
  return {{"schema", "npubench.nightly/1"},
          {"name", night.name},
          {"folder", night.folder.string()},
          {"candidate", night.candidate},
          {"baseline", text_or_null(night.baseline)},
          {"verdict", night.gate ? Json(name(night.gate->night)) : Json()},
          {"first_line", night.gate ? Json(gate_headline(*night.gate)) : Json()},
          {"exit_code", night.exit_code},
          {"steps", std::move(steps)},
          {"report", text_or_null(night.report.string())},
          {"disk_bytes", night.disk_bytes},
          {"accept", text_or_null(night.accept)}};
}

}  // namespace nb
