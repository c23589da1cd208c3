#include "harness/run/planted_faults.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/faults/failure.hpp"
#include "harness/run/node_lock.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/settings.hpp"
#include "results/store/store.hpp"

namespace nb {

PlantedFaults::PlantedFaults(const StageContext& context, std::int64_t steps,
                             std::unique_ptr<Injector> injector)
    : context_(context), steps_(steps), injector_(std::move(injector)) {}

Result<std::unique_ptr<PlantedFaults>> PlantedFaults::create(const TrainWork& work,
                                                             const StageContext& context,
                                                             Device& device,
                                                             std::int64_t vocab_size) {
  if (work.device.planted.empty()) return std::unique_ptr<PlantedFaults>();
  NB_TRY(const DecoderConfig config, decoder_config(*work.base, vocab_size));
  const int ranks = work.device.mesh ? static_cast<int>(work.device.mesh->ranks()) : 1;
  NB_TRY(std::unique_ptr<Injector> injector, Injector::create(work.device.planted, device, ranks));
  if (!work.device.planted.faults.empty())
    context.log(fmt::format("planted faults: {}", fmt::join(work.device.planted.faults, ", ")));
  if (work.device.planted.keeps_digests())
    injector->keep(std::make_unique<TensorDigests>(context.folder));
  for (const std::string& warning : injector->warnings()) context.warn(warning);
  // Of an earlier run of this node.
  std::error_code error;
  for (const char* file : {kFailureFile, kFailureText}) fs::remove(context.folder / file, error);
  fs::remove_all(context.folder / kFaultLogs, error);
  return std::unique_ptr<PlantedFaults>(
      new PlantedFaults(context, planned_iterations(*work.base, config), std::move(injector)));
}

Result<void> PlantedFaults::watch(const std::function<Result<void>()>& train) {
  const auto start = std::chrono::steady_clock::now();
  const auto host_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (auto story = injector_->failed_at_start()) return end(std::move(*story), host_s());
  Result<void> trained;
  try {
    trained = train();
  } catch (const std::exception&) {
    if (auto story = injector_->failure()) return end(std::move(*story), host_s());
    throw;
  }
  if (trained) {
    NB_TRY_VOID(injector_->write_digests(steps_));
    for (const std::string& note : injector_->notes(true)) context_.warn(note);
    return {};
  }
  if (auto story = injector_->failure()) return end(std::move(*story), host_s());
  return trained;
}

Result<void> PlantedFaults::end(FailureStory story, double host_s) {
  story.steps = steps_;
  const auto checkpoints = list_checkpoints(context_.folder);
  story.resume_step = checkpoints.empty() ? 0 : checkpoints.front().step;
  // What the ranks had in the step that none of them ended depends on their threads.
  NB_TRY_VOID(injector_->write_digests(story.site.step));
  NB_TRY_VOID(write_failure(story, context_.node.name, host_s, context_.folder));
  for (const std::string& note : injector_->notes(false)) context_.warn(note);
  if (!injector_->has_changed_state()) NB_TRY_VOID(hand_over());
  return run_error(fmt::format("planted fault {}: rank {} failed first, at step {} of {}: {}",
                               story.fault.text, story.outcome.first_rank, story.site.step,
                               story.steps, story.outcome.first_text));
}

// The same training without faults has another key, and so another folder.
Result<void> PlantedFaults::hand_over() const {
  const fs::path suite = context_.folder.parent_path();
  const fs::path folder = node_folder(suite.parent_path(), suite.filename().string(),
                                      context_.node.name, context_.node.key_without_faults);
  NB_TRY(const FileLock lock, try_lock_node(folder));
  if (!lock.held() || has_record(folder)) return {};
  std::vector<std::pair<fs::path, fs::path>> copies = {
      {context_.folder / kRankTensors, folder / kRankTensors}};
  for (const NumberedCheckpoint& checkpoint : list_checkpoints(context_.folder))
    copies.emplace_back(checkpoint.path, checkpoint_path(folder, checkpoint.step));
  for (const auto& [from, to] : copies) {
    std::error_code error;
    if (fs::exists(to, error) || !fs::exists(from, error)) continue;
    NB_TRY_VOID(make_folders(to.parent_path()));
    NB_TRY(const std::string bytes, read_file(from));
    NB_TRY_VOID(write_file(to, bytes));
  }
  return {};
}

}  // namespace nb
