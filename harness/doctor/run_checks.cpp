#include "harness/doctor/run_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/visible_text.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/machine.hpp"

namespace nb::doctor {
namespace {

constexpr std::string_view kMask = "ASCEND_RT_VISIBLE_DEVICES";

std::string sentence(const Check& check) {
  const std::string remedy = remedy_of(check.said);
  const std::string what = check.variable.empty()
                               ? ""
                               : fmt::format("{}={}: ", check.variable, visible_line(check.value));
  return fmt::format("{}{} ({}){}", what, sentence_of(check.said), check.id,
                     remedy.empty() ? "" : "; " + remedy);
}

}  // namespace

void add_needs(const RunNeeds& needs, Facts& facts) {
  if (needs.memory_bytes > 0) facts.set("plan_memory_bytes", std::to_string(needs.memory_bytes));
  if (needs.disk_bytes > 0) facts.set("plan_disk_bytes", std::to_string(needs.disk_bytes));
}

Result<void> check_visible_devices(const std::vector<Setting>& environment, int cards) {
  if (cards == 0) return {};
  Facts facts;
  facts.set("cards", std::to_string(cards));
  std::vector<Setting> mask;
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(mask),
               [](const Setting& setting) { return setting.name == kMask; });
  for (const Check& check : lint_environment(mask, facts, "", false))
    if (check.variable == kMask && check.state == State::kFail) return bad_input(sentence(check));
  return {};
}

Result<void> check_ready(const RunNeeds& needs, const std::vector<Setting>& environment) {
  NB_TRY_VOID(check_visible_devices(environment, needs.cards));
  Facts facts;
  add_needs(needs, facts);
  MachineOptions options;
  options.runs_commands = false;
  options.environment = environment;
  for (const Check& check : examine_machine(options, facts).checks)
    if (check.said.key == "SYS2.plan") return run_error(sentence(check));
  return {};
}

}  // namespace nb::doctor
