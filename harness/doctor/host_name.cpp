#include "harness/doctor/host_name.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace nb::doctor {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

std::string in_hosts(std::string_view name, std::string_view hosts) {
  std::istringstream lines{std::string(hosts)};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = fields_of(line);
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), name) != words.end())
      return words.front();
  }
  return "";
}

std::vector<std::string> sources_of(std::string_view nsswitch) {
  std::istringstream lines{std::string(nsswitch)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words = fields_of(line);
    if (words.empty() || words.front() != "hosts:") continue;
    words.erase(words.begin());
    // "[!UNAVAIL=return]": what ends the search where a source answers differently.
    std::erase_if(words, [](const std::string& word) {
      return word.starts_with('[') || word.ends_with(']');
    });
    return words;
  }
  return {"files", "dns"};
}

}  // namespace

bool is_loopback_address(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

HostAddress resolve_host_name(std::string_view name, std::string_view nsswitch,
                              std::string_view hosts, std::span<const NetworkCard> interfaces) {
  for (const std::string& source : sources_of(nsswitch)) {
    if (source == "files") {
      if (std::string address = in_hosts(name, hosts); !address.empty())
        return {HostAddress::kFound, std::move(address), "/etc/hosts"};
    } else if (source == "myhostname") {
      // The addresses of its cards; without any 127.0.0.2.
      for (const NetworkCard& card : interfaces)
        for (const std::string& address : card.addresses)
          if (!is_loopback_address(address) && !address.starts_with("fe80"))
            return {HostAddress::kFound, address, source};
      return {HostAddress::kFound, "127.0.0.2", source};
    } else {
      return {HostAddress::kServer, "", source};
    }
  }
  return {};
}

}  // namespace nb::doctor
