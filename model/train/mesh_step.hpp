// A steady training step of BASE on a mesh of cards, dry: one rank stands for all of them and runs
// what a rank of data_ranks.hpp runs, collective by collective; the stages of a pipeline, which do
// not do the same, all run. What `predict --mesh` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/decoder/config.hpp"
#include "model/decoder/lora.hpp"
#include "model/device/profile.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/mesh_settings.hpp"

namespace nb {

struct MeshStepRequest {
  DecoderConfig config;
  MeshSettings mesh;
  std::int64_t device_batch_size = 1;   // rows of a micro-batch
  std::int64_t accumulation_steps = 1;  // micro-batches of a rank
  std::optional<double> grad_clip = 1;
  bool recompute = false;
  std::optional<LoraSettings> lora = {};  // adapters beside frozen weights
  bool uses_muon = true;                  // of matrices; else AdamW
};

struct MeshStep {
  std::int64_t step_time_ns = 0;
  std::int64_t communication_time_ns = 0;  // that compute waits for
  SentBytes sent;                          // by the first rank, in the step
  PeakMemory peak;                         // of the first rank, which has the largest shards
  BytesByUse peak_by_use{};
  // Of a pipeline; else empty, none.
  std::vector<double> sent_bytes_of_ranks = {};
  std::vector<std::uint64_t> peaks_of_ranks = {};  // allocated bytes
  std::optional<double> bubble = {};               // bubble_of()
};

// The third step: state exists, the allocator's cache is warm. Throws OutOfMemory. NB_CHECK:
// check_mesh() and check_model_ranks() hold.
MeshStep run_mesh_step(const MeshStepRequest& request, const DeviceProfile& profile);

}  // namespace nb
