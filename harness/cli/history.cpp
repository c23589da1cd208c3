#include "results/store/history.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/open_index.hpp"
#include "harness/cli/verb.hpp"
#include "report/history_plot.hpp"

namespace nb::cli {
namespace {

struct HistoryOptions {
  std::string metric;
  std::string results_dir;
  HistoryFilter filter;
  std::optional<std::int64_t> limit;
  std::string plot;
  bool csv = false;
  bool json = false;
};

// What a later program must see of a file that was not drawn: nothing of it and an exit code.
Result<void> draw(const History& history, const std::string& file) {
  NB_TRY(const Plot plot, history_plot(history));
  return draw_plot_file(plot, file, "gnuplot");
}

int show_history(const HistoryOptions& options) {
  if (!options.plot.empty())
    if (const auto format = plot_format_of(options.plot); !format) return fail(format.error());
  const auto index = open_index(options.results_dir);
  if (!index) return fail(index.error());
  say_damage(*index);
  const auto history = history_of(*index, options.metric, options.filter);
  if (!history) return fail(history.error());
  if (options.json) {
    if (const int printed = print_json(history_json(*history)); printed != kExitOk) return printed;
  } else if (options.csv) {
    say("{}", history_csv(*history));
  } else {
    say("{}", history_text(*history, static_cast<std::size_t>(options.limit.value_or(kNewest))));
  }
  if (options.plot.empty()) return kExitOk;
  const auto drawn = draw(*history, options.plot);
  return drawn ? kExitOk : fail(drawn.error());
}

}  // namespace

Action add_history(CLI::App& app) {
  auto options = std::make_shared<HistoryOptions>();
  app.add_option("METRIC", options->metric, "its name: npubench runs metrics")->required();
  app.add_option("--results-dir", options->results_dir,
                 "folder of runs, however deep they lie (default: as in npubench run)");
  app.add_option("--name", options->filter.name, "of records of this name only: base, base.core");
  app.add_option("--device", options->filter.device, "on this device only");
  app.add_option("--seed", options->filter.seed,
                 "of this seed only; without it the mean over a run's seeds");
  app.add_option("--clock", options->filter.clock, "of this clock only")
      ->check(CLI::IsMember({"none", "sim", "host", "device"}));
  CLI::Option* limit =
      app.add_option("--limit", options->limit,
                     fmt::format("newest runs that the table shows; 0: all (default: {}; --csv and "
                                 "--json have all)",
                                 kNewest))
          ->type_name("N")
          ->check(whole(0));
  app.add_option("--plot", options->plot, "also draw it into this file, FILE.svg or FILE.pdf")
      ->type_name("FILE");
  CLI::Option* csv = app.add_flag("--csv", options->csv, "CSV on stdout")->excludes(limit);
  app.add_flag("--json", options->json, "JSON on stdout")->excludes(csv)->excludes(limit);
  app.footer(
      "Runs whose folders' names differ in digits only are nights of one sequence. Values stand in "
      "one table where they may be compared: the same record, device, clock, unit, seeds, items, "
      "prompts and versions, host times of one machine; the others in tables of their own.\n"
      "A change of level needs three values on both sides and p < .001 whichever value is left "
      "out.\n"
      "Exit codes: 0 shown, 4 the plot was not drawn, 64 bad usage, or no such metric.");
  return [options] { return show_history(*options); };
}

}  // namespace nb::cli
