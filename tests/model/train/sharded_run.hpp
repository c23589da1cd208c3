// BASE of seconds on a mesh of cards, and what it left behind.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/base/progress.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/safetensors.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

class MeshTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  MeshTest() {
    settings_.device_batch_size = 1;  // four micro-batches
    settings_.sample_every = 0;
    settings_.grad_clip = 0;  // a norm of shards is summed otherwise
  }

  struct Ran {
    TrainResult result;
    std::string tensors;  // weights and state of the optimizers
    DeviceCounters counters;
    BytesByUse allocated{};  // at the end, of the first rank
    BytesByUse peak{};
  };

  Result<Ran> run(const std::optional<MeshSettings>& mesh, const std::filesystem::path& folder,
                  const TrainHooks& hooks = {}) {
    NB_TRY(TokenLoader train_loader, TokenLoader::create(data_.train));
    NB_TRY(TokenLoader validation_loader, TokenLoader::create(data_.validation));
    NB_TRY(DeviceProfile profile, load_profile("ascend_910b3"));
    profile.numerics.reduction_order = order_;
    if (numerics_ != "ascend_910b3") {
      NB_TRY(const DeviceProfile policy, load_profile(numerics_));
      NB_TRY(profile, with_numerics(std::move(profile), policy));
      profile.numerics.reduction_order = order_;
    }
    Device device(std::move(profile), ExecutionMode::kExecute,
                  {.ranks = static_cast<int>(mesh ? mesh->ranks() : 1)});
    Ran ran;
    TrainHooks listening = hooks;
    listening.on_checkpoint = [&](std::int64_t step) {
      ran.allocated = device.allocator().allocated_by_use();
      if (hooks.on_checkpoint) hooks.on_checkpoint(step);
    };
    NB_TRY(ran.result, train(settings_, device, {train_loader, validation_loader, data_.tokenizer},
                             folder, listening, {}, mesh));
    ran.counters = device.counters();
    ran.peak = device.allocator().peak_by_use();
    NB_TRY(const SafetensorsFile file, SafetensorsFile::open(ran.result.checkpoint));
    for (const auto& [name, entry] : file.entries())
      if (!name.starts_with("progress."))
        ran.tensors += name + std::string(reinterpret_cast<const char*>(entry.bytes.data()),
                                          entry.bytes.size());
    return ran;
  }
  Ran ran(const std::optional<MeshSettings>& mesh) {
    const TempDir folder;
    auto one = run(mesh, folder.path());
    EXPECT_TRUE(one) << (one ? "" : one.error().message);
    return one ? std::move(*one) : Ran();
  }
  // Loss, gradient norm, tokens and what was read; not times.
  static std::vector<std::vector<double>> learned(const TrainResult& result) {
    std::vector<std::vector<double>> rows;
    for (const StepRow& row : result.steps)
      rows.push_back({row.train_loss.value_or(0), row.tokens.value_or(0),
                      row.batch_hash.value_or(0), row.val_bpb.value_or(0)});
    return rows;
  }

  const TinyData data_ = tiny_data();
  TrainSettings settings_ = tiny_settings();
  ReductionOrder order_ = ReductionOrder::kMesh;
  std::string numerics_ = "ascend_910b3";
};

}  // namespace nb::test
