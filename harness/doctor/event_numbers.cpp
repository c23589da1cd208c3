#include "harness/doctor/event_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

// Ranks as numbers where they are numbers.
bool is_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}
// "5.03 GiB" in GiB.
std::optional<double> gib_of(const std::string& text) {
  const auto value = number_of(text);
  if (!value) return std::nullopt;
  if (text.ends_with("KiB")) return *value / (1024.0 * 1024.0);
  if (text.ends_with("MiB")) return *value / 1024.0;
  return *value;
}

std::string gib_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "?";
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return value;
}

void sort_ranks(std::vector<std::string>& ranks) {
  std::sort(ranks.begin(), ranks.end(), is_before);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

std::vector<std::string> all_texts(const LogEvent& event) {
  std::vector<std::string> texts = {event.text};
  texts.insert(texts.end(), event.more_texts.begin(), event.more_texts.end());
  return texts;
}

Arguments numbers_of(const LogEvent& event) {
  struct NumberPattern {
    const char* name;
    Pattern pattern;
  };
  static const std::vector<NumberPattern> known = [] {
    std::vector<NumberPattern> all;
    for (const auto& [name, text] : std::vector<std::pair<const char*, const char*>>{
             {"port", R"(\bport(?:\[|: ?| )(\d{2,5})\b)"},
             {"address", R"(\bip\[([^\]]+)\])"},
             {"socket_type", R"(socket type\[(\d)\])"},
             {"remote_rank", R"([Rr]emote ?[Rr]ank:? ?\[(\d+)\])"},
             {"peer", R"(\] ?rank\[(\d+)\])"},
             {"timeout_s", R"(\btimeout:?\[(\d+)\b)"},
             {"device", R"(\(NPU (\d+);)"},
             {"process", R"(Killed process (\d+))"},
             {"symbol", R"(undefined symbol: (\S+))"},
             {"limit_ms", R"(Timeout\(ms\)=(\d+))"}})
      all.push_back({name, Pattern(text)});
    return all;
  }();
  Arguments numbers;
  for (const NumberPattern& one : known)
    if (const auto m = one.pattern.match(event.text); m.size() == 2)
      numbers.emplace_back(one.name, std::string(m[1]));
  if (!event.raised_in.empty()) numbers.emplace_back("raised_in", event.raised_in);
  return numbers;
}

std::optional<Said> memory_said(const LogEvent& event) {
  if (event.code != "NPU_OOM" || event.groups.size() < 6) return std::nullopt;
  MemoryNumbers numbers;
  numbers.asked = gib_of(event.groups[0]);
  numbers.total = gib_of(event.groups[2]);
  numbers.allocated = gib_of(event.groups[3]);
  numbers.free = gib_of(event.groups[4]);
  numbers.reserved = gib_of(event.groups[5]);
  const auto verdict = memory_verdict(numbers);
  if (!verdict) return std::nullopt;
  return Said{std::string(verdict->key),
              {{"asked", gib_text(numbers.asked)},
               {"free", gib_text(numbers.free)},
               {"total", gib_text(numbers.total)},
               {"allocated", gib_text(numbers.allocated)},
               {"others", gib_text(verdict->others)},
               {"slack", gib_text(verdict->slack)}}};
}

std::optional<MemoryVerdict> memory_verdict(const MemoryNumbers& numbers) {
  if (!numbers.total || !numbers.reserved || !numbers.free) return std::nullopt;
  constexpr double kLeastOthers = 4;  // GiB: more than the driver and a context take
  MemoryVerdict verdict;
  verdict.others = *numbers.total - *numbers.reserved - *numbers.free;
  if (numbers.allocated) verdict.slack = *numbers.reserved - *numbers.allocated;
  if (*verdict.others > std::max(kLeastOthers, 0.1 * *numbers.total))
    verdict.key = "OOM.others";
  else if (verdict.slack && numbers.asked && *verdict.slack >= *numbers.asked)
    verdict.key = "OOM.fragmentation";
  else if (numbers.allocated && numbers.asked &&
           *numbers.allocated + *numbers.asked > *numbers.total)
    verdict.key = "OOM.large";
  else
    verdict.key = "OOM.mixed";
  return verdict;
}

}  // namespace nb::doctor
