#include "harness/doctor/smi.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/doctor/machine.hpp"
#include "harness/doctor/run_checks.hpp"
#include "harness/doctor/visible_devices.hpp"
#include "model/device/profile.hpp"

namespace nb::cli {
namespace {

struct SmiOptions {
  std::string device = "ascend_910b3";
  std::string results_dir;
  std::int64_t watch_s = 0;
  bool json = false;
};

Result<SmiView> look(const SmiOptions& options) {
  NB_TRY(const DeviceProfile profile, load_profile(options.device));
  NB_TRY(SmiView view, smi_view(profile, running_nodes(results_folder(options.results_dir))));
  const char* mask = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (mask == nullptr) return view;
  // What a process under this mask sees: counted again from 0, as the runtime reads it.
  const auto cards = static_cast<int>(view.chips.size());
  const doctor::VisibleDevices seen = doctor::visible_devices(mask, cards);
  if (seen.is_refused())
    NB_TRY_VOID(doctor::check_visible_devices(doctor::own_environment(), cards));
  std::vector<SmiChip> chips;
  for (const int id : seen.ids) chips.push_back(view.chips[static_cast<std::size_t>(id)]);
  view.chips = std::move(chips);
  return view;
}

int smi_verb(const SmiOptions& options) {
  for (;;) {
    const auto view = look(options);
    if (!view) return fail(view.error());
    if (options.json) {
      const int printed = print_json(smi_json(*view));
      if (printed != kExitOk) return printed;
    } else {
      if (options.watch_s > 0) clear_terminal();
      say("{}", smi_text(*view));
    }
    if (options.watch_s == 0) return kExitOk;
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(options.watch_s));
  }
}

}  // namespace

Action add_smi(CLI::App& app) {
  auto options = std::make_shared<SmiOptions>();
  app.add_option("--device", options->device, "an Ascend profile (npubench list devices)")
      ->capture_default_str();
  app.add_option("--results-dir", options->results_dir,
                 "where running suites are looked for (NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--watch", options->watch_s, "look again every so many seconds, until interrupted")
      ->check(whole(1, 86400));
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "The emulated server, idle but for the nodes that run on this computer; nothing here is "
      "measured. ASCEND_RT_VISIBLE_DEVICES hides cards as the runtime hides them.");
  return [options] { return smi_verb(*options); };
}

}  // namespace nb::cli
