// What is known of a machine and a program, from wherever it came: command line, captured files,
// the machine itself. A fact that is not here is not known.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

struct NetworkCard {
  std::string name;                    // "eth0"
  std::vector<std::string> addresses;  // "10.0.0.4", "fe80::1"
};

struct Facts {
  // Versions ("cann", "torch", "torch_npu", "python", "hdk", "numpy", …), counts ("nodes", "ranks",
  // "cards", "cores", …), names ("card", "context") and what holds or not ("npu": "1" or "0").
  std::map<std::string, std::string, std::less<>> values;
  // Installed packages, names as pip compares them (small letters, _ for -). Nothing: not known.
  std::optional<std::map<std::string, std::string>> packages;
  bool is_machine = false;  // files, addresses and ports may be looked at
  std::string root;         // before each absolute path
  std::optional<std::vector<NetworkCard>> interfaces;
  std::optional<std::set<int>> listening;          // TCP ports
  std::optional<std::pair<int, int>> local_ports;  // ip_local_port_range
  std::set<int> reserved_ports;
  std::map<int, std::string> affinity;  // of each card: "96-119"

  const std::string* find(std::string_view name) const;
  std::optional<long long> number(std::string_view name) const;
  void set(std::string_view name, std::string value) {
    values.insert_or_assign(std::string(name), std::move(value));
  }
  void add(std::string_view name, std::string value) {
    values.emplace(std::string(name), std::move(value));
  }
};

// "torch-npu", "Torch_NPU" → "torch_npu".
std::string package_name(std::string_view text);

}  // namespace nb::doctor
