// What npu-smi and hccn_tool print, read back: tables of one and of two chips a card, wide ones,
// tables cut off. `npubench smi` prints the same layout. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/smi.hpp"

namespace nb::doctor {

struct SmiChipRead {
  int card = 0, chip = 0;
  SmiChip chip_values;
  std::string health;     // "OK", "Warning", "Alarm"
  bool is_whole = false;  // both of its lines were there
};
struct SmiRead {
  std::string version;  // "24.1.rc1"; empty: cut off
  std::vector<SmiChipRead> chips;
};
SmiRead read_smi(std::string_view text);

// `npu-smi info -t topo`: links between cards, row by row, and the cores near each.
struct Topology {
  std::vector<std::vector<std::string>> links;  // "HCCS", "X"
  std::map<int, std::string> affinity;          // card → "144-167"
};
Topology read_topology(std::string_view text);

// `npu-smi info -t ecc -i N` and `hccn_tool -i N -link -g` …, one after another.
struct CardDetails {
  long long double_bit_errors = 0;
  std::string link;     // "UP", "DOWN"; empty: not asked
  std::string address;  // of -ip -g
  std::string tls;      // the switch: "0", "1"
  std::string health;   // of -net_health -g: "Success"
};
std::map<int, CardDetails> read_card_details(std::string_view text);

}  // namespace nb::doctor
