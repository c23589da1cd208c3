#include "harness/doctor/text_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

// "host: 1732830000.123456789" a line, as pdsh and ansible show `date +%s.%N` of several hosts.
std::vector<Check> check_hosts(std::string_view text, const std::string& file) {
  static const Pattern row(R"((?m)^\s*([\w.-]{1,253}): (1\d{9}\.\d{9})\s*$)");
  std::string first, last, a, b;
  int hosts = 0;
  for (;;) {
    const auto m = row.match(text);
    if (m.size() != 3) break;
    ++hosts;
    const std::string time(m[2]);  // of one length: texts compare as their numbers do
    if (first.empty() || time < first) first = time, a = m[1];
    if (last.empty() || time > last) last = time, b = m[1];
    text.remove_prefix(static_cast<std::size_t>(m[0].data() + m[0].size() - text.data()));
  }
  if (hosts < 2) return {};
  const double apart = std::atof(last.c_str()) - std::atof(first.c_str());
  const bool is_apart = apart > kApartS;
  return {
      about("SYS11", "machine", is_apart ? State::kWarn : State::kPass,
            is_apart ? "SYS11.hosts" : "SYS11.hosts.pass",
            {{"a", a}, {"b", b}, {"n", std::to_string(hosts)}, {"s", fmt::format("{:.1f}", apart)}},
            {file, 0})};
}

// Variables of a shell that the script sets itself, put in.
std::string with_variables(const std::string& text, const Script& script) {
  std::string filled;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      filled += text[at];
      continue;
    }
    const bool is_braced = text[at + 1] == '{';
    std::size_t end = at + (is_braced ? 2 : 1);
    const std::size_t begin = end;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const std::string name = text.substr(begin, end - begin);
    const auto setting = std::find_if(
        script.settings.rbegin(), script.settings.rend(),
        [&](const Setting& s) { return s.name == name && !s.is_computed && s.value.size() < 64; });
    const bool is_closed = !is_braced || (end < text.size() && text[end] == '}');
    if (name.empty() || !is_closed || setting == script.settings.rend()) {
      filled += '$';
      continue;
    }
    filled += setting->value;
    at = end - (is_braced ? 0 : 1);
  }
  return filled;
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
  for (Check& check : check_hosts(text, file)) checks.push_back(std::move(check));
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

std::vector<Check> check_parallelism(const Script& script, const std::string& file) {
  std::vector<Check> checks;
  struct Rule {
    const char *whole, *parts, *key, *whole_name, *parts_name;
  };
  constexpr Rule kRules[] = {
      {"num-attention-heads", "tensor-model-parallel-size", "PORT1.heads", "heads", "tp"},
      {"num-layers", "pipeline-model-parallel-size", "PORT1.layers", "layers", "pp"}};
  const bool places_layers = script.mentions("--num-layer-list") ||
                             script.mentions("--noop-layers") ||
                             script.mentions("-pipeline-num-layers");
  for (const Rule& rule : kRules) {
    if (places_layers && std::string_view(rule.whole_name) == "layers") continue;
    long long whole = 0, parts = 0;
    int line_of_parts = 0;
    for (const Line& line : script.lines) {
      if (line.text.size() > 4096 || line.text.find("--") == std::string::npos) continue;
      const std::string text = with_variables(line.text, script);
      whole = option_of(text, rule.whole, whole);
      if (const long long found = option_of(text, rule.parts, 0); found > 0) {
        parts = found;
        line_of_parts = line.number;
      }
    }
    if (whole > 0 && parts > 0 && whole % parts != 0)
      checks.push_back(about(
          "PORT1", "plan", State::kFail, rule.key,
          {{rule.whole_name, std::to_string(whole)}, {rule.parts_name, std::to_string(parts)}},
          {file, line_of_parts}));
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
