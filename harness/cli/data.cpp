#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "evals/data/fetch.hpp"
#include "evals/data/manifest.hpp"
#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/data_store.hpp"
#include "harness/cli/verb.hpp"

namespace nb::cli {
namespace {

struct DataOptions {
  std::string data_dir;
  std::vector<std::string> names;
  std::vector<std::string> mirrors;
  std::string from;
  int attempts = FetchOptions().attempts;
  bool verify = false;
  bool no_origins = false;
  StoreOptions store;
  bool json = false;
};

// The table's cells by column name: one truth for people and programs.
Json table_json(const TextTable& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < table.header.size(); ++i)
      row[table.header[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(row);
  }
  return rows;
}

// Without the columns that only programs and the curious need: rows stay short.
TextTable shown_table(const TextTable& table) {
  TextTable shown;
  const auto keep = [&](const std::vector<std::string>& row) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (table.header[i] != "tasks" && table.header[i] != "note") cells.push_back(row[i]);
    return cells;
  };
  shown.header = keep(table.header);
  for (const auto& row : table.rows) shown.rows.push_back(keep(row));
  return shown;
}

int list_data(const DataOptions& options) {
  const std::filesystem::path folder = data_folder(options.data_dir);
  const TextTable table = data_table(data_manifest(), folder, options.verify);
  if (options.json)
    return print_json({{"data_dir", folder.string()}, {"files", table_json(table)}});
  say("{}data folder: {}{} (--json adds tasks and notes)\n",
      to_text(shown_table(table), output_width()), folder.string(),
      check_folder(folder, "") ? "" : " (no such folder)");
  return kExitOk;
}

// What is there must be right; what was named must be there.
int verify_data(const DataOptions& options) {
  const std::filesystem::path folder = data_folder(options.data_dir);
  const auto files = find_files(data_manifest(), options.names);
  if (!files) return fail(files.error());
  if (const auto there = check_folder(folder, "data folder"); !there) return fail(there.error());
  const auto verified = verify(*files, folder);
  int good = 0, missing = 0;
  std::string bad, get;
  for (const VerifiedFile& one : verified) {
    good += one.state == "verified" ? 1 : 0;
    missing += one.state == "missing" ? 1 : 0;
    if (one.state == "verified" || (one.state == "missing" && options.names.empty())) continue;
    bad += fmt::format("\n  {}: {}", one.file->name, one.state);
    if (one.state == "missing" || one.state.starts_with("wrong")) get += " " + one.file->name;
  }
  if (options.json) {
    Json list = Json::array();
    for (const VerifiedFile& one : verified)
      list.push_back({{"name", one.file->name}, {"state", one.state}});
    if (const int printed = print_json({{"data_dir", folder.string()}, {"files", list}});
        printed != kExitOk)
      return printed;
  } else {
    say("{} of {} verified, {} missing; data folder: {}\n", good,
        count_text(std::ssize(verified), "file"), missing, folder.string());
  }
  if (bad.empty()) return kExitOk;
  return fail(
      {ErrorCode::kBadInput, fmt::format("data folder {}:{}{}", folder.string(), bad,
                                         get.empty() ? ""
                                                     : "\n"
                                                       "download them again: npubench data get" +
                                                           get)});
}

std::vector<std::string> mirrors_of(const DataOptions& options) {
  if (!options.mirrors.empty()) return options.mirrors;
  const char* set = std::getenv("NPUBENCH_MIRROR");
  return set == nullptr || *set == '\0' ? std::vector<std::string>()
                                        : std::vector<std::string>{set};
}

int get_data(const DataOptions& options) {
  const std::filesystem::path folder = data_folder(options.data_dir);
  FetchOptions fetching;
  fetching.mirrors = mirrors_of(options);
  fetching.from = options.from;
  fetching.use_origins = !options.no_origins;
  fetching.attempts = options.attempts;
  fetching.say = [](const std::string& line) { say_on_stderr(fmt::format("{}\n", line)); };
  const auto summary = fetch(data_manifest(), options.names, folder, fetching);
  if (!summary) return fail(summary.error());
  if (options.json)
    return print_json({{"data_dir", folder.string()},
                       {"fetched", summary->fetched},
                       {"kept", summary->kept},
                       {"absent", summary->absent}});
  say("{} downloaded, {} already present{}; data folder: {}\n",
      count_text(summary->fetched, "file"), summary->kept,
      summary->absent == 0 ? "" : fmt::format(", {} are not in {}", summary->absent, options.from),
      folder.string());
  return kExitOk;
}

struct Command {
  const char* name;
  const char* doc;
  int (*run)(const DataOptions&);
  void (*add_options)(CLI::App&, DataOptions&);
  const char* now = nullptr;  // of an older spelling: the one that it has
};

void add_data_dir(CLI::App& command, DataOptions& options) {
  command.add_option("--data-dir", options.data_dir, "public data (default: as in npubench run)");
}

void add_list_options(CLI::App& list, DataOptions& options) {
  add_data_dir(list, options);
  list.add_flag("--verify", options.verify, "compute every checksum");
}

void add_verify_options(CLI::App& verify, DataOptions& options) {
  add_data_dir(verify, options);
  verify.add_option("names", options.names, "files or groups (default: all that exist)");
}

void add_get_options(CLI::App& get, DataOptions& options) {
  add_data_dir(get, options);
  get.add_option("names", options.names, "files or groups (default: all that can be downloaded)");
  CLI::Option* from =
      get.add_option("--from", options.from, "copy from this folder, without any network");
  get.add_option("--mirror", options.mirrors,
                 "URL prefix with the data folder's layout; repeatable, tried in order (default: "
                 "NPUBENCH_MIRROR)")
      ->allow_extra_args(false)
      ->excludes(from);
  get.add_flag("--no-origins", options.no_origins,
               "use mirrors only, not the repositories of origin")
      ->excludes(from);
  get.add_option("--attempts", options.attempts,
                 "attempts per URL while the failure may be temporary")
      ->check(whole(1, 100));
}

constexpr Command kCommands[] = {
    {"list", "list the files that the program knows and their state", list_data, add_list_options},
    {"verify", "compute checksums: files that exist must match, files that are named must exist",
     verify_data, add_verify_options},
    {"get", "download files into the data folder and check them; resumes an interrupted download",
     get_data, add_get_options},
    {"reindex", "", [](const DataOptions& options) { return reindex(options.store, options.json); },
     [](CLI::App& command, DataOptions& options) { add_reindex_options(command, options.store); },
     "npubench runs reindex"},
    {"gc", "",
     [](const DataOptions& options) { return collect_garbage(options.store, options.json); },
     [](CLI::App& command, DataOptions& options) { add_gc_options(command, options.store); },
     "npubench runs gc"},
};

}  // namespace

Action add_data(CLI::App& app) {
  auto options = std::make_shared<DataOptions>();
  for (const Command& command : kCommands) {
    CLI::App& added = *app.add_subcommand(command.name, command.doc);
    if (command.now != nullptr) added.is_now(command.now);
    command.add_options(added, *options);
    added.add_flag("--json", options->json, "JSON on stdout");
  }
  app.require_subcommand(1);
  app.footer(
      "npubench data get gsm8k core/arc_easy\nnpubench data get --from "
      "/media/usb/npubench-data");
  return [&app, options] {
    for (const Command& command : kCommands)
      if (app.got_subcommand(command.name)) return command.run(*options);
    return kExitUsage;
  };
}

}  // namespace nb::cli
