#include "harness/doctor/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/doctor/card_checks.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/pci.hpp"
#include "harness/doctor/rank_table.hpp"
#include "harness/doctor/recognize.hpp"
#include "harness/doctor/smi_read.hpp"
#include "harness/doctor/text_checks.hpp"
#include "harness/doctor/version_number.hpp"
#include "harness/doctor/version_rules.hpp"

namespace nb::doctor {
namespace {

struct Part {
  const Captured* text;
  Section section;
};

void take_packages(const std::map<std::string, std::string>& packages, bool are_all, Facts& facts) {
  if (!facts.packages) facts.packages.emplace();
  for (const auto& [name, version] : packages) {
    facts.packages->emplace(name, version);
    for (const char* component :
         {"torch", "torch_npu", "numpy", "vllm", "vllm_ascend", "mindspeed_llm", "triton_ascend"})
      if (name == component) facts.add(name, normal_version(version));
  }
  // A list of a few names does not say what is missing.
  if (are_all) facts.add("packages_are_all", "1");
}

// Versions and ranks that the record of a captured run states.
void take_record_facts(const std::string& text, Facts& facts) {
  const auto json = parse_json(text, "record");
  if (!json) return;
  const Json environment = json->value("environment", Json::object());
  if (!environment.is_object()) return;
  const auto versions = environment.find("versions");
  if (versions != environment.end() && versions->is_object())
    for (const char* component : {"python", "torch", "torch_npu"})
      if (const auto at = versions->find(component); at != versions->end() && at->is_string())
        facts.add(component, normal_version(at->get<std::string>()));
  if (const auto at = environment.find("world_size");
      at != environment.end() && at->is_number_integer() && *at > 1 && *at < 1'000'000)
    facts.add("ranks", std::to_string(at->get<int>()));
}

void take_reported_facts(const std::string& text, Facts& facts) {
  const auto json = parse_json(text, "report");
  if (!json || !json->contains("facts") || !json->at("facts").is_object()) return;
  for (const auto& [name, value] : json->at("facts").items())
    if (value.is_string()) facts.add(name, value.get<std::string>());
}

// What a part says of the machine it was taken on.
void take_facts(const Section& section, Facts& facts) {
  switch (section.kind) {
    case Kind::kPackages: {
      constexpr std::size_t kLeastWhole = 8;  // packages
      const auto packages = read_packages(section.text);
      return take_packages(packages, packages.size() >= kLeastWhole, facts);
    }
    case Kind::kSmiInfo:
      return take_smi_facts(read_smi(section.text), facts);
    case Kind::kSmiTopology: {
      for (const auto& [card, cores] : read_topology(section.text).affinity)
        facts.affinity.emplace(card, cores);
      return;
    }
    case Kind::kPci:
      return take_pci_facts(ascend_cards(section.text), facts);
    case Kind::kVersions:
      for (const FoundVersion& found : stated_versions(section.text))
        facts.add(found.component, found.version);
      return;
    case Kind::kReport:
      return take_reported_facts(section.text, facts);
    case Kind::kRecord:
      return take_record_facts(section.text, facts);
    case Kind::kRankTable:
      if (const auto table = read_rank_table(section.text, "rank table")) {
        facts.add("nodes", std::to_string(table->servers));
        facts.add("ranks", std::to_string(table->devices.size()));
      }
      return;
    default:
      return;
  }
}

std::vector<Check> check_script(const Part& part, const Facts& facts) {
  const Script script = read_script(part.section.text);
  std::vector<Check> checks = lint_script(script, facts, part.text->name);
  const std::vector<FoundVersion> pins = pins_of(script);
  if (!pins.empty()) {  // else there is nothing that its versions belong to
    Facts own = facts;
    for (const FoundVersion& pin : pins) {
      own.set(pin.component, pin.version);
      own.set(pin.component + ":line", std::to_string(pin.line));
    }
    static const Pattern sourced(R"((?:^|\s)(?:source|\.)\s+(/\S*/set_env\.sh))");
    for (const Line& line : script.lines)
      if (const auto m = sourced.match(std::string_view(line.text).substr(0, 4096)); m.size() == 2)
        own.add("set_env_path", std::string(m[1]));
    for (Check& check : check_versions(own, part.text->name)) checks.push_back(std::move(check));
  }
  for (Check& check : check_batches(script, part.text->name)) checks.push_back(std::move(check));
  for (Check& check : check_parallelism(script, part.text->name))
    checks.push_back(std::move(check));
  return checks;
}

// The checks that a machine's own report has; what lies beside it in a bundle is that machine's
// too.
std::vector<Check> reported_checks(const std::string& text) {
  std::vector<Check> checks;
  const auto json = parse_json(text, "report");
  if (!json || !json->contains("checks") || !json->at("checks").is_array()) return checks;
  for (const Json& one : json->at("checks"))
    if (auto check = check_from(one)) checks.push_back(std::move(*check));
  return checks;
}

Check check_rank_table(const Part& part) {
  Check check;
  check.id = "RT1";
  check.group = "rank table";
  check.source = "hicann/hccl docs, rank_table_config_a2 and _a3@09300b70df9a";
  check.where = {part.text->name, 0};
  const auto table = read_rank_table(part.section.text, part.text->name);
  if (table) {
    check.said = {"RT1.pass",
                  {{"n", std::to_string(table->devices.size())},
                   {"servers", std::to_string(table->servers)}}};
    return check;
  }
  check.state = State::kFail;
  check.said = {"RT1", {{"reason", table.error().message}}};
  return check;
}

}  // namespace

Findings examine(const std::vector<Captured>& texts, const Facts& given, const LogReading& log) {
  Findings findings;
  findings.facts = given;
  std::vector<Part> parts;
  for (const Captured& text : texts) {
    Recognized recognized{text.name, {}};
    for (Section& section : recognize(text.text)) {
      const std::string kind(name(section.kind));
      // Words around what is known: a legend, a greeting.
      if (section.kind == Kind::kUnknown && !recognized.kinds.empty()) continue;
      if (std::find(recognized.kinds.begin(), recognized.kinds.end(), kind) ==
          recognized.kinds.end())
        recognized.kinds.push_back(kind);
      take_facts(section, findings.facts);
      parts.push_back({&text, std::move(section)});
    }
    if (recognized.kinds.size() > 1)  // words around what is known, before it
      std::erase(recognized.kinds, std::string(name(Kind::kUnknown)));
    findings.recognized.push_back(std::move(recognized));
  }
  const auto add = [&](std::vector<Check> more) {
    for (Check& check : more) findings.checks.push_back(std::move(check));
  };
  bool has_versions = given.find("torch_npu") != nullptr || given.find("cann") != nullptr ||
                      given.find("torch") != nullptr;
  std::string versions_from;
  // What a report was made of is not judged again.
  const auto archive_of = [](const std::string& name) { return name.substr(0, name.find(':')); };
  std::set<std::string> reported;
  for (const Part& part : parts)
    if (part.section.kind == Kind::kReport) reported.insert(archive_of(part.text->name));
  for (const Part& part : parts) {
    const std::string& file = part.text->name;
    if (part.section.kind != Kind::kReport && reported.contains(archive_of(file))) continue;
    switch (part.section.kind) {
      case Kind::kScript:
        add(check_script(part, findings.facts));
        break;
      case Kind::kEnvironment: {
        auto settings = read_dump(part.section.text);
        for (Setting& setting : settings) setting.line += part.section.first_line - 1;
        add(lint_environment(settings, findings.facts, file, part.section.is_whole_environment));
        break;
      }
      case Kind::kPackages:
      case Kind::kVersions:
        has_versions = true;
        versions_from = file;
        break;
      case Kind::kSmiInfo:
        has_versions = true;
        add(check_smi(read_smi(part.section.text), findings.facts, file));
        break;
      case Kind::kSmiTopology:
        add(check_topology(read_topology(part.section.text), file));
        break;
      case Kind::kCardDetails:
        add(check_card_details(read_card_details(part.section.text), findings.facts, file));
        break;
      case Kind::kPci:
        add(check_pci(ascend_cards(part.section.text), file));
        break;
      case Kind::kReport:
        add(reported_checks(part.section.text));
        break;
      case Kind::kRankTable:
        findings.checks.push_back(check_rank_table(part));
        break;
      case Kind::kClocks:
        add(check_clocks(part.section.text, file));
        break;
      case Kind::kRecord:
      case Kind::kLog:
      case Kind::kUnknown:
        break;
    }
  }
  for (const Part& table : parts)
    for (const Part& details : parts)
      if (table.section.kind == Kind::kRankTable && details.section.kind == Kind::kCardDetails)
        if (const auto read = read_rank_table(table.section.text, table.text->name))
          add(check_addresses(*read, read_card_details(details.section.text), table.text->name));
  // Limits that a captured environment sets are those that waits may equal.
  Facts limits = findings.facts;
  for (const Part& part : parts)
    if (part.section.kind == Kind::kEnvironment)
      for (const Setting& setting : read_dump(part.section.text))
        if (setting.name.ends_with("_TIMEOUT")) limits.add(setting.name, setting.value);
  findings.diagnosis = diagnose(log, limits);
  // What an error was found in is a log, whatever else stands in it.
  std::set<std::string> of_events;
  for (const LogEvent& event : log.events) of_events.insert(event.file);
  for (Recognized& one : findings.recognized)
    if (one.kinds == std::vector{std::string(name(Kind::kUnknown))} && of_events.contains(one.name))
      one.kinds = {std::string(name(Kind::kLog))};
  findings.log_lines = log.lines;
  if (has_versions) add(check_versions(findings.facts, versions_from));
  sort_checks(findings.checks);
  return findings;
}

Counts count(const Findings& findings) {
  Counts counts;
  for (const Check& check : findings.checks) switch (check.state) {
      case State::kPass:
        ++counts.passed;
        break;
      case State::kNote:
        ++counts.notes;
        break;
      case State::kWarn:
        ++counts.warnings;
        break;
      case State::kFail:
        ++counts.failures;
        break;
      case State::kSkip:
        ++counts.skipped;
        break;
      case State::kUnknown:
        ++counts.unknown;
        break;
    }
  return counts;
}

bool knows_nothing(const Findings& findings) {
  return findings.is_captured && findings.checks.empty() && findings.diagnosis.empty() &&
         std::all_of(findings.recognized.begin(), findings.recognized.end(),
                     [](const Recognized& one) {
                       return one.kinds.empty() ||
                              one.kinds == std::vector{std::string(name(Kind::kUnknown))};
                     });
}

int exit_code(const Findings& findings, bool is_strict) {
  const Counts counts = count(findings);
  if (counts.failures > 0 || !findings.diagnosis.roots.empty()) return 1;
  const bool has_unknown = counts.unknown > 0 || !findings.diagnosis.unmatched.empty();
  return is_strict && (counts.warnings > 0 || has_unknown) ? 2 : 0;
}

}  // namespace nb::doctor
