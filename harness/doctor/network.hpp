// Which network card and address HCCL takes (hicann/hccl docs HCCL_SOCKET_IFNAME,
// HCCL_IF_IP). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/doctor/facts.hpp"

namespace nb::doctor {

// wanted: "eth" a beginning, "^eth" not that beginning, "=eth0" exactly, "^=eth0" not exactly;
// several by commas.
bool takes_card(std::string_view wanted, std::string_view card);

struct HcclChoice {
  std::string card, address;
};
// if_ip, socket_ifname: empty where not set. The first by name that is neither docker nor lo, then
// docker, then lo. Nothing: no card has an address.
std::optional<HcclChoice> hccl_choice(std::span<const NetworkCard> cards, std::string_view if_ip,
                                      std::string_view socket_ifname);

}  // namespace nb::doctor
