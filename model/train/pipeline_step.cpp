#include "model/train/pipeline_step.hpp"

#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/world.hpp"
#include "model/data/loader.hpp"
#include "model/device/device.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/pipeline.hpp"

namespace nb {
namespace {

struct DryStage {
  DryStage(const MeshStepRequest& request, const DeviceProfile& profile, int rank)
      : device(profile, ExecutionMode::kDry,
               {.index = rank, .ranks = static_cast<int>(request.mesh.ranks()), .trace_steps = 0}),
        model(request.config, device) {
    prepare_rank(request.mesh, model, [&](TrainedModel& one) {
      one.pipeline_plan->rank = rank;
      if (one.tensor_plan) one.tensor_plan->rank = rank;
      prepare_optimizers(one, {}, {.uses_muon = request.uses_muon});
      trained_decoder(one).set_recompute(request.recompute);
    });
  }
  Device device;
  TrainedModel model;
};

class DryPipeline {
 public:
  DryPipeline(const MeshStepRequest& request, const DeviceProfile& profile)
      : request_(request),
        no_data_{request.device_batch_size, request.config.sequence_len, {}, {}} {
    for (int rank = 0; rank < static_cast<int>(request.mesh.ranks()); ++rank) {
      stages_.push_back(std::make_unique<DryStage>(request, profile, rank));
      devices_.push_back(&stages_.back()->device);
    }
  }

  MeshStep step() {
    Device& first = *devices_.front();
    first.synchronize();
    for (Device* device : devices_) {
      if (device != &first) {
        Json state = device->state();
        state["clock"] = first.state().at("clock");
        NB_CHECK(device->restore(state).has_value(), "[pipeline_step] a clock");
      }
      device->reset_memory_peaks();
    }
    const std::int64_t start_ns = first.time_ns(), waited = first.counters().collective_wait_ns;
    MeshStep step;
    step.sent_bytes_of_ranks.resize(stages_.size());
    std::mutex mutex;
    std::exception_ptr out_of_memory;
    const auto done = World(devices_).run([&](Communicator& world) {
      try {
        run(world);
      } catch (const OutOfMemory&) {
        const std::lock_guard lock(mutex);
        out_of_memory = std::current_exception();
        throw;
      }
      if (world.rank() == 0) step.sent = world.sent_bytes();
      for (const auto& [kind, bytes] : world.sent_bytes())
        step.sent_bytes_of_ranks[static_cast<std::size_t>(world.rank())] += bytes;
    });
    if (out_of_memory) std::rethrow_exception(out_of_memory);
    NB_CHECK(done.has_value(), "{}", done.error().message);
    step.step_time_ns = first.time_ns() - start_ns;
    step.communication_time_ns = first.counters().collective_wait_ns - waited;
    step.peak = {first.memory().peak_allocated_bytes, first.memory().peak_reserved_bytes};
    step.peak_by_use = first.allocator().peak_by_use();
    std::vector<PipelineRank*> ranks;
    for (const auto& stage : stages_) {
      ranks.push_back(stage->model.pipeline.get());
      step.peaks_of_ranks.push_back(stage->device.memory().peak_allocated_bytes);
    }
    step.bubble = bubble_of(ranks, start_ns);
    return step;
  }

 private:
  void run(Communicator& world) {
    TrainedModel& model = stages_[static_cast<std::size_t>(world.rank())]->model;
    begin_on_rank(model, world);
    const auto micro_batches = static_cast<std::size_t>(request_.accumulation_steps);
    model.pipeline->run({.batches = std::vector<const Batch*>(micro_batches, &no_data_),
                         .share = 1 / static_cast<double>(micro_batches),
                         .on_loss = [](std::size_t, double) {},
                         .behind_backward = {}});
    update_on_rank(
        model, world, request_.grad_clip, {}, [] { return 0.0; }, nullptr);
    model.pipeline->tell_loss(0);
    ops::read_scalar(world.device(), "train_loss");
    world.device().synchronize();
    end_on_rank(model);
  }

  const MeshStepRequest& request_;
  const Batch no_data_;
  std::vector<std::unique_ptr<DryStage>> stages_;
  std::vector<Device*> devices_;
};

}  // namespace

MeshStep run_pipeline_step(const MeshStepRequest& request, const DeviceProfile& profile) {
  DryPipeline pipeline(request, profile);
  pipeline.step();
  pipeline.step();
  return pipeline.step();
}

}  // namespace nb
