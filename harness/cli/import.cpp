#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/explain.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "results/text/narrow_text.hpp"
#include "results/training/training_log.hpp"

namespace nb::cli {
namespace {

struct ImportOptions {
  std::string path;
  std::string out;
  bool explain = false;
  bool formats = false;
  bool json = false;
};

// Formats of files first; tables that anybody may write have no harness behind them.
std::string formats_text() {
  std::string text;
  for (const ImportFormat& format : import_formats())
    text += fmt::format("{}\n{}", format.name, wrapped(format.source, 4, "    "));
  for (const TrainingFormat& format : training_formats())
    text += fmt::format("{}\n{}", format.name, wrapped(format.source, 4, "    "));
  return text +
         "tables of reported results\n"
         "    results/audit: nanochat's report cards, tables of tasks as CSV, Markdown, "
         "ASCII or box\n    grids, JSON of numbers by task or metric\n";
}

int import(const ImportOptions& options) {
  if (options.formats) {
    say("{}", formats_text());
    return kExitOk;
  }
  if (options.path.empty())
    return fail(Error{ErrorCode::kBadInput,
                      "name a file, a folder or published:NAME (npubench import --help)"});
  const auto results = read_any_foreign(options.path);
  if (!results) return fail(results.error());
  if (!options.out.empty())
    if (const auto written = write_import(*results, options.out); !written)
      return fail(written.error());
  if (options.json) return print_json(explain_json(*results));
  if (options.explain || options.out.empty()) say("{}", explain_text(*results));
  if (!options.out.empty())
    say_line("{} record{} in {}", results->runs.size(), results->runs.size() == 1 ? "" : "s",
             options.out);
  return kExitOk;
}

}  // namespace

Action add_import(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  app.add_option("PATH", options->path,
                 "another harness's file, a folder of them, or published:NAME");
  app.add_option("--out", options->out,
                 "write a run folder here; without it, only print what was read");
  app.add_flag("--explain", options->explain, "with --out too: what was read, what was left out");
  app.add_flag("--formats", options->formats,
               "every format that is read, and where its meaning comes from");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "compare and gate take such files as they are; a run folder is for keeping. Files are "
      "recognised by their content; --formats lists what is known.\n\n"
      "Exit codes: 0 read, 64 nothing known in PATH or a damaged file.");
  return [options] { return import(*options); };
}

}  // namespace nb::cli
