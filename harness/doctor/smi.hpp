// The emulated server as npu-smi shows a real one: cards, their memory, and the runs that use them.
// Text in npu-smi's own layout (25.3.rc1), so that scripts which read it can be tried here.
// Knows how a view looks and where running nodes are found; does not start or measure anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct DeviceProfile;

struct SmiProcess {
  std::int64_t process_id = 0;
  std::string name;
  double memory_mb = 0;  // MiB, as npu-smi counts
};

struct SmiChip {
  std::string name;    // "910B3"
  std::string bus_id;  // "0000:C1:00.0"
  double power_w = 0;  // 0: not shown (the second die of a package)
  int temperature_c = 0;
  int core_percent = 0;
  double used_mb = 0, capacity_mb = 0;
  std::vector<SmiProcess> processes;
};

struct SmiView {
  std::string version = "25.3.rc1";
  int chips_per_card = 1;  // 2: 910C, with a column of physical ids
  std::vector<SmiChip> chips;
};

// The cards of one server of that profile, idle but for `processes`, which take the cards in their
// order. bad_input: not an NPU. Idle power, temperature and memory are those of one published dump
// (vllm-ascend issue reports); a card with a process shows its cores busy.
Result<SmiView> smi_view(const DeviceProfile& profile, const std::vector<SmiProcess>& processes);

std::string smi_text(const SmiView& view);
Json smi_json(const SmiView& view);

// Nodes that a process of this computer works on now, in folders <results>/<suite>/.locks. Memory:
// the simulated peak of the node's last step, 0 before its first.
std::vector<SmiProcess> running_nodes(const std::filesystem::path& results);

}  // namespace nb
