// This machine, looked at without Python, without a card, without contacting anybody: files of
// /proc, /sys, /dev and /etc, limits of the process, npu-smi and hccn_tool where they are. What
// cannot be seen is not said.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/assignments.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

struct MachineOptions {
  std::string root;           // before each absolute path; empty: the machine itself
  bool runs_commands = true;  // npu-smi, hccn_tool and lspci, 10 s each at most
  std::vector<Setting> environment;
  std::string results;  // where a run would write; empty: here
};
// What the process has in its environment.
std::vector<Setting> own_environment();

// given: what the command line says, and what a plan needs: plan_memory_bytes, plan_disk_bytes.
Findings examine_machine(const MachineOptions& options, const Facts& given);

// Parts of it that read one text each.
std::set<int> listening_ports(std::string_view proc_net_tcp);  // state 0A
// Of a folder with packages: name → version, from the names of its dist-info folders.
std::map<std::string, std::string> packages_in(const std::string& site_packages);

}  // namespace nb::doctor
