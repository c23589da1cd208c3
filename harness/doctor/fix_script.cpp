#include "harness/doctor/fix_script.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "harness/base/subprocess.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

// Rules whose remedy says another thing than "unset", and the value that their own condition lets
// pass. Where there is none here, a finding about a variable is mended by unsetting it: the default
// is then in force.
const std::map<std::string, std::string, std::less<>>& values() {
  static const std::map<std::string, std::string, std::less<>> all = {
      {"ENV001", "3"},
      {"ENV003", "3"},
      {"ENV004", "3"},
      {"ENV052", "1"},
      {"ENV053", "1"},
      {"ENV054", "1"},
      {"ENV058", "enable"},
      {"ENV056", "100000"},
      {"ENV143", "true"},
      {"ENV190", "1"},
      {"ENV214", "spawn"},
      {"ENV130", "120"},
      {"ENV131", "600"},
      {"ENV080", "expandable_segments:True"},
      {"ENV085", "expandable_segments:True"},
  };
  return all;
}

std::string comment(const std::string& text) { return "# " + visible_line(text) + "\n"; }

}  // namespace

std::string fix_script(const Findings& findings) {
  static const Pattern name(R"(^[A-Za-z_][A-Za-z0-9_]*$)");
  std::string text =
      "# What npubench doctor found, as commands to source: . ./fix.sh\n"
      "# Steps that install, end processes or need root are comments.\n";
  std::set<std::string> done;
  for (const Check& check : findings.checks) {
    if (check.state != State::kFail && check.state != State::kWarn && check.state != State::kNote)
      continue;
    text +=
        "\n" + comment(fmt::format("{} {}: {}{}", check.id, check.variable, sentence_of(check.said),
                                   check.where.line > 0
                                       ? fmt::format(" ({}:{})", check.where.file, check.where.line)
                                       : ""));
    const std::string remedy = remedy_of(check.said);
    if (!remedy.empty()) text += comment("  " + remedy);
    const bool is_variable =
        check.group == "environment" && check.variable != "script" && name.found_in(check.variable);
    if (!is_variable) continue;
    // One that is not set is not mended by unsetting it.
    const auto value = values().find(check.id);
    if (value == values().end() && check.where.line == 0 && check.value.empty() &&
        check.id != "ENV019" && check.id != "ENV030")
      continue;
    if (!done.insert(check.variable).second) continue;
    text += value == values().end()
                ? fmt::format("unset {}\n", check.variable)
                : fmt::format("export {}={}\n", check.variable, shell_text(value->second));
  }
  return text;
}

}  // namespace nb::doctor
