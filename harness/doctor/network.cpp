#include "harness/doctor/network.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace nb::doctor {
namespace {

bool takes_one(std::string_view wanted, std::string_view card) {
  const bool is_not = wanted.starts_with("^");
  if (is_not) wanted.remove_prefix(1);
  const bool is_exact = wanted.starts_with("=");
  if (is_exact) wanted.remove_prefix(1);
  return (is_exact ? card == wanted : card.starts_with(wanted)) != is_not;
}

int rank_of(std::string_view card) {
  if (card.starts_with("docker")) return 1;
  return card == "lo" ? 2 : 0;
}

}  // namespace

bool takes_card(std::string_view wanted, std::string_view card) {
  // The sign before the first holds for all of a list.
  std::string sign;
  if (wanted.starts_with("^="))
    sign = "^=";
  else if (wanted.starts_with("^") || wanted.starts_with("="))
    sign = wanted.substr(0, 1);
  wanted.remove_prefix(sign.size());
  const bool is_not = sign.starts_with("^");
  bool takes = is_not;
  while (!wanted.empty()) {
    const std::size_t end = std::min(wanted.find(','), wanted.size());
    const bool one = takes_one(sign + std::string(wanted.substr(0, end)), card);
    takes = is_not ? takes && one : takes || one;
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
  }
  return takes;
}

std::optional<HcclChoice> hccl_choice(std::span<const NetworkCard> cards, std::string_view if_ip,
                                      std::string_view socket_ifname) {
  std::vector<const NetworkCard*> order;
  for (const NetworkCard& card : cards)
    if (!card.addresses.empty()) order.push_back(&card);
  std::sort(order.begin(), order.end(), [](const NetworkCard* a, const NetworkCard* b) {
    return std::make_tuple(rank_of(a->name), std::cref(a->name)) <
           std::make_tuple(rank_of(b->name), std::cref(b->name));
  });
  for (const NetworkCard* card : order) {
    if (!if_ip.empty()) {
      for (const std::string& address : card->addresses)
        if (address == if_ip) return HcclChoice{card->name, address};
      continue;
    }
    if (socket_ifname.empty() || takes_card(socket_ifname, card->name))
      return HcclChoice{card->name, card->addresses.front()};
  }
  return std::nullopt;
}

}  // namespace nb::doctor
