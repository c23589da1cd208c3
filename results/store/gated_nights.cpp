#include "results/store/gated_nights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "harness/base/file_lock.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

// Of two gates by hand.
bool is_said_again(const GatedNight& a, const GatedNight& b) {
  return a.name.empty() && b.name.empty() &&
         std::tie(a.suite, a.run, a.digest, a.baseline, a.night, a.exit_code, a.open) ==
             std::tie(b.suite, b.run, b.digest, b.baseline, b.night, b.exit_code, b.open);
}

bool is_night(const Json& json) {
  const auto schema = json.find("schema");
  return json.is_object() && schema != json.end() && *schema == kNightSchema;
}

// Lines of a history with their line end, the last perhaps without one.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// The line's night; nothing for half a line (of a killed process) or what a newer program wrote.
Result<std::optional<GatedNight>> night_of(std::string_view line, const std::string& where) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const auto json = parse_json_line(line, where);
  if (!json || !is_night(*json)) return std::optional<GatedNight>();
  NB_TRY(GatedNight night, parse_struct<GatedNight>(*json, where));
  return std::optional(std::move(night));
}

}  // namespace

bool is_same_night(const GatedNight& a, const GatedNight& b) {
  return !a.name.empty() && a.name == b.name && a.suite == b.suite;
}

FieldList GatedNight::fields() {
  return {{"schema", "npubench.night/1", &schema, {.required = true}},
          {"when", "UTC", &when},
          {"suite", "gated suite", &suite, {.required = true}},
          {"name", "of the night", &name},
          {"run", "candidate's folder", &run},
          {"digest", "of its records", &digest},
          {"baseline", "judged against", &baseline},
          {"night", "verdict", &night, {.required = true}},
          {"exit_code", "of the gate", &exit_code},
          {"open", "checks that could not tell", &open}};
}

Result<std::vector<GatedNight>> read_nights(const fs::path& home) {
  const fs::path path = home / kGateHistory;
  std::vector<GatedNight> nights;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return nights;
  NB_TRY(const std::string text, read_file(path));
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    NB_TRY(auto night, night_of(line, fmt::format("{}:{}", path.string(), ++number)));
    if (night) nights.push_back(std::move(*night));
  }
  return nights;
}

Result<void> write_night(const fs::path& home, const GatedNight& night) {
  const fs::path path = home / kGateHistory;
  NB_TRY(const std::string line, dump_json(print_struct(night), -1));
  NB_TRY(const FileLock one_at_a_time, FileLock::acquire(path, {}));
  NB_TRY(const std::string text, read_file(path));
  std::string changed;
  bool is_replaced = false, is_said = false;
  for (const std::string_view known : lines_of(text)) {
    const auto other = night_of(known, path.string());
    const bool is_this = other && *other && is_same_night(**other, night);
    if (other && *other && (*other)->suite == night.suite) is_said = is_said_again(**other, night);
    if (!is_this) changed += known;
    if (is_this && !std::exchange(is_replaced, true)) changed += line + '\n';
  }
  if (is_said) return {};
  return is_replaced ? write_file(path, changed) : append_line(path, line);
}

}  // namespace nb
