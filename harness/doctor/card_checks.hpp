// The cards as npu-smi and hccn_tool show them: the checks NPU4 to NPU9.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"
#include "harness/doctor/smi_read.hpp"

namespace nb::doctor {

void take_smi_facts(const SmiRead& smi, Facts& facts);  // cards, card, hdk, hbm_mb, npu
std::vector<Check> check_smi(const SmiRead& smi, const Facts& facts, const std::string& file);
// Of what lspci printed, and the facts npu and pci_cards.
std::vector<Check> check_pci(const std::map<std::string, int>& cards, const std::string& file);
void take_pci_facts(const std::map<std::string, int>& cards, Facts& facts);
std::vector<Check> check_topology(const Topology& topology, const std::string& file);
std::vector<Check> check_card_details(const std::map<int, CardDetails>& cards, const Facts& facts,
                                      const std::string& file);

}  // namespace nb::doctor
