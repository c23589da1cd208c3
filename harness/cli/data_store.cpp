#include "harness/cli/data_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/open_index.hpp"
#include "results/store/gc.hpp"
#include "results/store/listed_run.hpp"

namespace nb::cli {
namespace {

void add_folder(CLI::App& command, StoreOptions& options) {
  command.add_option("FOLDER", options.folder,
                     "folder of runs, however deep they lie (default: as in npubench run)");
}

const GcRun& run_of(const GcPlan& plan, const std::string& name) {
  return *std::find_if(plan.runs.begin(), plan.runs.end(),
                       [&](const GcRun& run) { return run.name == name; });
}

std::uint64_t bytes_of(const GcPlan& plan) {
  std::uint64_t bytes = 0;
  for (const GcTarget& target : plan.targets) bytes += target.bytes;
  return bytes;
}

// Ordinary reasons as one line with a count, the others run by run.
std::string stays_text(const GcPlan& plan) {
  std::map<std::string, std::int64_t> counts;
  std::string single;
  for (const GcRun& run : plan.runs) {
    if (run.keeps.empty()) continue;
    if (run.keeps == "is one of the newest")
      ++counts[run.keeps];
    else
      single += visible_line(fmt::format("stays: {} {}", run.name, run.keeps)) + "\n";
  }
  std::string text = single;
  for (const auto& [reason, count] : counts)
    text += fmt::format("stay: {} of the newest\n", count_text(count, "run"));
  return text;
}

std::string goes_text(const GcPlan& plan) {
  if (plan.targets.empty()) return "";
  TextTable table{{"goes", "when", "size"}, {}};
  for (const GcTarget& target : plan.targets)
    table.rows.push_back({target.name, short_time(run_of(plan, target.runs.front()).when),
                          human_bytes(static_cast<double>(target.bytes))});
  return to_text(table, output_width());
}

std::string outcome_text(const GcPlan& plan, const GcDone& done, bool is_meant) {
  const std::string size = human_bytes(static_cast<double>(bytes_of(plan)));
  const auto folders = [](std::size_t count) {
    return count_text(static_cast<long long>(count), "folder");
  };
  std::string text;
  for (const std::string& sentence : done.put_back)
    text += visible_line("stays: " + sentence) + "\n";
  if (is_meant) return text + fmt::format("{} removed\n", folders(done.removed.size()));
  if (plan.has_leftovers)
    text += fmt::format("{} are left of a removal that was interrupted\n",
                        human_bytes(static_cast<double>(plan.leftover_bytes)));
  if (plan.targets.empty() && !plan.has_leftovers) return text + "nothing to remove\n";
  return text + fmt::format("nothing was removed; --yes removes {}, {}\n",
                            folders(plan.targets.size()), size);
}

Json gc_json(const GcPlan& plan, const GcDone& done, bool is_meant) {
  Json goes = Json::array(), stays = Json::array();
  for (const GcTarget& target : plan.targets)
    goes.push_back({{"folder", target.name},
                    {"runs", target.runs},
                    {"when", run_of(plan, target.runs.front()).when},
                    {"bytes", target.bytes}});
  for (const GcRun& run : plan.runs)
    if (!run.keeps.empty()) stays.push_back({{"run", run.name}, {"why", run.keeps}});
  return {{"schema", "npubench.gc/1"}, {"folder", plan.folder.string()},
          {"dry", !is_meant},          {"goes", std::move(goes)},
          {"stays", std::move(stays)}, {"leftover_bytes", plan.leftover_bytes},
          {"removed", done.removed},   {"put_back", done.put_back},
          {"failures", done.failures}, {"notes", plan.notes}};
}

}  // namespace

void add_reindex_options(CLI::App& command, StoreOptions& options) { add_folder(command, options); }

void add_gc_options(CLI::App& command, StoreOptions& options) {
  add_folder(command, options);
  command
      .add_option("--keep-last,--keep", options.keep_last,
                  "nights that stay of every sequence (folders whose names differ in digits only), "
                  "besides accepted and golden runs, what the last gate judged against, what "
                  "cannot be read and what is being worked on")
      ->check(whole(1))
      ->capture_default_str();
  command.add_flag("--yes", options.is_meant, "remove them; without it they are only listed");
}

int reindex(const StoreOptions& options, bool json) {
  const auto index = open_index(options.folder, RunIndex::Mode::kRebuild);
  if (!index) return fail(index.error());
  std::vector<std::string> damaged;
  for (const IndexedRecord& record : index->records())
    if (!record.damage.empty()) damaged.push_back(record.damage);
  const auto file =
      index->file_bytes() == 0 ? std::filesystem::path() : index->folder() / kIndexFile;
  if (json) {
    const int printed = print_json({{"schema", "npubench.reindex/1"},
                                    {"folder", index->folder().string()},
                                    {"index", file.empty() ? Json() : Json(file.string())},
                                    {"bytes", index->file_bytes()},
                                    {"runs", index->runs().size()},
                                    {"records", index->records_read()},
                                    {"damaged", damaged},
                                    {"notes", index->notes()}});
    if (printed != kExitOk) return printed;
  } else {
    say("{}, {} read", count_text(std::ssize(index->runs()), "run"),
        count_text(static_cast<long long>(index->records_read()), "record"));
    if (file.empty())
      say("; no index was written\n");
    else
      say("; {} in {}\n", human_bytes(static_cast<double>(index->file_bytes())), file.string());
    for (const std::string& damage : damaged) say_line("! {}", damage);
  }
  return index->notes().empty() ? fail_for_damaged(damaged) : kExitRun;
}

int collect_garbage(const StoreOptions& options, bool json) {
  const auto index = open_index(options.folder);
  if (!index) return fail(index.error());
  const auto plan = plan_gc(*index, static_cast<std::size_t>(options.keep_last));
  if (!plan) return fail(plan.error());
  GcDone done;
  if (options.is_meant && (!plan->targets.empty() || plan->has_leftovers)) {
    auto removed = remove_planned(*plan);
    if (!removed) return fail(removed.error());
    done = std::move(*removed);
    (void)RunIndex::open(plan->folder);  // forgets what is gone; without that the next reader does
  }
  if (json) {
    const int printed = print_json(gc_json(*plan, done, options.is_meant));
    if (printed != kExitOk) return printed;
  } else {
    say("{}{}{}", stays_text(*plan), goes_text(*plan), outcome_text(*plan, done, options.is_meant));
  }
  if (done.failures.empty()) return kExitOk;
  return fail({ErrorCode::kRun, fmt::format("runs gc: {}", fmt::join(done.failures, "\n  "))});
}

}  // namespace nb::cli
