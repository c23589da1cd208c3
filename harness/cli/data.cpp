#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "evals/data_manifest.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/run/locations.hpp"

namespace nb::cli {
namespace {

struct Options {
  std::string data_dir;
  bool verify = false;
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

int list_data(const Options& options) {
  const std::filesystem::path folder = data_folder(options.data_dir);
  const TextTable table = data_table(data_manifest(), folder, options.verify);
  if (options.json)
    return print_json({{"data_dir", folder.string()}, {"files", table_json(table)}});
  fmt::print("{}data folder: {}\n", to_text(table), folder.string());
  return kExitOk;
}

}  // namespace

Action add_data(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* list = app.add_subcommand("list", "files that the program knows, and where they stand");
  list->add_option("--data-dir", options->data_dir, "public data (default: as in npubench run)");
  list->add_flag("--verify", options->verify, "compute every checksum");
  list->add_flag("--json", options->json, "JSON on stdout");
  app.require_subcommand(1);
  return [options] { return list_data(*options); };
}

}  // namespace nb::cli
