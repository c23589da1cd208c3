// Smaller things that texts show: clocks, firewalls, batches that do not divide, addresses that two
// texts give differently.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/assignments.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/rank_table.hpp"
#include "harness/doctor/smi_read.hpp"

namespace nb::doctor {

// `chronyc tracking`, `timedatectl`, `date +%s.%N` of several hosts, `iptables -S`: SYS11, SYS12.
std::vector<Check> check_clocks(std::string_view text, const std::string& file);

// nanochat's commands: the step's tokens must be a multiple of device batch × sequence × ranks
// (karpathy/nanochat@3a5e0bc scripts/base_train.py, whose defaults count where a command says
// nothing): PORT1.
std::vector<Check> check_batches(const Script& script, const std::string& file);

// Options of Megatron and MindSpeed: heads by tensor parallelism, layers by pipeline stages, where
// the script does not place layers itself: PORT1.
std::vector<Check> check_parallelism(const Script& script, const std::string& file);

// The table's addresses against those that hccn_tool shows (EI0014): RT2.
std::vector<Check> check_addresses(const RankTable& table, const std::map<int, CardDetails>& cards,
                                   const std::string& file);

}  // namespace nb::doctor
