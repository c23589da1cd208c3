#include "model/train/mesh_step.hpp"

#include <memory>

#include "harness/base/check.hpp"
#include "model/device/device.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/pipeline_step.hpp"

namespace nb {
namespace {

// The first rank of the mesh, without the others.
class DryRank {
 public:
  DryRank(const MeshStepRequest& request, const DeviceProfile& profile)
      : request_(request),
        device_(profile, ExecutionMode::kDry,
                {.ranks = static_cast<int>(request.mesh.ranks()), .trace_steps = 0}),
        world_(symmetric_communicator(device_, static_cast<int>(request.mesh.ranks()))),
        model_(request.config, device_) {
    const auto prepare = [&](TrainedModel& model) {
      if (request.lora) model.decoder.adapters().add(*request.lora, 0);
      prepare_optimizers(model, {}, {.uses_muon = request.uses_muon});
      trained_decoder(model).set_recompute(request.recompute);
    };
    prepare_rank(request.mesh, model_, prepare);
  }

  std::int64_t step() {
    device_.synchronize();
    const std::int64_t start_ns = device_.time_ns();
    begin_on_rank(model_, *world_);
    const double share = 1 / static_cast<double>(request_.accumulation_steps);
    for (std::int64_t micro = 0; micro < request_.accumulation_steps; ++micro)
      trained_decoder(model_).loss_and_backward({}, {}, request_.device_batch_size,
                                                request_.config.sequence_len, share);
    update_on_rank(
        model_, *world_, request_.grad_clip, {}, [] { return 0.0; }, nullptr,
        loss_scale_of(device_));
    end_on_rank(model_);
    ops::read_scalar(device_, "train_loss");
    device_.synchronize();
    return device_.time_ns() - start_ns;
  }
  Device& device() { return device_; }
  const SentBytes& sent() const { return world_->sent_bytes(); }

 private:
  const MeshStepRequest& request_;
  Device device_;
  std::unique_ptr<Communicator> world_;
  TrainedModel model_;
};

}  // namespace

MeshStep run_mesh_step(const MeshStepRequest& request, const DeviceProfile& profile) {
  const auto checked = check_mesh(request.mesh);
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  if (request.mesh.stages() > 1) return run_pipeline_step(request, profile);
  DryRank rank(request, profile);
  rank.step();
  rank.step();
  Device& device = rank.device();
  device.reset_memory_peaks();
  const SentBytes before = rank.sent();
  const std::int64_t waited = device.counters().collective_wait_ns;
  MeshStep step;
  step.step_time_ns = rank.step();
  step.communication_time_ns = device.counters().collective_wait_ns - waited;
  for (const auto& [kind, bytes] : rank.sent()) {
    const auto earlier = before.find(kind);
    step.sent[kind] = bytes - (earlier == before.end() ? 0 : earlier->second);
  }
  const MemoryStats memory = device.memory();
  step.peak = {memory.peak_allocated_bytes, memory.peak_reserved_bytes};
  step.peak_by_use = device.allocator().peak_by_use();
  return step;
}

}  // namespace nb
