// What lines of a log say in numbers: ports, ranks, limits, and the memory of a card that was full.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/check.hpp"
#include "harness/doctor/log_scan.hpp"

namespace nb::doctor {

std::optional<double> number_of(std::string_view text);
// Ascending as numbers where they are numbers, each once.
void sort_ranks(std::vector<std::string>& ranks);
// The event's line and those folded into it.
std::vector<std::string> all_texts(const LogEvent& event);
// {"port","16666"}, {"remote_rank","3"}, …
Arguments numbers_of(const LogEvent& event);
// Of out of memory: what the numbers decide.
std::optional<Said> memory_said(const LogEvent& event);

// Who holds the memory of a card that was full, from the numbers of the message.
struct MemoryNumbers {  // GiB; nothing: the message does not say
  std::optional<double> total, allocated, reserved, free, asked;
};
struct MemoryVerdict {
  std::string_view key;  // of sentences.csv: OOM.others, OOM.fragmentation, OOM.large, OOM.mixed
  std::optional<double> others, slack;
};
std::optional<MemoryVerdict> memory_verdict(const MemoryNumbers& numbers);

}  // namespace nb::doctor
