#include "harness/doctor/card_checks.hpp"

#include <fmt/format.h>

#include <set>

#include "harness/doctor/version_number.hpp"

namespace nb::doctor {
namespace {

constexpr double kIdleMostMb = 4096;  // used without a process; idle cards have 2,887 to 3,318 MB

Check about(std::string_view id, State state, std::string_view key, Arguments arguments,
            const std::string& file) {
  Check check;
  check.id = id;
  check.group = "cards";
  check.state = state;
  check.said = {std::string(key), std::move(arguments)};
  check.where = {file, 0};
  const SentenceRow* row = find_sentence(key);
  if (row != nullptr) check.source = row->source;
  return check;
}

}  // namespace

void take_smi_facts(const SmiRead& smi, Facts& facts) {
  // "24.1.rc1.b030": the build says nothing about what it works with.
  const std::string version = smi.version.substr(0, smi.version.find(".b0"));
  if (!version.empty()) facts.add("hdk", normal_version(version));
  if (smi.chips.empty()) return;
  facts.add("cards", std::to_string(smi.chips.size()));
  facts.add("card", smi.chips.front().chip_values.name);
  facts.add("npu", "1");
  facts.add("hbm_mb", fmt::format("{:.0f}", smi.chips.front().chip_values.capacity_mb));
}

std::vector<Check> check_smi(const SmiRead& smi, const Facts& facts, const std::string& file) {
  std::vector<Check> checks;
  if (smi.chips.empty()) {
    checks.push_back(about("NPU4", State::kUnknown, "NPU4.none", {}, file));
    return checks;
  }
  bool is_well = true;
  for (const SmiChipRead& chip : smi.chips) {
    const SmiChip& values = chip.chip_values;
    Arguments arguments = {{"card", std::to_string(chip.card)},
                           {"chip", std::to_string(chip.chip)},
                           {"health", chip.health},
                           {"used", fmt::format("{:.0f}", values.used_mb)},
                           {"total", fmt::format("{:.0f}", values.capacity_mb)}};
    if (chip.health != "OK") {
      is_well = false;
      checks.push_back(about("NPU4", State::kFail, "NPU4", arguments, file));
      checks.back().value = chip.health;
    }
    if (!chip.is_whole) {
      is_well = false;
      checks.push_back(about("NPU4", State::kUnknown, "NPU4.cut", arguments, file));
    }
    for (const SmiProcess& process : values.processes) {
      arguments.emplace_back("pid", std::to_string(process.process_id));
      arguments.emplace_back("name", process.name);
      arguments.emplace_back("mb", fmt::format("{:.0f}", process.memory_mb));
      checks.push_back(about("NPU5", State::kWarn, "NPU5", arguments, file));
      arguments.resize(arguments.size() - 3);
    }
    if (values.processes.empty() && values.used_mb > kIdleMostMb) {
      is_well = false;
      checks.push_back(about("NPU4", State::kWarn, "NPU4.used", arguments, file));
      checks.back().value = fmt::format("{:.0f} MB", values.used_mb);
    }
  }
  if (is_well)
    checks.push_back(
        about("NPU4", State::kPass, "NPU4.pass", {{"n", std::to_string(smi.chips.size())}}, file));
  const auto on_bus = facts.number("pci_cards");
  if (on_bus && static_cast<long long>(smi.chips.size()) < *on_bus)
    checks.push_back(
        about("NPU4", State::kWarn, "NPU4.bus",
              {{"n", std::to_string(smi.chips.size())}, {"m", std::to_string(*on_bus)}}, file));
  const auto ranks = facts.number("ranks"), nodes = facts.number("nodes");
  if (ranks) {
    const auto here = nodes && *nodes > 0 ? (*ranks + *nodes - 1) / *nodes : *ranks;
    const auto cards = static_cast<long long>(smi.chips.size());
    const Arguments arguments = {{"ranks", std::to_string(here)}, {"cards", std::to_string(cards)}};
    checks.push_back(here > cards ? about("NPU9", State::kFail, "NPU9", arguments, file)
                                  : about("NPU9", State::kPass, "NPU9.pass", arguments, file));
  }
  return checks;
}

void take_pci_facts(const std::map<std::string, int>& cards, Facts& facts) {
  int all = 0;
  for (const auto& [id, count] : cards) all += count;
  facts.add("npu", all > 0 ? "1" : "0");
  if (all > 0) facts.add("pci_cards", std::to_string(all));
}

std::vector<Check> check_pci(const std::map<std::string, int>& cards, const std::string& file) {
  int all = 0;
  std::string list;
  for (const auto& [id, count] : cards) {
    all += count;
    list += fmt::format("{}{} x 19e5:{}", list.empty() ? "" : ", ", count, id);
  }
  if (all == 0) return {about("NPU1", State::kSkip, "NPU1.none", {}, file)};
  return {
      about("NPU1", State::kPass, "NPU1.pci", {{"n", std::to_string(all)}, {"list", list}}, file)};
}

std::vector<Check> check_topology(const Topology& topology, const std::string& file) {
  std::string slow;
  int pairs = 0;
  for (std::size_t i = 0; i < topology.links.size(); ++i)
    for (std::size_t k = 0; k < topology.links[i].size(); ++k) {
      const std::string& link = topology.links[i][k];
      if (link == "X") continue;
      ++pairs;
      // HCCS_SW and SIO are links between cards too (dies of one package).
      if (link.starts_with("HCCS") || link == "SIO") continue;
      if (slow.size() < 80)
        slow += fmt::format("{}NPU{}-NPU{} {}", slow.empty() ? "" : ", ", i, k, link);
    }
  const Arguments arguments = {{"pairs", std::to_string(pairs)}, {"list", slow}};
  return {slow.empty() ? about("NPU6", State::kPass, "NPU6.pass", arguments, file)
                       : about("NPU6", State::kWarn, "NPU6", arguments, file)};
}

std::vector<Check> check_card_details(const std::map<int, CardDetails>& cards, const Facts& facts,
                                      const std::string& file) {
  std::vector<Check> checks;
  std::set<std::string> switches;
  const bool has_nodes = facts.number("nodes").value_or(1) > 1;
  for (const auto& [id, card] : cards) {
    const Arguments arguments = {{"card", std::to_string(id)},
                                 {"n", std::to_string(card.double_bit_errors)},
                                 {"health", card.health}};
    if (card.double_bit_errors > 0)
      checks.push_back(about("NPU7", State::kFail, "NPU7", arguments, file));
    if (!card.link.empty() && card.link != "UP")
      checks.push_back(about("NPU8", State::kFail, "NPU8.down", arguments, file));
    if (!card.health.empty() && card.health != "Success")
      checks.push_back(about("NPU8", State::kWarn, "NPU8.health", arguments, file));
    if (has_nodes && card.address.empty() && !card.link.empty())
      checks.push_back(about("NPU8", State::kFail, "NPU8.address", arguments, file));
    if (!card.tls.empty()) switches.insert(card.tls);
  }
  if (switches.size() > 1) checks.push_back(about("NPU8", State::kFail, "NPU8.tls", {}, file));
  if (checks.empty() && !cards.empty())
    checks.push_back(
        about("NPU8", State::kPass, "NPU8.pass", {{"n", std::to_string(cards.size())}}, file));
  return checks;
}

}  // namespace nb::doctor
