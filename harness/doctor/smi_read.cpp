#include "harness/doctor/smi_read.hpp"

#include <algorithm>
#include <charconv>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kLongestRow = 4096;
constexpr int kMostCards = 4096;

template <class F>
void each_line(std::string_view text, const F& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, std::min(end, kLongestRow));
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

int integer(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
double number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

SmiRead read_smi(std::string_view text) {
  static const Pattern head(R"(Version:\s*([\w.]+))");
  // "| 0     910B3               | OK            | 101.8       43                0    / 0 |"
  static const Pattern first(
      R"(^\|\s*(\d{1,4})\s+([A-Za-z]*\d\w*(?:-\d)?)\s*\|\s*([A-Za-z]+)\s*\|\s*([\d.]+|-)\s+(\d{1,3}|-)\s)");
  // "| 0     1                   | 0000:9F:00.0  | 0           0    / 0          2887 / 65536 |"
  static const Pattern second(
      R"(^\|\s*(\d{1,4})(?:\s+(\d{1,4}))?\s*\|\s*([0-9A-Fa-fxX]{4}:[0-9A-Fa-fxX]{2}:[\w.]+|NA)\s*\|\s*(\d{1,3}|-)\s+(\d+)\s*/\s*(\d+)(?:\s+(\d+)\s*/\s*(\d+))?)");
  static const Pattern process(
      R"(^\|\s*(\d{1,4})\s+(\d{1,4})\s*\|\s*(\d{1,9})\s*\|\s*(.*?)\s*\|\s*(\d{1,9})\s*\|)");
  SmiRead read;
  SmiChipRead begun;
  bool has_begun = false;
  each_line(text, [&](std::string_view line) {
    if (const auto m = head.match(line); m.size() == 2 && read.version.empty()) {
      read.version = m[1];
      return;
    }
    if (const auto m = first.match(line); m.size() == 6) {
      if (has_begun) read.chips.push_back(begun);
      begun = {};
      begun.card = integer(m[1]);
      begun.chip_values.name = m[2];
      begun.health = m[3];
      begun.chip_values.power_w = m[4] == "-" ? 0 : number(m[4]);
      begun.chip_values.temperature_c = integer(m[5]);
      has_begun = true;
      return;
    }
    if (const auto m = second.match(line); has_begun && m.size() >= 7) {
      begun.chip = integer(m[1]);
      begun.chip_values.bus_id = m[3];
      begun.chip_values.core_percent = integer(m[4]);
      const bool has_hbm = m.size() >= 9;
      begun.chip_values.used_mb = number(has_hbm ? m[7] : m[5]);
      begun.chip_values.capacity_mb = number(has_hbm ? m[8] : m[6]);
      begun.is_whole = true;
      if (read.chips.size() < kMostCards) read.chips.push_back(begun);
      has_begun = false;
      return;
    }
    if (const auto m = process.match(line); m.size() == 6)
      for (SmiChipRead& chip : read.chips)
        if (chip.card == integer(m[1]) && chip.chip == integer(m[2]))
          chip.chip_values.processes.push_back({integer(m[3]), std::string(m[4]), number(m[5])});
  });
  if (has_begun) read.chips.push_back(begun);
  return read;
}

Topology read_topology(std::string_view text) {
  static const Pattern row(R"(^\s*NPU(\d{1,4})\s+((?:[A-Z][A-Z_]*\s+)+)([\d,-]+)?\s*$)");
  Topology topology;
  each_line(text, [&](std::string_view line) {
    const auto m = row.match(line);
    if (m.size() < 3) return;
    std::vector<std::string> links;
    for (std::size_t at = 0; at < m[2].size();) {
      const std::size_t begin = m[2].find_first_not_of(" \t", at);
      if (begin == m[2].npos) break;
      const std::size_t end = std::min(m[2].find_first_of(" \t", begin), m[2].size());
      links.emplace_back(m[2].substr(begin, end - begin));
      at = end;
    }
    topology.links.push_back(std::move(links));
    if (m.size() > 3) topology.affinity[integer(m[1])] = m[3];
  });
  return topology;
}

std::map<int, CardDetails> read_card_details(std::string_view text) {
  static const Pattern asked(R"((?:hccn_tool|npu-smi info).* -i (\d{1,4}))");
  static const Pattern id(R"(^\s*NPU ID\s*:\s*(\d{1,4}))");
  static const Pattern twice(
      R"(Double Bit(?: Aggregate Total)? (?:Error|Err) (?:Count|Cnt)\s*:\s*(\d{1,12}))");
  static const Pattern link(R"(^\s*link status:\s*(\w+))");
  static const Pattern address(R"(^\s*ipaddr:\s*([0-9A-Fa-f.:]+))");
  static const Pattern tls(R"(^\s*(?:dev_id:(\d{1,4}), )?tls switch\[(\d)\])");
  static const Pattern health(R"(^\s*net health status:\s*(.*?)\s*$)");
  std::map<int, CardDetails> cards;
  int card = 0;
  each_line(text, [&](std::string_view line) {
    if (const auto m = asked.match(line); m.size() == 2) card = integer(m[1]);
    if (const auto m = id.match(line); m.size() == 2) card = integer(m[1]);
    if (const auto m = tls.match(line); m.size() == 3) {
      if (!m[1].empty()) card = integer(m[1]);
      cards[card].tls = m[2];
    }
    if (const auto m = twice.match(line); m.size() == 2)
      cards[card].double_bit_errors += std::atoll(std::string(m[1]).c_str());
    if (const auto m = link.match(line); m.size() == 2) cards[card].link = m[1];
    if (const auto m = address.match(line); m.size() == 2) cards[card].address = m[1];
    if (const auto m = health.match(line); m.size() == 2) cards[card].health = m[1];
  });
  return cards;
}

}  // namespace nb::doctor
