#include "harness/cli/gate_modes.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "results/gate/noise_profile.hpp"
#include "results/store/acceptance.hpp"

namespace nb::cli {
namespace {

std::string user_name() {
  for (const char* variable : {"USER", "LOGNAME"})
    if (const char* name = std::getenv(variable); name != nullptr && *name != '\0') return name;
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? std::string() : std::string(entry->pw_name);
}

}  // namespace

int accept(const GateModes& modes, const RunRecords& run) {
  const fs::path home = modes.home.empty() ? gate_home(run.path) : fs::path(modes.home);
  const auto accepted =
      accept_run(run, home, modes.who.empty() ? user_name() : modes.who, modes.why);
  if (!accepted) return fail(accepted.error());
  if (modes.json) return print_json(print_struct(*accepted));
  say_line("accepted {} ({} nodes) by {} at {}: {}", run.path.string(), accepted->nodes.size(),
           accepted->who, accepted->when, accepted->why);
  say_line("digest {}", accepted->digest);
  say_line("pointer {}", (home / kAcceptedFolder / (accepted->suite + ".json")).string());
  return kExitOk;
}

int write_noise_profile(const GateModes& modes, std::span<const RunRecords> runs) {
  const auto profile = calibrate(runs);
  if (!profile) return fail(profile.error());
  const Json json = print_struct(*profile);
  if (modes.out.empty()) return print_json(json);
  if (const auto written = write_json(modes.out, json); !written) return fail(written.error());
  say("{}: {} tasks, {} metrics; review it, commit it, and name it in a policy "
      "(\"noise_profile\")\n",
      modes.out, profile->tasks.size(), profile->metrics.size());
  for (const std::string& note : profile->notes) say_line("! {}", note);
  return kExitOk;
}

}  // namespace nb::cli
