// Ascend cards on the PCI bus, by what lspci prints. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nb::doctor {

// A line of lspci, of lspci -n and of lspci -nn.
bool is_pci_line(std::string_view line);
// Device id → cards: "d802" → 8. Huawei (19e5) makes network cards, bridges and the board's own
// screen too: processing accelerators alone count (class 12).
std::map<std::string, int> ascend_cards(std::string_view lspci);

}  // namespace nb::doctor
