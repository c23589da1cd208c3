// What examine() found, as text for a terminal and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/doctor/examine.hpp"

namespace nb::doctor {
namespace {

std::string said(std::string_view key, Language language, Arguments arguments = {}) {
  return sentence_of({std::string(key), std::move(arguments)}, language);
}

// "2 nodes, 16 ranks, Ascend 910B3, CANN 8.5.0, torch 2.7.1": what is known, in one line.
std::string headline(const Facts& facts, Language language) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view fact, std::string_view key) {
    if (const std::string* value = facts.find(fact))
      parts.push_back(said(key, language, {{"v", *value}}));
  };
  add("nodes", "head.nodes");
  add("ranks", "head.ranks");
  add("cards", "head.cards");
  add("card", "head.card");
  for (const char* component :
       {"cann", "hdk", "torch", "torch_npu", "vllm_ascend", "mindspeed_llm", "python"})
    if (const std::string* value = facts.find(component))
      parts.push_back(fmt::format("{} {}",
                                  std::string_view(component) == "cann"  ? "CANN"
                                  : std::string_view(component) == "hdk" ? "HDK"
                                                                         : component,
                                  *value));
  add("hccl_choice", "head.hccl");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view label(State state) {
  switch (state) {
    case State::kFail:
      return "FAIL";
    case State::kWarn:
      return "WARN";
    case State::kNote:
      return "NOTE";
    case State::kUnknown:
      return "?";
    default:
      return "";
  }
}

std::string place(const Check& check) {
  if (check.where.file.empty()) return "";
  return check.where.line == 0 ? " (" + check.where.file + ")"
                               : fmt::format(" ({}:{})", check.where.file, check.where.line);
}

std::string line_of(const Check& check, Language language) {
  std::string what;
  if (check.group == "environment" && check.variable != "script" && !check.variable.empty())
    what = check.value.empty() ? check.variable + ": "
                               : fmt::format("{}={}: ", check.variable, check.value);
  const EnvironmentRow* row = check.variable == "script" ? find_rule(check.id) : nullptr;
  if (row != nullptr) what = language == Language::kEn ? row->what + ": " : row->what_zh + "：";
  std::string text = fmt::format("{:<5} {:<6} {}{}{}\n", label(check.state), check.id, what,
                                 sentence_of(check.said, language), place(check));
  const std::string remedy = remedy_of(check.said, language);
  if (!remedy.empty()) text += fmt::format("{:<12} → {}\n", "", remedy);
  return text;
}

std::string recognized_line(const std::string& file, const std::vector<std::string>& kinds,
                            Language language) {
  if (kinds.empty()) return said("recognized.empty", language, {{"file", file}}) + "\n";
  if (kinds == std::vector<std::string>{"unknown"})
    return said("recognized.unknown", language, {{"file", file}}) + "\n";
  std::vector<std::string> names;
  for (const std::string& kind : kinds) names.push_back(said("kind." + kind, language));
  return fmt::format("{}: {}\n", file, fmt::join(names, ", "));
}

// A line per file, or of many files a line for all that are of one kind.
std::string recognized_text(const std::vector<Recognized>& files, Language language) {
  constexpr std::size_t kMostLines = 8;
  std::string text;
  if (files.size() <= kMostLines) {
    for (const Recognized& one : files)
      text += recognized_line(visible_line(one.name), one.kinds, language);
    return text;
  }
  std::map<std::vector<std::string>, std::vector<const std::string*>> names_of;
  for (const Recognized& one : files) names_of[one.kinds].push_back(&one.name);
  for (const auto& [kinds, names] : names_of) {
    std::string file = visible_line(*names.front());
    if (names.size() > 1)
      file = said("recognized.several", language,
                  {{"n", with_commas(static_cast<long long>(names.size()))}, {"file", file}});
    text += recognized_line(file, kinds, language);
  }
  return text;
}

// What to do, in the order of what is worst, each once.
std::string todo_text(const std::vector<Check>& checks, Language language) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> remedies;
  for (const State state : {State::kFail, State::kWarn})
    for (const Check& check : checks) {
      if (check.state != state || remedies.size() == kMost) continue;
      std::string remedy = remedy_of(check.said, language);
      if (remedy.empty()) continue;
      const bool has_name = !check.variable.empty() && check.variable != "script";
      remedy = fmt::format("{}{}{}: {}", check.id, has_name ? " " : "",
                           has_name ? check.variable : "", remedy);
      if (std::find(remedies.begin(), remedies.end(), remedy) == remedies.end())
        remedies.push_back(remedy);
    }
  if (remedies.size() < 2) return "";  // it stands above
  std::string text = said("counts.todo", language);
  for (std::size_t i = 0; i < remedies.size(); ++i)
    text += fmt::format(" {}. {}", i + 1, remedies[i]);
  return text + "\n";
}

Json counts_json(const Counts& counts) {
  return {{"pass", counts.passed},   {"note", counts.notes},   {"warn", counts.warnings},
          {"fail", counts.failures}, {"skip", counts.skipped}, {"unknown", counts.unknown}};
}

}  // namespace

std::string text_of(const Findings& findings, Language language, bool is_quiet) {
  std::string text;
  if (const std::string head = headline(findings.facts, language); !head.empty())
    text += head + "\n";
  if (!is_quiet) text += recognized_text(findings.recognized, language);
  for (const Check& check : findings.checks) {
    const bool is_said =
        check.state == State::kFail || check.state == State::kWarn ||
        (!is_quiet && (check.state == State::kNote || check.state == State::kUnknown));
    if (is_said) text += line_of(check, language);
  }
  text += text_of(findings.diagnosis, language);
  const bool has_log = std::any_of(
      findings.recognized.begin(), findings.recognized.end(), [](const Recognized& one) {
        return std::find(one.kinds.begin(), one.kinds.end(), "log") != one.kinds.end();
      });
  if (has_log && findings.diagnosis.empty())
    text += said("diag.nothing", language, {{"lines", with_commas(findings.log_lines)}}) + "\n";
  const Counts counts = count(findings);
  if (findings.checks.empty() && has_log) return text;
  text += said("counts", language,
               {{"fail", std::to_string(counts.failures)},
                {"warn", std::to_string(counts.warnings)},
                {"note", std::to_string(counts.notes)},
                {"pass", std::to_string(counts.passed)},
                {"skip", std::to_string(counts.skipped)},
                {"unknown", std::to_string(counts.unknown)}}) +
          "\n" + todo_text(findings.checks, language);
  return text;
}

Json json_of(const Findings& findings, Language language) {
  Json facts = Json::object();
  for (const auto& [name, value] : findings.facts.values)
    if (name.find(':') == name.npos) facts[name] = utf8_text(value);
  Json checks = Json::array();
  for (const Check& check : findings.checks) checks.push_back(json_of(check, language));
  Json recognized = Json::array();
  for (const Recognized& one : findings.recognized)
    recognized.push_back({{"file", utf8_text(one.name)}, {"kinds", one.kinds}});
  return {{"schema", "npubench.doctor/1"},
          {"source", findings.is_captured ? "captured" : "machine"},
          {"facts", facts},
          {"recognized", recognized},
          {"checks", checks},
          {"diagnosis",
           findings.diagnosis.empty() ? Json(nullptr) : json_of(findings.diagnosis, language)},
          {"counts", counts_json(count(findings))}};
}

}  // namespace nb::doctor
