#include "harness/doctor/text_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr double kApartS = 1;  // beyond it times of ranks cannot be compared

Check about(std::string_view id, std::string_view group, State state, std::string_view key,
            Arguments arguments, Place where) {
  Check check;
  check.id = id;
  check.group = group;
  check.state = state;
  check.said = {std::string(key), std::move(arguments)};
  check.where = std::move(where);
  if (const SentenceRow* row = find_sentence(key)) check.source = row->source;
  return check;
}

// --name=8, --name 8; otherwise the fallback.
long long option_of(const std::string& text, const char* name, long long fallback) {
  const std::string flag = std::string("--") + name;
  for (std::size_t at = text.find(flag); at != text.npos; at = text.find(flag, at + 1)) {
    const std::size_t end = at + flag.size();
    if (end >= text.size() || (text[end] != '=' && text[end] != ' ')) continue;
    const long long value = std::atoll(text.c_str() + end + 1);
    if (value > 0 && value < (1LL << 40)) return value;
  }
  return fallback;
}

}  // namespace

std::vector<Check> check_clocks(std::string_view text, const std::string& file) {
  static const Pattern offset(R"((?m)^\s*System time\s*: (\d+\.\d+) seconds (?:fast|slow))");
  static const Pattern unsynchronised(R"((?m)^\s*System clock synchronized: no)");
  static const Pattern drop(R"((?m)^\s*-P (INPUT|FORWARD|OUTPUT) DROP)");
  std::vector<Check> checks;
  text = text.substr(0, 1 << 16);
  if (const auto m = offset.match(text); m.size() == 2) {
    const bool is_apart = std::atof(std::string(m[1]).c_str()) > kApartS;
    checks.push_back(about("SYS11", "machine", is_apart ? State::kWarn : State::kPass,
                           is_apart ? "SYS11" : "SYS11.pass", {{"s", std::string(m[1])}},
                           {file, 0}));
  }
  if (unsynchronised.found_in(text))
    checks.push_back(about("SYS11", "machine", State::kWarn, "SYS11.free", {}, {file, 0}));
  if (const auto m = drop.match(text); m.size() == 2)
    checks.push_back(about("SYS12", "machine", State::kNote, "SYS12",
                           {{"chain", std::string(m[1])}}, {file, 0}));
  return checks;
}

std::vector<Check> check_batches(const Script& script, const std::string& file) {
  std::vector<Check> checks;
  for (const Line& line : script.lines) {
    if (line.text.find("base_train") == std::string::npos || line.text.size() > 4096) continue;
    if (line.text.find("torchrun") == std::string::npos &&
        line.text.find("python") == std::string::npos)
      continue;
    const long long ranks =
        option_of(line.text, "nproc_per_node", 1) * option_of(line.text, "nnodes", 1);
    const long long rows = option_of(line.text, "device_batch_size", 32);
    const long long length = option_of(line.text, "max_seq_len", 2048);
    const long long total = option_of(line.text, "total_batch_size", 524288);
    if (ranks > 65536 || rows > 65536 || length > (1 << 24)) continue;
    const long long pass = rows * length * ranks;
    Arguments arguments = {{"total", std::to_string(total)},
                           {"pass", std::to_string(pass)},
                           {"rows", std::to_string(rows)},
                           {"length", std::to_string(length)},
                           {"ranks", std::to_string(ranks)},
                           {"next", std::to_string((total + pass - 1) / pass * pass)}};
    if (total % pass == 0) {
      checks.push_back(
          about("PORT1", "plan", State::kPass, "PORT1.pass", arguments, {file, line.number}));
      continue;
    }
    long long fitting = std::min(rows, total / (length * ranks));
    while (fitting > 0 && total % (fitting * length * ranks) != 0) --fitting;
    arguments.emplace_back("fitting", std::to_string(fitting));
    checks.push_back(about("PORT1", "plan", State::kFail, fitting > 0 ? "PORT1" : "PORT1.none",
                           arguments, {file, line.number}));
  }
  return checks;
}

std::vector<Check> check_addresses(const RankTable& table, const std::map<int, CardDetails>& cards,
                                   const std::string& file) {
  std::vector<Check> checks;
  if (table.servers != 1) return checks;  // whose hccn_tool it was is not known
  for (const RankTableDevice& device : table.devices) {
    const auto card = cards.find(static_cast<int>(device.device_id));
    if (card == cards.end() || card->second.address.empty() || device.address.empty()) continue;
    if (card->second.address != device.address)
      checks.push_back(about("RT2", "rank table", State::kFail, "RT2",
                             {{"device", std::to_string(device.device_id)},
                              {"table", device.address},
                              {"card", card->second.address}},
                             {file, 0}));
  }
  return checks;
}

}  // namespace nb::doctor
