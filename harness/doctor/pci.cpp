#include "harness/doctor/pci.hpp"

#include <algorithm>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {

bool is_pci_line(std::string_view line) {
  static const Pattern row(
      R"(^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:[0-9a-f]{4}: [0-9a-f]{4}:[0-9a-f]{4}|"?[A-Z][A-Za-z0-9 /+-]{2,60}"?(?: \[[0-9a-f]{4}\])?:? ))");
  return row.found_in(line.substr(0, 512));
}

std::map<std::string, int> ascend_cards(std::string_view lspci) {
  // "c1:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)",
  // "c1:00.0 1200: 19e5:d802 (rev 20)", "… [1200]: … [19e5:d802] …".
  static const Pattern by_name(
      R"(Processing accelerators(?: \[1200\])?: Huawei Technologies Co\., Ltd\. .*?(?:Device |\[19e5:)([0-9a-f]{4}))");
  static const Pattern by_number(R"( 12[0-9a-f]{2}: 19e5:([0-9a-f]{4}))");
  std::map<std::string, int> cards;
  while (!lspci.empty()) {
    const std::size_t end = std::min(lspci.find('\n'), lspci.size());
    const std::string_view line = lspci.substr(0, std::min<std::size_t>(end, 512));
    for (const Pattern* pattern : {&by_name, &by_number})
      if (const auto m = pattern->match(line); m.size() == 2) ++cards[std::string(m[1])];
    lspci.remove_prefix(std::min(end + 1, lspci.size()));
  }
  return cards;
}

}  // namespace nb::doctor
