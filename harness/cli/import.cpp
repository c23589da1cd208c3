#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/explain.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"

namespace nb::cli {
namespace {

struct Options {
  std::string path;
  std::string out;
  bool explain = false;
  bool json = false;
};

int import(const Options& options) {
  const auto results = read_any_foreign(options.path);
  if (!results) return fail(results.error());
  if (!options.out.empty())
    if (const auto written = write_import(*results, options.out); !written)
      return fail(written.error());
  if (options.json) return print_json(explain_json(*results));
  if (options.explain || options.out.empty()) fmt::print("{}", explain_text(*results));
  if (!options.out.empty())
    fmt::print("{} record{} in {}\n", results->runs.size(), results->runs.size() == 1 ? "" : "s",
               options.out);
  return kExitOk;
}

std::string formats_text() {
  std::string text;
  for (const ImportFormat& format : import_formats()) text += fmt::format("\n  {}", format.name);
  return text +
         "\n  tables of reported results: nanochat's report cards, CSVs and training logs, "
         "Markdown";
}

}  // namespace

Action add_import(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PATH", options->path,
                 "another harness's file, a folder of them, or published:NAME")
      ->required();
  app.add_option("--out", options->out,
                 "write a run folder here; without it, say what was understood");
  app.add_flag("--explain", options->explain,
               "with --out too: what was understood, what was left out");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "compare and gate take such files as they are; a run folder is for keeping.\nRecognised by "
      "content:" +
      formats_text() + "\n\nExit codes: 0 read, 64 nothing known in PATH or a damaged file.");
  return [options] { return import(*options); };
}

}  // namespace nb::cli
