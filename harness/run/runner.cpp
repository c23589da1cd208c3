#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/run/environment.hpp"
#include "harness/run/node_lock.hpp"
#include "harness/run/node_log.hpp"
#include "harness/run/node_state.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

Json requested_settings(const Node& node) {
  Work copy = node.work;
  return print_fields(fields_of(copy));
}

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options, const StageFunction& execute)
      : plan_(plan), options_(options), execute_(execute), done_(plan.nodes.size()) {}

  Result<RunSummary> run() {
    summary_.suite_folder = folder_of(plan_.nodes.front()).parent_path();
    if (!plan_.shares_folder) NB_TRY_VOID(write_list());
    if (options_.only) {
      NB_TRY_VOID(require_parents(*options_.only));
      summary_.nodes.push_back(process(*options_.only));
      say(*options_.only);
    } else {
      for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
        summary_.nodes.push_back(process(i));
        say(i);
      }
    }
    return std::move(summary_);
  }

 private:
  fs::path folder_of(const Node& node) const {
    return node_folder(options_.results_dir, plan_.suite, node.name, node.key);
  }

  Result<void> write_list() const {
    std::vector<std::string> folders;
    for (const Node& node : plan_.nodes) folders.push_back(folder_of(node).filename().string());
    return write_run_list(summary_.suite_folder, folders);
  }

  // --node: what this node starts from must have been made, by whichever process.
  Result<void> require_parents(std::size_t i) {
    for (const std::size_t parent : plan_.nodes[i].parents) {
      const Node& node = plan_.nodes[parent];
      NodeState state = inspect_node(folder_of(node), node, /*verify=*/true);
      if (state.condition != NodeCondition::kDone)
        return run_error(fmt::format("node {} needs {}, which is not done{}; run --node {} first",
                                     plan_.nodes[i].name, node.name,
                                     state.damage.empty() ? "" : " (" + state.damage + ")",
                                     node.key.substr(0, 8)));
      done_[parent] = std::move(state.record);
    }
    return {};
  }

  NodeReport process(std::size_t i) {
    const Node& node = plan_.nodes[i];
    NodeReport report;
    report.node = i;
    report.outcome = NodeOutcome::kSkipped;
    report.folder = folder_of(node);
    for (const std::size_t parent : node.parents)
      if (!done_[parent]) {
        report.message = fmt::format("{} did not succeed", plan_.nodes[parent].name);
        return report;
      }
    const auto start = SteadyClock::now();
    const Result<void> result = reuse_or_execute(i, report);
    if (!result) {
      report.outcome = NodeOutcome::kFailed;
      report.message = result.error().message;
      report.error = result.error().code;
    }
    report.host_time_s = seconds_since(start);
    return report;
  }

  Result<void> reuse_or_execute(std::size_t i, NodeReport& report) {
    const Node& node = plan_.nodes[i];
    NB_TRY(const FileLock lock, lock_node(report.folder, [&](const std::string& holder) {
             line(fmt::format("{}: waiting for {}, which is working on it", node.name, holder));
           }));
    NodeState state = inspect_node(report.folder, node, /*verify=*/true);
    std::error_code error;
    const bool has_partial = fs::exists(report.folder / kPartialFolder, error);
    const bool fresh = options_.fresh && (!options_.keeps_partial || has_partial);
    if (state.condition == NodeCondition::kDone && !fresh) {
      report.outcome = NodeOutcome::kReused;
      done_[i] = std::move(state.record);
      if (has_partial && !options_.keeps_partial) return end_work(report.folder);
      return {};
    }
    if (state.condition == NodeCondition::kDamaged)
      warn(node, "damaged, runs again: " + state.damage);
    // --fresh starts over, whatever is there.
    NodeCondition condition = fresh ? NodeCondition::kAbsent : state.condition;
    if (options_.keeps_partial) condition = NodeCondition::kPartial;
    NB_TRY_VOID(begin_work(report.folder, condition));
    report.outcome = NodeOutcome::kExecuted;
    return execute(i, condition, report);
  }

  Result<void> execute(std::size_t i, NodeCondition condition, const NodeReport& report) {
    const Node& node = plan_.nodes[i];
    NodeLog log(report.folder);
    log.line(fmt::format("{} {} key {}",
                         condition == NodeCondition::kPartial ? "goes on:" : "starts:", node.name,
                         node.key));
    if (options_.tells_nodes)
      line(fmt::format("{}: {}", node.name,
                       condition == NodeCondition::kPartial ? "resuming" : "running"));
    Record record = empty_record(node);
    const std::string started = utc_time_text();
    const Result<void> result = guarded(i, report.folder, log, record);
    if (!result) {
      // Only what says what happened; partial results are not results.
      Record failed = empty_record(node);
      failed.settings = record.settings;
      failed.device = record.device;
      failed.trained_on = record.trained_on;
      failed.seed = record.seed;
      failed.parents = record.parents;
      failed.checkpoint = record.checkpoint;
      failed.status = "failed";
      failed.error = result.error().message;
      record = std::move(failed);
      log.line("failed: " + result.error().message);
    } else {
      log.line("done");
    }
    Json environment = environment_of(node.kind());
    environment.update(*record.environment);
    environment["started_at"] = started;
    environment["finished_at"] = utc_time_text();
    record.environment = environment;
    const Result<void> written = write_record(report.folder, record);
    // A failed node whose record cannot be written either (disk full): the first error says more.
    if (!result) return result;
    NB_TRY_VOID(written);
    NB_TRY_VOID(end_work(report.folder));
    NB_TRY(done_[i], read_record(report.folder));
    return {};
  }

  // The one place where exceptions of a node end (main has the other).
  Result<void> guarded(std::size_t i, const fs::path& folder, NodeLog& log, Record& record) {
    const Node& node = plan_.nodes[i];
    StageContext context{node,
                         folder,
                         {},
                         options_.data_dir,
                         [&log](const std::string& text) { log.line(text); },
                         [&](const std::string& text) {
                           log.line(text);
                           warn(node, text);
                         },
                         options_.profiles_host};
    for (const std::size_t parent : node.parents)
      context.parents.push_back(
          {plan_.nodes[parent].kind(), folder_of(plan_.nodes[parent]), *done_[parent]});
    try {
      return execute_(context, record);
    } catch (const std::bad_alloc&) {
      return run_error(node.name + ": the host does not have enough memory for it");
    } catch (const std::exception& e) {
      return run_error(fmt::format("{}: {}", node.name, e.what()));
    }
  }

  Record empty_record(const Node& node) const {
    Record record;
    record.kind = info(node.kind()).name;
    record.name = node.label;
    record.node_key = node.key;
    if (const DeviceEntry* device = device_of(node.work)) record.device = device->name;
    record.seed = seed_of(node.work);
    for (const std::size_t parent : node.parents) record.parents.push_back(plan_.nodes[parent].key);
    record.settings = requested_settings(node);
    record.subject["code"] = code_digest(node.kind());
    return record;
  }

  void say(std::size_t i) const {
    if (!options_.tells_nodes) return;
    const NodeReport& report = summary_.nodes.back();
    line(fmt::format(
        "[{}/{}] {} {}{}{}", options_.only ? 1 : i + 1, options_.only ? 1 : plan_.nodes.size(),
        plan_.nodes[i].name, name(report.outcome),
        report.outcome == NodeOutcome::kExecuted ? " in " + human_time_ns(report.host_time_s * 1e9)
                                                 : "",
        report.message.empty() ? "" : ": " + report.message));
  }

  // Quiet is about progress: whoever's disk loses bits wants to know it.
  static void warn(const Node& node, const std::string& text) {
    say_on_stderr(fmt::format("{}: {}\n", node.name, text));
  }

  void line(const std::string& text) const {
    if (!options_.quiet) say_on_stderr(fmt::format("{}\n", text));
  }

  const Plan& plan_;
  const RunOptions& options_;
  const StageFunction& execute_;
  std::vector<std::optional<Record>> done_;  // records of nodes that succeeded
  RunSummary summary_;
};

}  // namespace

std::string_view name(NodeOutcome outcome) {
  switch (outcome) {
    case NodeOutcome::kExecuted:
      return "executed";
    case NodeOutcome::kReused:
      return "reused";
    case NodeOutcome::kFailed:
      return "failed";
    case NodeOutcome::kSkipped:
      return "skipped";
  }
  return "?";
}

int RunSummary::count(NodeOutcome outcome) const {
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const NodeReport& report) {
    return report.outcome == outcome;
  }));
}

std::optional<ErrorCode> RunSummary::error() const {
  std::optional<ErrorCode> worst;
  for (const NodeReport& report : nodes)
    if (report.outcome == NodeOutcome::kFailed && worst != ErrorCode::kRun) worst = report.error;
  return worst;
}

std::string counts_text(const RunSummary& summary) {
  return fmt::format("{} executed, {} reused, {} failed, {} skipped",
                     summary.count(NodeOutcome::kExecuted), summary.count(NodeOutcome::kReused),
                     summary.count(NodeOutcome::kFailed), summary.count(NodeOutcome::kSkipped));
}

Result<RunSummary> run_plan(const Plan& plan, const RunOptions& options,
                            const StageFunction& execute) {
  return Runner(plan, options, execute).run();
}

}  // namespace nb
