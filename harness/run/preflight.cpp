#include "harness/run/preflight.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "evals/data/manifest.hpp"
#include "evals/evaluate.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/table.hpp"
#include "harness/plan/conversation_files.hpp"
#include "harness/plan/text_sources.hpp"
#include "harness/suite/device_entry.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

// Beyond what is expected: logs, and the second newest checkpoint while a run is under way.
constexpr double kDiskReserve = 1.2;

Result<void> check_data(const DatasetWork& work, const RunOptions& options) {
  if (!work.corpus.text) return {};
  NB_TRY(const std::vector<TextFile> files,
         find_text_files(work.corpus.text->sources, options.data_dir, "suite"));
  return check_text_files(files, options.data_dir);
}

Result<void> check_data(const ConversationsWork& work, const RunOptions& options) {
  NB_TRY(const std::vector<TextFile> files,
         find_conversation_files(work.mixture, options.data_dir, "suite"));
  return check_text_files(files, options.data_dir);
}

Result<void> check_data(const EvalWork& work, const RunOptions& options) {
  EvalContext context;
  context.settings = work.evaluation.settings;
  context.data_dir = options.data_dir;
  context.file_digests = work.file_digests;
  if (work.microworld) context.microworld = *work.microworld;
  return preflight(context);
}

template <class W>
Result<void> check_data(const W&, const RunOptions&) {
  return {};
}

// Files of the manifest that a node reads.
Result<void> add_names(const DatasetWork& work, const RunOptions& options,
                       std::vector<std::string>& names) {
  if (!work.corpus.text) return {};
  NB_TRY(const std::vector<TextFile> files,
         find_text_files(work.corpus.text->sources, options.data_dir, "suite"));
  for (const TextFile& file : files)
    if (file.in_manifest) names.push_back(file.name);
  return {};
}

Result<void> add_names(const ConversationsWork& work, const RunOptions& options,
                       std::vector<std::string>& names) {
  NB_TRY(const std::vector<TextFile> files,
         find_conversation_files(work.mixture, options.data_dir, "suite"));
  for (const TextFile& file : files)
    if (file.in_manifest) names.push_back(file.name);
  return {};
}

Result<void> add_names(const EvalWork& work, const RunOptions&, std::vector<std::string>& names) {
  NB_TRY(const auto datasets, datasets_of(work.evaluation.settings));
  names.insert(names.end(), datasets.begin(), datasets.end());
  return {};
}

template <class W>
Result<void> add_names(const W&, const RunOptions&, std::vector<std::string>&) {
  return {};
}

Result<void> check_all_data(const Plan& plan, const RunOptions& options, const Forecast& forecast) {
  std::vector<std::string> checked;  // evaluations repeat for every device and seed
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (!forecast.nodes[i].will_run) continue;
    const Node& node = plan.nodes[i];
    const std::string what = node.label + " " + std::to_string(node.work.index());
    if (std::find(checked.begin(), checked.end(), what) != checked.end()) continue;
    checked.push_back(what);
    NB_TRY_VOID(std::visit([&](const auto& work) { return check_data(work, options); }, node.work));
  }
  return {};
}

// A dry step of every BASE training: what does not fit is said now, in the device's words.
Result<void> check_training(const TrainWork& work, std::int64_t vocab_size,
                            const std::string& node) {
  NB_TRY(const ResolvedDevice device, resolve_device(work.device, node));
  PredictSettings step;
  step.depth = work.base->depth;
  step.model = work.base->model;
  step.recompute = work.base->recompute;
  step.vocab_size = vocab_size;
  step.sequence_len = work.base->sequence_len;
  step.cards = 1;
  step.device_batch_size = work.base->device_batch_size;
  step.total_batch_tokens = work.base->total_batch_tokens;
  NB_TRY(const Prediction prediction, predict(step, device.profile), node);
  if (prediction.fits) return {};
  return run_error(
      fmt::format("{}: {}; {}", node, prediction.out_of_memory, largest_batch_text(prediction)));
}

Result<void> check_simulated_memory(const Plan& plan, const Forecast& forecast) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const TrainWork* work = std::get_if<TrainWork>(&plan.nodes[i].work);
    if (work == nullptr || !work->base || !forecast.nodes[i].will_run) continue;
    for (const std::size_t parent : plan.nodes[i].parents)
      if (const auto* tokenizer = std::get_if<TokenizerWork>(&plan.nodes[parent].work))
        NB_TRY_VOID(check_training(*work, tokenizer->tokenizer.vocab_size, plan.nodes[i].name));
  }
  return {};
}

Result<void> check_disk(const RunOptions& options, const Forecast& forecast) {
  NB_TRY(const std::uint64_t free, free_disk_bytes(options.results_dir));
  const double needed = kDiskReserve * static_cast<double>(forecast.disk_bytes);
  if (needed > static_cast<double>(free))
    return run_error(fmt::format(
        "{}: the run needs about {} on disk, {} are free; free some space or give another "
        "--results-dir",
        options.results_dir.string(), human_bytes(needed), human_bytes(static_cast<double>(free))));
  return {};
}

Result<void> check_memory(const Forecast& forecast) {
  const std::uint64_t available = available_memory_bytes();
  if (available > 0 && forecast.peak_memory_bytes > available)
    return run_error(fmt::format(
        "the run needs about {} of memory, {} are available; use a smaller depth or device batch",
        human_bytes(static_cast<double>(forecast.peak_memory_bytes)),
        human_bytes(static_cast<double>(available))));
  return {};
}

}  // namespace

Result<void> check_writable(const fs::path& results) {
  // Every message names files in it, and every list of files has one per line.
  if (results.string().find_first_of("\n\r") != std::string::npos)
    return bad_input(
        fmt::format("the results folder {} has a line break in its name; give another "
                    "--results-dir",
                    Json(results.string()).dump(-1, ' ', false, Json::error_handler_t::replace)));
  std::error_code error;
  fs::path there = fs::absolute(results, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error) || ::access(there.c_str(), W_OK | X_OK) != 0)
    return bad_input(
        fmt::format("{}: cannot be written ({}); give another --results-dir", results.string(),
                    fs::is_directory(there, error) ? there.string() + " refuses it"
                                                   : there.string() + " is not a folder"));
  return {};
}

namespace {

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (std::error_code ignored; at->is_regular_file(ignored)) {
      const std::uintmax_t size = at->file_size(ignored);
      if (!ignored) sum += size;
    }
  return sum;
}

}  // namespace

Forecast forecast(const Plan& plan, const RunOptions& options) {
  Forecast result;
  const double host_flop_s = measure_host_flop_s();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& node = plan.nodes[i];
    NodeForecast entry;
    const auto folder = node_folder(options.results_dir, plan.suite, node.name, node.key);
    entry.condition = inspect_node(folder, node, /*verify=*/false).condition;
    const bool reused = entry.condition == NodeCondition::kDone && !options.fresh;
    const bool asked = !options.only || *options.only == i;
    entry.will_run = asked && !reused;
    entry.expected = expect(plan, i, host_flop_s);
    result.reused += asked && reused ? 1 : 0;
    if (entry.will_run) {
      ++result.to_run;
      result.time_s += entry.expected.time_s;
      // What an interrupted run left is on the disk already and is not needed once more.
      const bool resumes = entry.condition == NodeCondition::kPartial && !options.fresh;
      result.resumed += resumes ? 1 : 0;
      const std::uint64_t there = resumes ? bytes_below(folder) : 0;
      result.disk_bytes += entry.expected.disk_bytes - std::min(there, entry.expected.disk_bytes);
      result.peak_memory_bytes = std::max(result.peak_memory_bytes, entry.expected.memory_bytes);
    }
    result.nodes.push_back(entry);
  }
  return result;
}

Result<void> check_data_is_there(const Plan& plan, const RunOptions& options,
                                 const Forecast& forecast) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i)
    if (forecast.nodes[i].will_run)
      NB_TRY_VOID(std::visit([&](const auto& work) { return add_names(work, options, names); },
                             plan.nodes[i].work));
  if (names.empty()) return {};
  return check_presence(data_manifest(), names, options.data_dir);
}

Result<void> preflight(const Plan& plan, const RunOptions& options, const Forecast& forecast) {
  NB_TRY_VOID(check_writable(options.results_dir));
  NB_TRY_VOID(check_data_is_there(plan, options, forecast));
  NB_TRY_VOID(check_all_data(plan, options, forecast));
  NB_TRY_VOID(check_simulated_memory(plan, forecast));
  NB_TRY_VOID(check_disk(options, forecast));
  return check_memory(forecast);
}

std::string largest_batch_text(const Prediction& prediction) {
  const std::int64_t largest = prediction.largest_device_batch_size;
  if (largest == 0)
    return "not even one row fits: use a smaller depth, shorter sequences or a larger device";
  const std::int64_t dividing = prediction.largest_dividing_batch_size;
  return fmt::format(
      "the largest device batch that fits is {}{}", largest,
      dividing != largest ? fmt::format(" (of those that divide the step: {})", dividing) : "");
}

std::string forecast_text(const Forecast& forecast) {
  return fmt::format("{}: {} to run{}, {} reused; about {}, {} disk, {} memory",
                     count_text(forecast.to_run + forecast.reused, "node"), forecast.to_run,
                     forecast.resumed > 0 ? fmt::format(" ({} resumed)", forecast.resumed) : "",
                     forecast.reused, human_time_ns(forecast.time_s * 1e9),
                     human_bytes(static_cast<double>(forecast.disk_bytes)),
                     human_bytes(static_cast<double>(forecast.peak_memory_bytes)));
}

}  // namespace nb
