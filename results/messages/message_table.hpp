// Every sentence of results, in each language: one table of four themes. To add a sentence: a row
// in the file of its theme. A row without a language, with other places in one than in the other,
// or with a key that is there already does not compile (message.cpp); one that nobody says fails a
// test.
#pragma once

#include <algorithm>
#include <array>

#include "results/messages/message_row.hpp"
#include "results/messages/message_table_compare.hpp"
#include "results/messages/message_table_gate.hpp"
#include "results/messages/message_table_import.hpp"

namespace nb {

inline constexpr MessageRow kCommonMessages[] = {
    {"verbatim", "{}", "{}"},  // the first row
    {"about", "{}: {}", "{}：{}"},
    {"remark", "{}; {}", "{}；{}"},
    {"join.semicolon", "; ", "；"},
    {"join.comma", ", ", "、"},
    {"join.and", " and ", " 和 "},
    {"join.sentences", " ", ""},
    {"list.and_more", "{} and {} more", "{} 以及另外 {} 项"},
    {"list.more", "{} more", "另外 {} 项"},
    {"list.and_more_part", "and {} more", "以及另外 {} 项"},
};

inline constexpr auto kMessages = [] {
  std::array<MessageRow, std::size(kCommonMessages) + std::size(kCompareMessages) +
                             std::size(kGateMessages) + std::size(kImportMessages)>
      all{};
  auto at = std::copy(std::begin(kCommonMessages), std::end(kCommonMessages), all.begin());
  at = std::copy(std::begin(kCompareMessages), std::end(kCompareMessages), at);
  at = std::copy(std::begin(kGateMessages), std::end(kGateMessages), at);
  std::copy(std::begin(kImportMessages), std::end(kImportMessages), at);
  return all;
}();

}  // namespace nb
