#include "harness/doctor/smi.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "model/device/profile.hpp"

namespace nb::cli {
namespace {

struct Options {
  std::string device = "ascend_910b3";
  std::string results_dir;
  std::int64_t watch_s = 0;
  bool json = false;
};

Result<SmiView> look(const Options& options) {
  NB_TRY(const DeviceProfile profile, load_profile(options.device));
  return smi_view(profile, running_nodes(results_folder(options.results_dir)));
}

int smi_verb(const Options& options) {
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
  auto options = std::make_shared<Options>();
  app.add_option("--device", options->device, "an Ascend profile (npubench list devices)")
      ->capture_default_str();
  app.add_option("--results-dir", options->results_dir,
                 "where running suites are looked for (NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--watch", options->watch_s, "look again every so many seconds, until interrupted")
      ->check(whole(1, 86400));
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "The emulated server, idle but for the nodes that run on this computer; nothing here is "
      "measured.");
  return [options] { return smi_verb(*options); };
}

}  // namespace nb::cli
