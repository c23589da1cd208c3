#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "evals/core/task.hpp"
#include "evals/probes/probes.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/list_runs.hpp"
#include "harness/cli/verb.hpp"
#include "harness/faults/fault_kinds.hpp"
#include "harness/suite/load.hpp"
#include "harness/suite/microbenchmarks.hpp"
#include "harness/suite/mixture.hpp"
#include "harness/suite/suite_files.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device_table.hpp"
#include "model/train/port_defects.hpp"
#include "results/audit/published.hpp"

namespace nb::cli {
namespace {

Result<TextTable> list_suites() {
  TextTable table{{"suite", ""}, {}};
  for (const std::filesystem::path& file : suite_files()) {
    const auto suite = load_suite(file);
    table.rows.push_back({file.string(), suite ? suite->description : suite.error().message});
  }
  return table;
}

Result<TextTable> list_tasks() {
  TextTable table{{"task", "type", "rows", "shots", "in CORE as"}, {}};
  for (const Task& task : all_tasks())
    table.rows.push_back({std::string(task.id), std::string(task.kind),
                          task.rows > 0               ? with_commas(task.rows)
                          : task.dataset == kOwnFiles ? "your texts"
                                                      : "generated",
                          std::to_string(task.shots),
                          std::string(task.core != nullptr ? task.core->core_label : "")});
  for (const TaskSet& set : task_sets())
    table.rows.push_back({std::string(set.name), "set", count_text(std::ssize(set.tasks), "task"),
                          "", std::string(set.doc)});
  for (const Task& task : all_tasks()) {
    if (task.variants == nullptr) continue;
    const auto names = task.variants();
    table.rows.push_back({fmt::format("{}:{}", task.id, names.back()), "variant",
                          fmt::format("one of {}", names.size()), "",
                          fmt::format("{}{}", fmt::join(std::span(names).first(3), ", "),
                                      names.size() > 3 ? ", …" : "")});
  }
  return table;
}

Result<TextTable> list_faults() {
  TextTable table{{"fault", ""}, {}};
  for (const FaultInfo& fault : all_faults())
    table.rows.push_back({form(fault), std::string(fault.doc)});
  return table;
}

Result<TextTable> list_defects() {
  TextTable table{{"defect", "concerns", "what goes wrong"}, {}};
  for (const PortDefectInfo& defect : all_port_defects())
    table.rows.push_back({std::string(defect.name), scope_text(defect.scope),
                          fmt::format("{}. Seen: {}", defect.doc, defect.seen)});
  return table;
}

Result<TextTable> list_microbenchmarks() {
  TextTable table{{"microbenchmark", ""}, {}};
  for (const MicrobenchmarkGroup& group : microbenchmark_groups())
    table.rows.push_back({std::string(group.name), std::string(group.meaning)});
  return table;
}

Result<TextTable> list_probes() {
  TextTable table{{"probe", ""}, {}};
  for (const ProbeInfo& probe : probes())
    table.rows.push_back({std::string(probe.name), std::string(probe.meaning)});
  return table;
}

Result<TextTable> list_models() {
  TextTable table{{"model", "", "d12: parameters"}, {}};
  for (const DecoderPreset& preset : decoder_presets())
    table.rows.push_back({std::string(preset.name), std::string(preset.about),
                          with_commas(param_count(preset.of_depth(12, 32768, 2048)))});
  return table;
}

// Those of the data folder and one's own first, then the microworld's.
Result<TextTable> list_conversations() {
  TextTable table{{"conversations", "from", "train", "test"}, {}};
  const auto source = [](const ConversationTaskInfo& task, std::string_view dataset) {
    if (!dataset.empty()) return std::string(dataset);
    return std::string(task.takes_file ? "your file" : "none");
  };
  for (const ConversationTaskInfo& task : conversation_tasks())
    table.rows.push_back({std::string(task.name), std::string(task.doc), source(task, task.train),
                          source(task, task.test)});
  for (const std::string_view name : microworld_conversation_tasks())
    table.rows.push_back({std::string(name), "the generated world", "generated", "generated"});
  for (const std::string& task : pair_tasks())
    if (find_conversation_task(task) == nullptr)
      table.rows.push_back(
          {task, "for DPO: its right answers against wrong ones", "of the task", "of the task"});
  return table;
}

Result<TextTable> list_published() {
  TextTable table{{"published", "runs", ""}, {}};
  for (const PublishedFile& file : published_files()) {
    NB_TRY(const ReportedTable published, read_published(file.name));
    table.rows.push_back(
        {std::string(file.name), std::to_string(published.runs.size()), published.about});
  }
  return table;
}

struct ListOptions {
  RunListOptions runs;
  bool json = false;
};

struct Listing {
  const char* name;
  const char* doc;
  Result<TextTable> (*make)();
  // Instead of make: lists with options of their own.
  int (*show)(const RunListOptions&, bool json) = nullptr;
  void (*add_options)(CLI::App&, RunListOptions&) = nullptr;
  const char* now = nullptr;  // of an older spelling: the one that it has
};
constexpr Listing kListings[] = {
    {"devices", "profiles of emulated devices", device_table},
    {"stacks", "software stacks that --stack and a suite's device can name", stack_table},
    {"models", "presets of the decoder that train and predict know, with 32,768 tokens",
     list_models},
    {"suites", "suite files in the folder suites, of this folder or of the program", list_suites},
    {"tasks", "evaluation tasks and sets of them", list_tasks},
    {"conversations", "what a mixture of MID, SFT, DPO or RL can hold", list_conversations},
    {"faults", "faults that --fault can plant", list_faults},
    {"defects", "mistakes of a port that a suite's device can ask for", list_defects},
    {"microbenchmarks", "groups of microbenchmarks", list_microbenchmarks},
    {"probes", "fixed questions with known answers that a suite can ask", list_probes},
    {"published", "tables of results that others published, for audit and compare", list_published},
    {"runs", "", nullptr, list_runs, add_run_options, "npubench runs list"},
    {"metrics", "", nullptr, list_metrics, add_metric_options, "npubench runs metrics"},
};

// First column of every row, for scripts.
Json names_json(const TextTable& table) {
  Json names = Json::array();
  for (const auto& row : table.rows) names.push_back(row.front());
  return names;
}

int list_one(const Listing& listing, const ListOptions& options) {
  if (listing.show != nullptr) return listing.show(options.runs, options.json);
  const auto table = listing.make();
  if (!table) return fail(table.error());
  if (options.json) return print_json(names_json(*table));
  say("{}", to_text(*table, output_width()));
  return kExitOk;
}

}  // namespace

Action add_list(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  app.add_flag("--json", options->json, "JSON on stdout: the names");
  for (const Listing& listing : kListings) {
    CLI::App& command = *app.add_subcommand(listing.name, listing.doc)->fallthrough();
    if (listing.now != nullptr) command.is_now(listing.now);
    if (listing.add_options != nullptr) listing.add_options(command, options->runs);
  }
  app.require_subcommand(1);
  return [&app, options] {
    for (const Listing& listing : kListings)
      if (app.got_subcommand(listing.name)) return list_one(listing, *options);
    return kExitUsage;
  };
}

}  // namespace nb::cli
