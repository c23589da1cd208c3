// What this machine's resolver makes of the machine's own name (nsswitch.conf(5), hosts(5),
// nss-myhostname(8)): the sources in their order, as long as they are files. Where a server of
// names would be asked that is said: none is contacted. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/doctor/facts.hpp"

namespace nb::doctor {

struct HostAddress {
  enum { kFound, kNone, kServer } state = kNone;
  std::string address;  // kFound
  std::string source;   // "/etc/hosts", "myhostname"; kServer: "dns"
};
// nsswitch, hosts: the files' texts; an empty nsswitch: "files dns", as glibc has it. interfaces:
// of this machine, for myhostname.
HostAddress resolve_host_name(std::string_view name, std::string_view nsswitch,
                              std::string_view hosts, std::span<const NetworkCard> interfaces);
bool is_loopback_address(std::string_view address);

}  // namespace nb::doctor
